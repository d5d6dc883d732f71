"""A cable that dies under a real OpenSM, and what a check says that still has the tables of before.

Measured by a twin that routes by the tables of after; the check knows those of before.
"""

from typing import Any

import pytest
from tests.oracle.ibsim import Ibsim, fat_tree, require_tools

from weft.bench.twin.backend import TwinBackend
from weft.catalog.load import platform
from weft.check.launches import FollowUpBackend, check_launches
from weft.check.schedule.rounds.matchings import reflections
from weft.check.verdict.verdict import judge_check
from weft.core.finding import Finding, Severity
from weft.topology.fabric import Fabric
from weft.topology.subnet.subnet import Subnet
from weft.topology.subnet_document import own_fabric

LEAF = "MF0;leaf001:MQM8700/U1"
HOSTS_A_LEAF = 6
SPINES = 3


@pytest.fixture(autouse=True)
def _tools() -> None:
    require_tools()


def routed(engine: str, port: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fabric's documents before a port of a leaf lost its cable, and after."""
    net = fat_tree(4, HOSTS_A_LEAF, SPINES)
    with Ibsim(net.text()) as sim:
        log = sim.start_opensm(1, engine)
        files = [sim.kept("before")]
        sim.console(f'Unlink "{net.id(LEAF)}"[{port}]')
        sim.wait_for(log, "SUBNET UP", 30, times=2)
        files.append(sim.kept("after"))
        model = platform("frontera")
        before, after = (own_fabric(Subnet.read(of), "net", model)[0] for of in files)
    assert len(before["links"]) - len(after["links"]) == 1
    return before, after


def accused(told: dict[str, Any], real: dict[str, Any]) -> list[Finding]:
    """What a check calls bad that was told one fabric while another is measured."""
    twin = TwinBackend(platform("frontera"), len(real["nodes"]), fabric=real)
    wiring = Fabric.from_document(told)
    launches = check_launches(
        wiring.nodes,
        tasks_per_node=1,
        sizes_bytes=(8, 2**20),
        rounds=[pairs.tolist() for pairs in reflections(len(wiring.nodes))],
        options={"window": 1, "iterations": 1, "warmup": 0},
        timeout_s=600.0,
    )
    backend = FollowUpBackend(twin, wiring, adaptive=False)
    samples = [sample for launch in launches for sample in backend.measure(launch)]
    verdict = judge_check(samples, wiring)
    return [finding for finding in verdict.findings if finding.severity is Severity.BAD]


@pytest.mark.parametrize("engine", ["minhop", "ftree"])
@pytest.mark.parametrize("spine", [0, 2])
def test_where_opensm_moves_only_its_messages_the_dead_cable_is_named(
    engine: str, spine: int
) -> None:
    port = HOSTS_A_LEAF + spine + 1
    (found,) = accused(*routed(engine, port))
    assert "carries nothing" in found.sentence
    (suspect,) = found.facts.suspects
    assert suspect.component.ends == (f"{LEAF}[{port}]", f"MF0;spine{spine:02d}:MQM8700/U1[2]")


@pytest.mark.parametrize("engine", ["updn", "dfsssp"])
def test_where_opensm_moves_others_messages_too_no_cable_is_named(engine: str) -> None:
    assert accused(*routed(engine, HOSTS_A_LEAF + 1)) == []


def test_a_check_with_the_tables_of_after_accuses_nothing() -> None:
    _, after = routed("minhop", HOSTS_A_LEAF + 1)
    assert accused(after, after) == []
