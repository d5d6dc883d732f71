"""The live backend: a launch becomes MPI processes on real hosts, and their records samples."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from weft.bench.live.aggressor_ranks import launched_with, with_aggressors
from weft.bench.live.failure import containers_left, failure_of
from weft.bench.live.host_watch import HostWatch, not_started, pids_of, with_probes
from weft.bench.live.kernel_argv import kernel_argv, rounds_text
from weft.bench.live.kernel_records import KernelOutput, read_kernel_output
from weft.bench.live.kernel_samples import samples_of
from weft.bench.live.launch_site import LaunchSite, LocalSite
from weft.bench.logs.evidence import evidence_of_files
from weft.bench.model import Launch, Sample, Trial
from weft.bench.twin.fault import Fault
from weft.cluster.host_probe import HostProbe
from weft.cluster.slurm.neighbours import neighbour_questions
from weft.cluster.slurm.scheduler import ANSWER_TIMEOUT_S
from weft.cluster.ssh_failure import SshFailure
from weft.core.errors import BenchmarkError, InputError
from weft.core.files import HeldFolder, write_part
from weft.core.host import rail_exists
from weft.core.process import Ending, Limits, Process, run
from weft.launch.kernel import build_kernel
from weft.launch.launchers.container import (
    RankContainer,
    edf_text,
    in_container,
    own_mounts,
    program_folders,
    refuse_launcher,
)
from weft.launch.mpi import Mpi
from weft.launch.recipe import Recipe, make_recipe
from weft.launch.redact_text import redact_output
from weft.launch.secret_text import mask_text
from weft.launch.spec import LaunchSpec

KERNEL_PLACEHOLDER = Path("weft-kernel")

FIRST_LAUNCH_S = 120.0
"""Longest that hosts may take to meet before anything is measured; less where a trial may take
less."""

SILENT_S = 30.0
"""A launch between hosts that has written nothing for so long has its hosts looked at: a connection
to one that is gone may last for many minutes. No round of pairs takes that long."""

ANSWER_SHARE = 0.2
"""Of what a launch may take: how long its samples wait for the scheduler's answer, at most."""


