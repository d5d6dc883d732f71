"""Fabric: paths and cables of a generated tree, and what the engine refuses."""

import pytest

from weft.core.errors import InputError
from weft.topology.engine import as_input_error
from weft.topology.fabric import TABLES_AS_READ, TABLES_UNREAD, Fabric
from weft.topology.subnet.subnet import Subnet
from weft.topology.subnet_document import own_fabric

TREE = {
    "generate": "fat_tree",
    "levels": 2,
    "nodes": 8,
    "nodes_per_leaf": 4,
    "spines": 2,
    "cables_per_spine": 2,
    "host_bits_per_s": 100_000_000_000,
    "switch_bits_per_s": 100_000_000_000,
    "host_delay_ps": 5000,
    "switch_delay_ps": 5000,
}


@pytest.fixture
def fabric() -> Fabric:
    return Fabric.from_document(TREE, "dmodk")


def test_nodes_are_named_in_document_order(fabric: Fabric) -> None:
    assert fabric.nodes == tuple(f"n{number:03d}" for number in range(1, 9))


def test_a_path_starts_at_the_senders_hca_and_ends_at_the_receivers_leaf(fabric: Fabric) -> None:
    near, far = fabric.paths([("n001", "n002"), ("n001", "n008")])
    assert near == ("n001/hca0[1]", "leaf-01[2]")
    assert [port.partition("[")[0] for port in (far[0], far[1], far[3])] == [
        "n001/hca0",
        "leaf-01",
        "leaf-02",
    ]
    assert far[2].startswith("spine-")
    assert far[3] == "leaf-02[4]"
    assert (len(near), len(far)) == (2, 4)


def test_every_step_of_a_path_leaves_the_switch_that_the_last_cable_led_to(
    fabric: Fabric,
) -> None:
    pairs = [(a, b) for a in fabric.nodes for b in fabric.nodes if a != b]
    cables = [{link["a"]: link["b"], link["b"]: link["a"]} for link in fabric.document["links"]]
    beyond = {port: other for cable in cables for port, other in cable.items()}
    for (_, b), path in zip(pairs, fabric.paths(pairs), strict=True):
        for port, following in zip(path, (*path[1:], f"{b}/hca0[1]"), strict=True):
            assert beyond[port].partition("[")[0] == following.partition("[")[0]


def test_without_an_engine_paths_follow_the_tables_of_the_document(fabric: Fabric) -> None:
    written = dict(fabric.document)
    assert Fabric.from_document(written).paths([("n001", "n007")]) == fabric.paths(
        [("n001", "n007")]
    )
    # Leaf 1 now sends everything for n007 (the seventh destination) by its other spine.
    before = written["lfts"]["leaf-01"][6]
    tables = {name: list(ports) for name, ports in written["lfts"].items()}
    tables["leaf-01"][6] = before + 1 if before % 2 == 1 else before - 1
    changed = Fabric.from_document({**written, "lfts": tables})
    assert changed.paths([("n001", "n007")]) != fabric.paths([("n001", "n007")])


FLOWS = [("n001", "n005"), ("n001", "n006"), ("n002", "n007"), ("n005", "n001"), ("n003", "n008")]


@pytest.mark.parametrize("engine", ["dmodk", "minhop", "updn"])
def test_without_a_cable_messages_take_the_paths_of_the_engine_that_filled_the_tables(
    engine: str,
) -> None:
    """Also where the document does not say which one it was."""
    fabric = Fabric.from_document(TREE, engine)
    untold = Fabric.from_document(fabric.document)
    assert engine in untold.engines
    before = fabric.paths(FLOWS)
    up = before[0][1]
    after = untold.rerouted(FLOWS, [up], engine)
    assert after is not None
    assert after == fabric.rerouted(FLOWS, [up], engine)
    assert untold.rerouted(FLOWS, [], engine) == before
    assert all(up not in path for path in after)
    assert [(path[0], path[-1]) for path in after] == [(path[0], path[-1]) for path in before]


def test_of_engines_that_fill_the_tables_alike_all_are_known() -> None:
    """d-mod-k moves the routes of a dead cable only, minhop spreads all of a switch anew."""
    tree = {**TREE, "nodes": 16, "spines": 4, "cables_per_spine": 1}
    filled = Fabric.from_document(tree, "minhop").document
    fabric = Fabric.from_document(filled)
    assert {"dmodk", "minhop"} <= set(fabric.engines)
    flows = [(a, b) for a in fabric.nodes[:4] for b in fabric.nodes[4:]]
    up = fabric.paths(flows)[0][1]
    assert fabric.rerouted(flows, [up], "dmodk") != fabric.rerouted(flows, [up], "minhop")


