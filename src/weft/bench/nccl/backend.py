"""A backend that measures groups of hosts with nccl-tests: one launch a group, those of a round at
the same time."""

import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from weft.bench.live.failure import containers_left
from weft.bench.live.launch_site import LaunchSite, LocalSite
from weft.bench.model import Launch, Pair, Sample, State, Trial
from weft.bench.nccl.outcome import LaunchStage, NcclOutcome, outcome_of
from weft.bench.nccl.program import ITERATIONS, NcclGroup, NcclTests
from weft.bench.twin.fault import Fault
from weft.cluster.ssh_failure import SshFailure
from weft.core.clock import Clock, system_clock
from weft.core.documents.text_file import read_file_bytes
from weft.core.errors import MissingError
from weft.core.files import HeldFolder, write_part
from weft.core.parallel import in_parallel
from weft.core.process import Ending, Limits, Process, run
from weft.core.words import counted
from weft.launch.launchers.container import RankContainer, edf_text, in_container, refuse_launcher
from weft.launch.mpi import Mpi
from weft.launch.recipe import Recipe, make_recipe
from weft.launch.redact_text import redact_output
from weft.launch.secret_text import mask_text
from weft.launch.spec import LaunchSpec

GROUPS = "groups"
"""Option of a trial: lists of node names, each a group of its own; all run at the same time."""
ADAPTERS = "adapters"
"""Option of a trial of pairs: by round the one network device that its launches may use."""
SURVEYS = "surveys"
"""Option of a trial: true of the one whose pairs were planned before anything was measured."""
NODE_PASS, PAIR_PASS, GROUP_PASS, ADAPTER_PASS = "node", "pair", "group", "adapter"
"""The pass that an outcome belongs to."""
MOST_AT_ONCE = 128
"""Launches at a time; a larger round runs in several parts."""
MOST_BYTES = 1 << 26
"""Output of one launch that is kept: NCCL_DEBUG=INFO of 16 ranks is some megabytes."""
SILENT_S = 10.0
"""After so long without output weft looks whether only containers are left of a launch."""
GIVEN_UP_AFTER = 2
"""A host whose launches failed so often, and never worked, is left out of the remaining rounds."""


@dataclass(slots=True)
class _Tally:
    """Launches of hosts: which failed, and which worked."""

    failures: Counter[str] = field(default_factory=Counter)
    worked: set[str] = field(default_factory=set)

    def add(self, outcomes: Sequence[NcclOutcome]) -> None:
        """Count the launches of a round that were started: one failure of a host, however many of
        its adapters took part."""
        failed: set[str] = set()
        for one in outcomes:
            if one.state is State.OK:
                self.worked.update(one.group.hosts)
            elif not one.is_skipped:
                failed.update(one.group.hosts)
        self.failures.update(failed)

    def is_given_up(self, host: str) -> bool:
        """Whether a host failed often enough, and never worked."""
        return host not in self.worked and self.failures[host] >= GIVEN_UP_AFTER


