"""Why a launch failed, in one error that names host and rank where anyone knows them."""

import re
import signal
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from weft.bench.live.host_watch import rank_states
from weft.bench.live.kernel_records import KernelOutput, KernelRank
from weft.bench.model import Launch, Trial
from weft.bench.phase import phases_of
from weft.cluster.host_probe import HostProbe
from weft.core.errors import BenchmarkError
from weft.core.process import CommandEnd, Ending
from weft.core.process_tree import ProcessState

STOPPED = {"T": ", stopped", "t": ", stopped by a debugger", "D": ", held by a disk or a device"}
"""The meaning of the kernel's state letters of a process that cannot go on."""

NO_PROBES: Mapping[str, HostProbe] = {}
STDERR_LINES = 6
STDERR_BYTES = 65_536


class HangError(BenchmarkError):
    """A launch that did not end in its time; the result of its cell is `hung`."""

    hung = True


@dataclass(frozen=True, slots=True)
class Blame:
    """The process a launcher's message names, as far as it does, and what became of it."""

    rank: int | None = None
    host: str | None = None
    how: str | None = None


def failure_of(
    launch: Launch,
    ended: CommandEnd,
    output: KernelOutput,
    out: Path,
    err: Path,
    *,
    probes: Mapping[str, HostProbe] = NO_PROBES,
) -> BenchmarkError | None:
    """The one error of a launch, or None when it went well. `probes` are at other hosts, as they
    were when time ran out."""
    stderr = tail(err)
    stranger = _split_world(launch, output)
    if stranger is not None:
        return stranger
    if output.failures:
        return _kernel_failure(launch, output)
    if ended.ending is Ending.OUTPUT_LIMIT:
        return BenchmarkError(
            f"{_title(launch)} wrote more than is kept of one launch and was ended",
            where=str(out if out.stat().st_size > err.stat().st_size else err),
            expected="records of the kernel, some megabytes",
        )
    if ended.ending is Ending.TIMED_OUT:
        states = rank_states(launch.trial, output, ended.processes, probes)
        return _hung(launch, states, output, stderr)
    if ended.exit_code != 0 or ended.ending is Ending.STALLED:
        is_lost = any(one.is_lost for one in probes.values())
        return _crashed(launch, ended, output, stderr, is_lost=is_lost)
    return _unreadable(launch, output, out)


def blame(text: str, ranks: Sequence[KernelRank]) -> Blame:
    """The process that died, as far as the launcher (Open MPI, Hydra, Slurm) names it."""
    rank: int | None = None
    host: str | None = None
    how: str | None = None
    for pattern, read in _BLAMES:
        match = pattern.search(text)
        if match is not None:
            found = read(match.groupdict(), ranks)
            rank = found.rank if rank is None else rank
            host, how = host or found.host, how or found.how
    host = host or next((r.host for r in ranks if r.rank == rank), None)
    return Blame(rank, host, how)


