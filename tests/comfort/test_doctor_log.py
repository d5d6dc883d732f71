"""`weft doctor log`: TCP between nodes, of which no line is left, is never called good."""

import random
from pathlib import Path

import pytest
from tests.comfort.draws import NOT_GOOD, each_draw, odd_lines, without_some
from tests.unit.doctor.nccl_log import LoggedJob

from weft.cli import run

NOTES = ("Epoch 3: loss 0.21", "slurmstepd: info: step 0", "W0101 torch warned", "[host] done")


@each_draw
def test_tcp_without_its_lines_is_never_good(
    seeds: range, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        job = LoggedJob(draw.randint(2, 4), draw.choice([1, 4, 8]), network="Socket")
        lines = without_some(job.lines(), lambda line: "Socket" in line, draw)
        file = tmp_path / f"{seed}.log"
        file.write_text("\n".join(lines))
        code = run(["doctor", "log", str(file)])
        assert code in NOT_GOOD, (seed, capsys.readouterr().out[:400])
        assert "would show" not in capsys.readouterr().out


@each_draw
def test_a_healthy_job_is_never_bad(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        job = LoggedJob(draw.randint(2, 4), draw.choice([1, 4, 8]))
        ranks = [list(job.of(rank)) for rank in job.ranks]
        draw.shuffle(ranks)
        lines = [f"NCCL version {job.version}", *(line for rank in ranks for line in rank)]
        prefix = draw.choice(["", "[1,0]<stdout>:", "2026-01-02T03:04:05 ", "0: "])
        file = tmp_path / f"{seed}.log"
        file.write_bytes(odd_lines([prefix + line for line in lines], draw, notes=NOTES))
        assert run(["doctor", "log", str(file)]) == 0, seed
