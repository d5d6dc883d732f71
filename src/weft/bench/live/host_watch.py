"""The hosts of a run when something goes wrong on them: asked once after each launch that fails, so
that whoever is to blame is named, and no later launch waits for a host that is gone."""

import threading
import time
from collections.abc import Iterable, Mapping, Sequence

from weft.bench.live.kernel_records import KernelOutput, Rank
from weft.bench.live.launch_site import Seat
from weft.bench.model import Launch, Trial
from weft.cluster.host_probe import Look, look_at
from weft.cluster.ssh_failure import Unreached
from weft.core.clock import Clock
from weft.core.errors import BenchmarkError
from weft.core.process_tree import ProcessState

ASKING_SHARE = 0.1
"""Of a run's time, at most, goes into asking again for hosts that are gone."""


class Watch:
    """Who is gone, as far as anybody asked. Where nobody answers, our ssh may not be the way to
    these hosts: then that is believed only of hosts that did answer, or are known to be `reached`
    by it."""

    def __init__(self, *, reached: bool, clock: Clock = time.monotonic) -> None:
        self._reached = reached
        self._answered: set[str] = set()
        self._clock = clock
        self._lost: dict[str, Unreached] = {}
        self._ask_again = 0.0

    @property
    def lost(self) -> Mapping[str, Unreached]:
        """The hosts that answered no more when they were last asked."""
        return self._lost

    def acquaint(self, seat: Seat, hosts: Iterable[str]) -> None:
        """Learn beside the run which hosts answer as long as all is well, unless that is known."""
        if self._reached:
            return
        asked = dict.fromkeys((host for host in hosts if not seat.is_here(host)), ())
        threading.Thread(target=self._hear, args=(seat, asked), daemon=True).start()

    def _hear(self, seat: Seat, asked: Mapping[str, Sequence[int]]) -> None:
        self._note(look_at(seat.ssh, asked))

    def _note(self, looks: Mapping[str, Look]) -> None:
        self._answered.update(host for host, look in looks.items() if look.unreached is None)

    def look(self, seat: Seat, pids: Mapping[str, Sequence[int]]) -> Mapping[str, Look]:
        """A look at these hosts, but for this machine, with their processes of interest."""
        began = self._clock()
        asked = {host: own for host, own in pids.items() if not seat.is_here(host)}
        looks = look_at(seat.ssh, asked, seat.interface)
        self._note(looks)
        now = self._clock()
        self._ask_again = now + (now - began) / ASKING_SHARE
        if not self._reached and not self._answered & looks.keys():
            return {}
        for host, look in looks.items():
            self._lost.pop(host, None)
            if look.gone and look.unreached is not None:
                self._lost[host] = look.unreached
        return looks

    def still_lost(self, seat: Seat, hosts: Iterable[str]) -> Mapping[str, Unreached]:
        """Those of these hosts that are gone; asked again, but not for most of a run's time."""
        wanted = [host for host in dict.fromkeys(hosts) if host in self._lost]
        if wanted and self._clock() >= self._ask_again:
            self.look(seat, dict.fromkeys(wanted, ()))
        return {host: self._lost[host] for host in wanted if host in self._lost}


def pids_of(trial: Trial, output: KernelOutput, more: Iterable[str] = ()) -> dict[str, list[int]]:
    """The nodes of a trial and `more`, each with the processes of its ranks."""
    found: dict[str, list[int]] = {node: [] for node in (*trial.nodes, *more)}
    for rank in output.ranks:
        found[_node_of(rank, trial)].append(rank.pid)
    return found


def rank_states(
    trial: Trial,
    output: KernelOutput,
    last_seen: Sequence[ProcessState],
    looks: Mapping[str, Look],
) -> dict[int, str]:
    """Kernel state letters by rank, 'gone' for one that ended: of ranks on hosts that were looked
    at, and of this machine's (`last_seen`)."""
    local = {process.pid: process.state for process in last_seen}
    here = {rank.host for rank in output.ranks if rank.pid in local}
    states = {}
    for rank in output.ranks:
        look = looks.get(_node_of(rank, trial))
        if look is not None and rank.pid in look.states:
            states[rank.rank] = look.states[rank.pid]
        elif look is None and rank.host in here:
            states[rank.rank] = local.get(rank.pid, "gone")
    return states


def accused(failure: BenchmarkError, looks: Mapping[str, Look]) -> BenchmarkError:
    """The failure, with what a look at the hosts found: one that is gone is to blame whatever else
    was said; a folder without room or an interface that is down is told with it."""
    lost = {host: look.unreached for host, look in looks.items() if look.gone}
    sick = [host for host, look in looks.items() if look.full or look.link_down]
    if not lost and not sick:
        return failure
    first, newline, rest = failure.what.partition("\n")
    told = [f"{host} does not answer: {why.cause}" for host, why in lost.items() if why]
    told += [f"on {host} {remark}" for host in sick for remark in _remarks(looks[host])]
    keeps = not lost and (failure.where or "").startswith("host ")
    mend = f"make it right on {', '.join(sick)}" if sick else failure.hint
    return type(failure)(
        "; ".join((first, *told)) + newline + rest,
        where=failure.where if keeps else f"host {', '.join(lost or sick)}",
        expected=failure.expected,
        hint="; ".join(_remedies(lost)) or mend,
        lost=tuple(lost),
    )


def not_started(launch: Launch, lost: Mapping[str, Unreached]) -> BenchmarkError:
    """Of a launch that needs hosts which are gone."""
    told = "; ".join(f"{host} does not answer: {why.cause}" for host, why in lost.items())
    return BenchmarkError(
        f"{launch.trial.benchmark} ({launch.name}) was not started; {told}",
        where=f"host {', '.join(lost)}",
        expected="hosts that answer over ssh",
        hint="; ".join(_remedies(lost)) or None,
        lost=tuple(lost),
    )


def _node_of(rank: Rank, trial: Trial) -> str:
    """The node of a rank as the trial calls it: by its name, else by its place in the blocks."""
    short = rank.host.partition(".")[0]
    named = [node for node in trial.nodes if node.partition(".")[0] == short]
    place = min(rank.rank // trial.tasks_per_node, len(trial.nodes) - 1)
    return named[0] if len(named) == 1 else trial.nodes[place]


def _remarks(look: Look) -> list[str]:
    full = [f"{', '.join(look.full)} {'is' if len(look.full) == 1 else 'are'} full"]
    return (full if look.full else []) + (["its interface is down"] if look.link_down else [])


def _remedies(lost: Mapping[str, Unreached | None]) -> list[str]:
    return [f"{host}: {why.remedy}" for host, why in lost.items() if why and why.remedy]
