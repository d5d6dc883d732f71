"""The audit of nets that real OpenSM routed: loops, fallbacks and cuts that it made itself."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.oracle.ibsim import Ibsim, fat_tree, frontera_like, require_tools, torus
from tests.unit.audit.test_clean_shapes import SHAPES, WITHOUT_ROOTS

from weft.audit.audit import audit
from weft.audit.case import AuditCase
from weft.cli import weft
from weft.core.finding import Finding, Severity
from weft.topology.subnet.subnet import Subnet

DUMPS = ("opensm-subnet.lst", "opensm-lfts.dump")


@pytest.fixture(autouse=True)
def _tools() -> None:
    require_tools()


def judged(*paths: Path, before: tuple[Path, ...] = ()) -> dict[str, Finding]:
    """Findings by rule; of a rule with several, one."""
    earlier = Subnet.read([str(path) for path in before]) if before else None
    found = audit(AuditCase(Subnet.read([str(path) for path in paths]), before=earlier))
    return {str(finding.facts.rule): finding for finding in found.findings}


def routed(sim: Ibsim, engine: str, *more: str) -> list[Path]:
    """What OpenSM leaves behind: subnet, tables, its log, lanes where it wrote them."""
    dumps = sim.opensm(engine, *more)
    names = ("opensm-subnet.lst", "opensm-lfts.dump", "opensm-sl2vl.dump")
    found = [dumps / name for name in names if (dumps / name).exists()]
    return [*found, sim.folder / f"osm-{engine}.log"]


def test_the_credit_loop_of_minhop_on_a_torus_is_a_fault() -> None:
    with Ibsim(torus((4, 4, 3)).text()) as sim:
        found = judged(*routed(sim, "minhop"))
        assert "credit loops in routing" in sim.run(
            "ibdmchk", "-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m", "opensm.mcfdbs"
        )
    assert list(found) == ["credit-loops"]
    assert found["credit-loops"].severity is Severity.BAD


def test_engines_that_part_lanes_raise_no_fault_on_a_torus() -> None:
    with Ibsim(torus((4, 4, 3)).text()) as sim:
        found = judged(*routed(sim, "dfsssp", "-Q"))
    assert {finding.severity for finding in found.values()} <= {Severity.WARNING, Severity.NOTE}


@pytest.mark.slow
def test_updn_on_directors_is_clean_and_ftree_falls_back() -> None:
    with Ibsim(frontera_like(12).text()) as sim:
        clean = judged(*routed(sim, "updn"))
        assert clean == {}
        fell = judged(*routed(sim, "ftree"))["engine-fell-back"]
    assert fell.severity is Severity.BAD
    assert (fell.facts.asked, fell.facts.used) == ("ftree", "minhop")
    assert any(line.startswith("AB0") for line in fell.evidence)


def test_updn_that_finds_no_roots_leaves_hosts_unreached(tmp_path: Path) -> None:
    # Seven whole pods and a half: OpenSM says "tables configured" and SUBNET UP all the same.
    path = tmp_path / "tree.json"
    path.write_text(json.dumps(SHAPES[WITHOUT_ROOTS]))
    exported = CliRunner().invoke(weft, ["fabric", "export", str(path), "--to", "ibsim"])
    arrivals: set[bool] = set()
    with Ibsim(exported.stdout) as sim:
        found = judged(*routed(sim, "updn"))
        assert "SUBNET UP" in (sim.folder / "osm-updn.log").read_text()
        subnet = Subnet.read([str(sim.dumps / name) for name in DUMPS])
        lost = subnet.survey()["unreachable"][0]["lid"]
        for sender in subnet.endports[::7]:
            _, error, _ = subnet.trace(sender.node, sender.port, lost)
            theirs = sim.run("ibtracert", str(sender.lid), str(lost))
            assert (error is not None) != ("To ca" in theirs)
            arrivals.add("To ca" in theirs)
    assert arrivals == {True, False}
    assert found["unreachable"].severity is Severity.BAD
    assert "root_guid_file" in found["unreachable"].facts.fix


def test_a_cable_unlinked_under_a_running_manager() -> None:
    net = fat_tree(4, 4, 2, 2)
    with Ibsim(net.text()) as sim:
        log = sim.start_opensm()
        before, now = sim.folder / "before.out", sim.folder / "now.out"
        host = net.id("c104-004 HCA-1")
        before.write_text(sim.run("ibnetdiscover", host=host))
        tables = sim.folder / "old.dump"
        shutil.copy(sim.dumps / "opensm-lfts.dump", tables)
        leaf = "MF0;leaf001:MQM8700/U1"
        sim.console(f'Unlink "{net.id(leaf)}"[6]')
        sim.wait_for(log, "SUBNET UP", 30, times=2)
        now.write_text(sim.run("ibnetdiscover", host=host))
        found = judged(now, tables, before=(before,))
        anew = judged(now, sim.dumps / "opensm-lfts.dump")
    # leaf001, port 6: the second of two cables to the first spine, whose ports 3 and 4 they are in.
    expected = "leaf001 lacks 1 of 4 up-links: port 6 to spine00 port 4"
    assert found["missing-up-links"].sentence == expected
    assert "leaf001 port 6 -- spine00 port 4" in found["gone"].sentence
    assert "missing cables at" in found["unreachable"].sentence
    assert list(anew) == ["missing-up-links"]


def test_errors_that_ibsim_counts_are_read_back_as_a_rate() -> None:
    net = fat_tree(4, 4, 2, 2)
    spine = "MF0;spine00:MQM8700/U1"
    with Ibsim(net.text()) as sim:
        sim.start_opensm()
        host = net.id("c104-004 HCA-1")
        cables = sim.folder / "cables.out"
        cables.write_text(sim.run("ibnetdiscover", host=host))
        readings = []
        for number, value in enumerate((5, 65)):
            for counter in ("SymbolErrorCounter", "LinkDownedCounter"):
                sim.console(f'PerformanceSet "{net.id(spine)}"[3] PortCounters.{counter}={value}')
            path = sim.folder / f"errors-{number}.out"
            sim.wait_for(sim.folder / "ibsim.log", f"has been set to {value}", 10, times=2)
            path.write_text(sim.run("ibqueryerrors", "--threshold-file", "/dev/null", host=host))
            readings.append(path)
        found = judged(cables, *readings)
    growth = found["error-rates"]
    assert growth.severity is Severity.WARNING
    assert "spine00 port 3" in growth.sentence
    assert "leaf001 port 5" in growth.evidence[0]
    assert growth.facts.ports[0].grew_by == 60
