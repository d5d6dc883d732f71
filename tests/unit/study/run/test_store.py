import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.mock_backend import MockBackend

from weft.bench.model import Launch, Sample, State, Trial
from weft.core.errors import InputError, MissingError, StorageError
from weft.study.run.loop import execute
from weft.study.run.store import RunStore, read_meta, read_plan, read_run

TRIALS = [
    Trial("t000-latency", "latency", (8, 1024), ("n001", "n002"), 1, arm={"ar": "off"}),
    Trial("t001-barrier", "barrier", (0,), ("n001", "n002"), 2, env={"A": "1"}, node_set=3),
]
LAUNCHES = [
    Launch(trial, repeat, order=2 * repeat + i, block=repeat)
    for repeat in range(3)
    for i, trial in enumerate(TRIALS)
]


def _run(run_dir: Path, **options: Any) -> None:
    with RunStore.create(run_dir, {"seed": 1}) as store:
        execute(LAUNCHES, MockBackend(**options), store)


def _resume(run_dir: Path) -> None:
    with RunStore.open(run_dir) as store:
        execute(LAUNCHES, MockBackend(), store)


def _sample_files(run_dir: Path) -> list[Path]:
    return sorted((run_dir / "samples").glob("*.jsonl"))


def test_a_run_reads_back_as_it_was_planned_and_measured(tmp_path: Path) -> None:
    _run(tmp_path / "run")
    run = read_run(tmp_path / "run")
    assert run.launches == tuple(LAUNCHES)
    assert run.complete
    expected = [s for launch in LAUNCHES for s in MockBackend().measure(launch)]
    assert list(run.samples) == expected
    assert run.meta == {"schema": "weft.run/1", "seed": 1}


def test_records_are_those_of_the_reference(tmp_path: Path) -> None:
    _run(tmp_path / "run", failing=["t001-barrier.r01"])
    (path,) = _sample_files(tmp_path / "run")
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert records[0]["schema"] == "weft.samples/1"
    assert records[0]["writer"] == path.stem
    done = next(r for r in records if r["record"] == "done")
    assert {"trial", "repeat", "n_samples", "seconds"} <= set(done)
    (failed,) = (r for r in records if r["record"] == "failed")
    assert (failed["trial"], failed["repeat"], failed["state"]) == ("t001-barrier", 1, "failed")
    assert (tmp_path / "run" / "raw").is_dir()
    assert (tmp_path / "run" / "recipes").is_dir()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """A finished run and the content of its one sample file."""
    run_dir = tmp_path_factory.mktemp("whole") / "run"
    _run(run_dir)
    return run_dir, _sample_files(run_dir)[0].read_bytes()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 1))
def test_a_file_cut_anywhere_resumes_to_the_same_run(
    whole: tuple[Path, bytes], share: float
) -> None:
    run_dir, content = whole
    for path in _sample_files(run_dir):
        path.unlink()
    cut = run_dir / "samples" / "a-1-0.jsonl"
    cut.write_bytes(content[: round(share * len(content))])
    before = read_run(run_dir)
    _resume(run_dir)
    after = read_run(run_dir)
    assert after.complete
    assert before.done <= after.done
    assert list(after.samples) == [s for x in LAUNCHES for s in MockBackend().measure(x)]
    done = [
        (r["trial"], r["repeat"])
        for path in _sample_files(run_dir)
        for line in path.read_bytes().split(b"\n")[:-1]
        if (r := json.loads(line))["record"] == "done"
    ]
    assert sorted(done) == sorted(launch.key for launch in LAUNCHES)


def test_a_half_written_last_line_is_ignored_and_said(tmp_path: Path) -> None:
    _run(tmp_path / "run")
    (path,) = _sample_files(tmp_path / "run")
    path.write_bytes(path.read_bytes()[:-5])
    run = read_run(tmp_path / "run")
    assert not run.complete
    assert len(run.done) == len(LAUNCHES) - 1
    assert "half-written" in run.remarks[0]


def test_a_damaged_line_inside_a_file_is_an_error_with_its_place(tmp_path: Path) -> None:
    _run(tmp_path / "run")
    (path,) = _sample_files(tmp_path / "run")
    lines = path.read_text().splitlines()
    lines[2] = lines[2][:20]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=r"jsonl:3: not a JSON record"):
        read_run(tmp_path / "run")


