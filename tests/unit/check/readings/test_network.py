"""Tables walked here are those that the engine walks."""
# mypy: disable-error-code="no-untyped-def"

from itertools import permutations
from types import SimpleNamespace

import pytest
from tests.unit.check.schedule.fields import generated

from weft.check.readings.network import Network

THREE_LEVELS = {"nodes": 16, "per_leaf": 0, "spines": 0, "levels": 3, "radix": 4}


def silent(fabric, document=None):
    """A fabric that answers no question: its tables must do."""
    return SimpleNamespace(document=document or fabric.document)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("kind", ["two levels", "three levels", "two rails"])
def test_the_tables_lead_where_the_engine_goes(kind, turned):
    """Whichever end of a cable the document names first."""
    made = {
        "two levels": lambda: generated(nodes=12, per_leaf=4, spines=3),
        "three levels": lambda: generated(**THREE_LEVELS),
        "two rails": lambda: generated(nodes=8, per_leaf=2, spines=3, hcas=2),
    }
    fabric = made[kind]()
    document = dict(fabric.document)
    if turned:
        document["links"] = [{**x, "a": x["b"], "b": x["a"]} for x in document["links"]]
    network = Network(silent(fabric, document))
    flows = list(permutations(network.hcas, 2))
    told = fabric.paths(flows)
    walked = network.routes(flows)
    assert [tuple(network.ports[p] for p in way) for way in walked] == [tuple(p) for p in told]


@pytest.mark.parametrize("broken", ["no table", "to a host", "in circles"])
def test_what_the_tables_do_not_tell_is_asked(broken):
    """The engine says what is wrong."""
    fabric = generated(nodes=8, per_leaf=4, spines=2)
    tables = dict(fabric.document["lfts"])
    if broken == "in circles":
        tables |= {name: [tables[name][0]] * 8 for name in ("spine-01", "spine-02")}
    else:
        tables["leaf-01"] = [0 if broken == "no table" else tables["leaf-01"][0]] * 8
    asked = []

    def paths(flows):
        asked.extend(flows)
        return [() for _ in flows]

    document = {**fabric.document, "lfts": tables}
    network = Network(SimpleNamespace(document=document, paths=paths))
    flow = ("n002/hca0", "n007/hca0")
    assert [way.tolist() for way in network.routes([flow])] == [[]]
    assert asked == [flow]


def test_ports_lead_up_away_from_hosts_and_down_towards_them():
    """Three levels: the names say which."""
    network = Network(generated(**THREE_LEVELS))
    level = {"leaf": 0, "spine": 1, "core": 2}
    heights = [level[name.partition("-")[0]] for name in network.switches]
    assert network.height.tolist() == heights
    for port, (here, there) in enumerate(zip(network.ports, _others(network.ports), strict=True)):
        tiers = [level.get(end.partition("-")[0]) for end in (here, there)]
        up = 0 if None in tiers else tiers[1] - tiers[0]
        assert network.climbs[port] == up


def test_the_ports_of_a_switch_come_by_their_numbers():
    """A switch of 20,000 spines has 20,001 ports, each spine one; a table of all numbers for all
    switches would have 400 million entries."""
    fabric = generated(nodes=2, per_leaf=1, spines=20_000)
    network = Network(fabric)
    leaf, spine = network.switches.index("leaf-01"), network.switches.index("spine-20000")
    own = [network.ports[port] for port in network.egress_of(leaf)]
    assert own == [f"leaf-01[{number}]" for number in range(1, 20_002)]
    assert [network.ports[port] for port in network.egress_of(spine)] == [
        "spine-20000[1]",
        "spine-20000[2]",
    ]
    assert network.out_of.nbytes < 10**6


def _others(ports):
    return [ports[i ^ 1] for i in range(len(ports))]
