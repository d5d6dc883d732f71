"""Several MPI libraries in one run: each setting of the factor `mpi-library` has its own."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from weft.bench.live.backend import LiveBackend
from weft.bench.model import Launch, Sample, Trial
from weft.bench.twin.fault import Fault
from weft.cluster.ssh_failure import SshFailure
from weft.core.errors import InputError
from weft.launch.mpi import VERSION_NUMBER, classify

FACTOR = "mpi-library"
OPTION = "mpi"
"""The option of a setting that names its MPI, and the evidence that proves it."""


class SeveralMpis:
    """Live backends on the same nodes, by the name of their MPI; the first one is measured where a
    trial names none."""

    name = "live"
    fabric_document: Mapping[str, Any] | None = None
    faults: tuple[Fault, ...] = ()

    def __init__(self, backends: Sequence[LiveBackend]) -> None:
        self.backends = dict(zip(_names(backends), backends, strict=True))
        self.first = next(iter(self.backends.values()))

    @property
    def settings(self) -> list[dict[str, Any]]:
        """The settings of the factor. Where two libraries have one name and version, their ranks
        say the same: then nothing is proved."""
        known = {name: library_named(one.mpi.version) for name, one in self.backends.items()}
        proved = "" not in known.values() and len(set(known.values())) == len(known)
        return [
            {
                "name": name,
                "options": {OPTION: name},
                "evidence": {OPTION: library} if proved else {},
            }
            for name, library in known.items()
        ]

    def prepare(self, trials: Sequence[Trial], run_dir: Path) -> None:
        """Build each MPI's kernel and let its hosts meet. Raises what LiveBackend does."""
        own: dict[int, list[Trial]] = {}
        for trial in trials:
            own.setdefault(id(self._of(trial)), []).append(_bare(trial))
        for backend in self.backends.values():
            if id(backend) in own:
                backend.prepare(own[id(backend)], run_dir)

    def ahead(self, launches: Sequence[Launch]) -> None:
        """Nothing: launches follow one another."""

    def measure(self, launch: Launch) -> Iterator[Sample]:
        """The samples of a launch under its MPI; evidence says what the ranks called it."""
        bare = replace(launch, trial=_bare(launch.trial))
        for sample in self._of(launch.trial).measure(bare):
            library = library_named(str(sample.evidence.get("mpi_library", "")))
            yield replace(sample, evidence={**sample.evidence, OPTION: library})

    def recipe(self, launch: Launch) -> str:
        """The command line of a launch."""
        return self._of(launch.trial).recipe(replace(launch, trial=_bare(launch.trial)))

    def facts(self) -> Mapping[str, Any]:
        """The first one's, and all MPIs by name."""
        mpis = {name: one.facts() for name, one in self.backends.items()}
        keys = ("mpi_version", "mpicc", "launcher")
        return {
            **self.first.facts(),
            "mpis": {name: {key: facts[key] for key in keys} for name, facts in mpis.items()},
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
        asked = trial.options.get(OPTION)
        if asked is None:
            return self.first
        if asked not in self.backends:
            raise InputError(
                f"option '{OPTION}' is {asked!r}",
                where=trial.id,
                expected=", ".join(self.backends),
            )
        return self.backends[asked]


def library_named(text: str) -> str:
    """'openmpi 4.1.4' of what an MPI says of itself; "" where it does not say."""
    number = VERSION_NUMBER.search(text)
    return f"{classify(text, text, '')} {number.group()}" if number else ""


def _names(backends: Sequence[LiveBackend]) -> list[str]:
    """'openmpi-4.1.4'; with -2, -3 behind it where one has it already."""
    seen: Counter[str] = Counter()
    names = []
    for backend in backends:
        name = (library_named(backend.mpi.version) or backend.mpi.implementation).replace(" ", "-")
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return names


def _bare(trial: Trial) -> Trial:
    """The trial without the option that the MPI was chosen by."""
    options = {key: value for key, value in trial.options.items() if key != OPTION}
    return replace(trial, options=options)
