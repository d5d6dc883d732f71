"""The platform that a check is compared with: named, the twin's own, recognised by names, or read
from this machine."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from weft.bench.model import Sample
from weft.bench.twin.backend import PLATFORM_FILE
from weft.catalog.document import to_toml
from weft.catalog.load import kept_platform
from weft.catalog.machine.platform import Platform
from weft.check.readings.readings import host_of
from weft.core.files import write_part
from weft.core.nodeset import short_name
from weft.doctor.machine.detection.document import detected_platform, platform_named
from weft.judge.expectation.platform_choice import place_of
from weft.results.model import ResultFile, Table

MACHINE_FILE = "machine.toml"
"""The file of the named platform in a run directory."""
DETECTED_FILE = "detected.toml"
"""The file of the platform of this machine, where it took part and none was named."""
_NAMED = "named with --platform"
_DETECTED = "read from the machine that ran the check, as no platform was named"


@dataclass(frozen=True, slots=True)
class ExpectedPlatform:
    """A platform, and why a run is compared with it. `has_own_rates`: the cable rates are those of
    the fabric, not of the platform (a twin of a real fabric). `gpus_per_node` took part (None: all
    that the platform has)."""

    platform: Platform
    because: str
    has_own_rates: bool = False
    gpus_per_node: int | None = None


def named(name: str) -> ExpectedPlatform:
    """The platform of a name or a file. Raises InputError."""
    return ExpectedPlatform(platform_named(name), _NAMED)


def detected(nodes: Sequence[str]) -> ExpectedPlatform | None:
    """The platform of this machine where it is one of several nodes to measure, else None: another
    machine may have other adapters, and between the ranks of one node nothing was read."""
    names = {short_name(node) for node in nodes}
    if len(names) < 2 or short_name(os.uname().nodename) not in names:
        return None
    found = detected_platform()
    return None if found is None else ExpectedPlatform(found, _DETECTED)


def keep(machine: ExpectedPlatform, run_dir: Path, file: str = MACHINE_FILE) -> None:
    """Write the platform into a run directory."""
    write_part(run_dir / file, to_toml(machine.platform), what="platform of the check")


def of_run(run_dir: Path, samples: Sequence[Sample]) -> ExpectedPlatform | None:
    """The platform of a kept run: the named one, the twin's own, the one its names match, else that
    of the machine that ran the check. Raises InputError for a damaged file of it."""
    kept = ((MACHINE_FILE, _NAMED), (PLATFORM_FILE, "the twin is made of it"))
    for name, because in kept:
        if os.path.lexists(run_dir / name):
            kept_there = kept_platform(run_dir / name)
            return ExpectedPlatform(kept_there, because, has_own_rates=name == PLATFORM_FILE)
    found = recognised(samples)
    if found is None and os.path.lexists(run_dir / DETECTED_FILE):
        return ExpectedPlatform(kept_platform(run_dir / DETECTED_FILE), _DETECTED)
    return found


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