def tail(path: Path) -> str:
    """The last part of a stream, as text."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - STDERR_BYTES))
        return file.read().decode(errors="replace")


def _kernel_failure(launch: Launch, output: KernelOutput) -> BenchmarkError:
    first = output.failures[0]
    where = f" in {first.where}" if first.where else ""
    host = first.host or (output.host_of(first.rank) if first.rank is not None else None)
    return BenchmarkError(
        f"{_title(launch)} stopped{where}: {first.message}", where=_place(first.rank, host)
    )


def _hung(
    launch: Launch, states: Mapping[int, str], output: KernelOutput, stderr: str
) -> HangError:
    silent = _silent_ranks(output, states, _idle_ranks(launch.trial, output))
    hosts = ", ".join(launch.trial.nodes[:8])
    return HangError(
        f"{_title(launch)} hung: no end after {launch.trial.timeout_s:g} s; "
        f"last record: {output.last_record}" + _quote(stderr),
        where=_place(silent[0].rank, silent[0].host) if len(silent) == 1 else hosts,
        expected="an 'end' record from the kernel",
        hint=_waiting_hint(silent, states),
    )


def _silent_ranks(
    output: KernelOutput, states: Mapping[int, str], idle_ranks: Container[int]
) -> list[KernelRank]:
    """Ranks that were not even waiting. One that is stopped, or held by a device, is the one that
    the others wait for; else, as MPI waits by spinning, one that sleeps or is gone while others
    spin. Not one that rests: the kernel lets it sleep."""
    known = [rank for rank in output.ranks if rank.rank in states and rank.rank not in idle_ranks]
    stopped = [rank for rank in known if states[rank.rank] in STOPPED]
    if stopped:
        return stopped
    idle = [rank for rank in known if states[rank.rank] != "R"]
    return idle if len(idle) < len(known) else []


def _idle_ranks(trial: Trial, output: KernelOutput) -> frozenset[int]:
    """The ranks without a partner in the round of pairs that had not come to its end."""
    if trial.benchmark != "pairs":
        return frozenset()
    n_kinds = sum(len(phase.kinds) for phase in phases_of(trial.options))
    rows = Counter(row.round for row in output.pair_rows)
    number = max(rows, default=0)
    given = trial.options.get("rounds")
    if given is None:
        # The kernel's own rounds leave out one rank where they are odd, in round r rank r.
        number += rows[number] == n_kinds * (trial.n_ranks // 2)
        return frozenset({number}) if trial.n_ranks % 2 else frozenset()
    rounds = [pairs for pairs in given if pairs]
    number += rows[number] == n_kinds * len(rounds[number])
    busy = {rank for pairs in rounds[number : number + 1] for pair in pairs for rank in pair}
    return frozenset(range(trial.n_ranks)) - busy


def _waiting_hint(silent: Sequence[KernelRank], states: Mapping[int, str]) -> str | None:
    if not silent:
        return "attach a debugger to the ranks, or raise timeout_s if the trial is only slow"
    names = ", ".join(
        f"rank {rank.rank} on {rank.host} (pid {rank.pid}{STOPPED.get(states[rank.rank], '')})"
        for rank in silent[:4]
    )
    return f"the other ranks were waiting; not running: {names}"


def _crashed(
    launch: Launch, ended: CommandEnd, output: KernelOutput, stderr: str, *, is_lost: bool
) -> BenchmarkError:
    if ended.ending is Ending.STALLED and not is_lost:
        return _crashed_in_container(launch, ended, output, stderr)
    if ended.ending is Ending.STALLED:
        return BenchmarkError(
            f"{_title(launch)} was ended: its output stopped and hosts do not answer; last record: "
            f"{output.last_record}" + _quote(stderr),
            where=", ".join(launch.trial.nodes[:8]),
            expected="hosts that answer over ssh",
        )
    dead = blame("\n".join((*output.last_noise, stderr)), output.ranks)
    nodes = launch.trial.nodes
    host = dead.host or (nodes[0] if len(nodes) == 1 else None)
    who = "the launcher" if dead.rank is None else f"rank {dead.rank}"
    how = dead.how or exit_text(ended.exit_code)
    return BenchmarkError(
        f"{_title(launch)} crashed: {who} {how} (last record: {output.last_record})"
        + _quote(stderr),
        where=_place(dead.rank, host) or ", ".join(nodes[:8]),
        expected="every rank to end with exit code 0",
        hint=_hint(stderr),
    )


def _crashed_in_container(
    launch: Launch, ended: CommandEnd, output: KernelOutput, stderr: str
) -> BenchmarkError:
    states = rank_states(launch.trial, output, ended.processes, NO_PROBES)
    dead = [rank for rank in output.ranks if states.get(rank.rank) == "gone"]
    who = f"rank {dead[0].rank}" if len(dead) == 1 else "a rank"
    return BenchmarkError(
        f"{_title(launch)} crashed: {who} ended, and the containers of other ranks went on until "
        f"weft ended them (last record: {output.last_record})" + _quote(stderr),
        where=_place(dead[0].rank, dead[0].host)
        if len(dead) == 1
        else ", ".join(launch.trial.nodes[:8]),
        expected="every rank to end with exit code 0",
    )


def containers_left(processes: Sequence[ProcessState], program: str = "weft-kernel") -> bool:
    """Whether ranks in podman's containers go on without their `podman run`. Where one rank ends,
    Hydra kills each `podman run`, and waits for containers that it does not reach.

    SOURCE: proc(5), /proc/PID/stat: the first 15 letters of a program's name.
    """
    names = [one.command for one in processes]
    return "podman" not in names and any(one.startswith(program[:15]) for one in names)


def _unreadable(launch: Launch, output: KernelOutput, out: Path) -> BenchmarkError | None:
    """The error in the output of a launch that ended with 0, or None. A broken line is noise as
    long as no record is missing."""
    rank_0 = f"rank 0 on {output.host_of(0) or ', '.join(launch.trial.nodes[:8])}"
    if output.header is None:
        return BenchmarkError(
            f"{_title(launch)} wrote no records, but {output.n_noise_lines} other lines",
            where=f"{out} (from {rank_0})",
            expected="schema weft.kernel/1, one record a line",
        )
    if output.end is None:
        return BenchmarkError(
            f"{_title(launch)}: the output stops after {output.last_record}, without an end",
            where=f"{out} (from {rank_0})",
            expected="an 'end' record",
        )
    n_expected, n_found = expected_rows(launch.trial), len(output.rows) + len(output.pair_rows)
    if n_found == n_expected and len(output.ranks) == launch.trial.n_ranks:
        return None
    return BenchmarkError(
        f"{_title(launch)} wrote {n_found} of {n_expected} rows and {len(output.ranks)} of "
        f"{launch.trial.n_ranks} rank records",
        where=f"{output.broken or out} (from {rank_0})",
        expected="one record a line, schema weft.kernel/1",
    )


def expected_rows(trial: Trial) -> int:
    """Rows a whole output holds: one a size; for `pairs` one a kind, pair and round."""
    if trial.benchmark != "pairs":
        return len(trial.sizes_bytes)
    rounds = trial.options.get("rounds")
    all_pairs = trial.n_ranks * (trial.n_ranks - 1) // 2
    n_kinds = sum(len(phase.kinds) for phase in phases_of(trial.options))
    return n_kinds * (all_pairs if rounds is None else sum(len(pairs) for pairs in rounds))


def _split_world(launch: Launch, output: KernelOutput) -> BenchmarkError | None:
    """A launcher and a library of different MPIs start N worlds of one rank each."""
    n_ranks = output.header.n_ranks if output.header else None
    is_single = any("needs two ranks" in failure.message for failure in output.failures)
    if n_ranks in (None, launch.trial.n_ranks) and not is_single:
        return None
    return BenchmarkError(
        f"{_title(launch)}: {launch.trial.n_ranks} ranks were started, but each sees a world of "
        f"{n_ranks or 1}",
        where=", ".join(launch.trial.nodes[:8]),
        expected="a launcher and an MPI library that belong together",
        hint="name the mpicc whose launcher this is: --mpi /path/to/mpicc; srun also needs the "
        "plugin that the MPI speaks: SLURM_MPI_TYPE=pmix or pmi2, for an old Intel MPI "
        "also I_MPI_PMI_LIBRARY=/path/to/libpmi2.so",
    )


def exit_text(code: int) -> str:
    """'ended with exit code 3', 'was killed by signal 11 (SIGSEGV)'; 128+n counts as signal n."""
    number = -code if code < 0 else code - 128 if 128 < code < 160 else 0
    return signal_text(number) if number else f"ended with exit code {code}"


def signal_text(number: int) -> str:
    """'was killed by signal 11 (SIGSEGV)'."""
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = "unknown"
    return f"was killed by signal {number} ({name})"


def _title(launch: Launch) -> str:
    return f"{launch.trial.benchmark} ({launch.name})"


def _place(rank: int | None, host: str | None) -> str | None:
    parts = [f"host {host}"] if host else []
    parts += [f"rank {rank}"] if rank is not None else []
    return ", ".join(parts) or None


def _quote(stderr: str) -> str:
    """The first line of a known cause, then the last lines."""
    lines = [line.rstrip() for line in stderr.splitlines() if line.strip(" \t-=|")]
    telling = [line for line in lines if any(sign in line for sign in _HINTS)]
    shown = dict.fromkeys((*telling[:1], *lines[-STDERR_LINES:]))
    return "".join(f"\n  | {line[:200]}" for line in shown)


def _hint(stderr: str) -> str:
    for sign, hint in _HINTS.items():
        if sign in stderr:
            return hint
    if _SRUN_FOUND_NOTHING in stderr and "weft-kernel" not in stderr:
        return _NO_KERNEL
    return "see raw/*.err in the run directory for the launcher's whole output"


_SRUN_FOUND_NOTHING = "Exited with exit code 2"
"""slurmstepd ends a task that it cannot start with errno, here ENOENT; its own line may be lost."""
_NO_KERNEL = (
    "every node must find the kernel: in <prefix>/var/weft/kernels, or in "
    "$XDG_CACHE_HOME/weft/kernels"
)
_HINTS = {
    "unable to find network interfaces": (
        "Open MPI's launcher needs a network interface that is up, if only lo; "
        "the embedded MPICH (no --mpi) does without"
    ),
    "unsupported PMI": "launcher and MPI library do not belong together; see --mpi",
    "not enough slots": "fewer ranks a node, or --hosts with more nodes",
    "Host key verification failed": "ssh to every host must work without a question",
    "Permission denied (publickey": "ssh to every host must work without a question",
    "Could not resolve hostname": "check the names given to --hosts",
    # All that Hydra says where a host lacks the folder that its ranks start in.
    "assert (!closed) failed": "every host must see the run directory (a shared file system: --dir "
    "FOLDER there); where there is none, 'weft cluster up' and --cluster do without",
    # Hydra may give up before it has passed on the message of ssh.
    "Launch proxy failed": "check the names given to --hosts, and ssh to each without a question",
    # MPICH 5.0.2 puts up to 1077 bytes on a line of PMI-1, of which Slurm 22.05 reads 1024.
    "value not properly terminated in client request": "this MPICH and this Slurm's pmi2 do not "
    "always understand each other: another MPI (--mpi site), or --launcher mpiexec",
    "error: execve()": _NO_KERNEL,
    "error while loading shared libraries": "the MPI's libraries must be found on every node",
}


def _by_rank(groups: dict[str, str | None], ranks: Sequence[KernelRank]) -> Blame:  # noqa: ARG001
    how = None
    number = groups.get("signal") or _SIGNALS.get(groups.get("text"))
    if number:
        how = signal_text(int(number))
    elif groups.get("code"):
        how = exit_text(int(groups["code"] or 0))
    return Blame(int(groups["rank"] or 0), groups.get("host"), how)


def _by_pid(groups: dict[str, str | None], ranks: Sequence[KernelRank]) -> Blame:
    """Hydra names process and host; a small number is a signal, as in a wait status."""
    pid, code = int(groups["pid"] or 0), int(groups["code"] or 0)
    rank = next((r.rank for r in ranks if r.pid == pid), None)
    return Blame(rank, groups["host"], wait_status_text(code))


def _by_order(groups: dict[str, str | None], ranks: Sequence[KernelRank]) -> Blame:  # noqa: ARG001
    """Hydra's wait statuses, '[host] 0,1792 [host] 0,0', in the order of ranks."""
    rank = 0
    for host, listed in re.findall(r"\[(\S+)\] ([\d,]+)", groups["statuses"] or ""):
        for status in (int(word) for word in listed.split(",") if word):
            if status != 0:
                return Blame(rank, host, wait_status_text(status))
            rank += 1
    return Blame()


