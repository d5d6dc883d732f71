"""`weft doctor log`: a fault of which no line is left is never called good: TCP between nodes, a
message that ends the job, a rank that hangs. Of a version or a value that no line tells, a good
answer claims nothing."""

import random
from pathlib import Path

import pytest
from tests.comfort.draws import NOT_GOOD, each_draw, odd_lines, without_some
from tests.unit.doctor.nccl_log import LoggedJob
from tests.unit.doctor.test_log_messages import FATAL, HARMLESS, line_of

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


def ended_early(job: LoggedJob, draw: random.Random) -> list[str]:
    """A job that ends while it starts: some ranks are up, one at least is not."""
    ranks = [list(job.of(rank)) for rank in job.ranks]
    for rank in draw.sample(range(len(ranks)), draw.randint(1, len(ranks))):
        ranks[rank] = [line for line in ranks[rank] if "COMPLETE" not in line]
    return [f"NCCL version {job.version}", *(line for rank in ranks for line in rank)]


@each_draw
def test_a_job_that_ended_early_is_never_good_without_its_lines(
    seeds: range, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message that ended it is lost, or the beginning of the rank that hangs is."""
    for seed in seeds:
        draw = random.Random(seed)
        job = LoggedJob(draw.randint(1, 4), draw.choice([1, 4, 8]))
        lines = ended_early(job, draw)
        if draw.random() < 0.5:
            at = draw.randrange(1, len(lines))
            lines = [*lines[:at], line_of(draw.choice(FATAL)), *lines[at:]]
        is_evidence = draw.choice(
            [lambda line: "WARN" in line, lambda line: "WARN" in line or "Init START" in line]
        )
        kept = without_some(lines, is_evidence, draw)
        file = tmp_path / f"{seed}.log"
        file.write_bytes(odd_lines(kept, draw, notes=NOTES))
        code = run(["doctor", "log", str(file)])
        out = capsys.readouterr().out
        assert code in NOT_GOOD, (seed, out[:400])
        assert "would show" not in out, seed


@each_draw
def test_nothing_is_claimed_of_versions_and_values_that_no_line_tells(
    seeds: range, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        value = "NCCL_IB_TIMEOUT set by environment to 300."
        job = LoggedJob(draw.randint(2, 4), draw.choice([1, 4]), before=(value,))
        lines = [*job.lines(), "node0:1:2 [0] NCCL INFO NCCL version 2.27.3+cuda12.9"]
        file = tmp_path / f"{seed}.log"
        file.write_bytes(odd_lines(lines, draw, notes=NOTES))
        assert run(["doctor", "log", str(file)]) == 1, seed
        hidden = [line for line in lines if "set by" not in line and "version" not in line]
        file.write_bytes(odd_lines(hidden, draw, notes=NOTES))
        capsys.readouterr()
        run(["doctor", "log", str(file)])
        claimed = capsys.readouterr().out.partition("would show:")[2].partition("\n")[0]
        assert "version" not in claimed, seed
        assert "value" not in claimed, seed


@each_draw
def test_a_healthy_job_is_never_bad(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        job = LoggedJob(draw.randint(2, 4), draw.choice([1, 4, 8]))
        ranks = [list(job.of(rank)) for rank in job.ranks]
        draw.shuffle(ranks)
        lines = [f"NCCL version {job.version}", *(line for rank in ranks for line in rank)]
        lines += [line_of(one) for one in draw.sample(HARMLESS, 1)]
        prefix = draw.choice(["", "[1,0]<stdout>:", "2026-01-02T03:04:05 ", "0: "])
        file = tmp_path / f"{seed}.log"
        file.write_bytes(odd_lines([prefix + line for line in lines], draw, notes=NOTES))
        assert run(["doctor", "log", str(file)]) == 0, seed
