"""What files say beside nodes and cables is never passed over in silence."""

import json
from pathlib import Path

import pytest

from weft.topology.subnet.file_facts import file_fact_lines
from weft.topology.subnet.subnet import Subnet

SAMPLES = Path(__file__).resolve().parents[3] / "fixtures" / "fabric"


@pytest.mark.parametrize(
    ("sample", "line"),
    [
        # Its 18 lines, read by eye: one port, Active and LinkUp, no rate under ibsim.
        ("hosts/ibstat.out", "device of a host: ibsim0 port 1: IB, Active, LinkUp, LID 1"),
        ("slurm/four_nodes.conf", "scheduler's tree: leaf0 with 2 nodes"),
        ("slurm/four_nodes.conf", "scheduler's tree: spine with 2 switches"),
        (
            "opensm_logs/ftree_falls_back.log",
            "subnet manager's log: routed by minhop, asked for ftree; different errors 3, "
            "ports that left 0",
        ),
        ("ibdiagnet/ibdiagnet2.db_csv", "counters: 8 ports"),
        ("ibdiagnet/ibdiagnet2.db_csv", "kept as it is: TEMP_SENSING, 7 rows"),
    ],
)
def test_a_line_says_what_else_was_read(sample: str, line: str) -> None:
    assert line in file_fact_lines(Subnet.read([str(SAMPLES / sample)]).description)


def test_many_of_a_kind_are_counted(tmp_path: Path) -> None:
    tree = tmp_path / "topology.conf"
    tree.write_text("".join(f"SwitchName=s{n} Nodes=n{n}\n" for n in range(10)))
    lines = file_fact_lines(Subnet.read([str(tree)]).description)
    assert len(lines) == 9
    assert lines[-1] == "... and 2 more of these: --format json"


def test_a_plain_fabric_has_nothing_next_to_it() -> None:
    assert (
        file_fact_lines(Subnet.read([str(SAMPLES / "small" / "ibnetdiscover.out")]).description)
        == []
    )


def test_a_document_of_one_long_line_is_read_whole(tmp_path: Path) -> None:
    """As a run directory has it: of a large fabric the line is longer than any of a tool."""
    nodes = [f"node-{n:05}" for n in range(20_000)]
    links = [
        {
            "a": f"{node}/hca0[1]",
            "b": f"switch-{n // 200}[{n % 200 + 1}]",
            "bits_per_s": 100_000_000_000,
            "delay_ps": 0,
        }
        for n, node in enumerate(nodes)
    ]
    document = {
        "schema": "weft.fabric/1",
        "nodes": [{"name": node, "hcas": [f"{node}/hca0"]} for node in nodes],
        "switches": [{"name": f"switch-{n}", "ports": 201} for n in range(100)],
        "links": links,
    }
    text = json.dumps(document)
    assert len(text) > 1 << 20
    assert "\n" not in text
    (tmp_path / "fabric.json").write_text(text)
    subnet = Subnet.read([str(tmp_path / "fabric.json")])
    assert not subnet.description["unread"]
    assert len(subnet.description["cables"]) == len(links)
