"""`--schedule cover:M` on the tables that OpenSM wrote, walked by hand."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.cli.check_answer import accused, answer_of

from weft.cli import run

Capture = pytest.CaptureFixture[str]
REAL = Path(__file__).parent.parent / "fixtures" / "fabric"
CABLES, TABLES = REAL / "small" / "ibnetdiscover.out", REAL / "opensm" / "opensm-lfts.dump"
TWIN = ("--twin", "azure-hbv3", "--fabric", str(CABLES), "--fabric", str(TABLES))
FULL = 2
"""Hosts have 100 Gb/s (2xHDR), cables between switches 200 (4xHDR)."""

Port = tuple[str, int]


@pytest.fixture(autouse=True)
def _engine() -> None:
    pytest.importorskip("weft._engine", reason="the engine is not built")


@dataclass
class ByHand:
    """What the two files say, read by nobody of ours: forwarding ports by switch and LID, the
    switch behind a port, and of each host its leaf and LID."""

    forward: dict[str, dict[int, int]] = field(default_factory=dict)
    behind: dict[Port, str] = field(default_factory=dict)
    host: dict[str, tuple[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        here = ""
        for line in TABLES.read_text().splitlines():
            if found := re.match(r"Unicast lids .* guid 0x([0-9a-f]+)", line):
                here = found[1]
            elif found := re.match(r"0x([0-9a-f]{4}) ([0-9]{3}) ", line):
                self.forward.setdefault(here, {})[int(found[1], 16)] = int(found[2])
        for line in CABLES.read_text().splitlines():
            if found := re.match(r'(Switch|Ca)\s+\d+ "[SH]-([0-9a-f]+)"', line):
                here = found[2] if found[1] == "Switch" else ""
            elif here and (found := re.match(r'\[(\d+)\]\s+"S-([0-9a-f]+)"', line)):
                self.behind[here, int(found[1])] = found[2]
            elif here and (found := re.search(r'# "(\S+) HCA-1" lid (\d+)', line)):
                self.host[found[1]] = (here, int(found[2]))

    def way(self, a: str, b: str) -> Iterator[Port]:
        """The ports of switches by which a message leaves for another switch."""
        here, lid = self.host[a][0], self.host[b][1]
        while (port := (here, self.forward[here][lid])) in self.behind:
            yield port
            here = self.behind[port]


@pytest.mark.parametrize("times", [1, 2, 4])
def test_every_cable_is_filled_so_often_in_each_direction_and_never_asked_for_more(
    times: int, capsys: Capture
) -> None:
    argv = ["check", *TWIN, "--schedule", f"cover:{times}", "--dry-run", "--format", "json"]
    assert run(argv) == 0
    scenario = json.loads(capsys.readouterr().out)["trials"][0]["scenario"]
    names, rounds = scenario["placement"]["nodes"], scenario["work"][0]["rounds"]
    fabric = ByHand()
    leads_to: dict[Port, set[str]] = {}
    for a in names:
        for b in names:
            for port in fabric.way(a, b):
                leads_to.setdefault(port, set()).add(b)
    assert len(leads_to) == 2 * 16, "two directions of 4 x 4 cables"
    filled: Counter[Port] = Counter()
    for pairs in rounds:
        full: set[Port] = set()
        for ends in ((0, 1), (1, 0)):
            loads = Counter(
                port
                for pair in pairs
                for port in fabric.way(names[pair[ends[0]]], names[pair[ends[1]]])
            )
            assert max(loads.values(), default=0) <= FULL
            full |= {p for p, n in loads.items() if n >= min(FULL, len(leads_to[p]))}
        filled.update(full)
    assert min(filled[port] for port in leads_to) >= times


@pytest.mark.parametrize("port", [5, 6, 7, 8])
def test_the_cable_that_the_tables_lead_over_is_named(
    port: int, tmp_path: Path, capsys: Capture
) -> None:
    """By ibnetdiscover ports 5 and 6 of leaf 2 lead to ports 5 and 6 of spine 0, 7 and 8 to those
    of spine 1."""
    plant = f"MF0;leaf002:MQM8700/U1[{port}] rate=0.25"
    answer = answer_of(tmp_path, capsys, *TWIN, "--schedule", "cover:1", "--plant", plant)
    spine = f"MF0;spine0{(port - 5) // 2}:MQM8700/U1[{5 + (port - 5) % 2}]"
    assert accused(answer) == [{f"cable MF0;leaf002:MQM8700/U1[{port}] - {spine}"}]
    assert answer["exit_code"] == 1
