"""`weft bisect`: a planted variable is named, in every format; what cannot be judged is said."""

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.process_calls import not_ignored

from weft.cli import run

Capture = pytest.CaptureFixture[str]
GOOD = {"SLOW": "0", "MODE": "a", "OLD": "1", "TWO": "1", "SLURM_JOB_ID": "1", "API_TOKEN": "t1x2"}
BAD = {"SLOW": "1", "MODE": "b", "NEW": "1", "TWO": "2", "SLURM_JOB_ID": "2", "API_TOKEN": "q7r8"}
TIMED = 'echo "time: $((100 + ($$ % 7) + 100 * ${SLOW:-0})) us"'
"""A figure of 100 us, and twice as much where SLOW is 1; the process id is its noise."""


def files(folder: Path, good: dict[str, str] = GOOD, bad: dict[str, str] = BAD) -> list[str]:
    names = []
    for name, values in (("good.env", good), ("bad.env", bad)):
        (folder / name).write_text("".join(f"{key}={value}\n" for key, value in values.items()))
        names.append(str(folder / name))
    return names


def asked(capsys: Capture, folder: Path, script: str, *words: str, **ends: Any) -> tuple[int, str]:
    options = ["--dir", str(folder / "run"), "--figure", "time: {} us", *words]
    code = run(["bisect", *options, *files(folder, **ends), "--", "sh", "-c", script])
    said = capsys.readouterr()
    return code, said.out + said.err


def answered(capsys: Capture, folder: Path, script: str, *words: str, **ends: Any) -> Any:
    code, said = asked(capsys, folder, script, "--format", "json", *words, **ends)
    assert said.lstrip().startswith("{"), said
    record, _ = json.JSONDecoder().raw_decode(said.lstrip())
    return {**record, "code": code}


def test_the_variable_is_named_with_its_effect_and_a_line_to_paste(
    tmp_path: Path, capsys: Capture
) -> None:
    code, text = asked(capsys, tmp_path, TIMED)
    assert code == 1
    found = re.match(
        r"BAD  because SLOW=1 \(good: 0\): ([12]\.\d+)x worse \[[12]\.\d, 2\.\d\], ", text
    )
    # 200 to 206 us over 100 to 106 us.
    assert found is not None, text
    assert 200 / 106 <= float(found[1]) <= 206 / 100
    assert "judged by the printed number: GOOD 10" in text
    assert "not compared: SLURM_JOB_ID (names this job, not a setting)" in text
    assert f"kept:  {tmp_path / 'run'}\nnext:  env SLOW=0 sh -c " in text


def test_its_record_and_its_run_directory(tmp_path: Path, capsys: Capture) -> None:
    answer = answered(capsys, tmp_path, TIMED)
    (finding,) = answer["findings"]
    facts = finding["facts"]
    assert (answer["code"], answer["verdict"], facts["figure"]) == (1, "bad", "printed")
    assert facts["variables"] == [{"name": "SLOW", "good": "0", "bad": "1"}]
    assert facts["effect"]["low"] < 1.95 < facts["effect"]["high"]
    assert (
        facts["launches"] == answer["launches"] == len(list((tmp_path / "run/raw").glob("*.out")))
    )
    text = "".join(path.read_text() for path in (tmp_path / "run").rglob("*") if path.is_file())
    assert "t1x2" not in text
    assert "q7r8" not in text
    recipe = (tmp_path / "run/recipes/c01-bad.r00.txt").read_text()
    assert recipe.startswith("env -u OLD 'API_TOKEN=[redacted]' MODE=b NEW=1 SLOW=1 TWO=2 sh -c ")
    for verb in ("compare", "report", "history"):
        assert run([verb, str(tmp_path / "run")]) in (0, 1, 5), verb
    assert "environment=bad" in capsys.readouterr().out


def test_a_pair_is_named_together(tmp_path: Path, capsys: Capture) -> None:
    both = 'x=0; [ "$MODE$TWO" = b2 ] && x=90; echo "time: $((100 + $$ % 7 + x)) us"'
    code, text = asked(capsys, tmp_path, both)
    assert code == 1
    assert text.startswith("BAD  because MODE=b (good: a) and TWO=2 (good: 1) together: 1."), text
    assert "without MODE the others are not enough: " in text


