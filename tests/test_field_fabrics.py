"""Fabrics of strangers, and drawn ones: `weft fabric` finds what is true of them, and no more."""

import csv
from pathlib import Path

import pytest
from tests.drawn_fabrics import Cable, DrawnFabric, drawn

from weft.audit.audit import Audit, audit
from weft.audit.case import AuditCase
from weft.audit.facts import AuditPort
from weft.audit.thresholds import thresholds
from weft.cli import run
from weft.core.finding import Severity
from weft.topology.subnet.anomalies import all_cable_anomalies, title_of
from weft.topology.subnet.cable_matrix import all_matrices_of
from weft.topology.subnet.siblings import SIBLING_SHARE, SMALLEST_GROUP
from weft.topology.subnet.subnet import Subnet
from weft.topology.subnet.tiers import tiers_of

FIELD = Path(__file__).parent / "fixtures" / "field_fabric"
with (FIELD / "labels.csv").open(encoding="utf-8") as labels:
    LABELS = list(csv.DictReader(labels))
SEEDS = range(20)
NO_PATTERN = "no level of switches whose up-links follow a pattern"


@pytest.mark.parametrize("label", LABELS, ids=[f"{it['verb']} {it['file']}" for it in LABELS])
def test_the_first_lines_say_what_an_expert_would(
    label: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    verb, *options = label["verb"].split()
    assert run(["fabric", verb, str(FIELD / label["file"]), *options]) == int(label["code"])
    output = capsys.readouterr()
    said = output.err + output.out
    missing = [words for words in label["says"].split(";") if words not in said]
    assert not missing, said[:2000]
    if label["must_not"]:
        assert label["must_not"] not in said


def test_adapters_of_one_factory_description_stay_nodes_of_their_own() -> None:
    subnet = Subnet.read([str(FIELD / "X5.topofile")])
    document, _ = subnet.fabric_document("X5", 100_000_000_000, 0)
    assert len({node["name"] for node in document["nodes"]}) == 89
    text, _ = subnet.export("slurm")
    names = [line for line in text.splitlines() if "Nodes=" in line]
    assert sum(line.count("0x") for line in names) >= len(names)


def read(fabric: DrawnFabric, folder: Path) -> tuple[Subnet, Subnet]:
    """The fabric now and before, as its tools would print it."""
    now, before = folder / "now.out", folder / "before.out"
    now.write_text(fabric.net.text())
    before.write_text(fabric.whole.text())
    return Subnet.read([str(now)]), Subnet.read([str(before)])


def judge_drawn(fabric: DrawnFabric, now: Subnet, before: Subnet) -> int:
    """Check the audit of a drawn fabric; the cables that it named without earlier files."""
    levels = {node.description: node.level for node in now.nodes if node.is_switch}
    for name in {name for name, level in levels.items() if level != fabric.levels[name]}:
        assert fabric.is_stump(name), (name, levels[name])
    alone = audit(AuditCase(now))
    named = named_cables(fabric, alone)
    unnamed = fabric.cut - named
    assert not [sorted(cable) for cable in unnamed if fabric.can_be_known(cable)]
    notes = [it.sentence for it in alone.findings if it.severity is Severity.NOTE]
    unknown = " ".join([unknown_switches(alone), *notes])
    for cable in unnamed:
        names = [name.split(";")[1].split(":")[0] for name, _ in cable]
        is_stump = any(fabric.is_stump(name) for name, _ in cable)
        assert is_stump or NO_PATTERN in unknown or any(name in unknown for name in names), unknown
    rules = {str(finding.facts.rule): finding for finding in alone.findings}
    assert not set(rules) & {"wrong-rail", "duplicate-guids"}
    bare = {name for name in fabric.levels if not fabric.net.cables[name]}
    assert bare or "isolated" not in rules
    odd = all_cable_anomalies(now, tiers_of(now))
    lacking = sum(max(0, (one.n_expected or 0) - one.n_cables) for one in odd)
    assert lacking == len(named)
    for title in map(title_of, all_matrices_of(tiers_of(now))):
        told = {cable for cable in unnamed if not any(map(fabric.is_stump, dict(cable)))}
        assert not title.startswith("All ") or not told & cables_of(fabric, title), title
    both = audit(AuditCase(now, before))
    gone = {
        cable
        for finding in both.findings
        if finding.facts.rule == "gone"
        for cable in ends_of(finding)
    }
    assert gone == fabric.cut
    return len(named)


def cables_of(fabric: DrawnFabric, title: str) -> set[Cable]:
    """The cables up from the level that a title is about."""
    level = int(title.split(" from level ")[1][0]) if " from level " in title else 1
    below = (switch for switch, at in fabric.levels.items() if at == level)
    return {cable for switch in below for cable in fabric.ups[switch]}


def ends_of(finding: object) -> list[Cable]:
    """Both ends of the cables of a finding."""
    cables = finding.facts.cables  # type: ignore[attr-defined]
    return [frozenset(((it.a.node, it.a.port), (it.b.node, it.b.port))) for it in cables]


def named_cables(fabric: DrawnFabric, found: Audit) -> set[Cable]:
    """The missing cables that an audit names; each was cut."""
    by_socket = {socket: cable for cable in fabric.cut for socket in cable}
    named = set()
    for finding in found.findings:
        if finding.facts.rule != "missing-up-links" or finding.severity is not Severity.BAD:
            continue
        for cable in finding.facts.cables or ():
            own = (cable.a.node, cable.a.port)
            assert own in by_socket, finding.sentence
            named.add(by_socket[own])
            if isinstance(cable.b, AuditPort):
                assert (cable.b.node, cable.b.port) in by_socket[own], finding.sentence
    return named


def unknown_switches(found: Audit) -> str:
    """What the rule of up-links says that it cannot judge."""
    (ruling,) = [ruling for rule, ruling in found.rulings if rule.name == "missing-up-links"]
    return ruling.judged.partition("unknown of ")[2] or ruling.missing


@pytest.mark.parametrize("seed", SEEDS)
def test_a_drawn_fabric_is_judged_as_it_was_drawn(seed: int, tmp_path: Path) -> None:
    fabric = drawn(seed)
    judge_drawn(fabric, *read(fabric, tmp_path))


def test_show_and_audit_share_their_thresholds() -> None:
    assert thresholds().sibling_share.value == SIBLING_SHARE
    assert thresholds().smallest_group.value == SMALLEST_GROUP
