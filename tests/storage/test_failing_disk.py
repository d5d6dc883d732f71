"""Each change of a run directory fails once, in each way: the run ends with 3 and the command that
completes it, or it is complete."""

import importlib
import os
import shlex
import shutil
from base64 import b64encode
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import pytest
from tests.process_calls import Call, call
from tests.storage.injector import ELSEWHERE, FAULTS, THEIRS, Disk

from weft.bench.live import backend
from weft.bench.model import Sample
from weft.core.files import output_file
from weft.core.process import Command, CommandEnd, Ending
from weft.study.run.store import read_run

for module in (
    *("bench.command", "check.command", "check.text", "compare.text", "import_results.command"),
    *("progress", "run_table", "study.command"),
):
    # Once in the parent, not again in each of hundreds of children.
    importlib.import_module(f"weft.cli.{module}")
importlib.import_module("weft.report.page")

RESULT = Path(__file__).resolve().parents[1] / "fixtures/field/c01-flux-hpcx-hdr.txt"
TWIN = ("--twin", "fat-tree", "--nodes")
STUDY = """schema = "weft.study/1"
name = "two"
title = "Two"
question = "?"
seed = 3
repeats = 2
nodes = [2]
benchmarks = [{ name = "latency", sizes = "8,1024" }]
"""
VERBS: dict[str, tuple[str, ...]] = {
    "study": ("study", "run", "two.toml", *TWIN, "4", "--dir"),
    "check": ("check", *TWIN, "4", "--plant", "random:7", "--report", "--dir"),
    "import": ("import", str(RESULT), "-o"),
    "live": ("study", "run", "two.toml", "--dir"),
}
LIVE = ("live", "live check")
IMPOSSIBLE = {("import", "replaced")}
"""The directory that an import grows in has a random name."""


@dataclass(frozen=True, slots=True)
class Undisturbed:
    """A run that nothing disturbs: the words of its command, its exit code, the number of its
    changes, its samples."""

    words: tuple[str, ...]
    run_dir: Path
    code: int
    n_changes: int
    samples: tuple[Sample, ...]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Undisturbed]:
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "two.toml").write_text(STUDY)
    found = {}
    for verb, words in VERBS.items():
        with pytest.MonkeyPatch.context() as patched:
            patched.chdir(folder)
            found[verb] = undisturbed_run(words, folder / verb)
    return found


def undisturbed_run(words: tuple[str, ...], folder: Path) -> Undisturbed:
    """Run a command whose last word is the run directory, in this folder."""
    log, run_dir = folder.with_suffix(".changes"), folder / "RUN"
    made = call([*words, str(run_dir)], limit_s=120, before=Disk(folder, log=log).install)
    assert made.code in (0, 1, 5), made.err
    return Undisturbed(words, run_dir, made.code, int(log.read_text()), read_run(run_dir).samples)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "two.toml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("fault", FAULTS)
def test_a_change_fails(undisturbed: dict[str, Undisturbed], folder: Path, fault: str) -> None:
    """One of each run, in the first half for half of the faults, in the second for the others."""
    place = FAULTS.index(fault)
    for verb, whole in undisturbed.items():
        if (verb, fault) in IMPOSSIBLE:
            continue
        n = 1 + (whole.n_changes * (2 * (place * 7 % 10) + 1)) // 20
        fail(verb, fault, n, whole, folder)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("verb", "fault"), [one for one in product(VERBS, FAULTS) if one not in IMPOSSIBLE]
)
def test_every_change_fails(
    undisturbed: dict[str, Undisturbed], folder: Path, verb: str, fault: str
) -> None:
    for n in range(1, undisturbed[verb].n_changes + 1):
        fail(verb, fault, n, undisturbed[verb], folder)


def test_the_next_command_names_the_fault_that_was_drawn(folder: Path) -> None:
    argv = ["bench", "latency", "--sizes", "8", *TWIN, "4", "--plant", "random", "--dir"]
    disk = Disk(folder, "full", 20)
    ended = call([*argv, str(folder / "RUN")], before=disk.install)
    assert ended.code == 3, ended.err
    words = following(argv, ended, folder / "RUN")
    assert words[words.index("--plant") + 1].startswith("random:")
    again = call(words)
    assert again.code == 0, again.err
    assert read_run(folder / "RUN").complete