def test_a_run_that_was_cut_goes_on_and_launches_nothing_twice(
    tmp_path: Path, capsys: Capture
) -> None:
    script = f"echo x >> {tmp_path / 'count'}; {TIMED}"
    whole = answered(capsys, tmp_path, script)
    (samples,) = (tmp_path / "run/samples").iterdir()
    lines = samples.read_text().splitlines(keepends=True)
    samples.write_text("".join(lines[: len(lines) // 2]))
    (tmp_path / "count").unlink()
    again = answered(capsys, tmp_path, script, "--resume")
    assert again["findings"][0]["facts"]["variables"] == [{"name": "SLOW", "good": "0", "bad": "1"}]
    assert len((tmp_path / "count").read_text().split()) < whole["launches"]
    changed = {**BAD, "TWO": "3"}
    code, text = asked(capsys, tmp_path, script, "--resume", bad=changed)
    assert (code, "this bisect was started differently: variables" in text) == (2, True)


def test_a_hang_is_ended_and_named(tmp_path: Path, capsys: Capture) -> None:
    script = '[ "$SLOW" = 1 ] && sleep 60; echo "time: 3 us"'
    ends = {"good": {"SLOW": "0"}, "bad": {"SLOW": "1"}}
    code, text = asked(capsys, tmp_path, script, "--timeout", "500ms", **ends)
    assert code == 1
    assert text.startswith("BAD  because SLOW=1 (good: 0): hangs in "), text
    assert "BAD no end after 500 ms" in text


def test_a_failure_is_named(tmp_path: Path, capsys: Capture) -> None:
    script = 'echo "time: 3 us"; [ "$TWO" != 2 ]'
    code, text = asked(capsys, tmp_path, script)
    assert code == 1
    assert text.startswith("BAD  because TWO=2 (good: 1): fails in "), text


def test_output_that_changes_its_form_is_a_failure_with_its_reason(
    tmp_path: Path, capsys: Capture
) -> None:
    script = '[ "$TWO" = 2 ] && echo "took 3" || echo "time: 3 us"'
    code, text = asked(capsys, tmp_path, script)
    assert code == 1
    assert "because TWO=2 (good: 1): fails in" in text
    assert "has no figure: no line has 'time: {} us'; c00-good.r00 had one" in text


def test_no_difference_is_no_verdict(tmp_path: Path, capsys: Capture) -> None:
    code, text = asked(capsys, tmp_path, 'echo "time: $((100 + ($$ % 7))) us"', "--pairs", "6")
    assert code == 5
    assert text.startswith("UNKNOWN  cannot tell: no difference found after 12 launches: BAD is ")
    assert "--pairs 30 " in text
    again = shlex.split(text.partition("next:  ")[2])
    count = tmp_path / "count"
    again[-1] += f"; echo x >> {count}"
    assert again[:2] == ["weft", "bisect"]
    assert run(again[1:]) == 2, "another command is refused"
    again[-1] = again[-1].partition("; echo x")[0]
    assert run(again[1:]) == 5
    # The 6 pairs of before count.
    assert "no difference found after 60 launches" in capsys.readouterr().out
    assert len(list((tmp_path / "run/raw").glob("*.out"))) == 60


def test_a_better_bad_is_said_with_the_files_swapped(tmp_path: Path, capsys: Capture) -> None:
    swapped = {"good": {"SLOW": "1"}, "bad": {"SLOW": "0"}}
    code, text = asked(capsys, tmp_path, TIMED, **swapped)
    assert code == 5
    assert "BAD is better than GOOD after " in text
    assert f"{tmp_path / 'bad.env'} {tmp_path / 'good.env'} -- sh -c" in text


def test_a_path_without_the_program_is_a_cause(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/own-program"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    names = files(tmp_path, {"PATH": f"{tmp_path}/bin:/usr/bin:/bin"}, {"PATH": "/usr/bin:/bin"})
    assert run(["bisect", "--dir", str(tmp_path / "run"), *names, "--", program.name]) == 1
    text = capsys.readouterr().out
    assert text.startswith("BAD  because PATH=/usr/bin:/bin (good: "), text
    assert "BAD 'own-program' cannot be started (No such file or directory)" in text


def test_values_that_both_files_set_alike_may_not_change_between(
    tmp_path: Path, capsys: Capture
) -> None:
    both = [{**end, "BOTH": "1"} for end in (GOOD, BAD)]
    assert asked(capsys, tmp_path, TIMED, good=both[0], bad=both[1])[0] == 1
    both = [{**end, "BOTH": "2"} for end in (GOOD, BAD)]
    code, text = asked(capsys, tmp_path, TIMED, "--resume", good=both[0], bad=both[1])
    assert (code, "started differently: variables_alike" in text) == (2, True), text


@pytest.mark.parametrize(
    ("script", "code", "said"),
    [
        ("echo time: 1 us; echo time: 2 us", 2, "it prints 'time: {} us' 2 times (lines 1 and 2)"),
        ("echo time: 0 us", 4, "line 1: 'time: {} us' is 0, not above 0: weft compares ratios"),
        ("echo no", 4, "the command does not work with GOOD: c00-good.r00 has no figure"),
        ("echo oh >&2; exit 3", 4, "does not work with GOOD: ended with exit code 3\n  | oh"),
    ],
)
def test_a_command_that_cannot_be_judged(
    tmp_path: Path, capsys: Capture, script: str, code: int, said: str
) -> None:
    ended, text = asked(capsys, tmp_path, script)
    assert ended == code
    assert said in text


def test_a_command_that_is_not_there(tmp_path: Path, capsys: Capture) -> None:
    code = run(
        ["bisect", "--dir", str(tmp_path / "run"), *files(tmp_path), "--", "no-such-program"]
    )
    assert code == 3
    assert "'no-such-program' cannot be started" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--resume",), "--resume needs the run to go on with"),
        (("--figure", "time {}", "--metric", "latency_us"), "--figure contradicts --metric"),
        (("--higher-is-better",), "--higher-is-better goes with --figure"),
        (("--figure", "time"), "does not say where the number is"),
        (("--timeout", "soon"), "'soon' is not a time"),
    ],
)
def test_options_that_make_no_sense(
    tmp_path: Path, capsys: Capture, words: tuple[str, ...], said: str
) -> None:
    assert run(["bisect", *words, *files(tmp_path), "--", "true"]) == 2
    assert said in capsys.readouterr().err


def test_environments_that_do_not_differ(tmp_path: Path, capsys: Capture) -> None:
    same = {"good": {"A": "1", "SLURM_JOB_ID": "1"}, "bad": {"A": "1", "SLURM_JOB_ID": "2"}}
    code, text = asked(capsys, tmp_path, TIMED, **same)
    assert code == 2
    assert "GOOD and BAD set the same values (not compared: SLURM_JOB_ID: names this job" in text


def test_a_dry_run_shows_what_differs_and_starts_nothing(tmp_path: Path, capsys: Capture) -> None:
    code, text = asked(
        capsys, tmp_path, f"touch {tmp_path / 'ran'}", "--dry-run", "--ignore", "TWO"
    )
    assert code == 0
    assert text.startswith("5 variables to search, 24 environments at most\n")
    assert "OLD        1           not set" in text
    assert "not compared: TWO (--ignore)" in text
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_the_command_and_says_how_to_go_on(
    tmp_path: Path, ended_by: signal.Signals
) -> None:
    where = tmp_path / "run"
    sleep = shutil.which("sleep") or "sleep"
    own = str(shutil.copy(sleep, tmp_path / "own-sleep"))
    words = ["bisect", "--dir", str(where), *files(tmp_path), "--", own, "300"]
    with not_ignored(ended_by):
        weft = subprocess.Popen(
            [sys.executable, "-m", "weft.cli", *words], stderr=subprocess.PIPE, text=True
        )
    until = time.monotonic() + 60
    while not (started := _running(own)) and time.monotonic() < until:
        time.sleep(0.1)
    assert started
    weft.send_signal(ended_by)
    _, said = weft.communicate(timeout=60)
    assert weft.returncode == 130
    assert f"kept: 0 launches in {where}\nnext: weft bisect --dir {where} --resume " in said
    assert not _running(own)


def _running(program: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            first = path.read_bytes().split(b"\0")[0].decode(errors="replace")
        except OSError:
            continue
        found += [str(path)] if first == program else []
    return found