@pytest.mark.parametrize(
    "line",
    [
        '{"record":"done","trial":"t","repeat":"x","n_samples":0}',
        '{"record":"done","trial":"t"}',
        '{"record":"failed","trial":"t","repeat":0,"state":"sleepy","message":"m"}',
    ],
)
def test_a_record_that_makes_no_sense_is_an_error_that_names_the_file(
    tmp_path: Path, line: str
) -> None:
    _run(tmp_path / "run")
    (path,) = _sample_files(tmp_path / "run")
    with path.open("a") as file:
        file.write(line + "\n")
    with pytest.raises(InputError, match="record") as error:
        read_run(tmp_path / "run")
    assert path.name in error.value.describe()


def test_a_record_of_a_newer_weft_is_passed_over(tmp_path: Path) -> None:
    _run(tmp_path / "run")
    (path,) = _sample_files(tmp_path / "run")
    content = path.read_text().replace('"record":"done"', '"mood":"fine","record":"done"')
    path.write_text('{"record":"weather","sun":1}\n' + content)
    assert read_run(tmp_path / "run").complete


def test_samples_without_their_done_do_not_count(tmp_path: Path) -> None:
    _run(tmp_path / "run")
    (path,) = _sample_files(tmp_path / "run")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if '"record":"done"' not in line))
    run = read_run(tmp_path / "run")
    assert run.samples == ()
    assert not run.done


def test_a_done_that_counts_more_samples_than_there_are_does_not_count(tmp_path: Path) -> None:
    _run(tmp_path / "run")
    (path,) = _sample_files(tmp_path / "run")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], *lines[2:]]))
    assert LAUNCHES[0].key not in read_run(tmp_path / "run").done


def test_two_writers_never_share_a_file_and_a_launch_counts_once(tmp_path: Path) -> None:
    _run(tmp_path / "run")
    with RunStore.open(tmp_path / "run") as one, RunStore.open(tmp_path / "run") as other:
        for store in (one, other):
            samples = list(MockBackend(seed=9).measure(LAUNCHES[0]))
            for sample in samples:
                store.append(sample)
            store.done(LAUNCHES[0], n_samples=len(samples), seconds=0.0)
    assert len(_sample_files(tmp_path / "run")) == 3
    run = read_run(tmp_path / "run")
    assert sum((s.trial, s.repeat) == LAUNCHES[0].key for s in run.samples) == 2


def test_a_directory_with_anything_in_it_is_refused_with_the_way_on(tmp_path: Path) -> None:
    _run(tmp_path / "run")
    with pytest.raises(InputError, match="not empty") as error:
        RunStore.create(tmp_path / "run", {})
    assert "--resume" in error.value.describe()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "todo.txt").write_text("x")
    with pytest.raises(InputError, match="not empty"):
        RunStore.create(tmp_path / "notes", {})


def test_an_empty_directory_is_taken(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    _run(tmp_path / "run")
    assert read_run(tmp_path / "run").complete


def test_another_plan_is_not_resumed(tmp_path: Path) -> None:
    _run(tmp_path / "run")
    with RunStore.open(tmp_path / "run") as store, pytest.raises(InputError) as error:
        execute(LAUNCHES[::-1], MockBackend(), store)
    assert "planned differently" in error.value.describe()
    assert "another --dir" in error.value.describe()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "not a run directory"),
        ("schema = 'weft.run/7'", "schema 'weft.run/7'"),
        ("seed = 1", "schema None"),
        ("= 3", "not TOML"),
    ],
)
def test_what_is_no_run_directory_is_said(tmp_path: Path, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / "run.toml").write_text(content)
    for read in (read_meta, read_run, RunStore.open):
        with pytest.raises(InputError) as error:
            read(tmp_path)
        assert said in error.value.describe()


