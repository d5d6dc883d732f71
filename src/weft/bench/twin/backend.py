"""The twin backend: a simulated fabric in place of a real one, behind the same protocol."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from weft import __version__
from weft.bench.aggressor import OPTION as AGGRESSORS
from weft.bench.aggressor import aggressors_of, in_words
from weft.bench.model import Launch, Sample, Trial
from weft.bench.options import refuse_unknown
from weft.bench.phase import phases_of
from weft.bench.replay import replay_caveats
from weft.bench.twin.congestion_control import congestion_control
from weft.bench.twin.fault import Fault, by_fault, check_fault
from weft.bench.twin.fidelity import at_fidelity, carried_out, is_extrapolated, with_extrapolation
from weft.bench.twin.gpu.checks import check_gpu_options
from weft.bench.twin.gpu.network import OPTION as GPU_NETWORK
from weft.bench.twin.gpu.network import (
    by_step,
    gpu_network,
    joined_steps,
    with_jobs,
)
from weft.bench.twin.independent_rounds import apart, joined
from weft.bench.twin.port_counters import COUNTERS_FILE, PortCounters
from weft.bench.twin.routing import has_own_tables, routes_adaptively, tables_of
from weft.bench.twin.samples import pair_samples, rows_of, series_samples, training_samples
from weft.bench.twin.scenario import (
    asks_for_switches,
    channel_work,
    left_to_chance,
    recipe_text,
    scenario,
    steps_of,
    work,
)
from weft.bench.twin.tenants import (
    SERVICE_LEVEL,
    beside,
    check_tenants,
    has_aggressors,
    rows_of_job,
)
from weft.bench.twin.together import Outcomes, OwnCores, Simulator
from weft.bench.twin.training_step import is_training, training_step
from weft.catalog.benchmark import Benchmark
from weft.catalog.document import to_toml
from weft.catalog.load import benchmark
from weft.catalog.machine.platform import Platform
from weft.catalog.machine.scaling import UNSURE
from weft.cluster.ssh_failure import SshFailure
from weft.core.errors import BenchmarkError, InputError
from weft.core.files import HeldFolder, write_part
from weft.topology.dead_cables import Detours
from weft.topology.engine import as_input_error, engine_at_work
from weft.topology.fabric import Fabric
from weft.topology.fabric_spec import Document, fabric_spec, tapered

PLATFORM_FILE = "platform.toml"
TAPER = "oversubscription"
TABLE_KEYS = ("lfts", "lanes", "routing")
"""Of a fabric document, what says which way messages take."""


class TwinBackend:
    """Measures on a simulated fabric of `n_nodes` nodes of a platform, `cabled` as its machine is
    known to be, or on a `fabric` document of its own (then weft ignores both). `fidelity` is
    "packet", "flow" or "auto"; what its results cannot show is in the evidence of every sample.
    `detours`: tables around dead cables; `fabric_document` has those of before. With `extrapolate`,
    a share, what repeats itself alike within it is simulated in part; samples say how far they may
    be off.

    Same seed, same samples: each launch derives its own seed from (seed, trial, repeat). Raises
    InputError where the platform has no fabric or a fault is nowhere in it, MissingError where the
    engine is not built.
    """

    name = "twin"

    def __init__(
        self,
        platform: Platform,
        n_nodes: int,
        faults: Sequence[Fault] = (),
        seed: int = 1,
        *,
        fabric: Document | None = None,
        fidelity: str = "packet",
        extrapolate: float | None = None,
        detours: Detours | None = None,
        cabled: bool = False,
    ) -> None:
        self._made_of: dict[str, Any] = {
            "n_nodes": n_nodes,
            "faults": tuple(faults),
            "seed": seed,
            "fabric": fabric,
            "fidelity": fidelity,
            "extrapolate": extrapolate,
            "detours": detours,
            "cabled": cabled,
        }
        self.platform = platform
        self.simulator: Simulator = OwnCores()
        self.fidelity = fidelity
        self.extrapolate = extrapolate
        self.faults = tuple(faults)
        self.lost_hosts: Mapping[str, SshFailure] = {}
        self.seed = seed
        self._fabric_spec = fabric or fabric_spec(platform, n_nodes, cabled=cabled)
        self._detours = detours
        self._run_dir: Path | None = None
        self._folder: HeldFolder | None = None
        self._tables: dict[str, Document] = {}
        self._ready: Outcomes = {}
        self.fabric = Fabric.from_document(self._fabric_spec)
        self.fabric_document: Document = dict(self.fabric.document)
        self.nodes: tuple[str, ...] = tuple(node["name"] for node in self.fabric_document["nodes"])
        # Of a real fabric the ports have LIDs of their own, which its document does not tell.
        self._counters = None if fabric is not None else PortCounters(self.fabric_document)
        for fault in self.faults:
            check_fault(fault, self.fabric_document)

    def with_platform(self, platform: Platform) -> "TwinBackend":
        """The same twin of a platform with other figures. Raises InputError."""
        return TwinBackend(platform, **self._made_of)

    def __reduce__(self) -> tuple[Any, ...]:
        """As it was made: a copy on another rank has prepared nothing."""
        return partial(TwinBackend, **self._made_of), (self.platform,)

    def prepare(self, trials: Sequence[Trial], run_dir: Path) -> None:
        """Keep the platform in `run_dir`; refuse trials this twin cannot run (InputError)."""
        for trial in trials:
            self._check(trial)
        self._run_dir, self._folder = run_dir, HeldFolder(run_dir)
        self._folder.make_folders(["recipes"])
        self._folder.write_part(PLATFORM_FILE, to_toml(self.platform), what="platform of the run")

    def measure(self, launch: Launch) -> Iterator[Sample]:
        """The samples of one launch. Raises InputError, or BenchmarkError on a deadlock."""
        document = self.scenario(launch)
        if self._run_dir is not None:
            self._keep_recipe(self._run_dir / "recipes", launch, document)
        measured = benchmark(launch.trial.benchmark)
        try:
            outcome = self._outcome(launch, measured, document)
        except InputError as refused:
            raise by_fault(refused, self.faults) from refused
        rows = rows_of(outcome)
        if measured.kind == "pairs":
            samples = pair_samples(launch, measured, rows, self._evidence(launch.trial))
        elif is_training(measured):
            step = training_step(self.platform, launch.trial, measured.options)
            samples = training_samples(launch, step, rows, self._evidence(launch.trial))
        else:
            evidence, steps = self._evidence(launch.trial), steps_of(document)
            samples = series_samples(
                launch, measured, steps, rows, fit=self.platform.fit, evidence=evidence
            )
            if self.extrapolate is not None:
                share = len(steps) // len(launch.trial.sizes_bytes)
                samples = with_extrapolation(samples, outcome, share)
        samples = carried_out(samples, outcome)
        more = replay_caveats(measured, launch.trial)
        yield from at_fidelity(samples, outcome, more, once=measured.kind == "pairs")

    def ahead(self, launches: Sequence[Launch]) -> None:
        """Simulate launches that come next together: `measure` then has their outcomes. Those that
        cannot be taken together are left to `measure`."""
        self._ready = {}
        series = [one for one in launches if benchmark(one.trial.benchmark).kind != "pairs"]
        self._ready = self.simulator.outcomes(self, series)

    def parts(self, launch: Launch) -> list[Document]:
        """The scenarios of a launch, more than one where its steps can be simulated apart. Raises
        InputError."""
        return _parts(self.scenario(launch), launch.trial)

    def _keep_recipe(self, folder: Path, launch: Launch, document: Document) -> None:
        """The scenario of a launch; a fabric with tables of the trial's own is kept once."""
        if has_own_tables(launch.trial):
            named = launch.trial.options["routing"]
            word = named if isinstance(named, str) else f"files-{_digest(str(named))[:12]}"
            if not (folder / f"{word}.json").exists():
                write_part(folder / f"{word}.json", json.dumps(document["fabric"]), what="recipe")
            document = {**document, "fabric": {"file": f"{word}.json"}}
        write_part(folder / f"{launch.name}.json", recipe_text(document), what="recipe")

    def _outcome(
        self, launch: Launch, measured: Benchmark, document: Document
    ) -> Mapping[str, Any]:
        trial = launch.trial
        ready = self._ready.pop(launch.key, None)
        if ready is None and "tenants" in document:
            ready = simulate_parts(document, _parts(document, trial))
        if ready is not None:
            outcomes = [completed(launch, outcome) for outcome in ready]
            if gpu_network(trial) is not None:
                return joined_steps(outcomes, _parts(document, trial))
            return rows_of_job(outcomes[0]) if has_aggressors(trial) else outcomes[0]
        parts = [document]
        if measured.kind == "pairs" and not left_to_chance(self.platform, self.faults, trial):
            parts = apart(document)
        if len(parts) == 1:
            outcome = completed(launch, simulate(document))
            self._count(measured, [outcome])
            return outcome
        outcomes = [completed(launch, outcome) for outcome in simulate_parts(document, parts)]
        self._count(measured, outcomes)
        return joined(parts, outcomes)

    def _count(self, measured: Benchmark, outcomes: Sequence[Mapping[str, Any]]) -> None:
        """Keep what ports counted while pairs were measured, where a run is kept."""
        if self.extrapolate is not None and any(is_extrapolated(one) for one in outcomes):
            self._counters = None  # They count only the simulated part.
        if self._counters is not None and self._run_dir is not None and measured.kind == "pairs":
            for outcome in outcomes:
                self._counters.add(outcome)

    def _evidence(self, trial: Trial) -> dict[str, str]:
        routing = "on" if routes_adaptively(self.platform, trial) else "off"
        law = congestion_control(self.platform, trial, self.fidelity)
        found = {"transport": "simulated", "adaptive_routing": routing, "congestion_control": law}
        found["sharp"] = "on" if asks_for_switches(trial) else "off"
        if AGGRESSORS in trial.options:
            found[AGGRESSORS] = in_words(aggressors_of(trial))
        for asked in (SERVICE_LEVEL, TAPER, "mpi_choice", GPU_NETWORK):
            if asked in trial.options:
                found[asked] = str(trial.options[asked])
        if "routing" in trial.options:
            found["routing"] = str(trial.options["routing"])
        return found

    def recipe(self, launch: Launch) -> str:
        """The scenario of a launch, as JSON."""
        return recipe_text(self.scenario(launch))

    def scenario(self, launch: Launch) -> Document:
        """The scenario of a launch; its fabric is the generator's document. Raises InputError."""
        trial = launch.trial
        self._check(trial)
        seed = launch_seed(self.seed, launch)
        fabric = self._routed(trial)
        if TAPER in trial.options:
            fabric = tapered(self._fabric_spec, fabric, str(trial.options[TAPER]))
        document = scenario(self.platform, fabric, self.faults, trial, seed, fidelity=self.fidelity)
        if self.extrapolate is not None:
            document["steady_state"] = {"tolerance": self.extrapolate}
        measured = benchmark(trial.benchmark)
        network = gpu_network(trial)
        if network is not None and not (network.by_rails and measured.kind == "pairs"):
            document = with_jobs(document, channel_work(self.platform, measured, trial), trial)
        else:
            document["work"] = work(self.platform, measured, trial, self.faults)
        if has_aggressors(trial):
            puts_by = self.platform.mpi.one_sided
            return beside(document, trial, self.nodes, measured, puts_by=puts_by)
        return document

    def _routed(self, trial: Trial) -> Document:
        """The fabric with the tables in force: the trial's own, or those around dead cables."""
        if has_own_tables(trial):
            named = trial.options["routing"]
            if str(named) not in self._tables:
                dead = [fault.place for fault in self.faults if fault.kind == "down"]
                tables = tables_of(self.fabric_document, named, self.platform, dead)
                bare = {k: v for k, v in self.fabric_document.items() if k not in TABLE_KEYS}
                self._tables[str(named)] = {**bare, **tables}
            return self._tables[str(named)]
        if self._detours is None:
            return self._fabric_spec
        # Lanes are those of the tables before.
        whole = {key: value for key, value in self._fabric_spec.items() if key != "lanes"}
        return {**whole, **self._detours.tables}

    def facts(self) -> Mapping[str, Any]:
        """The platform and its digest, the size of the fabric, what is planted, the seed."""
        return {
            "kind": "twin",
            "engine_version": __version__,
            "platform": self.platform.name,
            "platform_digest": _digest(to_toml(self.platform)),
            "fidelity": self.fidelity,
            "extrapolate": self.extrapolate,
            "fabric": self.fabric_document["name"],
            "fabric_digest": _digest(json.dumps(self._fabric_spec, sort_keys=True)),
            "n_nodes": len(self.nodes),
            "n_switches": len(self.fabric_document["switches"]),
            "faults": [fault.describe() for fault in self.faults],
            **({} if self._detours is None else {"rerouting": self._detours.words}),
            "seed": self.seed,
        }

    def close(self) -> None:
        """Write what ports counted while pairs were measured, for whoever reads counters."""
        text = "" if self._counters is None else self._counters.text
        folder, self._folder = self._folder, None
        if folder is not None and text:
            # A run that has lost its directory ends here, too.
            folder.refuse_lost()
            folder.write_part(COUNTERS_FILE, text, what="record of port counters")
        if folder is not None:
            folder.close()

    def _check(self, trial: Trial) -> None:
        measured = benchmark(trial.benchmark)
        if measured.kind == "pairs":
            phases_of(trial.options)
        if is_training(measured):
            training_step(self.platform, trial, measured.options)
        refuse_unknown(trial, measured.options)
        unknown = sorted(set(trial.nodes) - set(self.nodes))
        if unknown:
            raise InputError(
                f"no node '{unknown[0]}' in this twin",
                where=trial.id,
                expected=f"nodes {self.nodes[0]} to {self.nodes[-1]}",
            )
        check_tenants(trial, self.fidelity)
        check_gpu_options(self.platform, measured, trial, self.fidelity, self.faults)
        cores = self.platform.node.get("cores")
        is_sure = cores is not None and cores.class_ not in UNSURE
        if cores is not None and is_sure and trial.tasks_per_node > cores.whole:
            raise InputError(
                f"{trial.tasks_per_node} ranks on a node of {cores.whole} cores",
                where=trial.id,
                expected=f"at most {cores.whole}",
            )
        if trial.n_ranks < 2:
            raise InputError(
                f"{measured.name} needs at least two ranks, not {trial.n_ranks}",
                where=trial.id,
                expected="two nodes, or two tasks a node",
            )
        if not trial.sizes_bytes or min(trial.sizes_bytes) < 0:
            raise InputError("no message size", where=trial.id, expected="sizes of 0 B or more")


