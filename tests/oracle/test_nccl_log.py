"""The reader of logs beside NVIDIA's own libraries: what they log without a GPU, and their formats.

A format is the library's own text with our values in its places; what must be read is written here.
"""

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from tests.oracle.nccl_variables import names_in

from weft.bench.logs.echoes import TEXTS_ECHOED, is_echoed
from weft.bench.logs.log_facts import LogFacts, read_logs
from weft.bench.logs.ranks import job_log
from weft.catalog.load import variable_lists
from weft.doctor.log.judge import judge

pytestmark = pytest.mark.slow

VERSIONS = ("2.18.3", "2.32.3")
OLD, NEW = VERSIONS
POINTER = 0x7F
Values = tuple[int | str, ...]

BOTH: tuple[tuple[str, Values, str, tuple[str, ...]], ...] = (
    ("Using network %s", ("IB",), "network", ("IB",)),
    ("NCCL_SOCKET_IFNAME set to %s", ("ib0",), "echo", ("NCCL_SOCKET_IFNAME", "ib0")),
    ("NCCL_IB_HCA set to %s", ("mlx5",), "echo", ("NCCL_IB_HCA", "mlx5")),
    (
        "%s set by environment to %lld.",
        ("NCCL_IB_TIMEOUT", 22),
        "echo",
        ("NCCL_IB_TIMEOUT", "22"),
    ),
    (
        "%s set by environment to %s",
        ("NCCL_NET_GDR_LEVEL", "PHB"),
        "echo",
        ("NCCL_NET_GDR_LEVEL", "PHB"),
    ),
    (
        "Invalid value %s for %s, using default %lld.",
        ("x", "NCCL_BUFFSIZE", -2),
        "refused",
        ("NCCL_BUFFSIZE", "x"),
    ),
    (
        "Channel %02d/%01d : %d[%d] -> %d[%d] via P2P/IPC%s%s",
        (0, 0, 1, 1, 2, 2, "/read", ""),
        "channel",
        ("P2P/IPC", "", "", "", ""),
    ),
    (
        "Channel %02d/%01d : %d[%d] -> %d[%d] via P2P/direct pointer%s",
        (0, 0, 1, 1, 2, 2, ""),
        "channel",
        ("P2P/direct pointer", "", "", "", ""),
    ),
    (
        "CollNet %02d/%1d : %d [send] via COLLNET/%s/%d%s",
        (0, 1, 3, "SHARP", 2, "/GDRDMA"),
        "channel",
        ("COLLNET/SHARP", "2", "GDRDMA", "", "send"),
    ),
    (
        "Channel %02d/%d : %d[%d] -> %d[%d] [send] via NET/%s/%d%s%s",
        (0, 0, 1, 1, 9, 1, "IB", 3, "/GDRDMA", "/Shared"),
        "channel",
        ("NET/IB", "3", "GDRDMA", "", "send"),
    ),
    (
        "Channel %02d/%d : %d[%d] -> %d[%d] [send] via NET/%s/%d(%d)%s%s",
        (0, 0, 1, 1, 9, 1, "AWS Libfabric", 3, 4, "", ""),
        "channel",
        ("NET/AWS Libfabric", "3", "", "PXN", "send"),
    ),
    (
        "NET/%s : GPU Direct RDMA %s for HCA %d '%s'",
        ("IB", "Enabled", 2, "mlx5_2"),
        "gpu_direct",
        ("NET/IB", "2", "mlx5_2", "on", ""),
    ),
    (
        "NVLS multicast support is %savailable on dev %d",
        ("not ", 0),
        "nvls",
        ("off",),
    ),
    (
        "Could not open XML topology file %s : %s",
        ("/x.xml", "No such file"),
        "topology_missing",
        ("/x.xml", "No such file"),
    ),
    ("NET/IB : No device found.", (), "no_device", ("NET/IB",)),
    (
        "Cannot initialize CollNet, using point-to-point network instead",
        (),
        "collnet_off",
        ("Cannot initialize CollNet, using point-to-point network instead",),
    ),
    (
        "Could not find a path for pattern %d, falling back to simple order",
        (4,),
        "fallback",
        ("Could not find a path for pattern 4, falling back to simple order",),
    ),
    ("Connected NVLS tree", (), "connected", ("NVLS tree",)),
    ("rank %d Connected CollNet", (3,), "connected", ("CollNet",)),
)
ONE = {
    OLD: (
        (
            "NET/Plugin : Plugin load (%s) returned %d : %s",
            ("libnccl-net-x.so", 2, "no such file"),
            "plugin_missing",
            ("libnccl-net-x.so", "no such file"),
        ),
        (
            "NET/Plugin: Loaded net plugin %s (v5)",
            ("X",),
            "plugin_loaded",
            ("net", "X", "v5"),
        ),
        (
            "comm %p rank %d nranks %d cudaDev %d nvmlDev %d busId %lx commId 0x%llx - Init START",
            (POINTER, 3, 16, 3, 3, 0x1B000, 0x5F1),
            "communicator",
            ("0x5f1", "16", "START"),
        ),
        (
            "GPU Direct RDMA Disabled for GPU %lx / HCA %d (distance %d > %d)",
            (0x7000, 1, 4, 3),
            "gpu_direct",
            ("", "1", "", "off", "distance 4 > 3"),
        ),
        (
            "%d coll channels, %d nvls channels, %d p2p channels, %d p2p channels per peer",
            (16, 8, 4, 2),
            "channels",
            ("16", "", "8", "4"),
        ),
        (
            "CollNet is not supported or fails to initialize, ignoring NCCL_ALGO=COLLNET",
            (),
            "fallback",
            ("CollNet is not supported or fails to initialize, ignoring NCCL_ALGO=COLLNET",),
        ),
    ),
    NEW: (
        ("External network plugin %s is unsupported", ("/x.so",), "plugin_refused", ("/x.so",)),
        ("Failed to initialize NET plugin %s", ("X",), "plugin_failed", ("X",)),
        (
            "%s/Plugin: Could not find:%s%s%s",
            ("TUNER", " x", " libnccl-tuner-x.so", ""),
            "fallback",
            ("tuner plug-in not found: libnccl-tuner-x.so",),
        ),
        (
            "NCCL version 2.32.3 compiled with CUDA 12.9",
            (),
            "version",
            ("NCCL", "2.32.3+cuda12.9"),
        ),
        (
            "%s/Plugin: Could not find:%s%s%s",
            ("NET", " x", " libnccl-net-x.so", ""),
            "plugin_missing",
            ("libnccl-net-x.so", "not found"),
        ),
        (
            "NET/Plugin: Loaded collnet plugin %s (v12)",
            ("SHARP",),
            "plugin_loaded",
            ("collnet", "SHARP", "v12"),
        ),
        ("TUNER/Plugin: Using %s (v5)", ("X",), "plugin_loaded", ("tuner", "X", "v5")),
        (
            "%s comm %p rank %d nranks %d cudaDev %d nvmlDev %d busId %lx commId 0x%llx - "
            "Init COMPLETE",
            ("ncclCommInitRank", POINTER, 3, 16, 3, 3, 0x1B000, 0x5F1),
            "communicator",
            ("0x5f1", "16", "COMPLETE"),
        ),
        (
            "comm %p rank %d nRanks %d nNodes %d localRanks %d localRank %d MNNVL %d",
            (POINTER, 3, 16, 2, 8, 3, 0),
            "place",
            ("16", "2", "8"),
        ),
        (
            "%s: %ld Bytes -> Algo %s proto %s channel{Lo..Hi}={%d..%d} cgaClusterSize %d",
            ("AllReduce", 4096, "RING", "LL", 0, 1, 4),
            "algorithm",
            ("AllReduce", "RING", "LL"),
        ),
        (
            "%d coll channels, %d collnet channels, %d nvls channels, %d p2p channels, %d p2p "
            "channels per peer",
            (16, 12, 8, 4, 2),
            "channels",
            ("16", "12", "8", "4"),
        ),
        ("Channel %02d : %d[%d] -> %d[%d] via SHM/direct", (0, 1, 1, 2, 2), "channel", ("SHM",)),
    ),
}


