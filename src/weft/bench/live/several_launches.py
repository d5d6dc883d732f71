"""Several ways to launch in one run, each a setting of one factor: MPI libraries, launchers, or
with and without a container."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from weft.bench.live.backend import LiveBackend
from weft.bench.model import Launch, Sample, Trial
from weft.bench.twin.fault import Fault
from weft.cluster.ssh_failure import SshFailure
from weft.core.errors import InputError
from weft.launch.launchers.container import BARE
from weft.launch.mpi import VERSION_NUMBER, classify

_NAMES: Mapping[str, Callable[[LiveBackend], str]] = {
    "mpi-library": lambda one: _library(one.mpi.version) or one.mpi.implementation,
    "launcher": lambda one: "srun" if one.mpi.launcher_kind == "srun" else "mpiexec",
    "container": lambda one: BARE if one.container is None else one.container.runtime,
}
"""By factor, what a backend's launches are called."""


class SeveralLaunches:
    """Live backends on the same nodes that differ in a `factor`: "mpi-library", "launcher" or
    "container". By their names in it; the first one is measured where a trial names none."""

    name = "live"
    fabric_document: Mapping[str, Any] | None = None
    faults: tuple[Fault, ...] = ()

    def __init__(self, factor: str, backends: Sequence[LiveBackend]) -> None:
        self.factor = factor
        self.backends = dict(zip(_apart(map(_NAMES[factor], backends)), backends, strict=True))
        self.first = next(iter(self.backends.values()))

    @property
    def settings(self) -> list[dict[str, Any]]:
        """The settings of the factor. Launcher and container are what weft starts. Of MPIs the
        ranks tell library and version; where two say the same, nothing is proved."""
        known = {name: name for name in self.backends}
        if self.factor == "mpi-library":
            known = {name: _library(one.mpi.version) for name, one in self.backends.items()}
        proved = "" not in known.values() and len(set(known.values())) == len(known)
        return [
            {
                "name": name,
                "options": {self.factor: name},
                "evidence": {self.factor: told} if proved else {},
            }
            for name, told in known.items()
        ]

    def with_launches(
        self, launches: Sequence[Launch]
    ) -> Iterator[tuple[LiveBackend, list[Launch]]]:
        """Each backend that has launches, with these as it takes them."""
        for backend in self.backends.values():
            own = [one for one in launches if self._of(one.trial) is backend]
            if own:
                yield backend, [self._bare(one) for one in own]

    def prepare(self, trials: Sequence[Trial], run_dir: Path) -> None:
        """Build each one's kernel and let its hosts meet. Raises what LiveBackend does."""
        launches = [Launch(trial, 0, 0) for trial in trials]
        for backend, own in self.with_launches(launches):
            backend.prepare([launch.trial for launch in own], run_dir)

    def ahead(self, launches: Sequence[Launch]) -> None:
        """Nothing: launches follow one another."""

    def measure(self, launch: Launch) -> Iterator[Sample]:
        """The samples of a launch; evidence says how it was launched, or what the ranks called
        their MPI."""
        backend = self._of(launch.trial)
        told = launch.trial.options.get(self.factor, next(iter(self.backends)))
        for sample in backend.measure(self._bare(launch)):
            if self.factor == "mpi-library":
                told = _library(str(sample.evidence.get("mpi_library", "")))
            yield replace(sample, evidence={**sample.evidence, self.factor: told})

    def recipe(self, launch: Launch) -> str:
        """The command line of a launch."""
        return self._of(launch.trial).recipe(self._bare(launch))

    def facts(self) -> Mapping[str, Any]:
        """The first one's, and by name how the launches differ."""
        keys = ("mpi_version", "mpicc", "launcher", "container")
        several = {name: one.facts() for name, one in self.backends.items()}
        return {
            **self.first.facts(),
            "launches": {
                name: {key: facts[key] for key in keys if key in facts}
                for name, facts in several.items()
            },
        }

    @property
    def lost_hosts(self) -> Mapping[str, SshFailure]:
        """The hosts that answered no more to any of them."""
        return {host: why for one in self.backends.values() for host, why in one.lost_hosts.items()}

    def close(self) -> None:
        """Close all."""
        for backend in self.backends.values():
            backend.close()

    def _of(self, trial: Trial) -> LiveBackend:
        asked = trial.options.get(self.factor)
        if asked is None:
            return self.first
        if asked not in self.backends:
            raise InputError(
                f"option '{self.factor}' is {asked!r}",
                where=trial.id,
                expected=", ".join(self.backends),
            )
        return self.backends[asked]

    def _bare(self, launch: Launch) -> Launch:
        """Without the option that its backend was chosen by."""
        options = {key: one for key, one in launch.trial.options.items() if key != self.factor}
        return replace(launch, trial=replace(launch.trial, options=options))


def _library(text: str) -> str:
    """'openmpi 4.1.4' of what an MPI says of itself; "" where it does not say."""
    number = VERSION_NUMBER.search(text)
    return f"{classify(text, text, '')} {number.group()}" if number else ""


def _apart(names: Iterator[str]) -> Iterator[str]:
    """'openmpi-4.1.4'; with -2, -3 behind it where one has it already."""
    seen: Counter[str] = Counter()
    for name in (one.replace(" ", "-") for one in names):
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name}-{seen[name]}"
