"""`weft fabric audit`: a cable that was pulled is named, or the verdict is no good one."""

import random
from pathlib import Path

from tests.comfort.draws import NOT_GOOD, each_draw
from tests.drawn_fabrics import drawn

from weft.cli import run


@each_draw
def test_a_pulled_cable_is_never_good_without_the_earlier_file(
    seeds: range, tmp_path: Path
) -> None:
    for seed in seeds:
        fabric = drawn(seed)
        file = tmp_path / f"{seed}.out"
        file.write_text(fabric.net.text())
        code = run(["fabric", "audit", str(file)])
        assert not fabric.cut or code in NOT_GOOD, (seed, fabric.cut)


@each_draw
def test_a_whole_fabric_is_never_bad(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        text = drawn(seed).whole.text().replace("leaf", draw.choice(["leaf", "edge-", "L"]))
        notes = "# a note of an operator\n" if draw.random() < 0.5 else ""
        end = draw.choice(["\n", "\r\n"])
        file = tmp_path / f"{seed}.out"
        file.write_bytes((notes + text + draw.choice(["", "\n\n"])).replace("\n", end).encode())
        assert run(["fabric", "audit", str(file)]) == 0, seed