def library(version: str) -> Path:
    path = Path(sys.prefix) / f"opt/nccl-{version}/nvidia/nccl/lib/libnccl.so.2"
    if not path.exists():
        pytest.skip(f"no NCCL {version} (make nccl)")
    return path


@cache
def texts(version: str) -> bytes:
    with library(version).open("rb") as file:
        return bytes(ELFFile(file).get_section_by_name(".rodata").data())


def filled(form: str, values: Values) -> str:
    """What C's printf makes of a format; pointers as 0x7f."""
    form = re.sub(r"%p", "0x%x", form)
    return re.sub(r"%(0?\d*)(?:ll|l|z)([dxui])", r"%\1\2", form) % values


def read(tmp_path: Path, text: str) -> LogFacts:
    path = tmp_path / "nccl.log"
    path.write_text(text)
    return read_logs([str(path)])


CASES = [(version, *case) for version in VERSIONS for case in (*BOTH, *ONE[version])]


@pytest.mark.parametrize(("version", "form", "values", "kind", "words"), CASES)
def test_the_librarys_own_formats_are_read(
    tmp_path: Path, version: str, form: str, values: Values, kind: str, words: tuple[str, ...]
) -> None:
    assert form.encode() in texts(version), "the library prints no such line"
    said = read(tmp_path, f"host:10:20 [3] NCCL INFO {filled(form, values)}\n")
    assert [fact.words[: len(words)] for fact in said.of(kind)] == [words]