class LiveBackend:
    """Runs trials over MPI on `nodes`.

    `rails` are network devices by local rank ('mlx5_0:1'); `placement` is what the scheduler says
    of the nodes, kept with a run. Before `prepare`, `recipe` names the kernel and the run directory
    by their plain names.
    """

    name = "live"
    fabric_document: Mapping[str, Any] | None = None
    faults: tuple[Fault, ...] = ()

    def __init__(
        self,
        mpi: Mpi,
        nodes: Sequence[str],
        rails: Sequence[str] = (),
        *,
        kernel: Path | None = None,
        site: LaunchSite | None = None,
        placement: Mapping[str, Any] | None = None,
        container: RankContainer | None = None,
    ) -> None:
        if container is not None:
            refuse_launcher(container, mpi.launcher_kind)
        self.mpi = mpi
        self.nodes = tuple(nodes)
        self.rails = tuple(rails)
        self._kernel = kernel
        self._site: LaunchSite = LocalSite() if site is None else site
        self._run_dir = Path()
        self._watch = HostWatch(reached=bool(self._site.required_hosts))
        self._written_by: list[LaunchSite] = []
        self._may_bind = not rails
        self._over_cpus = False
        self._placement = dict(placement or {})
        self._container = container

    def prepare(self, trials: Sequence[Trial], run_dir: Path) -> None:
        """Check every trial and compile the kernel; only then make `raw/` and `recipes/`.

        Several hosts first meet in a launch that measures nothing. Raises InputError on a trial
        that cannot run here, MissingError without a kernel, BenchmarkError when the hosts do not
        come together.
        """
        for trial in trials:
            self._check(trial)
        self._check_rails()
        self.build()
        self._run_dir = run_dir.absolute()
        with closing(HeldFolder(self._run_dir)) as held:
            held.make_folders(("raw", "recipes"))
        self._first_launch(trials)

    def build(self) -> Path:
        """The kernel, compiled unless it is known. Raises MissingError."""
        self._kernel = self._kernel or build_kernel(self.mpi)
        return self._kernel

    def ahead(self, launches: Sequence[Launch]) -> None:
        """Nothing: launches follow one another."""

    def measure(self, launch: Launch) -> Iterator[Sample]:
        """The samples of one launch, after it has ended well.

        Raises BenchmarkError (HangError for a hang) naming host and rank where they are known, and
        MissingError when the launcher does not start. Nothing the launch started is left running.
        A trial between hosts that wants a quiet network also asks the scheduler who else is there;
        launch and answer share the trial's time.
        """
        launched = launched_with(launch, self.nodes)
        here = all(map(self._site.is_local, launched.trial.nodes))
        if here or "quiet" not in launch.trial.options:
            output = self._run(launched)
            yield from samples_of(output, launch, self._log_evidence(launch))
            return
        with neighbour_questions(launched.trial.nodes) as scheduler:
            started, limit_s = time.monotonic(), launch.trial.timeout_s
            output = self._run(launched)
            left_s = limit_s - (time.monotonic() - started)
            neighbours = scheduler.answer(min(ANSWER_TIMEOUT_S, ANSWER_SHARE * limit_s, left_s))
        external = {"neighbours": neighbours.to_record(), **self._log_evidence(launch)}
        yield from samples_of(output, launch, external)

    def recipe(self, launch: Launch) -> str:
        """The command line of a launch, as shell lines; nothing runs."""
        return self._site.text(self._recipe(launched_with(launch, self.nodes)))

    def facts(self) -> Mapping[str, Any]:
        """The MPI, its launcher, the nodes and the rails, and what the scheduler says of them."""
        return {
            "kind": "live",
            "mpi": self.mpi.implementation,
            "mpi_version": self.mpi.version,
            "mpicc": str(self.mpi.mpicc),
            "launcher": str(self.mpi.launcher),
            "nodes": list(self.nodes),
            "rails": list(self.rails),
            **({} if self.mpi.pmi is None else {"pmi": self.mpi.pmi}),
            **({"slurm": self._placement} if self._placement else {}),
            **({} if self._container is None else {"container": self._container.to_record()}),
        }

    @property
    def lost_hosts(self) -> Mapping[str, SshFailure]:
        """The hosts that answered no more when they were last asked, and why."""
        return self._watch.lost

    def close(self) -> None:
        """Remove the files that were written on other hosts, where these answer."""
        for site in self._written_by:
            if not self._watch.still_lost(site, site.required_hosts):
                site.remove_files(self._run_dir)
        self._written_by = []

    def _check(self, trial: Trial) -> None:
        check_trial(with_aggressors(trial, self.nodes), self.rails)
        strangers = [node for node in trial.nodes if node not in self.nodes]
        if strangers:
            raise InputError(
                f"node '{strangers[0]}' is not one of this backend's",
                where=f"trial {trial.id}",
                expected=", ".join(self.nodes[:8]),
            )

    def _first_launch(self, trials: Sequence[Trial]) -> None:
        """Launch once on all hosts, to learn whether some of them share a machine.

        Those are not bound: the launcher would put the first rank of each on the same core (Open
        MPI: 4 ms, not 7 us). Where ranks outnumber CPUs even then, they must yield: a second
        launch tells, in what is left of the time that one may take.
        """
        trials = [with_aggressors(trial, self.nodes) for trial in trials]
        nodes = tuple(dict.fromkeys(node for trial in trials for node in trial.nodes))
        tasks = max((trial.tasks_per_node for trial in trials), default=1)
        options = {"iterations": 1, "warmup": 0}
        limit_s = min(
            FIRST_LAUNCH_S, max((trial.timeout_s for trial in trials), default=FIRST_LAUNCH_S)
        )
        first_launch = Trial(
            "meeting", "barrier", (0,), nodes, tasks, options=options, timeout_s=limit_s
        )
        if all(map(self._site.is_local, nodes)) or first_launch.n_ranks < 2:
            return
        until = time.monotonic() + limit_s
        for repeat in range(2):
            left_s = max(0.0, until - time.monotonic())
            output = self._run(Launch(replace(first_launch, timeout_s=left_s), repeat, order=0))
            if repeat == 0:
                self._watch.learn_hosts(self._site, nodes)
            known = self._site.max_on_one_machine(nodes) > 1
            if known or not any(rank.oversubscribed for rank in output.ranks):
                return
            self._over_cpus = not self._may_bind
            self._may_bind = False

    def _run(self, launch: Launch) -> KernelOutput:
        """Run one launch to its end. Raises BenchmarkError, MissingError."""
        lost = self._watch.still_lost(self._site, (*launch.trial.nodes, *self._site.required_hosts))
        self._site = self._site.without(lost)
        if missing := {host: lost[host] for host in launch.trial.nodes if host in lost}:
            raise not_started(launch, missing)
        recipe = self._recipe(launch)
        self._write_files(launch, recipe)
        text = mask_text(self._site.text(recipe))[0]
        write_part(self._run_dir / "recipes" / f"{launch.name}.txt", text, what="recipe")
        out, err = self._raw(launch)
        probes: dict[str, HostProbe] = {}
        try:
            ended = run(
                self._site.command(recipe, out, err),
                Limits(launch.trial.timeout_s, silent_s=SILENT_S),
                lambda: probes.update(self._probe(launch, read_kernel_output(out))),
                lambda process: self._is_stalled(launch, process, probes),
            )
        finally:
            for path in (out, err):
                redact_output(path)
        loud = ended.ending is Ending.OUTPUT_LIMIT
        output = KernelOutput() if loud else read_kernel_output(out)
        failure = failure_of(launch, ended, output, out, err, probes=probes)
        if failure is not None:
            raise with_probes(failure, probes or self._probe(launch, output))
        return output

    def _raw(self, launch: Launch) -> tuple[Path, Path]:
        """The files of a launch's standard output and standard error."""
        raw = self._run_dir / "raw"
        return raw / f"{launch.name}.out", raw / f"{launch.name}.err"

    def _log_evidence(self, launch: Launch) -> dict[str, Any]:
        """The evidence in the logs of libraries."""
        log = evidence_of_files([path for path in self._raw(launch) if path.is_file()])
        return {"log": log} if log else {}

    def _is_stalled(self, launch: Launch, process: Process, probes: dict[str, HostProbe]) -> bool:
        """Whether a silent launch is its containers only, or hosts do not answer; two probes,
        because a busy host may miss one."""
        is_podman = self._container is not None and self._container.runtime == "podman"
        if is_podman and containers_left(process.processes()):
            return True
        for _ in range(2):
            found = self._probe(launch, read_kernel_output(self._raw(launch)[0]))
            if not any(probe.is_lost for probe in found.values()):
                return False
        probes.update(found)
        return True

    def _write_files(self, launch: Launch, recipe: Recipe) -> None:
        if self._site not in self._written_by:
            self._written_by.append(self._site)
        try:
            self._site.write_files(recipe.files)
        except BenchmarkError as failure:
            raise with_probes(failure, self._probe(launch, KernelOutput())) from failure

    def _probe(self, launch: Launch, output: KernelOutput) -> Mapping[str, HostProbe]:
        """A probe of the hosts of a launch that fails."""
        if all(map(self._site.is_local, launch.trial.nodes)):
            return {}
        pids = pids_of(launch.trial, output, self._site.required_hosts)
        return self._watch.probe(self._site, pids)

    def _check_rails(self) -> None:
        """Only where all ranks run here: other hosts have other devices."""
        if not all(map(self._site.is_local, self.nodes)):
            return
        for rail in self.rails:
            if not rail_exists(rail):
                there_are = ", ".join(device.name for device in self._site.host.devices)
                raise InputError(
                    f"no network device '{rail}' on {self._site.host.name}",
                    where="--rails",
                    expected=there_are or "a device of /sys/class/infiniband, cxi or net",
                )

    def _recipe(self, launch: Launch) -> Recipe:
        trial = launch.trial
        rounds = rounds_text(trial)
        folder = self._site.folder(self._run_dir)
        rounds_file = folder / f"{launch.name}.rounds"
        arguments = kernel_argv(trial, self.rails, None if rounds is None else str(rounds_file))
        spec = launch_spec(
            self.mpi,
            trial,
            self._site,
            program=(str(self._kernel or KERNEL_PLACEHOLDER), *arguments),
            hostfile=folder / f"{launch.name}.hosts",
            may_bind=self._may_bind,
            over_cpus=self._over_cpus,
        )
        files = {} if rounds is None else {rounds_file: rounds}
        if self._container is not None:
            around = self.container_of(launch)
            document = folder / f"{launch.name}.toml"
            if around.runtime == "ce":
                files[document] = edf_text(around, {**around.variables, **spec.env})
            spec = in_container(spec, around, document)
        return make_recipe(self.mpi, spec, self._site.cwd(self._run_dir), files)

    @property
    def site(self) -> LaunchSite:
        """Where launches start."""
        return self._site

    @property
    def container(self) -> RankContainer | None:
        """The container of each rank as the user asked for it."""
        return self._container

    def container_of(self, launch: Launch, run_dir: Path | None = None) -> RankContainer:
        """The container of a launch, with the folders of its program, read-only; of a run in
        `run_dir`, where that is not prepared. Raises InputError where they cannot be mounted."""
        assert self._container is not None
        programs = program_folders(self._kernel or KERNEL_PLACEHOLDER, self.mpi.mpicc)
        folders = dict.fromkeys(programs, "put weft, its MPI and its kernel into another folder")
        if launch.trial.options.get("rounds") is not None:
            where = self._run_dir if run_dir is None else run_dir.absolute()
            folders[self._site.folder(where)] = "choose another --dir"
        own = own_mounts(self._container, folders)
        return replace(self._container, mounts=(*self._container.mounts, *own))


