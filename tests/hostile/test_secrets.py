"""No secret in a run directory, a report, a log or an output, whatever verb it passes through."""

import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from tests.hostile.planted import Planted, harmless, keys, planted
from tests.process_calls import call

from weft.launch import redact_text
from weft.launch.redact import redact_environment
from weft.launch.redact_text import redact_content, redact_output
from weft.launch.secret_text import MASK, mask_text, mask_words

PLANTED = planted()
TWIN = ("--twin", "fat-tree", "--nodes", "4")
TABLE = "# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n8   1.62\n16  1.64\n32  1.70\n"


def leaks(text: str, secrets: Sequence[Planted] = PLANTED) -> list[str]:
    """Secrets that a text shows."""
    return [one.value for one in secrets if one.secret in text]


def left_in(folder: Path, *outputs: str) -> list[str]:
    """Secrets in the files of a folder and in these outputs."""
    files = [path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file()]
    assert files or outputs
    return leaks("\n".join((*files, *outputs)), [*PLANTED, *keys()])


def environment() -> Mapping[str, str]:
    """Each secret in a variable that weft keeps whole, under an innocent name."""
    found = {f"SLURM_X{n}": one.value for n, one in enumerate(PLANTED)}
    return found | {f"I_MPI_N{n}": one.value for n, one in enumerate(keys())}


@pytest.fixture
def _planted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment().items():
        monkeypatch.setenv(name, value)


def test_there_are_two_hundred_secrets_and_a_hundred_harmless_values() -> None:
    assert len(PLANTED) >= 200
    assert len({one.secret for one in PLANTED}) == len(PLANTED)
    assert len(set(harmless())) >= 100


@pytest.mark.parametrize("one", PLANTED, ids=range(len(PLANTED)))
def test_a_secret_is_masked_in_a_value_and_in_a_line(one: Planted) -> None:
    assert one.secret not in redact_environment({"SLURM_X": one.value})["SLURM_X"]
    for line in (one.value, f"[n1] 12:00 {one.value}\n{TABLE}", f"SLURM_X={one.value}\n"):
        assert one.secret not in mask_text(line)[0]
        assert one.secret not in redact_content(line.encode())[0].decode()


@pytest.mark.parametrize("seed", range(10))
def test_secrets_are_masked_in_any_order(seed: int) -> None:
    lines = [f"SLURM_X={one.value}" for one in PLANTED]
    random.Random(seed).shuffle(lines)
    assert not leaks(mask_text("\n".join(lines))[0])
    assert not leaks(redact_content("\n".join(lines).encode())[0].decode())


@pytest.mark.parametrize("seed", range(20))
def test_other_draws_are_masked_too(seed: int) -> None:
    """Of words without any mark, one in twenty passes: those are left out."""
    found = [one for one in planted(seed) if one.value != one.secret]
    assert not [one.value for one in found if one.secret in mask_text(one.value)[0]]


@pytest.mark.parametrize("value", harmless())
def test_evidence_is_not_masked(value: str) -> None:
    for name in ("SLURM_X", "NCCL_COMMIT", "CUDA_VISIBLE_DEVICES"):
        assert redact_environment({name: value}) == {name: value}
    line = f"[n1] 12:00 {value} and more\n"
    assert mask_text(line) == (line, 0)
    assert redact_content(line.encode()) == (line.encode(), 0)


def test_a_key_is_masked_over_its_lines_and_lines_keep_their_numbers() -> None:
    text = f"before\n{keys()[0].value}\n{TABLE}"
    shown, _ = mask_text(text)
    assert not leaks(shown, keys())
    assert shown.count("\n") == text.count("\n")
    assert shown.endswith(TABLE)


def test_the_words_of_a_command_are_masked_also_behind_an_option() -> None:
    words = ["study", "run", "x", "--password", "hunter2", "--nodes", "4", "--token=hunter2"]
    shown = mask_words(words)
    assert shown == [*words[:4], MASK, "--nodes", "4", f"--token={MASK}"]


def test_the_output_of_a_process_keeps_its_records(tmp_path: Path) -> None:
    out = tmp_path / "x.err"
    out.write_text('{"a": "password=x"}\nDB_PASSWORD=hunter2\n{"b": 1}\n')
    redact_output(out)
    assert out.read_text() == f'{{"a": "password=x"}}\nDB_PASSWORD={MASK}\n{{"b": 1}}\n'
    redact_output(tmp_path / "none")


