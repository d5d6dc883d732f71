"""Result files become a run directory, whole or not at all, and say the same as the files."""

import hashlib
import os
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.bench.result_scale import StatedScale
from weft.core.errors import InputError, MissingError
from weft.launch.redact import MASK
from weft.results.result_file import read_results_text
from weft.study.comparison.comparison import compare_arms
from weft.study.import_run import (
    ArmFiles,
    ImportOptions,
    ImportOutcome,
    import_files,
    parse_arm,
)
from weft.study.run.store import read_run

LATENCY = "# OSU MPI Latency Test v5.9\n# Size          Latency (us)\n"
STATIC, ADAPTIVE = {"routing": "static"}, {"routing": "adaptive"}


def osu(factor: float = 1.0, sizes: tuple[int, ...] = (1, 64, 4096)) -> str:
    rows = [f"{size:<10}{factor * (1.5 + size / 12000):>20.4f}" for size in sizes]
    return LATENCY + "\n".join(rows) + "\n"


def write(folder: Path, **texts: str) -> tuple[Path, ...]:
    for name, text in texts.items():
        (folder / f"{name}.log").write_text(text)
    return tuple(folder / f"{name}.log" for name in texts)


def take(
    paths: tuple[Path, ...], run_dir: Path, options: ImportOptions | None = None
) -> ImportOutcome:
    arms = [ArmFiles({}, paths)]
    return import_files(arms, run_dir, options or ImportOptions(), clock=lambda: 1_700_000_000.0)


@settings(max_examples=40)
@given(
    st.dictionaries(
        st.integers(0, 2**30),
        st.decimals("0.01", "1e6", places=2, allow_nan=False),
        min_size=1,
        max_size=20,
    )
)
def test_what_is_read_from_the_run_is_what_is_read_from_the_file(
    tmp_path_factory: pytest.TempPathFactory, rows: dict[int, object]
) -> None:
    folder = tmp_path_factory.mktemp("import")
    text = LATENCY + "".join(f"{size:<10} {value!s:>20}\n" for size, value in rows.items())
    paths = write(folder, a=text)
    take(paths, folder / "run")
    (table,) = read_results_text(text.encode(), "a.log").tables
    run = read_run(folder / "run")
    stored = {s.evidence["line"]: (s.size_bytes, dict(s.metrics)) for s in run.samples}
    assert stored == {row.line: (row.size_bytes, dict(row.metrics)) for row in table.rows}
    assert len(stored) == len(rows)
    assert run.complete


def test_several_files_of_one_test_are_its_repeats(tmp_path: Path) -> None:
    paths = write(tmp_path, a=osu(), b=osu(1.1), c=osu(1.2))
    outcome = take(paths, tmp_path / "run")
    run = read_run(tmp_path / "run")
    assert [(x.trial.benchmark, x.repeat) for x in run.launches] == [
        ("latency", n) for n in range(3)
    ]
    assert (outcome.n_files, outcome.n_launches, outcome.n_samples) == (3, 3, 9)


def test_run_toml_tells_the_files_by_digest_and_nothing_of_this_machine(tmp_path: Path) -> None:
    paths = write(tmp_path, a=osu())
    take(paths, tmp_path / "run", ImportOptions(platform="fat-tree"))
    meta = tomllib.loads((tmp_path / "run" / "run.toml").read_text())
    facts = meta["backend"]["facts"]
    assert meta["backend"]["name"] == "imported"
    assert facts["platform"] == "fat-tree"
    assert facts["tools"] == ["osu 5.9"]
    (file,) = facts["files"]
    assert file["name"] == "a.log"
    assert file["sha256"] == hashlib.sha256(paths[0].read_bytes()).hexdigest()
    assert meta["imported_unix_s"] == 1_700_000_000.0
    assert "host" not in meta
    assert "started_unix_s" not in meta
    assert meta["environment"] == {}


def test_the_input_stands_untouched_in_raw(tmp_path: Path) -> None:
    paths = write(tmp_path, a="some log line\n" + osu())
    take(paths, tmp_path / "run")
    assert (tmp_path / "run/raw/000-a.log").read_bytes() == paths[0].read_bytes()


def test_a_secret_in_the_input_reaches_nothing_in_the_run(tmp_path: Path) -> None:
    paths = write(tmp_path, a="export API_TOKEN=s3cr3t-value\n" + osu())
    outcome = take(paths, tmp_path / "run")
    files = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert not any(b"s3cr3t-value" in path.read_bytes() for path in files)
    assert MASK in (tmp_path / "run/raw/000-a.log").read_text()
    assert "a.log: 1 value that may be secret masked" in outcome.remarks


def test_of_a_recorded_environment_only_known_settings_stay(tmp_path: Path) -> None:
    recorded = Path(__file__).parents[2] / "fixtures/results/nccl-tests/all-reduce.json"
    assert b'"HOME=/home/' in recorded.read_bytes()
    take((recorded,), tmp_path / "run")
    for path in (tmp_path / "run").rglob("*"):
        assert path.is_dir() or b"/home/" not in path.read_bytes(), path
    environment = tomllib.loads((tmp_path / "run/run.toml").read_text())["environment"]
    assert environment == {"NCCL_DEBUG": "WARN", "SLURM_JOB_ID": "1"}


def test_lines_no_one_understood_are_reported_by_number(tmp_path: Path) -> None:
    (path,) = write(tmp_path, a=osu().replace("\n64 ", "\n32    not-a-number\n64 ", 1))
    assert "a.log: 1 line not understood (4)" in take((path,), tmp_path / "run").remarks


