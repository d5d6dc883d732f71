"""`weft fabric audit` and `show`: a cable that was pulled is named, or the verdict is no good one.
`weft fabric trace`: a path that does not arrive is never said to, whatever is read of the tables.
"""

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.comfort.draws import NOT_BAD, NOT_GOOD, each_draw, odd_lines
from tests.drawn_fabrics import drawn

from weft.cli import run

FABRIC = Path(__file__).parents[1] / "fixtures" / "fabric"
CABLES = (FABRIC / "small" / "ibnetdiscover.out").read_text()
TABLES = (FABRIC / "opensm" / "opensm-lfts.dump").read_text()
NO_PORT = "255"
INPUT_ERROR = 2
HIGHEST_PORT = 36
"""No cable of the sample is there."""
TO_SWITCH = re.compile(r'^\[\d+\]\s+"S-?')
NOTES = ("# a note of an operator", "# copied on Monday")
verbs = pytest.mark.parametrize("verb", ["audit", "show"])


def without_evidence(text: str, draw: random.Random) -> str:
    """A net without its cables between switches, or without some of its lines, or as it is."""
    lines = text.splitlines()
    how = draw.choice(["whole", "whole", "no cables", "no adapters", "few lines"])
    if how == "no cables":
        lines = cut_between_switches(lines)
    if how == "no adapters":
        lines = [line for line in lines if '"H-' not in line and "Ca\t" not in line]
    if how == "few lines":
        lines = [line for line in lines if not line.startswith("[") or draw.random() < 0.5]
    return "\n".join(lines)


def cut_between_switches(lines: list[str]) -> list[str]:
    """The lines of a net without those of cables that lead from a switch to another."""
    kept, is_switch = [], False
    for line in lines:
        is_switch = line.startswith("Switch") or (is_switch and line.startswith("["))
        if not (is_switch and TO_SWITCH.match(line)):
            kept.append(line)
    return kept


@verbs
@each_draw
def test_a_pulled_cable_is_never_good_without_the_earlier_file(
    seeds: range, verb: str, tmp_path: Path
) -> None:
    for seed in seeds:
        fabric = drawn(seed)
        file = tmp_path / "net.out"
        file.write_text(without_evidence(fabric.net.text(), random.Random(seed)))
        code = run(["fabric", verb, str(file)])
        assert not fabric.cut or code in NOT_GOOD, (seed, fabric.cut)


@verbs
@each_draw
def test_a_whole_fabric_is_never_bad(seeds: range, verb: str, tmp_path: Path) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        text = drawn(seed).whole.text().replace("leaf", draw.choice(["leaf", "edge-", "L"]))
        notes = "# a note of an operator\n" if draw.random() < 0.5 else ""
        end = draw.choice(["\n", "\r\n"])
        file = tmp_path / "net.out"
        file.write_bytes((notes + text + draw.choice(["", "\n\n"])).replace("\n", end).encode())
        assert run(["fabric", verb, str(file)]) == 0, seed


def tables() -> list[list[str]]:
    """The tables of the sample, each the lines of one switch."""
    blocks: list[list[str]] = []
    for line in TABLES.splitlines():
        if line.startswith("Unicast"):
            blocks.append([])
        blocks[-1].append(line)
    return blocks


def hosts() -> list[tuple[str, str]]:
    """The hosts of the sample: LID in hexadecimal, and the description."""
    found = re.findall(r"^(0x\w+) \d+ # Channel Adapter .*: '(.*)'$", "\n".join(tables()[0]), re.M)
    return [(lid, name) for lid, name in found]


def with_entry(block: list[str], lid: str, port: str) -> list[str]:
    """A table whose entry for a LID is another."""
    return [
        f"{lid} {port} {line.split(' ', 2)[2]}" if line.startswith(lid) else line for line in block
    ]


def planted(draw: random.Random) -> tuple[list[list[str]], str, str]:
    """Tables by which packets of one host do not reach another, for they end at the first switch:
    in no port, in a port without a cable, or in that of the sender; and both hosts."""
    a, b = draw.sample(hosts(), 2)
    blocks = tables()
    first = next(at for at, block in enumerate(blocks) if is_leaf_of(block, a[0]))
    own = {line.split()[0]: line.split()[1] for line in blocks[first][1:-1]}
    wrong = draw.choice([NO_PORT, f"{HIGHEST_PORT:03}", own[a[0]]])
    blocks[first] = with_entry(blocks[first], b[0], wrong)
    return blocks, a[1], b[1]


def is_leaf_of(block: list[str], lid: str) -> bool:
    """Whether a host hangs at this switch: the sample's leaves have hosts at ports 1 to 4."""
    return any(line.startswith(lid) and int(line.split()[1]) <= 4 for line in block) and (
        "leaf" in block[0]
    )


@each_draw
def test_a_path_that_does_not_arrive_is_never_good(seeds: range, tmp_path: Path) -> None:
    cables, dump = tmp_path / "net.out", tmp_path / "lfts.dump"
    for seed in seeds:
        draw = random.Random(seed)
        blocks, a, b = planted(draw)
        share = draw.choice([0.0, 0.0, 0.3, 0.8])
        kept = [block for block in blocks if draw.random() >= share]
        lines = [line for block in kept for line in block if draw.random() >= share / 10]
        cables.write_text("\n".join(thinned(draw)))
        dump.write_text("\n".join(lines))
        assert run(["fabric", "trace", a, b, str(cables), str(dump)]) in NOT_GOOD, seed


def thinned(draw: random.Random) -> Iterator[str]:
    """The cables, some of them left out in some draws."""
    share = draw.choice([0.0, 0.0, 0.2])
    for line in CABLES.splitlines():
        if not line.startswith("[") or draw.random() >= share:
            yield line


@each_draw
def test_a_path_that_arrives_is_never_bad(seeds: range, tmp_path: Path) -> None:
    cables, dump = tmp_path / "net.out", tmp_path / "lfts.dump"
    for seed in seeds:
        draw = random.Random(seed)
        (_, a), (_, b) = draw.sample(hosts(), 2)
        share = draw.choice([0.0, 0.0, 0.3])
        lines = [line for block in tables() if draw.random() >= share for line in block]
        cables.write_bytes(odd_lines(CABLES.splitlines(), draw, notes=NOTES))
        dump.write_text("\n".join(lines) + draw.choice(["", "\n"]))
        code = run(["fabric", "trace", a, b, str(cables), str(dump)])
        # A blank line within an entry tears it: then an error may be right.
        assert code in (*NOT_BAD, INPUT_ERROR), (seed, a, b)
