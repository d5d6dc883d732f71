"""The hosts of a run when something goes wrong on them: asked once after each launch that fails, so
that whoever is to blame is named, and no later launch waits for a host that is gone."""

import threading
import time
from collections.abc import Iterable, Mapping, Sequence

from weft.bench.live.kernel_records import KernelOutput, KernelRank
from weft.bench.live.launch_site import LaunchSite
from weft.bench.model import Launch, Trial
from weft.cluster.host_probe import HostProbe, probe_hosts
from weft.cluster.ssh_failure import SshFailure
from weft.core.clock import Clock
from weft.core.errors import BenchmarkError
from weft.core.nodeset import short_name
from weft.core.process_tree import ProcessState

PROBE_SHARE = 0.1
"""The most of a run's time for repeated probes of lost hosts."""


class HostWatch:
    """The hosts that probes found lost. Where no host answers, our ssh may not reach these hosts at
    all: then only a host that answered before, or is known to be `reached` by it, is lost."""

    def __init__(self, *, reached: bool, clock: Clock = time.monotonic) -> None:
        self._reached = reached
        self._answered: set[str] = set()
        self._clock = clock
        self._lost: dict[str, SshFailure] = {}
        self._next_probe_s = 0.0

    @property
    def lost(self) -> Mapping[str, SshFailure]:
        """The hosts that answered no more when they were last asked."""
        return self._lost

    def learn_hosts(self, site: LaunchSite, hosts: Iterable[str]) -> None:
        """Learn during the run which hosts answer while all is well, unless that is known."""
        if self._reached:
            return
        asked = dict.fromkeys((host for host in hosts if not site.is_local(host)), ())
        threading.Thread(target=self._learn, args=(site, asked), daemon=True).start()

    def _learn(self, site: LaunchSite, asked: Mapping[str, Sequence[int]]) -> None:
        self._note(probe_hosts(site.ssh, asked))

    def _note(self, probes: Mapping[str, HostProbe]) -> None:
        self._answered.update(host for host, probe in probes.items() if probe.unreached is None)

    def probe(self, site: LaunchSite, pids: Mapping[str, Sequence[int]]) -> Mapping[str, HostProbe]:
        """A probe of these hosts, but for this machine, with their processes of interest."""
        began = self._clock()
        asked = {host: own for host, own in pids.items() if not site.is_local(host)}
        probes = probe_hosts(site.ssh, asked, site.interface)
        self._note(probes)
        now = self._clock()
        self._next_probe_s = now + (now - began) / PROBE_SHARE
        if not self._reached and not self._answered & probes.keys():
            return {}
        for host, probe in probes.items():
            self._lost.pop(host, None)
            if probe.is_lost and probe.unreached is not None:
                self._lost[host] = probe.unreached
        return probes

    def still_lost(self, site: LaunchSite, hosts: Iterable[str]) -> Mapping[str, SshFailure]:
        """Those of these hosts that are gone; asked again, but not for most of a run's time."""
        wanted = [host for host in dict.fromkeys(hosts) if host in self._lost]
        if wanted and self._clock() >= self._next_probe_s:
            self.probe(site, dict.fromkeys(wanted, ()))
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
    probes: Mapping[str, HostProbe],
) -> dict[int, str]:
    """Kernel state letters by rank, 'gone' for one that ended: of ranks on hosts that were looked
    at, and of this machine's (`last_seen`)."""
    local = {process.pid: process.state for process in last_seen}
    here = {rank.host for rank in output.ranks if rank.pid in local}
    states = {}
    for rank in output.ranks:
        probe = probes.get(_node_of(rank, trial))
        if probe is not None and rank.pid in probe.states:
            states[rank.rank] = probe.states[rank.pid]
        elif probe is None and rank.host in here:
            states[rank.rank] = local.get(rank.pid, "gone")
    return states


def with_probes(failure: BenchmarkError, probes: Mapping[str, HostProbe]) -> BenchmarkError:
    """The failure, with the probes of its hosts: a lost host is to blame whatever else is reported;
    a full folder or an interface that is down is reported with it."""
    lost = {host: probe.unreached for host, probe in probes.items() if probe.is_lost}
    sick = [host for host, probe in probes.items() if probe.full or probe.link_down]
    if not lost and not sick:
        return failure
    first, newline, others = failure.what.partition("\n")
    remarks = [f"{host} does not answer: {why.cause}" for host, why in lost.items() if why]
    remarks += [f"on {host} {remark}" for host in sick for remark in _remarks(probes[host])]
    keeps = not lost and (failure.where or "").startswith("host ")
    mend = f"make it right on {', '.join(sick)}" if sick else failure.hint
    return type(failure)(
        "; ".join((first, *remarks)) + newline + others,
        where=failure.where if keeps else f"host {', '.join(lost or sick)}",
        expected=failure.expected,
        hint="; ".join(_remedies(lost)) or mend,
        lost=tuple(lost),
    )


def not_started(launch: Launch, lost: Mapping[str, SshFailure]) -> BenchmarkError:
    """Of a launch that needs hosts which are gone."""
    causes = "; ".join(f"{host} does not answer: {why.cause}" for host, why in lost.items())
    return BenchmarkError(
        f"{launch.trial.benchmark} ({launch.name}) was not started; {causes}",
        where=f"host {', '.join(lost)}",
        expected="hosts that answer over ssh",
        hint="; ".join(_remedies(lost)) or None,
        lost=tuple(lost),
    )


def _node_of(rank: KernelRank, trial: Trial) -> str:
    """The node of a rank as the trial calls it: by its name, else by its place in the blocks."""
    named = [node for node in trial.nodes if short_name(node) == short_name(rank.host)]
    place = min(rank.rank // trial.tasks_per_node, len(trial.nodes) - 1)
    return named[0] if len(named) == 1 else trial.nodes[place]


def _remarks(probe: HostProbe) -> list[str]:
    full = [f"{', '.join(probe.full)} {'is' if len(probe.full) == 1 else 'are'} full"]
    return (full if probe.full else []) + (["its interface is down"] if probe.link_down else [])


def _remedies(lost: Mapping[str, SshFailure | None]) -> list[str]:
    return [f"{host}: {why.remedy}" for host, why in lost.items() if why and why.remedy]
