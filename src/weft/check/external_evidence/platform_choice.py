"""The platform that a check is compared with: named, the twin's own, or recognised by names."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from weft.bench.model import Sample
from weft.bench.twin.backend import PLATFORM_FILE
from weft.catalog.document import to_toml
from weft.catalog.load import platform
from weft.catalog.machine.platform import Platform
from weft.check.readings.readings import host_of
from weft.core.errors import InputError
from weft.judge.expectation.platform_choice import place_of
from weft.results.model import ResultFile, Table

MACHINE_FILE = "machine.toml"
"""The file of the named platform in a run directory."""
_NAMED = "named with --platform"


@dataclass(frozen=True, slots=True)
class ExpectedPlatform:
    """A platform, and why a run is compared with it. `has_own_rates`: the cable rates are those of
    the fabric, not of the platform (a twin of a real fabric)."""

    platform: Platform
    because: str
    has_own_rates: bool = False


def named(name: str) -> ExpectedPlatform:
    """The platform of a name or a file. Raises InputError."""
    return ExpectedPlatform(platform(name), _NAMED)


def keep(machine: ExpectedPlatform, run_dir: Path) -> None:
    """Write the platform into a run directory."""
    (run_dir / MACHINE_FILE).write_text(to_toml(machine.platform), "utf-8")


def of_run(run_dir: Path, samples: Sequence[Sample]) -> ExpectedPlatform | None:
    """The platform of a kept run: the named one, the twin's own, else the one its names match."""
    kept = ((MACHINE_FILE, _NAMED), (PLATFORM_FILE, "the twin is made of it"))
    for name, because in kept:
        path = run_dir / name
        if path.is_file():
            try:
                return ExpectedPlatform(platform(str(path)), because, name == PLATFORM_FILE)
            except InputError:
                # A platform file of another version cannot be read; the run is judged without it.
                return None
    return recognised(samples)


def recognised(samples: Sequence[Sample]) -> ExpectedPlatform | None:
    """The platform of the catalogue that hosts' and devices' names leave alone; None else."""
    endpoints = (end for s in samples if s.pair is not None for end in (s.pair.a, s.pair.b))
    hosts = tuple(dict.fromkeys(host_of(name) for name in endpoints))
    devices: dict[str, None] = {}
    for sample in samples:
        for device in sample.evidence.get("fast_devices") or ():
            devices[str(device.get("device"))] = None
    table = Table("weft", "pairs", "pairs", (), 1, hosts=hosts, devices=tuple(devices))
    place = place_of(ResultFile("", (table,)), None)
    return None if place.platform is None else ExpectedPlatform(place.platform, place.because)