@pytest.mark.parametrize("version", VERSIONS)
def test_texts_that_settings_are_judged_by_are_echoed(version: str) -> None:
    """A variable that NCCL does not echo must not be called unread."""
    generic = {"NCCL_NET_GDR_LEVEL", "NCCL_P2P_LEVEL"}
    assert b"%s set by environment to %s" in texts(version)
    variables = variable_lists()["nccl"]
    names = {
        name
        for name in names_in(variables, version) & TEXTS_ECHOED.keys()
        if is_echoed(variables.by_name[name], version)
    }
    assert names >= generic
    for name in sorted(names - generic):
        said = re.search(f"{name} set (by environment )?to %".encode(), texts(version))
        assert said is not None, name


ASK = (
    "import ctypes, sys; ctypes.CDLL(sys.argv[1]).ncclGetUniqueId(ctypes.create_string_buffer(128))"
)


def logged(version: str, **env: str) -> str:
    """What the library logs of a bootstrap."""
    base = {"PATH": os.environ["PATH"], "NCCL_DEBUG": "INFO", "NCCL_SOCKET_IFNAME": "lo"}
    done = subprocess.run(
        [sys.executable, "-c", ASK, str(library(version))],
        env={**base, **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_library_logs_without_a_gpu_is_read(tmp_path: Path, version: str) -> None:
    said = read(tmp_path, logged(version))
    assert {fact.words for fact in said.of("echo")} == {("NCCL_SOCKET_IFNAME", "lo")}
    (speaker,) = {(one.host, one.pid) for one in said.writers}
    assert speaker[0] == os.uname().nodename.split(".")[0]


def test_a_plug_in_that_is_not_there_is_named(tmp_path: Path) -> None:
    said = read(tmp_path, logged(OLD, NCCL_NET_PLUGIN="nowhere"))
    found = [fact.words for fact in said.of("plugin_missing")]
    assert "libnccl-net-nowhere.so" in found[0][0]
    assert "cannot open" in found[0][1]
    sentences = [finding.sentence for finding in judge(job_log(said))]
    assert any("libnccl-net-nowhere.so" in sentence for sentence in sentences)
