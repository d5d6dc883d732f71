"""Plans that real libraries of NCCL tell, and weft's own tuner beside them."""

import re
from pathlib import Path

import pytest
from tests.oracle.test_nccl_libraries import library

from weft.catalog.load import platform
from weft.core.errors import InputError
from weft.doctor.nccl_plan.asking import ask_library
from weft.doctor.nccl_plan.nodes import topology_of
from weft.doctor.nccl_plan.plan import NcclPlan
from weft.expect.model import Conditions, Expectation
from weft.expect.nccl.collectives import busbw_factor, nccl

pytestmark = pytest.mark.slow

N_BYTES = 16 << 30
NODES = (4, 8, 16, 32, 64, 128)
TUNED = "2.26.5"
"""The version that the published NDv5 results were measured with."""


def asked(version: str, name: str = "azure-ndv5", *nodes: int, **variables: str) -> NcclPlan:
    """What a library finds and chooses for 16 GiB on a platform."""
    job = topology_of(name, None)
    sizes = (N_BYTES,)
    return ask_library(
        library(version), job, nodes=nodes or NODES, sizes_bytes=sizes, variables=variables
    )


def expected(n_nodes: int, version: str) -> Expectation:
    conditions = Conditions(
        "allreduce", N_BYTES, n_nodes, 8, "gpu", "nccl", library_version=version
    )
    return nccl(platform("azure-ndv5"), conditions)


def test_the_library_takes_alternating_rings_and_weft_takes_its_time() -> None:
    plan = asked(TUNED)
    for n_nodes in NODES:
        ring = plan.by_nodes[n_nodes].graphs["ring"]
        assert (ring.n_channels, ring.gb_s_between) == (8, 48.0)
        assert all(enters != leaves for enters, leaves in ring.nets)
        found = plan.by_nodes[n_nodes].choice("allreduce", N_BYTES)
        assert found is not None
        one = expected(n_nodes, TUNED)
        assert one.algorithm == f"{found.algorithm} {found.protocol}" == "ring simple"
        bus = N_BYTES * busbw_factor("allreduce", 8 * n_nodes) / found.time_us / 1e3
        assert one.value == pytest.approx(bus, rel=1e-3)
    # The ring's estimate is the worst on the most nodes, and NVLSTree's is worse even there.
    every = plan.by_nodes[NODES[-1]].times["allreduce", N_BYTES]
    tree = next(one for one in every if one.algorithm == "nvlstree")
    assert every[0].time_us < tree.time_us < 1.1 * every[0].time_us


def test_a_file_of_settings_counts_as_for_a_job(tmp_path: Path) -> None:
    settings = tmp_path / "nccl.conf"
    settings.write_text("NCCL_CROSS_NIC=0\n")
    for version, usual in (("2.18.3", 45.0), ("2.26.5", 48.0), ("2.32.3", 48.0)):
        plans = (
            asked(version, "azure-ndv5", 4),
            asked(version, "azure-ndv5", 4, NCCL_CONF_FILE=str(settings)),
        )
        found = [one.by_nodes[4].graphs["ring"].gb_s_between for one in plans]
        assert found == [usual, 45.0]


def test_without_cross_nic_rings_close_over_nvlink_as_before_2_20() -> None:
    plan = asked(TUNED, NCCL_CROSS_NIC="0")
    for n_nodes in NODES[:-1]:
        ring = plan.by_nodes[n_nodes].graphs["ring"]
        assert (ring.n_channels, ring.gb_s_between) == (8, 45.0)
        found = plan.by_nodes[n_nodes].choice("allreduce", N_BYTES)
        assert found is not None
        assert expected(n_nodes, "2.19.3").algorithm == f"{found.algorithm} {found.protocol}"


@pytest.mark.parametrize("version", ["2.18.3", "2.26.5", "2.32.3"])
@pytest.mark.parametrize(
    ("name", "channels", "gb_s"), [("azure-ndv5", 12, 30), ("azure-ndv4", 12, 20)]
)
def test_rings_inside_a_node_use_all_of_nvlink(
    version: str, name: str, channels: int, gb_s: int
) -> None:
    """18 links of 20.6 GB/s carry 12 channels of 30; 12 of 20 carry 12 of 20."""
    plan = asked(version, name, 1, 2)
    assert plan.version == version
    ring = plan.by_nodes[1].graphs["ring"]
    assert (ring.n_channels, ring.gb_s_inside) == (channels, gb_s)
    for one in plan.by_nodes.values():
        for graph in (one.graphs["ring"], one.graphs["tree"]):
            assert all(sorted(gpus) == list(range(8)) for gpus in graph.gpus)
    # Every adapter is entered by as many channels as any other.
    nets = [enters for enters, _ in plan.by_nodes[2].graphs["ring"].nets]
    assert sorted(nets) == list(range(8))


def test_the_tuner_of_2_32_is_not_asked() -> None:
    assert not asked("2.32.3", "azure-ndv5", 2).has_times
    assert asked("2.18.3", "azure-ndv5", 2).has_times


def test_nccl_says_what_it_dislikes(tmp_path: Path) -> None:
    """A processor that the file does not name, and no driver is here to ask."""
    job = topology_of("azure-ndv5", None)
    text = re.sub(r' arch="x86_64"', "", job.text)
    file = tmp_path / "partial.xml"
    file.write_text(text)
    with pytest.raises(InputError, match=r"2\.26\.5 gave up at ncclTopoGetSystemFromXml: .*arch"):
        ask_library(library(TUNED), topology_of("azure-ndv5", file), nodes=(2,))


def test_2_28_takes_nvls_trees_where_2_26_took_rings() -> None:
    """As is known of 16 GiB on NDv5: constants of NVLSTree changed between them."""
    before, after = asked("2.26.5"), asked("2.28.3")
    for n_nodes in NODES:
        was, now = (one.by_nodes[n_nodes].choice("allreduce", N_BYTES) for one in (before, after))
        assert was is not None
        assert now is not None
        assert was.algorithm == "ring"
        assert now.algorithm == expected(n_nodes, "2.28.3").algorithm.split()[0]
