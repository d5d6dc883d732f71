"""Tables around a dead cable: the engine that fills them, how it is known, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from weft.bench.twin.backend import TwinBackend
from weft.bench.twin.fault import parse_fault
from weft.catalog.load import platform
from weft.check.launches import check_launches
from weft.core.errors import InputError
from weft.topology.dead_cables import detours
from weft.topology.fabric import Fabric
from weft.topology.subnet.subnet import Subnet
from weft.topology.subnet_document import own_fabric

FIXTURES = Path(__file__).parents[2] / "fixtures" / "fabric"
FILES = [FIXTURES / "small" / "opensm-subnet.lst", FIXTURES / "opensm" / "opensm-lfts.dump"]
LOG = FIXTURES / "opensm_logs" / "ftree_falls_back.log"
PORT = "MF0;leaf000:MQM8700/U1[5]"
TREE = {
    "generate": "fat_tree",
    "levels": 2,
    "nodes": 8,
    "nodes_per_leaf": 2,
    "spines": 2,
    **{f"{part}_bits_per_s": 200_000_000_000 for part in ("host", "switch")},
    **{f"{part}_delay_ps": 0 for part in ("host", "switch")},
}


def read(*more: Path) -> tuple[dict[str, Any], Subnet]:
    """The small subnet of the fixtures, and its document."""
    subnet = Subnet.read([str(file) for file in (*FILES, *more)])
    return own_fabric(subnet, "small", platform("generic-hdr"))[0], subnet


def moved_entries(before: dict[str, Any], after: dict[str, Any]) -> int:
    """How many table entries differ."""
    pairs = ((row, after["lfts"][name]) for name, row in before["lfts"].items())
    return sum(a != b for old, new in pairs for a, b in zip(old, new, strict=True))


def test_the_engine_is_the_first_whose_tables_these_are() -> None:
    document, subnet = read()
    found = detours(document, subnet, [PORT])
    assert found is not None
    assert found.words.startswith(f"rerouted around {PORT} as OpenSM's minhop does (assumed: ")
    tables = Fabric.from_document({**document, **found.tables})
    hcas = [hca for node in document["nodes"] for hca in node["hcas"]]
    paths = tables.paths([(a, b) for a in hcas for b in hcas if a != b])
    assert all(PORT not in path for path in paths)


def test_the_managers_log_names_it_before_anything_is_compared() -> None:
    document, subnet = read(LOG)
    found = detours(document, subnet, [PORT])
    assert found is not None
    assert found.words.endswith("minhop does (named in the subnet manager's log)")


def test_only_entries_over_the_cable_move_where_that_is_asked() -> None:
    document, subnet = read()
    found = detours(document, subnet, [PORT], "moved")
    assert found is not None
    assert found.words.endswith("entries over it move to another shortest path (--routing)")
    over = sum(row.count(5) for name, row in document["lfts"].items() if name == PORT[:-3])
    assert over > 0
    # Those of the leaf, and those of the spine for the leaf's hosts.
    assert over <= moved_entries(document, found.tables) <= over + 4


def test_tables_stay_where_that_is_asked_or_nothing_died() -> None:
    document, subnet = read()
    assert detours(document, subnet, [PORT], "unchanged") is None
    assert detours(document, subnet, []) is None


def test_tables_of_no_engine_have_their_entries_moved() -> None:
    document, subnet = read()
    other, _ = subnet.rerouted([PORT], None)
    # The same cables, with tables that no engine would fill while all are in use.
    found = detours(document, other, ["MF0;leaf001:MQM8700/U1[5]"])
    assert found is not None
    assert "(assumed: the tables are of none of minhop, updn, ftree)" in found.words


def test_a_twin_measures_around_the_cable_and_knows_the_tables_of_before() -> None:
    document, subnet = read()
    around = detours(document, subnet, [PORT], platform=platform("generic-hdr"))
    assert around is not None
    faults = [parse_fault(f"{PORT} down")]
    twin = TwinBackend(platform("generic-hdr"), 0, faults, fabric=document, detours=around)
    assert twin.fabric_document["lfts"] == document["lfts"]
    assert twin.facts()["rerouting"] == around.words
    launches = check_launches(
        twin.nodes,
        tasks_per_node=1,
        sizes_bytes=(8, 4096),
        rounds=[[(0, 15), (1, 14)]],
        options={"window": 1, "iterations": 1, "warmup": 0},
        timeout_s=600.0,
    )
    assert list(twin.measure(launches[0]))


def test_a_document_of_its_own_is_routed_by_the_engine_that_filled_it() -> None:
    document = Fabric.from_document({**TREE, "routing": {"engine": "dmodk"}}).document
    found = detours(document, None, ["leaf-01[3]"])
    assert found is not None
    assert found.tables == {"routing": {"engine": "dmodk"}}
    assert "as weft's dmodk does (assumed: the tables equal those of dmodk" in found.words
    chosen = detours(document, None, ["leaf-01[3]"], "updn")
    assert chosen is not None
    assert chosen.tables == {"routing": {"engine": "updn"}}
    assert detours(document, None, ["leaf-01[3]"], "unchanged") is None


def test_a_generators_document_is_routed_around_dead_cables_in_any_case() -> None:
    document = Fabric.from_document(TREE).document
    assert detours(document, None, ["leaf-01[3]"]) is None


@pytest.mark.parametrize("asked", ["ftree", "moved"])
def test_engines_that_need_a_subnet_are_refused_for_a_document(asked: str) -> None:
    document = Fabric.from_document({**TREE, "routing": {"engine": "dmodk"}}).document
    with pytest.raises(InputError, match="weft knows no engine that routes around leaf-01") as info:
        detours(document, None, ["leaf-01[3]"], asked)
    assert "--routing minhop or updn" in str(info.value)


def test_a_port_that_no_switch_has_is_refused() -> None:
    document, subnet = read()
    with pytest.raises(InputError, match="there is no port 'leaf-9"):
        detours(document, subnet, ["leaf-9[1]"])
