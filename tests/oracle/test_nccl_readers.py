"""How NCCL reads texts (distances, lists of devices, algorithms, nccl.conf, parts that log), by the
functions inside its own libraries, beside what the linter says of the same texts.

What is left of its variables is read with a GPU alone: files of topologies and graphs have tests of
their own, plug-ins but those of 2.18, and what a communicator chooses.
"""

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from tests.oracle.nccl_readers_probe import MARK
from tests.oracle.test_nccl_libraries import ASK, HERE, VERSIONS, library

from weft.catalog.load import variable_lists
from weft.core.host import names_of_class
from weft.doctor.case import DoctorCase
from weft.doctor.lint import Complaint, lint
from weft.doctor.readers.conf import read_conf
from weft.doctor.readers.shell import read_script
from weft.doctor.rules.devices import names_of

pytestmark = pytest.mark.slow

NO_LEVEL = -2


def asked(version: str, requests: dict[str, list[object]], **env: str) -> dict[str, object]:
    """Answers of a library, in a process of its own."""
    said = subprocess.run(
        [sys.executable, str(HERE / "nccl_readers_probe.py"), str(library(version))],
        input=json.dumps(requests),
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(sys.path),
            "HOME": "/nonexistent",
            **env,
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    answers: dict[str, object] = json.loads(said.stdout.rpartition(MARK)[2].splitlines()[0])
    return answers


def told(version: str, **values: str) -> dict[str, Complaint]:
    """What the linter says, by rule."""
    text = "".join(f"export {name}='{value}'\n" for name, value in values.items())
    found = lint(DoctorCase(read_script("job.sh", text), variable_lists(), nccl=version, n_nodes=1))
    return {one.rule.id: one for one in found}


LEVELS = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "NET", "DIS")
TEXTS = (*LEVELS, *"012345", "9", "2x", "phb", "Phb", "true", "-1", "PHBX", "PH", "+2")


@pytest.mark.parametrize("version", VERSIONS)
def test_distances(version: str) -> None:
    environments = [{"NCCL_P2P_LEVEL": text} for text in TEXTS]
    (found,) = asked(version, {"levels": [environments]}).values()
    real = dict(zip(TEXTS, found, strict=True))  # type: ignore[call-overload]
    known = [one for one in LEVELS if real[one] != NO_LEVEL]
    assert sorted(known, key=lambda one: real[one]) == known
    for text in TEXTS:
        said = told(version, NCCL_P2P_LEVEL=text)
        assert ("level-word" in said) == (real[text] == NO_LEVEL), text
        if "level-number" in said:
            assert real[said["level-number"].found.words["meaning"]] == real[text], text
        else:
            assert text in known or real[text] == NO_LEVEL, text


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("value", ["1", "0", "2", "01", "true", "yes", "-1", "1x"])
def test_only_1_switches_direct_access_off(version: str, value: str) -> None:
    environment = {"NCCL_P2P_DISABLE": value, "NCCL_P2P_LEVEL": "PHB"}
    (level,) = asked(version, {"levels": [[environment]]})["levels"]  # type: ignore[misc]
    said = told(version, NCCL_P2P_DISABLE=value, NCCL_SHM_DISABLE="0")
    assert ("debug-switch-left-on" in said) == (level == 0)


DEVICES = [
    "mlx5_0",
    "mlx5_1",
    "mlx5_10",
    "mlx5_ib0",
    "mlx4_0",
    "eth0",
    "eth1",
    "lo",
    "^mlx5_1",
    "=x",
]
LISTS = (
    *("mlx5", "mlx5_1", "=mlx5_1", "^mlx5_1", "^=mlx5_1", "mlx5_0:1", "mlx5_0,mlx5_1", "=mlx5"),
    *("^mlx5", "mlx5_0,^mlx5_1", "mlx5_0,=x", "lo,eth", "^lo,eth0", "eth0,", ",eth0", "=eth0,eth1"),
    *("mlx5_10", "MLX5", "m", "^=eth", "=^mlx5_1"),
)


