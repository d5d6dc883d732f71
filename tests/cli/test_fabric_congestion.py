"""`weft fabric congestion`: the port that others wait for, and whose messages cross it."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from benches.congestion_roots import judged, ways_in

from weft.bench.twin.backend import TwinBackend
from weft.catalog.load import platform
from weft.cli import run

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def twin() -> TwinBackend:
    return TwinBackend(platform("fat-tree"), 64)


def said(capsys: Capture, folder: Path, *more: str) -> tuple[int, Any]:
    files = [str(folder / "fabric.json"), str(folder / "after.out")]
    argv = ["fabric", "congestion", *files, "--before", str(folder / "before.out")]
    code = run([*argv, *more, "--format", "json"])
    captured = capsys.readouterr()
    return code, json.loads(captured.out) if captured.out else captured.err


def write_jobs(folder: Path, jobs: dict[str, tuple[str, ...]]) -> str:
    path = folder / "jobs"
    path.write_text("".join(f"{name} {','.join(hosts)}\n" for name, hosts in jobs.items()))
    return str(path)


@pytest.mark.parametrize("seed", range(3))
def test_an_incast_is_the_root_and_its_job_the_aggressor(
    twin: TwinBackend, tmp_path: Path, capsys: Capture, seed: int
) -> None:
    asked = ["fan_in:1M@16", "allreduce:8@6"]
    case, _, jobs = judged(twin, random.Random(seed), asked, tmp_path)
    assert case.interval is not None
    more = ("--seconds", str(case.interval.seconds), "--jobs", write_jobs(tmp_path, jobs))
    code, found = said(capsys, tmp_path, *more)
    assert (code, found["n_read"]) == (1, found["n_ports"])
    (tree,) = found["trees"]
    ports = {case.subnet.name(*key) for key in ways_in(case, jobs["a0"])}
    assert tree["root"]["port"] in ports
    assert tree["root"]["sent"] > 0.8
    assert tree["aggressors"][0]["job"] == "a0"
    assert len(tree["waiting"]) >= 10
    files = [str(tmp_path / "fabric.json"), str(tmp_path / "after.out")]
    argv = ["fabric", "congestion", *files, "--before", str(tmp_path / "before.out")]
    assert run([*argv, *more]) == 1
    text = capsys.readouterr().out
    assert text.startswith("BAD  ")
    assert "sent through it by: a0 (" in text


def test_without_waiting_ports_it_is_good_only_if_all_were_read(
    twin: TwinBackend, tmp_path: Path, capsys: Capture
) -> None:
    case, _, _ = judged(twin, random.Random(1), ["allreduce:8@6"], tmp_path)
    assert case.interval is not None
    seconds = ("--seconds", str(case.interval.seconds))
    assert said(capsys, tmp_path, *seconds)[0] == 0
    after = tmp_path / "after.out"
    first, *others = after.read_text().split("# Port counters: ")[1:]
    after.write_text("".join(f"# Port counters: {one}" for one in others))
    code, found = said(capsys, tmp_path, *seconds)
    assert code == 5
    assert found["n_read"] == found["n_ports"] - 1
    assert first


def test_a_port_that_waits_for_what_was_not_read_is_no_verdict(
    tmp_path: Path, capsys: Capture
) -> None:
    fabric = Path(__file__).parents[2] / "docs/samples/unplugged-cable.out"
    for name, n in (("before", 0), ("after", 1_000_000_000)):
        lines = ("# Port counters: Lid 20 port 1", f"PortXmitData:{n}", f"PortXmitWait:{n}")
        (tmp_path / f"{name}.out").write_text("\n".join(lines) + "\n")
    argv = ["fabric", "congestion", str(fabric), str(tmp_path / "after.out"), "--seconds", "1"]
    assert run([*argv, "--before", str(tmp_path / "before.out")]) == 5
    assert capsys.readouterr().out.startswith("UNKNOWN  1 port waited; what for was not read")
    argv[-1] = "0.1"
    assert run([*argv, "--before", str(tmp_path / "before.out")]) == 2
    assert "sent and waited for 640%" in capsys.readouterr().err


def test_no_port_is_blamed_beside_one_that_was_not_read(
    twin: TwinBackend, tmp_path: Path, capsys: Capture
) -> None:
    """The root's own reading is lost: a fuller neighbour must not take its place."""
    case, found, _ = judged(twin, random.Random(0), ["fan_in:1M@16"], tmp_path)
    assert case.interval is not None
    (tree,) = found.trees
    switch, port = tree.root
    lost = f"# Port counters: Lid {case.subnet.nodes[switch].lid} port {port} "
    after = tmp_path / "after.out"
    first, *blocks = after.read_text().split("# Port counters: ")
    kept = [one for one in blocks if not f"# Port counters: {one}".startswith(lost)]
    assert len(kept) == len(blocks) - 1
    after.write_text(first + "".join(f"# Port counters: {one}" for one in kept))
    code, said_now = said(capsys, tmp_path, "--seconds", str(case.interval.seconds))
    assert code == 5
    assert said_now["trees"] == []
    assert said_now["unexplained"]


def test_what_cannot_be_told_is_refused(twin: TwinBackend, tmp_path: Path, capsys: Capture) -> None:
    judged(twin, random.Random(1), ["allreduce:8@6"], tmp_path)
    for name in ("before", "after"):
        path = tmp_path / f"{name}.out"
        path.write_text(path.read_text().replace("PortXmitWait", "PortXmitWhat"))
    code, words = said(capsys, tmp_path, "--seconds", "1")
    assert code == 2
    assert "no port has two readings of PortXmitData and PortXmitWait" in words


def test_counters_that_were_cleared_or_are_full_are_named(
    twin: TwinBackend, tmp_path: Path, capsys: Capture
) -> None:
    """Of one port it is left out; of all there is nothing to say."""
    case, *_ = judged(twin, random.Random(1), ["fan_in:1M@16"], tmp_path)
    assert case.interval is not None
    seconds = ("--seconds", str(case.interval.seconds))
    after, text = tmp_path / "after.out", (tmp_path / "after.out").read_text()
    data = re.search(r"PortXmitData:\.*\d+", text)
    assert data is not None
    full = re.sub(r"\d+$", str(2**32 - 1), data.group())
    after.write_text(text.replace(data.group(), full, 1))
    code, found = said(capsys, tmp_path, *seconds)
    assert (code, found["n_read"]) == (1, found["n_ports"] - 1)
    after.write_text(re.sub(r"(PortXmitData:\.*)\d+", rf"\g<1>{2**32 - 1}", text))
    code, words = said(capsys, tmp_path, *seconds)
    assert code == 2
    assert "were cleared or are full" in words
    assert "no port is left" in words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("a", "'a' is no job"),
        ("a n001\na n002", "job 'a' again"),
        ("a n999", "job 'a' has host 'n999', which no file names"),
    ],
)
def test_a_list_of_jobs_is_checked(
    twin: TwinBackend, tmp_path: Path, capsys: Capture, line: str, words: str
) -> None:
    judged(twin, random.Random(1), ["fan_in:1M@8"], tmp_path)
    jobs = tmp_path / "jobs"
    jobs.write_text(f"# name, hosts\n{line}\n")
    code, said_words = said(capsys, tmp_path, "--seconds", "1", "--jobs", str(jobs))
    assert code == 2
    assert words in said_words