def test_arms_are_compared_with_intervals(tmp_path: Path) -> None:
    scatter = [1.0, 1.004, 0.998, 1.002, 0.997, 1.003, 1.001, 0.999]
    static = write(tmp_path, **{f"s{i}": osu(x) for i, x in enumerate(scatter)})
    adaptive = write(tmp_path, **{f"a{i}": osu(1.3 * x) for i, x in enumerate(reversed(scatter))})
    arms = [ArmFiles(STATIC, static), ArmFiles(ADAPTIVE, adaptive)]
    import_files(arms, tmp_path / "run", ImportOptions())
    comparison = compare_arms(read_run(tmp_path / "run"))
    assert comparison.arms == (("routing=static", "routing=adaptive"),)
    assert {row.n_pairs for row in comparison.rows} == {8}
    for row in comparison.rows:
        record = row.to_record()
        assert record["ratio_low"] < 1.3 < record["ratio_high"]
        assert record["outcome"] == "slower"
    assert not comparison.interleaved
    assert any("not interleaved" in finding.sentence for finding in comparison.findings)


def test_arms_of_unequal_length_pair_as_far_as_they_go(tmp_path: Path) -> None:
    static = write(tmp_path, **{f"s{i}": osu(1 + i / 100) for i in range(7)})
    adaptive = write(tmp_path, **{f"a{i}": osu(2 + i / 100) for i in range(9)})
    arms = [ArmFiles(STATIC, static), ArmFiles(ADAPTIVE, adaptive)]
    import_files(arms, tmp_path / "run", ImportOptions())
    rows = compare_arms(read_run(tmp_path / "run")).rows
    assert {row.n_pairs for row in rows} == {7}


def test_a_directory_that_is_there_is_refused_and_kept(tmp_path: Path) -> None:
    paths = write(tmp_path, a=osu())
    take(paths, tmp_path / "run")
    before = sorted(p.name for p in (tmp_path / "run").rglob("*"))
    with pytest.raises(InputError, match="already exists"):
        take(paths, tmp_path / "run")
    assert sorted(p.name for p in (tmp_path / "run").rglob("*")) == before


@pytest.mark.parametrize("at", ["samples", "raw", "rename"])
def test_an_import_that_breaks_off_leaves_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    paths = write(tmp_path, a=osu())

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    target = {
        "samples": "weft.study.import_run.RunStore.append",
        "raw": "weft.study.import_run.write_part",
        "rename": "pathlib.Path.rename",
    }[at]
    with monkeypatch.context() as patched:
        patched.setattr(target, full)
        with pytest.raises(MissingError, match="No space left"):
            take(paths, tmp_path / "run")
    assert [p.name for p in tmp_path.iterdir()] == ["a.log"]
    take(paths, tmp_path / "run")
    assert read_run(tmp_path / "run").complete


def test_an_import_killed_in_the_middle_leaves_no_run_directory(tmp_path: Path) -> None:
    paths = write(tmp_path, a=osu())
    child = os.fork()
    if child == 0:
        import weft.study.import_run as module

        setattr(module.RunStore, "append", lambda *_, **__: os._exit(9))  # noqa: B010
        take(paths, tmp_path / "run")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert not (tmp_path / "run").exists()
    take(paths, tmp_path / "run")
    assert read_run(tmp_path / "run").complete


def test_a_copy_is_no_repeat(tmp_path: Path) -> None:
    paths = write(tmp_path, a=osu(), b=osu())
    with pytest.raises(InputError, match="the same bytes as") as caught:
        take(paths, tmp_path / "run")
    assert caught.value.where == str(paths[1])
    assert not (tmp_path / "run").exists()


def test_a_folder_is_refused_with_the_pattern_that_works(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read") as caught:
        take((tmp_path,), tmp_path / "run")
    assert caught.value.hint == f"weft import {tmp_path}/*"


def test_scales_that_contradict_leave_nothing_behind(tmp_path: Path) -> None:
    text = (
        osu()
        .replace("Latency Test", "Allreduce Latency Test")
        .replace("Latency (us)", "Avg Latency(us)")
    )
    paths = write(tmp_path, a=text)
    with pytest.raises(InputError, match="does not say on how many ranks"):
        take(paths, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    take(paths, tmp_path / "run", ImportOptions(StatedScale(4, 2)))
    (launch,) = read_run(tmp_path / "run").launches
    assert (len(launch.trial.nodes), launch.trial.tasks_per_node) == (4, 2)


def test_an_unknown_platform_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no platform 'hdr-tree' in the catalogue"):
        take(write(tmp_path, a=osu()), tmp_path / "run", ImportOptions(platform="hdr-tree"))


def test_an_arm_is_factors_with_settings() -> None:
    assert parse_arm("routing=static,sharp=on") == {"routing": "static", "sharp": "on"}


@pytest.mark.parametrize("text", ["static", "=x", "routing=", "Routing=x", "a=1,a=2", "a=b c"])
def test_what_is_no_arm_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not an arm") as caught:
        parse_arm(text)
    assert str(caught.value.expected).startswith("FACTOR=SETTING like routing=static")


def test_arms_of_different_factors_are_refused(tmp_path: Path) -> None:
    a, b = write(tmp_path, a=osu(), b=osu(1.1))
    with pytest.raises(InputError, match="different factors: routing and sharp"):
        import_files([ArmFiles(STATIC, (a,)), ArmFiles({"sharp": "on"}, (b,))], tmp_path / "run",
                     ImportOptions())  # fmt: skip


def test_an_arm_given_twice_is_refused(tmp_path: Path) -> None:
    a, b = write(tmp_path, a=osu(), b=osu(1.1))
    arms = [ArmFiles(STATIC, (a,)), ArmFiles(STATIC, (b,))]
    with pytest.raises(InputError, match="arm routing=static is given twice"):
        import_files(arms, tmp_path / "run", ImportOptions())
