"""weft's tuner beside that of the NCCL which the published NDv5 results were measured with."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.nccl_topology_probe import HOST_HASH
from tests.oracle.nccl_tuner_probe import MARK
from tests.oracle.test_nccl_libraries import library

from weft.catalog.load import platform
from weft.doctor.topo.node import node_of_platform, topology_text
from weft.expect.model import Conditions
from weft.expect.nccl.collectives import busbw_factor, nccl

pytestmark = pytest.mark.slow

PROBE = Path(__file__).with_name("nccl_tuner_probe.py")
ROOT = Path(__file__).resolve().parents[2]
VERSION = "2.26.5"
N_BYTES = 16 << 30
NODES = (4, 8, 16, 32, 64, 128)
_DEVICE = re.compile(r'<pci busid="[^"]*" class="(0x0[32])[^>]*/>')


def whole_job(text: str) -> str:
    """A topology file with the GPUs, links and adapters that NCCL adds to it on a node."""
    counts = {"0x03": 0, "0x02": 0}

    def filled(found: re.Match[str]) -> str:
        kind, i = found[1], counts[found[1]]
        counts[kind] += 1
        inside = (
            f'<gpu dev="{i}" sm="90" rank="{i}" gdr="1">'
            '<nvlink target="0000:ee:00.0" count="18" tclass="0x068000"/></gpu>'
            if kind == "0x03"
            else f'<nic><net name="mlx5_ib{i}" dev="{i}" latency="0" speed="400000" port="1"'
            f' guid="{i + 1:#x}" maxconn="131072" gdr="1" coll="0"/></nic>'
        )
        return f"{found[0].removesuffix('/>')}>{inside}</pci>"

    text = text.replace("<cpu ", f'<cpu host_hash="{HOST_HASH:#x}" ')
    return _DEVICE.sub(filled, text)


def asked(folder: Path, **env: str) -> dict[str, Any]:
    """What the library finds and chooses for 16 GiB on NDv5."""
    file = folder / "ndv5.xml"
    file.write_text(whole_job(topology_text(node_of_platform(platform("azure-ndv5")))))
    words = [str(library(VERSION)), VERSION, str(file), str(N_BYTES), *map(str, NODES)]
    done = subprocess.run(
        [sys.executable, str(PROBE), *words],
        # 2: as NVIDIA's own unit tests, no question to a driver that is not here.
        env={**os.environ, "NCCL_IGNORE_DISABLED_P2P": "2", "PYTHONPATH": str(ROOT), **env},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    line = next(one for one in done.stdout.split("\n") if one.startswith(MARK))
    found: dict[str, Any] = json.loads(line.removeprefix(MARK))
    return found


def expected(n_nodes: int, version: str) -> Any:
    conditions = Conditions(
        "allreduce", N_BYTES, n_nodes, 8, "gpu", "nccl", library_version=version
    )
    return nccl(platform("azure-ndv5"), conditions)


def test_the_library_takes_alternating_rings_and_weft_takes_its_time(tmp_path: Path) -> None:
    found = asked(tmp_path)
    assert found["ring"] == [8, 48.0]
    for n_nodes in NODES:
        algorithm, protocol, time_us = found["choices"][str(n_nodes)]
        one = expected(n_nodes, VERSION)
        assert one.algorithm == f"{algorithm} {protocol}" == "ring simple"
        bus = N_BYTES * busbw_factor("allreduce", 8 * n_nodes) / time_us / 1e3
        assert one.value == pytest.approx(bus, rel=1e-3)
    # The ring's estimate is the worst on the most nodes, and NVLSTree's is worse even there.
    ring_us = found["choices"][str(NODES[-1])][2]
    assert ring_us < found["nvlstree"] < 1.1 * ring_us


def test_without_cross_nic_rings_close_over_nvlink_as_before_2_20(tmp_path: Path) -> None:
    found = asked(tmp_path, NCCL_CROSS_NIC="0")
    assert found["ring"] == [8, 45.0]
    for n_nodes in NODES[:-1]:
        algorithm, protocol, _ = found["choices"][str(n_nodes)]
        assert expected(n_nodes, "2.19.3").algorithm == f"{algorithm} {protocol}"