PAGE_FAULTS = [fault for fault in FAULTS if fault != "samples removed"]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("fault", PAGE_FAULTS)
def test_each_file_of_a_template_is_whole(folder: Path, fault: str) -> None:
    name = b"ssh-ed25519"
    blob = len(name).to_bytes(4) + name + (32).to_bytes(4) + bytes(range(32))
    (folder / "KEY.pub").write_text(f"{name.decode()} {b64encode(blob).decode()} a@b\n")
    template = ("cluster", "template", "azure", "--sku", "HB176rs_v4", "--nodes", "2")
    fail_each_change((*template, "--ssh-key", "KEY.pub", "--dir", "NEW/RUN"), fault, folder)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("fault", PAGE_FAULTS)
def test_a_report_is_whole(undisturbed: dict[str, Undisturbed], folder: Path, fault: str) -> None:
    run_dir = undisturbed["study"].run_dir
    fail_each_change(("report", str(run_dir), "-o", "NEW/RUN/page.html"), fault, folder)


def fail_each_change(argv: tuple[str, ...], fault: str, folder: Path) -> None:
    """The files that a verb writes into the folder RUN are whole or missing after each failure, and
    all there after the same command again."""
    where = folder / "NEW/RUN"
    assert call(argv, before=Disk(folder / "NEW", log=folder / "changes").install).code == 0
    wanted = {path.name: path.read_bytes() for path in where.iterdir()}
    n_failed = 0
    for n in range(1, int((folder / "changes").read_text()) + 1):
        shutil.rmtree(folder / "NEW")
        ended = call(argv, before=Disk(folder / "NEW", fault, n).install)
        left = {path.name: path.read_bytes() for path in where.glob("[!.]*")}
        left.pop(THEIRS, None)
        assert left.items() <= wanted.items(), (n, ended)
        if ended.code:
            n_failed += 1
            assert ended.code == (9 if fault == "killed" else 3), (n, ended)
            assert following(list(argv), ended, where) == list(argv)
            assert call(argv).code == 0
        assert wanted.items() <= {p.name: p.read_bytes() for p in where.iterdir()}.items()
    assert n_failed >= 2


def fail(verb: str, fault: str, n: int, whole: Undisturbed, folder: Path) -> None:
    """Let the n-th change fail; then type the command that weft prints, or after a kill the same
    one, and compare."""
    where = folder / f"{verb}-{fault.replace(' ', '-')}-{n}" / "RUN"
    where.parent.mkdir()
    argv = [*whole.words, str(where)]
    ended = call(argv, before=partial(disturb, Disk(where.parent, fault, n), verb, whole))
    context = f"{fault} at change {n} of {whole.n_changes} of {verb}: {ended.code}\n{ended.err}"
    assert "Traceback" not in ended.err, context
    if (where / THEIRS).exists():
        assert os.listdir(where) == [THEIRS], context
    if ended.code != whole.code:
        assert ended.code in ((3,) if fault != "killed" else (9,)), context
        words = following(argv, ended, where)
        context += f"\n$ weft {shlex.join(words)}"
        moved = where.with_name(ELSEWHERE)
        if verb in ("study", *LIVE) and (moved / "run.toml").exists():
            assert words[-3:] == ["--dir", str(moved), "--resume"], context
        again = call(words, before=partial(replay, whole.run_dir / "raw"))
        context += f"\n{again.code}\n{again.err}"
        assert again.code == whole.code, context
        where = Path(words[max(map(words.index, {"--dir", "-o"} & set(words)), default=-2) + 1])
        if not (where / "run.toml").exists():
            (where,) = Path("runs").iterdir()
            where = where.rename(folder / f"{where.name}-{verb}-{fault}-{n}")
    run = read_run(where)
    assert run.complete, context
    assert run.samples == whole.samples, context
    if fault in ("full", "quota", "broken", "denied"):
        assert not list(where.parent.rglob(".*")), context


def following(argv: list[str], ended: Call, where: Path) -> list[str]:
    """The command to go on with."""
    lines = ended.err.splitlines()
    if ended.code == 9:
        return [*argv, "--resume"] if (where / "run.toml").exists() else argv
    assert len([line for line in lines if line.startswith("weft: ")]) == 1, ended.err
    (line,) = [line for line in lines if line.startswith("  next: ")]
    return shlex.split(line.removeprefix("  next: "))[1:]


def disturb(disk: Disk, verb: str, whole: Undisturbed) -> None:
    """Let the disk fail in this process; of a live run MPI prints the output of the whole run."""
    disk.install()
    if verb in LIVE:
        replay(whole.run_dir / "raw")


def replay(raw: Path) -> None:
    """In place of each launch of this process: the output that is kept of it."""

    def run(command: Command, *_: object) -> CommandEnd:
        for path in (command.out, command.err):
            assert path is not None
            with output_file(path) as file:
                file.write((raw / path.name).read_bytes())
        return CommandEnd(Ending.EXITED, 0, 1.0)

    backend.run = run  # type: ignore[assignment]