def wait_status_text(status: int) -> str:
    """A status of wait(2) in words: the low bits are a signal, the next byte an exit code."""
    return signal_text(status & 0x7F) if status & 0x7F else exit_text(status >> 8)


_SIGNALS = {signal.strsignal(number): number for number in signal.valid_signals()}
_OF_SRUN = r"srun: error: (?P<host>[\w.-]+): task (?P<rank>\d+): {}"
_END_OF_TASK = r"(?:Exited with exit code (?P<code>\d+)|(?P<text>[\w ]*\w)?)"
"""srun ends with the greatest exit code of its tasks, also of those that it terminated: their 143
hides a 139. A wrapper around a rank may turn its signal into that code.

SOURCE: SchedMD/slurm, src/srun/libsrun/launch.c, _task_finish.
"""
_ENDED_BY_SRUN = r"(?!Terminated|Exited with exit code 143\b)"
_BLAMES = (
    (
        re.compile(
            r"noticed that process rank (?P<rank>\d+) with PID \d+ on node (?P<host>\S+)"
            r"\s+exited\s+on\s+signal\s+(?P<signal>\d+)"
        ),
        _by_rank,
    ),
    (
        re.compile(r"Process name: \[\[\d+,\d+\],(?P<rank>\d+)\]\s+Exit code:\s+(?P<code>\d+)"),
        _by_rank,
    ),
    (
        re.compile(r"PID (?P<pid>\d+) RUNNING AT (?P<host>\S+)\s+=\s+EXIT CODE: (?P<code>\d+)"),
        _by_pid,
    ),
    (re.compile(r"\] Exit codes: (?P<statuses>.*)"), _by_order),
    (re.compile(_OF_SRUN.format(_ENDED_BY_SRUN + _END_OF_TASK)), _by_rank),
    (re.compile(_OF_SRUN.format(_END_OF_TASK)), _by_rank),
)
