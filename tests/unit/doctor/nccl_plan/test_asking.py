"""Libraries that answer, crash, hang, refuse or have other functions: stand-ins for NCCL's."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from tests.unit.doctor.nccl_plan.conftest import CRASH, DROP, HANG, OTHER, REFUSAL

from weft.core.errors import InputError
from weft.doctor.nccl_plan.asking import ask_library
from weft.doctor.nccl_plan.debug_info import read_debug_info
from weft.doctor.nccl_plan.nodes import topology_of
from weft.doctor.nccl_plan.plan import NcclPlan


def asked(library: Path, *nodes: int, limit_s: float = 30.0) -> NcclPlan:
    job = topology_of("azure-ndv5", None)
    sizes = (1 << 10, 1 << 20)
    return ask_library(library, job, nodes=nodes or (2,), sizes_bytes=sizes, limit_s=limit_s)


def test_a_plan_is_what_the_functions_of_the_library_return(libraries: dict[int, Path]) -> None:
    plan = asked(libraries[0], 1, 3)
    assert (plan.version, plan.n_gpus, list(plan.by_nodes)) == ("2.99.1", 8, [1, 3])
    assert plan.nets[:2] == ("net0", "net1")
    for one in plan.by_nodes.values():
        ring = one.graphs["ring"]
        assert (ring.n_channels, ring.gb_s_inside, ring.gb_s_between) == (2, 40.0, 24.0)
        assert (ring.path_inside, ring.path_between) == ("NVL", "PIX")
        assert ring.gpus == ((0, 1, 2, 3, 4, 5, 6, 7), (1, 2, 3, 4, 5, 6, 7, 0))
        assert ring.nets == ((0, 0), (1, 1))
        assert set(one.graphs) == {"ring", "tree", "nvls"}
        (found,) = one.times["allreduce", 1 << 20]
        assert (found.algorithm, found.protocol) == ("ring", "simple")
        assert found.time_us == pytest.approx(2 + (1 << 20) / 1000)


def test_gpus_that_the_library_drops_are_in_no_channel(libraries: dict[int, Path]) -> None:
    ring = asked(libraries[DROP]).by_nodes[2].graphs["ring"]
    assert ring.gpus == ((0, 1, 2, 3, 4, 5, 6), (1, 2, 3, 4, 5, 6, 0))


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (CRASH, r"NCCL 2\.99\.1 crashed \(signal 6\) at ncclTopoCompute"),
        (HANG, r"NCCL 2\.99\.1 has not answered within 3 s at ncclTopoCompute"),
        (REFUSAL, r"NCCL 2\.99\.1 gave up at ncclTopoCompute: no ring of 8 GPUs"),
        (OTHER, r"NCCL 2\.99\.1 cannot be asked: its ncclTopoCompute takes other arguments"),
    ],
)
def test_what_goes_wrong_inside_is_said_with_the_call(
    libraries: dict[int, Path], fault: int, says: str
) -> None:
    with pytest.raises(InputError, match=says):
        asked(libraries[fault], limit_s=3.0 if fault == HANG else 30.0)


def test_the_hint_names_the_users_file(libraries: dict[int, Path], tmp_path: Path) -> None:
    file = tmp_path / "topo.xml"
    file.write_text(topology_of("azure-ndv5", None).text)
    with pytest.raises(InputError) as error:
        ask_library(libraries[REFUSAL], topology_of(None, file), nodes=(2,))
    assert f"weft doctor topo {file} checks the topology; weft's own model" in error.value.hint
    with pytest.raises(InputError) as error:
        asked(libraries[REFUSAL])
    assert "doctor topo" not in error.value.hint


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--strip-all"], "no symbols"),
        (["--strip-debug"], "no debugging information"),
        (["--strip-symbol=_Z18ncclTopoSearchInitP14ncclTopoSystem"], "has no ncclTopoSearchInit"),
    ],
)
def test_a_stripped_library_cannot_be_asked(
    libraries: dict[int, Path], tmp_path: Path, options: list[str], says: str
) -> None:
    if shutil.which("objcopy") is None:
        pytest.skip("no objcopy (binutils)")
    bare = tmp_path / "bare.so"
    words = ["objcopy", *options, str(libraries[0]), str(bare)]
    subprocess.run(words, check=True, timeout=60)
    with pytest.raises(InputError, match=says) as error:
        asked(bare)
    named = "nvidia-nccl-cu12 of the same version, has both" in error.value.hint
    assert named is says.startswith("no ")


def test_a_library_of_another_processor_or_none_at_all(
    libraries: dict[int, Path], tmp_path: Path
) -> None:
    other = tmp_path / "other.so"
    data = bytearray(libraries[0].read_bytes())
    data[18:20] = struct.pack("<H", 21)  # e_machine: PowerPC
    other.write_bytes(data)
    with pytest.raises(InputError, match=r"another processor \(PPC64\)"):
        read_debug_info(other, (), {})
    for size in (0, 64, 500, len(data) // 2):
        other.write_bytes(libraries[0].read_bytes()[:size])
        with pytest.raises(InputError):
            read_debug_info(other, ("ncclTopoCompute",), {"ncclComm": "graph/search.cc"})