def test_a_host_without_its_cable_has_no_path(fabric: Fabric) -> None:
    assert fabric.rerouted([("n001", "n005")], ["n005/hca0[1]"], "dmodk") is None


def test_names_that_the_fabric_does_not_have_are_no_missing_path(fabric: Fabric) -> None:
    with pytest.raises(InputError, match="leaf-99"):
        fabric.rerouted(FLOWS, ["leaf-99[1]"], "dmodk")
    with pytest.raises(InputError, match="n099"):
        fabric.rerouted([("n001", "n099")], [], "dmodk")


def test_no_one_knows_how_tables_are_filled_anew_that_no_engine_fills(fabric: Fabric) -> None:
    tables = {name: list(ports) for name, ports in fabric.document["lfts"].items()}
    here = tables["leaf-01"][6]
    tables["leaf-01"][6] = here + 1 if here % 2 == 1 else here - 1
    assert Fabric.from_document({**fabric.document, "lfts": tables}).engines == ()


def test_without_tables_paths_are_those_of_minhop() -> None:
    bare = {key: value for key, value in TREE.items() if key != "routing"}
    document = dict(Fabric.from_document(bare).document)
    document.pop("lfts", None)
    fabric = Fabric.from_document(document)
    assert fabric.engines == ("minhop",)
    assert fabric.rerouted(FLOWS, [], "minhop") == fabric.paths(FLOWS)


def test_no_engine_is_taken_to_have_filled_tables_that_were_read() -> None:
    """Though minhop fills those of a regular tree just so."""
    routed = Subnet.of_fabric({**TREE, "routing": {"engine": "minhop"}}).route("minhop")
    document, _ = own_fabric(routed, "read")
    assert Fabric.from_document(document).engines == ()
    unmarked = [text for text in document["assumed"] if text != TABLES_AS_READ]
    assert "minhop" in Fabric.from_document({**document, "assumed": unmarked}).engines


def test_tables_that_no_one_read_are_not_said_to_be_read() -> None:
    """Of cables alone: the running subnet manager's are another matter all the same, though those
    assumed are minhop's."""
    subnet = Subnet.of_fabric(TREE)
    assert not subnet.has_tables
    document, _ = own_fabric(subnet, "unread")
    assert TABLES_UNREAD in document["assumed"]
    assert TABLES_AS_READ not in document["assumed"]
    assert Fabric.from_document(document).engines == ()
    unmarked = [text for text in document["assumed"] if text != TABLES_UNREAD]
    assert "minhop" in Fabric.from_document({**document, "assumed": unmarked}).engines


def test_an_unknown_node_is_refused(fabric: Fabric) -> None:
    with pytest.raises(InputError) as caught:
        fabric.paths([("n001", "n099")])
    assert caught.value.what == "there is no node or HCA 'n099'"
    assert caught.value.where == "pairs[0]"
    assert caught.value.expected == "a name of the fabric"


@pytest.mark.parametrize(
    ("change", "where", "what"),
    [
        ({"levels": 4}, "fabric.levels", "4 levels"),
        ({"spines": None}, "fabric", "'spines' is missing"),
        ({"nodes": 0}, "fabric.nodes", "it is 0"),
        ({"radix": 8}, "fabric.radix", "'radix' has no meaning in a fat-tree of 2 levels"),
        ({"host_bits_per_s": 0}, "fabric.links[0]", "the rate is zero"),
        ({"generate": "torus"}, "fabric.generate", "unknown generator 'torus'"),
    ],
)
def test_a_bad_document_says_what_and_where(change: dict, where: str, what: str) -> None:
    with pytest.raises(InputError) as caught:
        Fabric.from_document({**TREE, **change})
    assert (caught.value.where, caught.value.what) == (where, what)
    assert caught.value.expected


def test_an_unknown_key_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="unknown field `colour`"):
        Fabric.from_document({**TREE, "colour": "blue"})


def test_an_unknown_routing_engine_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="nonsense"):
        Fabric.from_document(TREE, "nonsense")


def test_every_aspect_of_the_engines_text_is_kept() -> None:
    error = as_input_error(ValueError("here: it broke\n  expected: peace\n  hint: rest"))
    aspects = (error.where, error.what, error.expected, error.hint)
    assert aspects == ("here", "it broke", "peace", "rest")


def test_a_text_of_one_word_is_still_an_error() -> None:
    assert as_input_error(ValueError("boom")).describe() == "boom"
