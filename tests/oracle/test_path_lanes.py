"""Fabrics that OpenSM routes on several lanes (DFSSSP, LASH), on the twin: files of ibsim."""

from itertools import islice
from typing import Any

import pytest
from tests.oracle.ibsim import Ibsim, fat_tree, require_tools, torus

from weft.bench.twin.backend import TwinBackend
from weft.catalog.load import platform
from weft.check.launches import check_launches
from weft.check.schedule.rounds.matchings import reflections
from weft.core.errors import InputError
from weft.topology.fabric import Fabric
from weft.topology.subnet.subnet import Subnet
from weft.topology.subnet_document import own_fabric

DRAGONFLY = {
    "generate": "dragonfly",
    "groups": 5,
    "routers_per_group": 4,
    "nodes_per_router": 2,
    "global_ports": 1,
    **{f"{part}_bits_per_s": 200_000_000_000 for part in ("host", "local", "global")},
    **{f"{part}_delay_ps": 0 for part in ("host", "local", "global")},
}
LEVELS = "service levels of paths: each path has the first level with which no credit loop is left"


@pytest.fixture(autouse=True)
def _tools() -> None:
    require_tools()


def net_of(name: str) -> str:
    """The text for ibsim."""
    if name == "dragonfly":
        return Subnet.of_fabric(DRAGONFLY).export("ibsim")[0]
    if name == "tree":
        return fat_tree(4, 4, 2).text()
    return torus([int(size) for size in name.split("x")]).text()


def documents(name: str, engine: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fabric of OpenSM's dumps, without and with that of its lanes."""
    with Ibsim(net_of(name)) as sim:
        dumps = sim.opensm(engine, "-Q")
        log = (sim.folder / f"osm-{engine}.log").read_text()
        assert f"{engine} tables configured on all switches" in log
        files = [str(dumps / f"opensm-{part}") for part in ("subnet.lst", "lfts.dump")]
        model = platform("generic-hdr")
        without, _ = own_fabric(Subnet.read(files), "net", model)
        lanes = str(dumps / "opensm-sl2vl.dump")
        return without, own_fabric(Subnet.read([*files, lanes]), "net", model)[0]


@pytest.mark.parametrize("engine", ["dfsssp", "lash"])
@pytest.mark.parametrize("name", ["4x4", "5x5", "4x4x3", "dragonfly"])
def test_tables_with_a_circle_on_one_lane_are_measured_on_their_lanes(
    name: str, engine: str
) -> None:
    without, document = documents(name, engine)
    assert "lanes" not in without
    with pytest.raises(InputError, match="credit loop"):
        Fabric.from_document(without)
    assert LEVELS in document["assumed"]
    assert document["lanes"]["count"] == 8
    twin = TwinBackend(platform("generic-hdr"), 0, fabric=document)
    launches = check_launches(
        twin.nodes,
        tasks_per_node=1,
        sizes_bytes=(8, 2**17),
        rounds=[pairs.tolist() for pairs in islice(reflections(len(twin.nodes)), 3)],
        options={"window": 1, "iterations": 1, "warmup": 0},
        timeout_s=600.0,
    )
    assert list(twin.measure(launches[0]))


def test_tables_that_one_lane_carries_have_no_lanes_of_their_own() -> None:
    _, document = documents("tree", "dfsssp")
    assert "lanes" not in document
    assert LEVELS not in document["assumed"]