@pytest.mark.parametrize("n_before", range(0, 4096, 512))
def test_a_secret_of_several_lines_in_a_long_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_before: int
) -> None:
    """Wherever the parts end in which the output is read."""
    monkeypatch.setattr(redact_text, "_STEP", 4096)
    monkeypatch.setattr(redact_text, "_LONGEST_SECRET", 2048)
    key = b"-----BEGIN OPENSSH PRIVATE KEY-----\n" + b"b3BlbnNzaC1rZXktdjEAAAAABG5vbmU\n" * 50
    key += b"-----END OPENSSH PRIVATE KEY-----\n"
    recorded = b'{"x": 1}\n "env": [\n' + b' "MY_OWN=hunter2",\n' * 50 + b" ]\n"
    for secret, leak in ((key, b"b3Blb"), (recorded, b"hunter2")):
        out = tmp_path / "x.err"
        out.write_bytes(b"0\n" * (n_before // 2) + secret + b"8 1.62\n" * 4096)
        n_lines = out.read_bytes().count(b"\n")
        redact_output(out)
        assert leak not in out.read_bytes()
        assert out.read_bytes().count(b"\n") == n_lines


@pytest.mark.usefixtures("_planted")
@pytest.mark.parametrize(
    "verb",
    [
        ("check", *TWIN),
        ("bench", "latency", *TWIN, "--repeats", "2"),
        ("study", "run", "smoke", *TWIN),
    ],
    ids=["check", "bench", "study"],
)
def test_a_run_on_a_twin_keeps_none(verb: tuple[str, ...], tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    outputs = []
    for argv in (
        [*verb, "--dir", str(run_dir), "--format", "json"],
        ["report", str(run_dir)],
        ["compare", str(run_dir), str(run_dir)],
        ["export", str(run_dir), "--to", "csv"],
        ["export", str(run_dir), "--to", "junit"],
    ):
        end = call(argv, limit_s=60)
        assert end.code in (0, 1, 5), end.err
        outputs += [end.out, end.err]
    assert not left_in(tmp_path, *outputs)
    assert "SLURM_X0" in (run_dir / "run.toml").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("_planted")
def test_a_live_run_under_a_launcher_that_prints_its_environment_keeps_none(
    tmp_path: Path,
) -> None:
    mpi = tmp_path / "mpi"
    mpi.mkdir()
    for name, loud in (("mpicc", ""), ("mpiexec", "env >&2\n")):
        real = Path(sys.executable).with_name(name)
        (mpi / name).write_text(f'#!/bin/sh\n{loud}exec {real} "$@"\n')
        (mpi / name).chmod(0o755)
    where = tmp_path / "kept"
    argv = ["bench", "latency", "--hosts", "localhost", "--repeats", "1", "--dir", str(where)]
    end = call([*argv, "--mpi", str(mpi / "mpicc")], limit_s=120)
    assert end.code == 0, end.err
    [raw] = (where / "raw").glob("*.err")
    assert raw.read_text().count(MASK) > 200
    assert not left_in(where, end.out, end.err)


def test_a_log_that_holds_them_is_judged_imported_and_reported_without(tmp_path: Path) -> None:
    log, kept = tmp_path / "in" / "log.txt", tmp_path / "kept"
    log.parent.mkdir()
    kept.mkdir()
    lines = [f"SLURM_X={one.value}" for one in PLANTED] + [keys()[0].value]
    log.write_text("mpirun -np 2 ./osu_latency\n" + TABLE + "\n".join(lines) + "\n")
    outputs = []
    for argv in (
        ["judge", str(log), "--format", "json"],
        ["judge", str(log), "--report", str(kept / "judge.html")],
        ["import", str(log), "-o", str(kept / "run")],
        ["report", str(kept / "run")],
        ["judge", str(log), "--platform", PLANTED[0].value],
        ["import", str(log), "-o", str(kept / "run")],
        ["doctor", "log", str(log)],
        ["doctor", "log", str(log), "--format", "json"],
    ):
        end = call(argv, limit_s=60)
        assert end.code in (0, 1, 2, 5), end.err
        outputs += [end.out, end.err]
    assert not left_in(kept, *outputs)


@pytest.mark.parametrize("one", PLANTED[::40], ids=range(len(PLANTED[::40])))
def test_an_error_text_quotes_none(one: Planted, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text(f"x {one.value} y\n")
    for argv in (
        ["judge", str(log)],
        ["import", str(log), "-o", str(tmp_path / "run")],
        ["expect", one.value, "latency"],
        ["check", "--twin", one.value, "--nodes", "4"],
        ["bench", one.value],
    ):
        end = call(argv)
        assert end.code in (2, 3, 5), (argv, end)
        assert one.secret not in end.out + end.err


@pytest.mark.parametrize("name", ["job.sh", "job.yaml"])
def test_doctor_env_shows_none(name: str, tmp_path: Path) -> None:
    job = tmp_path / name
    kept = [one.value for one in PLANTED if '"' not in one.value]
    lines = [f'export NCCL_X{n}="{value}"' for n, value in enumerate(kept)]
    job.write_text("#!/bin/sh\n" + "\n".join(lines) + "\nmpirun -np 2 ./a\n")
    for more in ((), ("--format", "json"), ("--format", "sarif"), ("--format", "csv")):
        end = call(["doctor", "env", str(job), *more], limit_s=60)
        assert end.code in (0, 1, 2, 5), end.err
        assert not leaks(end.out + end.err)


def test_a_study_that_sets_one_is_refused_and_does_not_quote_it(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(
        'schema = "weft.study/1"\nname = "x"\ntitle = "x"\nquestion = "x"\n'
        '[[benchmarks]]\nname = "latency"\n[[factors]]\nname = "f"\n'
        '[[factors.settings]]\nname = "a"\n'
        '[[factors.settings]]\nname = "b"\nenv = { NCCL_TOKEN = "hunter2hunter2" }\n'
    )
    end = call(["study", "run", str(study), *TWIN, "--dir", str(tmp_path / "run")])
    assert end.code == 2
    assert "factors[0].settings[1].env" in end.err
    assert "NCCL_TOKEN" in end.err
    assert "hunter2" not in end.err


def test_a_fault_of_weft_writes_none_into_its_details(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import weft.cli.welcome

    def broken() -> None:
        raise ValueError("password=hunter2hunter2")

    monkeypatch.setattr(weft.cli.welcome, "welcome", broken)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    end = call([])
    details = [path.read_text() for path in tmp_path.iterdir()]
    assert end.code == 70
    assert len(details) == 1
    assert "hunter2" not in details[0] + end.err