def test_a_file_in_the_place_of_the_directory_is_said(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("x")
    with pytest.raises(InputError, match="not a directory"):
        RunStore.create(tmp_path / "run", {})
    with pytest.raises(InputError, match="not a run directory"):
        read_run(tmp_path / "run")


def test_a_disk_that_takes_no_more_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RunStore.create(tmp_path / "run", {}) as store:

        def full(*_: object) -> int:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.write", full)
        sample = Sample("t000-latency", 0, "latency", 8, {}, 1, 0.0)
        with pytest.raises(MissingError, match="No space left on device"):
            store.append(sample)
        monkeypatch.undo()


def test_the_failure_of_a_launch_reads_back(tmp_path: Path) -> None:
    _run(tmp_path / "run", hanging=["t001-barrier.r01"])
    run = read_run(tmp_path / "run")
    (failure,) = run.failures
    assert (failure.trial, failure.repeat, failure.state) == ("t001-barrier", 1, State.HUNG)
    assert run.complete


def test_facts_that_are_not_known_are_left_out_of_run_toml(tmp_path: Path) -> None:
    with RunStore.create(tmp_path / "run", {"a": None, "b": {"c": None, "d": [1, None, 2]}}):
        pass
    assert read_meta(tmp_path / "run") == {"schema": "weft.run/1", "b": {"d": [1, 2]}}


def test_the_fabric_is_kept_as_cabled(tmp_path: Path) -> None:
    _run(tmp_path / "run", fabric_document={"schema": "weft.fabric/1", "name": "f"})
    assert read_run(tmp_path / "run").fabric_document == {"schema": "weft.fabric/1", "name": "f"}


def test_a_plan_line_that_makes_no_sense_is_said(tmp_path: Path) -> None:
    _run(tmp_path / "run")
    plan = tmp_path / "run" / "plan.jsonl"
    plan.write_text(plan.read_text().replace('"repeat":2', '"repeat":"two"'))
    with pytest.raises(InputError, match="not a launch record"):
        read_run(tmp_path / "run")


def test_what_a_run_learns_later_stands_next_to_what_it_knew(tmp_path: Path) -> None:
    with RunStore.create(tmp_path / "run", {"seed": 7}) as store:
        store.remember({"against": "earlier"})
    assert read_meta(tmp_path / "run") == {"schema": "weft.run/1", "seed": 7, "against": "earlier"}


def test_launches_of_one_trial_share_it_unless_their_lines_differ(tmp_path: Path) -> None:
    _run(tmp_path / "run")
    plan = tmp_path / "run" / "plan.jsonl"
    before = read_plan(tmp_path / "run")
    assert len({id(launch.trial) for launch in before}) == len({x.trial.id for x in before})
    first, *others = plan.read_text().splitlines()
    record = json.loads(first)
    plan.write_text(
        "\n".join([first, *others, json.dumps({**record, "nodes": ["other", "two"]})]) + "\n"
    )
    after = read_plan(tmp_path / "run")
    assert after[:-1] == before
    assert after[-1].trial.nodes == ("other", "two")
    assert after[0].trial.nodes == before[0].trial.nodes


def test_a_plan_whose_last_line_is_cut_is_no_shorter_plan(tmp_path: Path) -> None:
    _run(tmp_path / "run")
    plan = tmp_path / "run" / "plan.jsonl"
    plan.write_bytes(plan.read_bytes()[:-9])
    with pytest.raises(InputError, match="the last line is cut off"):
        read_run(tmp_path / "run")


def test_samples_that_vanish_after_the_last_record_are_missed(tmp_path: Path) -> None:
    with RunStore.create(tmp_path / "run", {}) as store:
        outcome = execute(LAUNCHES, MockBackend(), store)
        for path in _sample_files(tmp_path / "run"):
            path.unlink()
        with pytest.raises(StorageError, match="removed, moved or replaced"):
            store.read_back(outcome.n_over)


def test_earlier_samples_that_vanish_are_missed(tmp_path: Path) -> None:
    _run(tmp_path / "run")
    with RunStore.open(tmp_path / "run") as store:
        outcome = execute(LAUNCHES, MockBackend(), store)
        for path in _sample_files(tmp_path / "run"):
            path.unlink()
        with pytest.raises(StorageError, match="6 of 6 ended launches are not in it"):
            store.read_back(outcome.n_over)


def test_a_launch_that_fails_on_a_full_disk_has_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with RunStore.create(tmp_path / "run", {}) as store, monkeypatch.context() as patched:
        execute(LAUNCHES[:1], MockBackend(), store)
        (tmp_path / "run" / "plan.jsonl").unlink()
        store.set_plan(LAUNCHES)
        patched.setattr("os.fsync", full)
        with pytest.raises(StorageError, match="No space left"):
            execute(LAUNCHES, MockBackend(failing=["t001-barrier.r00"]), store)
        patched.undo()
    assert read_run(tmp_path / "run").failures == ()
    _resume(tmp_path / "run")
    assert read_run(tmp_path / "run").complete