def launch_seed(seed: int, launch: Launch) -> int:
    """A seed of 32 bits that only this launch has, from the run's seed, the trial and repeat."""
    name = f"{seed}/{launch.trial.id}/{launch.repeat}"
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=4).digest())


def _parts(document: Document, trial: Trial) -> list[Document]:
    """What of a launch can be simulated apart: the steps between GPUs."""
    is_apart = gpu_network(trial) is not None and "tenants" in document
    return by_step(document) if is_apart else [document]


def simulate(document: Document) -> Mapping[str, Any]:
    """The outcome of a scenario: status, message and columns.

    Raises InputError, or BenchmarkError where a planted fault cuts two ranks off from each other.
    """
    try:
        with engine_at_work("simulating") as engine:
            outcome: Mapping[str, Any] = engine.simulate(json.dumps(document))
    except ValueError as error:
        refused = as_input_error(error)
        if document.get("faults") and "unreachable" in refused.what:
            raise BenchmarkError(
                refused.what,
                where="twin",
                expected="a path between every two ranks",
                hint="a planted fault cuts it: plant another, or leave that node out; or planes of"
                " the fabric never meet: simulate one of them",
            ) from error
        raise refused from error
    return outcome


def simulate_parts(whole: Document, parts: Sequence[Document]) -> list[Mapping[str, Any]]:
    """The outcomes of the parts of a scenario, on all cores. Raises what `simulate` does."""
    try:
        with engine_at_work("simulating") as engine:
            return list(engine.simulate([json.dumps(part) for part in parts], 0))
    except ValueError:
        # Its error names the place in the whole.
        return [simulate(whole)]


def completed(launch: Launch, outcome: Mapping[str, Any]) -> Mapping[str, Any]:
    """The outcome. Raises BenchmarkError for one of a simulation that ended early."""
    if outcome["status"] != "complete":
        raise BenchmarkError(
            f"the simulation ended in '{outcome['status']}': {outcome['message']}",
            where=launch.name,
            expected="every message delivered",
        )
    return outcome


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