@pytest.mark.parametrize("version", VERSIONS)
def test_lists_of_devices(version: str) -> None:
    (real,) = asked(version, {"taken": [LISTS, DEVICES]}).values()
    ours = [[one for one in DEVICES if names_of(text).takes(one)] for text in LISTS]
    assert ours == real
    for text in LISTS:
        parts = text.removeprefix("^").removeprefix("=").split(",")
        is_inside = any(part[:1] in ("^", "=") and part for part in parts[1:])
        assert ("sign-inside-list" in told(version, NCCL_IB_HCA=text)) == is_inside, text


ALGORITHMS = ["Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree"]


def test_algorithms_of_2_18() -> None:
    """Before 2.24 an unknown name is left out, and so is what only newer versions know."""
    lists = (
        *("ring", "Ring,Tree", "RINGS", "ring,foo", "tree, ring", "ring;allreduce:tree", " ring"),
        *("allreduce:ring", "collnetdirect,NVLS", "PAT", "nvlstree,pat"),
    )
    (real,) = asked("2.18.3", {"algorithms": [lists, ALGORITHMS]}).values()
    for text, names in zip(lists, real, strict=True):  # type: ignore[call-overload]
        complaints = lint(
            DoctorCase(
                read_script("j", f"export NCCL_ALGO='{text}'"), variable_lists(), nccl="2.18.3"
            )
        )
        left_out = {
            one.found.words["value"] for one in complaints if one.rule.id == "unknown-algorithm"
        }
        parts = {one.lower() for one in text.split(",")}
        assert {one.lower() for one in names} == parts - left_out - {
            one for one in parts if one.strip() != one
        }, text


CONF = (
    '# comment\nNCCL_A=1\nNCCL_B = 2\nexport NCCL_C=3\nNCCL_D="4"\n NCCL_E=5\nNCCL_F=a=b \n'
    "NCCL_G\nNCCL_H=\n\nNCCL_I=1 # more\nNCCL_J=$HOME\nNCCL_A=again\nNCCL_K='x y'"
)


@pytest.mark.parametrize("version", VERSIONS)
def test_lines_of_an_nccl_conf(version: str, tmp_path: Path) -> None:
    path = tmp_path / "nccl.conf"
    path.write_text(CONF)
    (real,) = asked(version, {"conf": [str(path)]}).values()
    ours: dict[str, str] = {}
    for one in read_conf("nccl.conf", CONF).settings:
        ours.setdefault(one.name, one.value or "")
    assert isinstance(real, dict)
    assert ours == {name: value for name, value in real.items() if name[0] != "#"}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_of_an_nccl_conf(version: str, end: str, tmp_path: Path) -> None:
    path = tmp_path / "nccl.conf"
    text = f"NCCL_SOCKET_IFNAME=eth0{end}"
    path.write_bytes(text.encode())
    (real,) = asked(version, {"conf": [str(path)]}).values()
    case = DoctorCase(read_conf("nccl.conf", text), variable_lists(), nccl=version)
    said = {one.rule.id for one in lint(case)}
    assert ("spaces-around-value" in said) == (real != {"NCCL_SOCKET_IFNAME": "eth0"})


PARTS = (
    *("INIT", "COLL", "P2P", "SHM", "NET", "GRAPH", "TUNING", "ENV", "ALLOC", "ALLOC_HOST", "CALL"),
    *("PROXY", "NVLS", "BOOTSTRAP", "REG", "PROFILE", "RAS", "DESTROY", "ALL", "init", "Net"),
    *("BOGUS", "NETWORK", "NET,ENV", "NET, ENV", "NET,BOGUS", "^NET"),
)