class NcclBackend:
    """Runs nccl-tests on groups of `nodes` by the launcher of an MPI.

    `adapters` are the network devices of each rank of a node, where a pair is a pair of ranks.
    A launch ends after the trial's `timeout_s`, whatever it does. Before `prepare`, `recipe` names
    the run directory by its plain name. In a `container` each rank starts the image's program.
    """

    name = "live"
    fabric_document: Mapping[str, Any] | None = None
    faults: tuple[Fault, ...] = ()
    lost_hosts: Mapping[str, SshFailure] = MappingProxyType({})

    def __init__(
        self,
        mpi: Mpi,
        nodes: Sequence[str],
        tests: NcclTests,
        *,
        adapters: Sequence[str] = (),
        site: LaunchSite | None = None,
        clock: Clock = system_clock,
        container: RankContainer | None = None,
    ) -> None:
        if container is not None:
            refuse_launcher(container, mpi.launcher_kind)
        self._container = container
        self.mpi = mpi
        self.nodes = tuple(nodes)
        self.tests = tests
        self.adapters = tuple(adapters)
        self._site: LaunchSite = LocalSite() if site is None else site
        self._clock = clock
        self._run_dir = Path()
        self._alone, self._in_pairs = _Tally(), _Tally()
        self._writing = threading.Lock()

    def prepare(self, trials: Sequence[Trial], run_dir: Path) -> None:
        """Make `raw/` and `recipes/`. Raises InputError on sizes of no sweep."""
        for trial in trials:
            self.tests.argv(trial.sizes_bytes)
        self._run_dir = run_dir.absolute()
        held = HeldFolder(self._run_dir)
        try:
            held.make_folders(("raw", "recipes"))
        finally:
            held.close()

    def ahead(self, launches: Sequence[Launch]) -> None:
        """Nothing: launches follow one another."""

    def measure(self, launch: Launch) -> Iterator[Sample]:
        """The samples of all rounds. A group that fails or hangs gives a sample of that state.

        Raises MissingError where no host has the program or the launcher does not start.
        """
        rounds = rounds_of(launch.trial, self.adapters)
        for number, groups in enumerate(rounds):
            started = self._clock()
            outcomes = self._round(launch, number, groups)
            self._refuse_missing(outcomes)
            (self._alone if is_of_nodes(launch.trial) else self._in_pairs).add(outcomes)
            yield from samples_of(launch, number, outcomes, started)

    def recipe(self, launch: Launch) -> str:
        """The command lines of the first group of a launch, and the number of others."""
        rounds = [groups for groups in rounds_of(launch.trial, self.adapters) if groups]
        if not rounds:
            return "# nothing to measure\n"
        text = self._launch_text(launch, rounds[0][0], is_logged=is_of_survey(launch.trial))
        n = counted(sum(map(len, rounds)), "launch", "launches")
        return f"{text}# the first of {n} in {counted(len(rounds), 'round')}\n"

    def facts(self) -> Mapping[str, Any]:
        """The launcher, the nodes and the program."""
        return {
            "kind": "live",
            "mpi": self.mpi.implementation,
            "mpi_version": self.mpi.version,
            "launcher": str(self.mpi.launcher),
            "nodes": list(self.nodes),
            "rails": list(self.adapters),
            "tool": self.tests.tool,
            "program": self.tests.path,
            "gpus_per_node": self.tests.gpus_per_node,
            **({} if self._container is None else {"container": self._container.to_record()}),
        }

    def close(self) -> None:
        """Nothing is held: each launch ended with all its processes."""

    def _round(self, launch: Launch, number: int, groups: Sequence[NcclGroup]) -> list[NcclOutcome]:
        """The outcomes of groups at the same time, in their order."""
        known = [self._skipped(launch.trial, group) for group in groups]
        to_start = [group for group, one in zip(groups, known, strict=True) if one is None]
        measured = iter(self._all(launch, number, to_start))
        return [next(measured) if one is None else one for one in known]

    def _all(self, launch: Launch, number: int, groups: Sequence[NcclGroup]) -> list[NcclOutcome]:
        """The outcomes of groups that are all started, in their order."""
        measured = partial(self._one, launch, number)
        return in_parallel(groups, measured, at_once=MOST_AT_ONCE)

    def _skipped(self, trial: Trial, group: NcclGroup) -> NcclOutcome | None:
        """The outcome of a group that is not started."""
        out = self._given_up(trial, group)
        if out is None:
            return None
        reason = f"was not started: {out} failed before"
        known = NcclOutcome(group, State.FAILED, LaunchStage.NOTHING, reason=reason)
        return replace(known, blamed=out, is_skipped=True)

    def _launch_text(self, launch: Launch, group: NcclGroup, *, is_logged: bool) -> str:
        return self._site.text(self._recipe(launch, group, is_logged=is_logged))

    def _one(self, launch: Launch, number: int, group: NcclGroup) -> NcclOutcome:
        # Once for each host: a log of NCCL_DEBUG=INFO is a thousand times the table.
        is_logged = number == 0 and is_of_survey(launch.trial)
        recipe = self._recipe(launch, group, is_logged=is_logged, number=number)
        stem = stem_of(launch, number, group)
        with self._writing:
            self._site.write_files(recipe.files)
            text = mask_text(self._site.text(recipe))[0]
            write_part(self._run_dir / "recipes" / f"{stem}.txt", text, what="recipe")
        out, err = (self._run_dir / "raw" / f"{stem}.{end}" for end in ("out", "err"))
        limit_s = launch.trial.timeout_s
        limits = Limits(limit_s, max_bytes=MOST_BYTES, silent_s=SILENT_S)
        command = self._site.command(recipe, out, err)
        try:
            ended = run(command, limits, is_stalled=self._is_stalled)
        finally:
            for path in (out, err):
                redact_output(path)
        is_loud = ended.ending is Ending.OUTPUT_LIMIT
        texts = ("", "") if is_loud else (text_of(out), text_of(err))
        return outcome_of(self.tests, group, ended, texts, limit_s)

    def _is_stalled(self, process: Process) -> bool:
        """Whether only containers of ranks are left of a silent launch."""
        is_podman = self._container is not None and self._container.runtime == "podman"
        return is_podman and containers_left(process.processes(), self.tests.test)

    def _recipe(
        self, launch: Launch, group: NcclGroup, *, is_logged: bool, number: int = 0
    ) -> Recipe:
        site, tests, folder = self._site, self.tests, self._site.folder(self._run_dir)
        spec = LaunchSpec(
            launcher=self.mpi.launcher,
            program=tests.argv(launch.trial.sizes_bytes),
            hosts=group.hosts,
            tasks_per_node=tests.tasks_per_node(group),
            hostfile=folder / f"{stem_of(launch, number, group)}.hosts",
            env={**site.settings, **tests.env(group, is_logged=is_logged)},
            on_this_machine=all(map(site.is_local, group.hosts)),
            as_root=site.as_root,
            remote_shell=site.remote_shell,
            interface=site.interface,
            pmi=self.mpi.pmi,
            limit_s=launch.trial.timeout_s,
        )
        files = {}
        if self._container is not None:
            document = spec.hostfile.with_suffix(".toml")
            if self._container.runtime == "ce":
                variables = {**self._container.variables, **spec.env}
                files[document] = edf_text(self._container, variables)
            spec = in_container(spec, self._container, document)
        return make_recipe(self.mpi, spec, site.cwd(self._run_dir), files)

    def _given_up(self, trial: Trial, group: NcclGroup) -> str | None:
        """The host for which a group is left out: a failure may cost the whole time limit. Launches
        after the survey test hosts that failed in pairs."""
        if len(group.hosts) == 1:
            return None
        tallies = (self._alone, self._in_pairs) if is_of_survey(trial) else (self._alone,)
        return next((h for h in group.hosts if any(t.is_given_up(h) for t in tallies)), None)

    def _refuse_missing(self, outcomes: Sequence[NcclOutcome]) -> None:
        """Raises MissingError where every launch of a round of all nodes lacks the program, and
        none worked before. A single launch does not tell which of two hosts lacks it."""
        hosts = {host for one in outcomes for host in one.group.hosts}
        is_of_all = len(outcomes) > 1 and len(hosts) >= len(self.nodes) - 1
        worked = self._alone.worked or self._in_pairs.worked
        if worked or not is_of_all or not all(one.is_missing for one in outcomes):
            return
        remedy = outcomes[0].remedy
        raise MissingError(
            f"{outcomes[0].reason} in every launch",
            where=", ".join(dict.fromkeys(h for one in outcomes for h in one.group.hosts[:1])),
            expected="launches that start"
            if remedy
            else f"{self.tests.tool} at the same path on every host",
            hint=remedy or "name it: --tests PATH; or load its module before weft starts",
        )


