"""Tables around a dead cable, held to those of a running OpenSM on ibsim."""

from dataclasses import dataclass

import pytest
from tests.oracle.ibsim import Ibsim, Net, fat_tree, frontera_like, require_tools, torus

from weft.topology.subnet.subnet import Subnet

LEAF = "MF0;leaf001:MQM8700/U1"
TREE = fat_tree(4, 6, 3)
WIDE = fat_tree(6, 4, 2, 2)
CASES = {
    "tree": (TREE, f"{LEAF}[7]"),
    "parallel cables": (WIDE, f"{LEAF}[6]"),
    "torus": (torus([4, 4]), "sw 1.1[1]"),
    "directors": (frontera_like(8, 6, total=48), "MF0;leaf002:MQM8790/U1[63]"),
}


@dataclass(frozen=True)
class Death:
    """What OpenSM said before a cable died and after, the port, and its log."""

    before: Subnet
    after: Subnet
    port: str
    log: str


@pytest.fixture(autouse=True)
def _tools() -> None:
    require_tools()


def died(net: Net, port: str, engine: str) -> Death:
    """A cable that dies under a running OpenSM."""
    switch, _, number = port.rstrip("]").rpartition("[")
    with Ibsim(net.text()) as sim:
        log = sim.start_opensm(1, engine)
        before = Subnet.read(sim.kept("before"))
        sim.console(f'Unlink "{net.id(switch)}"[{number}]')
        sim.wait_for(log, "SUBNET UP", 30, times=2)
        after = Subnet.read(sim.kept("after"))
        return Death(before, after, port, log.read_text())


def tables(subnet: Subnet) -> dict[str, list[int]]:
    """Ports by switch and adapter, as a fabric document has them."""
    found: dict[str, list[int]] = subnet.fabric_document("tables", 1, 0)[0]["lfts"]
    return found


@pytest.mark.parametrize("engine", ["minhop", "updn", "ftree"])
@pytest.mark.parametrize("name", CASES)
def test_tables_around_a_dead_cable_are_those_of_a_running_opensm(name: str, engine: str) -> None:
    net, port = CASES[name]
    death = died(net, port, engine)
    ours, used = death.before.rerouted([port], engine)
    used_by_opensm = death.log.rpartition(" tables configured on all switches")[0].split()[-1]
    assert used == used_by_opensm
    assert tables(ours) == tables(death.after)
