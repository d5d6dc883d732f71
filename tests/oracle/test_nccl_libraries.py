"""The catalogue and the linter beside NVIDIA's own libraries: an old NCCL and the newest.

Each integer parameter is read by a function that wants no GPU: it is called, with bad values too.
"""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from tests.oracle.nccl_probe import MARK
from tests.oracle.nccl_variables import names_in

from weft.catalog.libraries.variables import ValueSyntax
from weft.catalog.load import variable_lists
from weft.doctor.case import DoctorCase
from weft.doctor.libnccl import read_libnccl
from weft.doctor.lint import lint
from weft.doctor.numbers import strtoll
from weft.doctor.readers.shell import read_script

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
VERSIONS = ("2.18.3", "2.32.3")
VALUES = ("77", "true", "off", "2M", "4MB", "010", "0x20", "-5", " 7", "7 ", "1e3", "9" * 20, "")
NOT_BY_FUNCTION = {
    "2.18.3": {"NCCL_COLLNET_ENABLE", "NCCL_P2P_DISABLE"},
    "2.32.3": {
        "NCCL_CTA_POLICY",
        "NCCL_P2P_DISABLE",
        "NCCL_RAS_TIMEOUT_FACTOR",
        "NCCL_SET_THREAD_NAME",
        "NCCL_WARN_ENABLE_DEBUG_INFO",
    },
}
"""Integers that this version reads in another way than by a function of their own."""


def library(version: str) -> Path:
    path = Path(sys.prefix) / f"opt/nccl-{version}/nvidia/nccl/lib/libnccl.so.2"
    if not path.exists():
        pytest.skip(f"no NCCL {version} (make nccl)")
    return path


@dataclass(frozen=True)
class Probe:
    """What the functions returned, which names were echoed, and which were refused aloud."""

    values: dict[str, int]
    echoed: dict[str, str]
    refused: set[str]


@cache
def integers(version: str) -> tuple[str, ...]:
    nccl = variable_lists()["nccl"]
    return tuple(
        sorted(
            name
            for name in names_in(nccl, version)
            if nccl.by_name[name].reads is ValueSyntax.INTEGER
            and name not in NOT_BY_FUNCTION[version]
        )
    )


def probe(version: str, env: dict[str, str]) -> Probe:
    """Call every function of a library in a process of its own."""
    said = subprocess.run(
        [sys.executable, str(HERE / "nccl_probe.py"), str(library(version))],
        env={
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "NCCL_DEBUG": "INFO",
            "NCCL_DEBUG_SUBSYS": "ENV",
            **env,
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    text = said.stdout + said.stderr
    values = json.loads(said.stderr.rpartition(MARK)[2].splitlines()[0])
    return Probe(
        values,
        dict(re.findall(r"(NCCL_\w+) set by environment to (-?\d+)\.", text)),
        set(re.findall(r"Invalid value .* for (NCCL_\w+), using default", text)),
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_names_in_the_library_are_the_catalogues_for_that_version(version: str) -> None:
    found = read_libnccl(library(version))
    nccl = variable_lists()["nccl"]
    assert found.version == version
    assert found.names - {*nccl.not_variables} == names_in(nccl, version)


@pytest.mark.parametrize("version", VERSIONS)
def test_defaults_are_the_catalogues_for_that_version(version: str) -> None:
    """Which function is whose: each variable gets a number of its own first."""
    numbers = {name: 100_001 + i for i, name in enumerate(integers(version))}
    given = probe(version, {name: str(number) for name, number in numbers.items()}).values
    assert sorted(given.values()) == sorted(numbers.values())
    unset = probe(version, {}).values
    whose = {number: name for name, number in numbers.items()}
    nccl = variable_lists()["nccl"]
    wrong = {}
    for symbol, default in unset.items():
        name = whose[given[symbol]]
        said = nccl.by_name[name].default_in(version)
        if said != ("unset" if default == -(2**31) else str(default)):
            wrong[name] = (said, default)
    assert not wrong


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_library_reads_and_echoes_is_what_the_linter_predicts(
    version: str, value: str
) -> None:
    names = integers(version)
    real = probe(version, dict.fromkeys(names, value))
    unset = probe(version, {})
    read, rest = strtoll(value)
    by_default = value == "" or read is None or (rest == value and version == "2.32.3")
    expected = unset.values if by_default else dict.fromkeys(unset.values, read)
    assert real.values == expected
    assert real.refused == ({*names} if by_default and value else set())
    assert real.echoed == ({} if by_default else dict.fromkeys(names, str(read)))
    is_odd = by_default or rest or re.fullmatch("0[0-9]+", value) or value != value.strip()
    assert _linted(version, names, value) == ({*names} if is_odd else set())


def _linted(version: str, names: tuple[str, ...], value: str) -> set[str]:
    """Names of which the linter says that the value is not read as it is written."""
    about = {
        "word-for-number",
        "word-refused",
        "suffix-on-number",
        "octal-number",
        "number-too-large",
        "empty-value",
        "spaces-around-value",
    }
    text = "\n".join(f"export {name}='{value}'" for name in names)
    found = lint(DoctorCase(read_script("job.sh", text), variable_lists(), nccl=version))
    return {
        one.found.setting.name
        for one in found
        if one.rule.id in about and one.found.setting is not None
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_unknown_names_are_not_asked_for(version: str) -> None:
    """None of the misspelt names of published recipes is in a library."""
    names = read_libnccl(library(version)).names
    misspelt = {"NCCL_MIN_CHANNELS", "NCCL_TIMEOUT", "NCCL_SOCKET_TIMEOUT", "NCCL_NET_MAX_REQUESTS"}
    assert not misspelt & names
    text = "\n".join(f"export {name}=1" for name in sorted(misspelt))
    found = lint(
        DoctorCase(read_script("job.sh", text), variable_lists(), nccl=version, names=names)
    )
    about = {
        one.found.setting.name
        for one in found
        if one.rule.id in ("unknown-name", "unfamiliar-name") and one.found.setting is not None
    }
    assert about == misspelt


ASK = (
    "import ctypes, sys; ctypes.CDLL(sys.argv[1]).ncclGetUniqueId(ctypes.create_string_buffer(128))"
)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("level", "logs"), [("info", True), ("DEBUG", False), ("3", False)])
def test_a_level_that_does_not_exist_silences_all(version: str, level: str, logs: bool) -> None:
    said = subprocess.run(
        [sys.executable, "-c", ASK, str(library(version))],
        env={"PATH": os.environ["PATH"], "NCCL_DEBUG": level, "NCCL_SOCKET_IFNAME": "lo"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ("NCCL INFO" in said.stdout + said.stderr) == logs
    found = lint(DoctorCase(read_script("job.sh", f"export NCCL_DEBUG={level}"), variable_lists()))
    assert ("debug-level" in {one.rule.id for one in found}) != logs