def text_of(path: Path) -> str:
    """The output of a launch that a file holds."""
    # A launch is ended some time after it reaches its limit.
    content = read_file_bytes(path, expected="output of a launch", most_bytes=2 * MOST_BYTES)
    return content.decode(errors="replace")


def is_of_nodes(trial: Trial) -> bool:
    """Whether each group of a trial is one host."""
    groups = trial.options.get(GROUPS)
    return bool(groups) and all(len(group) == 1 for group in groups or ())


def is_of_survey(trial: Trial) -> bool:
    """Whether a trial measures planned pairs: later ones also test hosts that failed in it."""
    return bool(trial.options.get(SURVEYS))


def rounds_of(trial: Trial, adapters: Sequence[str]) -> list[list[NcclGroup]]:
    """The groups of a trial, round by round."""
    groups = trial.options.get(GROUPS)
    if groups is not None:
        return [[NcclGroup(tuple(hosts)) for hosts in groups]]
    per_round = trial.options.get(ADAPTERS) or ()
    rounds = []
    for number, pairs in enumerate(trial.options["rounds"]):
        adapter = per_round[number] if number < len(per_round) else None
        rounds.append([_pair(trial, a, b, adapters, adapter) for a, b in pairs])
    return rounds


def _pair(trial: Trial, a: int, b: int, adapters: Sequence[str], adapter: str | None) -> NcclGroup:
    hosts = (trial.node_of(a), trial.node_of(b))
    ends = (trial.endpoint(a), trial.endpoint(b))
    if trial.tasks_per_node == 1:
        return NcclGroup(hosts, adapter, ends=ends)
    rail = a % trial.tasks_per_node
    return NcclGroup(hosts, adapters[rail] if rail < len(adapters) else None, gpu=rail, ends=ends)


def samples_of(
    launch: Launch, number: int, outcomes: Sequence[NcclOutcome], started: float
) -> Iterator[Sample]:
    """A sample for each group and size; one of no size for a group that failed. Groups of a pass
    over nodes, groups or adapters are no pair of the check."""
    trial = launch.trial
    for one in outcomes:
        of = pass_of(trial, one.group)
        pair = None
        if of == PAIR_PASS and one.group.ends is not None:
            pair = Pair(*one.group.ends, number, len(outcomes))
        sample = Sample(
            trial=trial.id,
            repeat=launch.repeat,
            benchmark=trial.benchmark,
            size_bytes=max(trial.sizes_bytes),
            metrics={},
            iterations=ITERATIONS,
            started_unix_s=started,
            state=one.state,
            pair=pair,
            note=one.reason or None,
            evidence=one.evidence(of),
        )
        if not one.busbw_gb_s:
            yield sample
        for size, value in one.busbw_gb_s.items():
            yield replace(sample, size_bytes=size, metrics={"busbw_gb_s": value})


def pass_of(trial: Trial, group: NcclGroup) -> str:
    """The pass that a group of a trial belongs to."""
    if trial.options.get(GROUPS) is not None:
        return NODE_PASS if len(group.hosts) == 1 else GROUP_PASS
    return ADAPTER_PASS if trial.options.get(ADAPTERS) is not None else PAIR_PASS


def stem_of(launch: Launch, number: int, group: NcclGroup) -> str:
    """The name of the files of a launch, without their endings."""
    return f"{launch.name}.{number:03d}.{group.name}"
