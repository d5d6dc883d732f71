"""`weft judge`: low rows of which some are missing are never called good, on a named machine."""

import random
from pathlib import Path

from tests.comfort.draws import NOT_BAD, NOT_GOOD, each_draw, odd_lines

from weft.cli import run

HEAD = ("# OSU MPI Bandwidth Test v5.9", "# Size      Bandwidth (MB/s)")
SIZES = [2**power for power in range(23)]
PEAK_MB_S = 12_100
"""EDR: what the catalogue's azure-hc reaches."""
HALF_BYTES = 4096
NOTES = ("[node1] warning: a note", "srun: job 17 queued", "# a comment")


def curve(factor: float, draw: random.Random) -> list[str]:
    """A bandwidth that rises to its peak, times a factor, with 1 % of noise."""
    return [
        f"{size}   {factor * draw.uniform(0.99, 1.01) * PEAK_MB_S * size / (size + HALF_BYTES):.2f}"
        for size in SIZES
    ]


@each_draw
def test_low_rows_with_some_missing_are_never_good(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        rows = curve(draw.uniform(0.1, 0.5), draw)
        kept = [row for row in rows if draw.random() > draw.choice([0.2, 0.8])]
        head = [line for line in HEAD if draw.random() > 0.2]
        file = tmp_path / f"{seed}.out"
        file.write_text("\n".join([*head, *kept]))
        assert run(["judge", str(file), "--platform", "azure-hc"]) in NOT_GOOD, seed


@each_draw
def test_a_healthy_file_is_never_bad(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        file = tmp_path / f"{seed}.out"
        rows = curve(1.0, draw)
        file.write_bytes(odd_lines([*HEAD, *rows], draw, notes=NOTES))
        assert run(["judge", str(file), "--platform", "azure-hc"]) in NOT_BAD, seed
