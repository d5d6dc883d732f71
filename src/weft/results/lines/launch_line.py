"""What a launch line says: ranks and nodes that one of nccl-tests asks for, secrets masked."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from weft.launch.command_words import (
    NODES,
    RANK_LAUNCHERS,
    RANKS,
    TASKS_PER_NODE,
    option_of,
)
from weft.results.lines.secrets import masked

_LONGEST = 2000
_GPUS = ("-g", "--ngpus")
_THREADS = ("-t", "--nthreads")
_LONGEST_SHOWN = 200
_SETTINGS = {
    "NCCL_ALGO": "algorithm",
    "NCCL_PROTO": "protocol",
    "NCCL_IB_HCA": "ib_hca",
    "NCCL_IB_DISABLE": "ib_disable",
    "NCCL_P2P_DISABLE": "p2p_disable",
    "NCCL_NVLS_ENABLE": "nvls_enable",
}
_PLAIN = re.compile(r"[A-Za-z0-9_]{1,40}$")
_JOINED = re.compile(r"(?<=\s)(-[Nngt])(\d)")
_PPR = re.compile(r"ppr:(\d{1,5}):node")
_MOST = 1 << 24


class LaunchScale(NamedTuple):
    """Ranks of the communicator, nodes and ranks a node; None where the line does not say."""

    n_ranks: int | None = None
    n_nodes: int | None = None
    tasks_per_node: int | None = None


NO_SCALE = LaunchScale()


def launch_of(text: str) -> LaunchScale:
    """What a line such as `mpirun -np 16 -npernode 8 ./all_reduce_perf -g 1` asks for.

    `-N` is ranks a node for mpirun and nodes for srun; `-n` before the program is processes, behind
    it iterations.
    """
    words = _JOINED.sub(r"\1 \2", text[:_LONGEST].replace("=", " ")).split()
    at = next((i for i, word in enumerate(words) if "_perf" in word), len(words))
    before, behind = words[:at], words[at:]
    names = _programs(before)
    if names.isdisjoint(RANK_LAUNCHERS):
        return NO_SCALE
    launcher = "srun" if "srun" in names else "mpirun"
    options = [option_of(launcher, word) if word[:1] == "-" else "" for word in before]
    each = (_number(behind, behind, _GPUS) or 1) * (_number(behind, behind, _THREADS) or 1)
    processes = _number(before, options, (RANKS,))
    nodes = _number(before, options, (NODES,))
    per_node, ppr = _number(before, options, (TASKS_PER_NODE,)), _ppr(before)
    # Two answers that differ are none.
    per_node = None if per_node and ppr and per_node != ppr else per_node or ppr
    if processes is None and nodes is not None and per_node is not None:
        processes = nodes * per_node
    if nodes is None and processes is not None and per_node is not None:
        nodes = processes // per_node if processes % per_node == 0 else None
    if per_node is None and processes is not None and nodes is not None:
        per_node = processes // nodes if processes % nodes == 0 else None
    return LaunchScale(
        n_ranks=None if processes is None else processes * each,
        n_nodes=nodes,
        tasks_per_node=None if per_node is None else per_node * each,
    )


def is_launched(text: str) -> bool:
    """Whether a launcher starts what the line names."""
    return not _programs(text[:_LONGEST].split()).isdisjoint(RANK_LAUNCHERS)


def _programs(words: Sequence[str]) -> set[str]:
    """Words as programs: without folder, and without what distributions append (`mpirun.mpich`)."""
    return {word.rpartition("/")[2].partition(".")[0] for word in words}


def gpus_of_process(text: str) -> int | None:
    """GPUs that one process of a test of nccl-tests drives, where its command says so (-g, -t)."""
    words = _JOINED.sub(r"\1 \2", text[:_LONGEST].replace("=", " ")).split()
    at = next((i for i, word in enumerate(words) if "_perf" in word), len(words))
    gpus, threads = (_number(words[at:], words[at:], names) for names in (_GPUS, _THREADS))
    return None if gpus is None and threads is None else (gpus or 1) * (threads or 1)


def settings_of(text: str) -> dict[str, str]:
    """The settings of NCCL that the line passes on, as conditions; those of one plain word only."""
    found: dict[str, str] = {}
    for word in text[:_LONGEST].split():
        name, given, value = word.partition("=")
        if given and name in _SETTINGS and _PLAIN.match(value):
            found[_SETTINGS[name]] = value
    return found


def shown(text: str) -> str:
    """The line as it may be kept: cut, and without values that look secret (`-x TOKEN=...`)."""
    return " ".join(masked(text).split())[:_LONGEST_SHOWN]


def _number(words: Sequence[str], options: Sequence[str], names: Sequence[str]) -> int | None:
    """The number behind the first word whose option is one of `names`."""
    for name, value in zip(options, words[1:], strict=False):
        if name in names and value.isascii() and value.isdigit() and len(value) < 9:
            return int(value) if 0 < int(value) < _MOST else None
    return None


def _ppr(words: Sequence[str]) -> int | None:
    found = [match for word in words if (match := _PPR.match(word)) is not None]
    return int(found[0][1]) or None if found else None