def check_trial(trial: Trial, rails: tuple[str, ...]) -> None:
    """Raises InputError on a trial that no hosts can run, whichever they are."""
    if not trial.nodes or trial.tasks_per_node < 1:
        raise InputError("a trial without ranks", where=f"trial {trial.id}")
    if trial.n_ranks < 2:
        raise InputError(
            f"{trial.benchmark} with one rank measures no network",
            where=f"trial {trial.id}",
            expected="at least two ranks: more nodes, or more tasks per node",
        )
    kernel_argv(trial, rails, None)
    rounds_text(trial)


def launch_spec(
    mpi: Mpi,
    trial: Trial,
    site: LaunchSite,
    *,
    program: tuple[str, ...],
    hostfile: Path,
    may_bind: bool = True,
    over_cpus: bool = False,
) -> LaunchSpec:
    """The launch of a trial, from a site whose host has as many cores as all hosts.

    One core a rank where every rank can have one; else nothing is bound, because a launcher that
    sees only a part of what shares the machine binds ranks of several hosts, or of several jobs,
    to the same core. With rails the kernel binds itself, near its device: `may_bind` is false.
    `over_cpus`: ranks are known to outnumber the CPUs, whatever the names of the hosts say.
    """
    host = site.host
    here = all(map(site.is_local, trial.nodes))
    together = len(trial.nodes) if here else site.max_on_one_machine(trial.nodes)
    n_here = trial.tasks_per_node * together
    return LaunchSpec(
        launcher=mpi.launcher,
        program=program,
        hosts=trial.nodes,
        tasks_per_node=trial.tasks_per_node,
        hostfile=hostfile,
        env={**site.settings, **trial.env},
        bound=n_here <= host.n_cores and host.all_cpus_allowed and may_bind,
        oversubscribed=over_cpus or n_here > len(host.cpus),
        on_this_machine=here,
        as_root=site.as_root,
        remote_shell=site.remote_shell,
        interface=site.interface,
        pmi=mpi.pmi,
        limit_s=trial.timeout_s,
    )
