"""Options of schedulers in a script's comments, and the nodes that programs are asked for."""

import re
import shlex
from collections.abc import Iterator, Sequence

from weft.doctor.job import SourceLines, Word
from weft.doctor.numbers import whole
from weft.launch.command_words import HOSTFILE, NODES

SBATCH_SHORT = {"N": "nodes", "n": "ntasks", "J": "job-name", "p": "partition", "C": "constraint"}
_PBS_NODES = re.compile(r"-l\s*(?:\S*,)?(?:select|nodes|nodect)=([0-9]+)")
_LSF_NODES = re.compile(r"-nnodes\s+([0-9]+)")
_FLUX_NODES = re.compile(r"(?:-N\s*|--nodes[= ])([0-9]+)")
_NODES = {"#PBS": _PBS_NODES, "#BSUB": _LSF_NODES, "#FLUX:": _FLUX_NODES, "#flux:": _FLUX_NODES}
"""SOURCE: qsub(1) of PBS Professional, bsub(1) of LSF 10.1, flux-batch(1)."""
_OF_PROGRAMS = re.compile(r"--?(?:nnodes?|num[-_]nodes|num[-_]machines|nodes)")
"""SOURCE: torchrun, deepspeed, accelerate and lightning: the options for nodes."""


def scheduler_options(text: str) -> dict[str, Word]:
    """Options of Slurm in #SBATCH lines, by their long names; of other schedulers the nodes."""
    options: dict[str, Word] = {}
    for line, at in SourceLines(text).each():
        if line.startswith("#SBATCH"):
            for option, value in _options_of(line[len("#SBATCH") :]):
                options.setdefault(SBATCH_SHORT.get(option, option), Word(value, at))
            continue
        pattern = _NODES.get(line.partition(" ")[0])
        found = pattern.search(line) if pattern is not None else None
        if found is not None:
            options.setdefault(NODES, Word(found[1], at))
    return options


def _options_of(text: str) -> Iterator[tuple[str, str]]:
    try:
        words = shlex.split(text, comments=True)
    except ValueError:
        return
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            continue
        name, equals, value = word.lstrip("-").partition("=")
        if not equals and words and not words[0].startswith("-"):
            value = words.pop(0)
        elif not word.startswith("--") and len(name) > 1 and not equals:
            name, value = name[0], name[1:]
        yield name, value


def nodes_of_program(words: Sequence[Word]) -> Iterator[int]:
    """Nodes in the words of any command: `torchrun --nnodes 2`, `--num_nodes=4`."""
    for index, word in enumerate(words):
        option, equals, value = word.text.partition("=")
        if _OF_PROGRAMS.fullmatch(option) is None:
            continue
        if not equals:
            value = words[index + 1].text if index + 1 < len(words) else ""
        # Of a range (2:4) the least.
        number = whole(value.partition(":")[0])
        if number:
            yield number


def nodes_of_hosts(text: str, option: str) -> int | None:
    """Hosts in a list such as `a:8,b:8`; None for a file, whose lines are not known."""
    if option == HOSTFILE:
        return None
    hosts = {one.partition(":")[0] for one in text.split(",") if one}
    return len(hosts) if hosts and all(re.fullmatch(r"[\w.-]+", one) for one in hosts) else None