@cache
def mask(version: str, text: str) -> int:
    env = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_FILE": "/dev/null", "NCCL_SOCKET_IFNAME": "lo"}
    answer = asked(version, {"mask": []}, **env, NCCL_DEBUG_SUBSYS=text)["mask"]
    assert isinstance(answer, int)
    return answer


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("text", PARTS)
def test_parts_that_log(version: str, text: str) -> None:
    """A part that is not known changes nothing, or refuses the list: what is logged tells."""
    alone = {one: mask(version, one.strip()) for one in text.removeprefix("^").split(",")}
    nothing = mask(version, "BOGUS")
    unknown = {one for one, bits in alone.items() if bits == nothing}
    wanted = 0
    for bits in alone.values():
        wanted |= 0 if bits == nothing else bits
    wanted = wanted ^ (2**64 - 1) if text.startswith("^") else wanted
    said = "debug-subsystem" in told(version, NCCL_DEBUG_SUBSYS=text)
    assert said == (bool(unknown) or mask(version, text) != wanted)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "text", ["lo", "^lo", "=lo", "=l", "eth", "lo,eth", "^lo,=eth0", "nosuch", "lo ", "lo:1", ""]
)
def test_interfaces_of_the_first_meeting(version: str, text: str) -> None:
    """What is used is what the list takes; what is empty is not echoed."""
    said = subprocess.run(
        [sys.executable, "-c", ASK, str(library(version))],
        env={"PATH": os.environ["PATH"], "NCCL_DEBUG": "INFO", "NCCL_SOCKET_IFNAME": text},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    out = said.stdout + said.stderr
    used = re.search(r"Bootstrap ?: Using ([^:]+):", out)
    takes = [one for one in names_of_class("net") if text and names_of(text).takes(one)]
    assert ("NCCL_SOCKET_IFNAME set by environment to" in out) == bool(text)
    if text:
        assert (used[1] in takes) if used is not None else "no socket interface found" in out
        assert used is not None or not {"lo"} & set(takes)
    assert ("empty-value" in told(version, NCCL_SOCKET_IFNAME=text)) == (not text)


@pytest.mark.parametrize("plugin", ["ofi", "none", "/opt/libnccl-net-x.so", "ofi,none"])
def test_forms_of_a_plugin_in_2_18(plugin: str) -> None:
    """The old library loads plug-ins without a GPU: what it looks for is what is told."""
    said = subprocess.run(
        [sys.executable, "-c", ASK, str(library("2.18.3"))],
        env={
            "PATH": os.environ["PATH"],
            "NCCL_DEBUG": "INFO",
            "NCCL_SOCKET_IFNAME": "lo",
            "NCCL_NET_PLUGIN": plugin,
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    found = re.search(r"Plugin name set by env to (\S+)", said.stdout + said.stderr)
    assert found is not None
    assert found[1] == f"libnccl-net-{plugin}.so"
    complaint = told("2.18.3", NCCL_NET_PLUGIN=plugin).get("plugin-too-new-a-form")
    assert (complaint is not None) == (plugin not in ("ofi", "none"))
    assert complaint is None or complaint.found.words["file"] == found[1]


def dumped(name: str, value: str) -> bool:
    """Whether the newest library takes a value of a variable in its registry, as it prints it."""
    said = subprocess.run(
        [sys.executable, "-c", DUMP, str(library("2.32.3"))],
        env={"PATH": os.environ["PATH"], name: value},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    found = re.search(rf"^{name} \(.*\n.*set_by=(\w+)", said.stdout, re.M)
    assert found is not None
    return found[1] == "EnvPlugin"


DUMP = "import ctypes, sys; ctypes.CDLL(sys.argv[1]).ncclParamDumpAll()"


@pytest.mark.parametrize("value", ["1", "0", "t", "TRUE", "false", "F", "yes", "2", "on", "x"])
def test_the_integer_that_is_a_boolean_now(value: str) -> None:
    said = told("2.32.3", NCCL_SET_THREAD_NAME=value)
    assert ("unknown-word" not in said) == dumped("NCCL_SET_THREAD_NAME", value)


@pytest.mark.parametrize(
    "level", ["ATTN", "trace", "Warn", "ABORT", "version", "ERROR", "3", "DEBUG"]
)
def test_levels_of_the_log(level: str) -> None:
    said = told("2.32.3", NCCL_DEBUG=level)
    assert ("debug-level" not in said) == dumped("NCCL_DEBUG", level)
