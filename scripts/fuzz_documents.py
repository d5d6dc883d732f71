"""Documents and other files of a user, damaged: verbs read them, and runs are read again."""

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import fuzz_mutations
from fuzz_mutations import Damage

from weft.catalog.load import launch_recipe_names, platform_names, study_names
from weft.catalog.toml_file import catalogue_text
from weft.check.external_evidence.fabric_marks import of_run
from weft.cli import run
from weft.core.errors import ExitCode
from weft.core.nodeset import expand, fold
from weft.report.page import page_of
from weft.study.run.store import read_run
from weft.study.submission.attempts import read_attempt
from weft.study.submission.block_states import read_jobs

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures"
FABRIC = str(ROOT / "docs" / "samples" / "unplugged-cable.out")
RESULT = str(FIXTURES / "field" / "c01-flux-hpcx-hdr.txt")
TWIN = ("--twin", "fat-tree", "--nodes", "4")
NAMED = "@"
PAIRS = "c104-001 c104-002\nc104-003,c104-004\n# none\nc104-005 c104-001\n"
_LONGEST_PIECE = 40_000
_FAULTS = (ExitCode.OUR_FAULT, ExitCode.INTERRUPTED)

Outcome = Callable[[bytes, int], tuple[bool, str]]


@dataclass(frozen=True, slots=True)
class DocumentKind:
    """A kind of file with samples, how they are damaged, and who reads them."""

    name: str
    pieces: tuple[str, ...]
    damage: Damage
    outcome: Outcome


def document_kinds() -> list[DocumentKind]:
    """All kinds, by name."""
    return [*_documents(), *_fabric_files(), *_lists(), *_run_files(), *_records()]


def _documents() -> list[DocumentKind]:
    toml, in_json = fuzz_mutations.mutated_toml, fuzz_mutations.mutated_json
    platforms = _catalogue("platforms", platform_names())
    studies = _catalogue("studies", study_names())
    recipes = _catalogue("recipes", launch_recipe_names())
    return [
        DocumentKind(
            "platform", platforms, toml, _verbs(
                ("platform", "show", "@"),
                ("expect", "@", "latency", "--size", "8,1M"),
                ("expect", "@", "allreduce", "--nodes", "4", "--size", "8,1M"),
                ("expect", "@"),
                ("fabric", "generate", "@", "--nodes", "4"),
                ("bench", "latency", "--twin", "@", "--nodes", "2", "--dry-run"),
                ("judge", RESULT, "--platform", "@"),
                ("recipe", "@", "--nodes", "2"),
            ),
        ),
        DocumentKind(
            "study", studies, toml, _verbs(
                ("study", "show", "@"),
                ("study", "plan", "@", *TWIN),
                ("study", "run", "@", *TWIN, "--dry-run"),
            ),
        ),
        DocumentKind("recipe", recipes, toml, _verbs(("recipe", "@", "--nodes", "2"))),
        DocumentKind(
            "fabric document", _fabric_documents(), in_json, _verbs(
                ("check", "--twin", "fat-tree", "--fabric", "@", "--dry-run"),
                ("fabric", "show", "@"),
                ("bench", "latency", "--twin", "fat-tree", "--fabric", "@", "--dry-run"),
            ),
        ),
    ]  # fmt: skip


def _catalogue(folder: str, names: Sequence[str]) -> tuple[str, ...]:
    texts = []
    for name in names:
        with suppress(OSError):
            texts.append(catalogue_text(f"{folder}/{name}.toml")[0])
    return tuple(texts)


def _fabric_documents() -> tuple[str, ...]:
    paths = sorted((FIXTURES / "fabric" / "weft").glob("*.json"))
    made = [path.read_text() for path in paths]
    for argv in (
        ["fabric", "generate", "fat-tree", "--nodes", "4"],
        ["fabric", "export", FABRIC, "--to", "json", "--engine", "minhop"],
    ):
        code, said = called(argv)
        assert code == ExitCode.GOOD, said
        made.append(said)
    return tuple(made)


def _fabric_files() -> list[DocumentKind]:
    """A kind for each folder of fixtures: what one tool prints."""
    verbs = _verbs(
        ("fabric", "audit", "@"),
        ("fabric", "show", "@"),
        ("fabric", "audit", FABRIC, "@"),
        ("fabric", "export", "@", "--to", "json"),
        ("fabric", "route", "@", "--matchings", "2"),
    )
    logs = _verbs(("doctor", "log", "@"), ("doctor", "log", "@", "--ranks"))
    text = fuzz_mutations.mutated_sample
    folders = sorted(path for path in (FIXTURES / "fabric").iterdir() if path.is_dir())
    return [
        *(DocumentKind(f"fabric: {one.name}", _files(one), text, verbs) for one in folders),
        DocumentKind("library log", _files(FIXTURES / "field_logs"), text, logs),
    ]


def _files(folder: Path) -> tuple[str, ...]:
    """The beginnings of its files."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    texts = [path.read_text("utf-8", "replace") for path in paths if path.suffix != ".md"]
    return tuple(text[:_LONGEST_PIECE] for text in texts)


def _lists() -> list[DocumentKind]:
    text = fuzz_mutations.mutated_sample
    hosts = ("node1\nnode2 slots=4\nnode[3-8]\n# none\nnode9:2\n", "10.0.0.1\n10.0.0.2\n")
    rounds = ("0-1 2-3\n0-2 1-3\n0-3 1-2\n", "1 n000 n001\n1 n002 n003\n2 n000 n002\n")
    sets = ("node[1-64,70]", "rack[1-4]node[01-16]", "a1,b[2-5/2]!b4", "@*:x[1-3]")
    load = ("fabric", "show", FABRIC, "--engine", "minhop", "--load", "pairs:@")
    return [
        DocumentKind("host list", hosts, text, _verbs(("study", "run", "smoke", "--hostfile", "@",
                                                       "--dry-run"))),
        DocumentKind("rounds", rounds, text, _verbs(("check", *TWIN, "--schedule", "./@",
                                                     "--dry-run"))),
        DocumentKind("pairs", (PAIRS,), text, _verbs(load)),
        DocumentKind("node set", sets, text, _node_set_outcome),
    ]  # fmt: skip


def _node_set_outcome(data: bytes, _i: int) -> tuple[bool, str]:
    names = expand(data.decode("utf-8", "replace"))
    return True, "" if set(expand(fold(names))) == set(names) else "folding loses names"


@cache
def _measured(verb: str) -> Path:
    """A run directory of the twin: of a check or of a benchmark."""
    folder = Path(tempfile.mkdtemp(prefix="weft-fuzz-run-"))
    words = {
        "check": ["check", "--twin", "fat-tree", "--fabric", FABRIC, "--no-report"],
        "bench": ["bench", "latency", "bandwidth", *TWIN, "--repeats", "2", "--sizes", "8,1M"],
    }[verb]
    code, said = called([*words, "--dir", str(folder / "run")])
    assert (folder / "run" / "run.toml").exists(), (code, said)
    return folder / "run"


def _run_files() -> list[DocumentKind]:
    """The files of a run, each damaged in a copy of it."""
    forms = {
        "run.toml": fuzz_mutations.mutated_toml,
        "plan.jsonl": fuzz_mutations.mutated_json_lines,
        "samples": fuzz_mutations.mutated_json_lines,
        "fabric.json": fuzz_mutations.mutated_json,
        "marks.json": fuzz_mutations.mutated_json,
        "platform.toml": fuzz_mutations.mutated_toml,
    }
    kinds = []
    for part, damage in forms.items():
        pieces, outcomes = [], []
        for verb in ("check", "bench"):
            path = _part(_measured(verb), part)
            if path is not None:
                pieces.append(path.read_text())
                outcomes.append(partial(_run_outcome, verb, part))
        for verb_pieces, outcome in zip(pieces, outcomes, strict=True):
            name = f"run: {part} of a {outcome.args[0]}"
            kinds.append(DocumentKind(name, (verb_pieces,), damage, outcome))
    return kinds


def _part(folder: Path, part: str) -> Path | None:
    path = next((folder / part).glob("*.jsonl")) if part == "samples" else folder / part
    return path if path.exists() else None


def _run_outcome(verb: str, part: str, data: bytes, i: int) -> tuple[bool, str]:
    folder = _own_folder() / verb
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(_measured(verb), folder)
    path = _part(folder, part)
    assert path is not None
    path.write_bytes(data)
    if i % 4 == 0:
        return _ended(["compare", str(folder), str(_measured(verb))])
    study_run = read_run(folder)
    page_of(study_run, "run1")
    of_run(folder)
    return bool(study_run.samples), ""


def _records() -> list[DocumentKind]:
    in_json = fuzz_mutations.mutated_json
    attempt = (
        '{"block": 0, "job": "12_0", "nodes": ["n1", "n2"], "started_unix_s": 1.5e9, '
        '"ended_unix_s": 1.6e9, "error": null}'
    )
    job = (
        '{"job": "12", "blocks": [0, 1], "nodes": ["n1"], "script": "a.sh", '
        '"submitted_unix_s": 1.5e9}'
    )
    return [
        DocumentKind("block record", (attempt,), in_json, _attempt_outcome),
        DocumentKind("job record", (job,), in_json, _job_outcome),
    ]


def _attempt_outcome(data: bytes, _i: int) -> tuple[bool, str]:
    path = _own_folder() / "000-12.json"
    path.write_bytes(data)
    return bool(read_attempt(path).nodes), ""


def _job_outcome(data: bytes, _i: int) -> tuple[bool, str]:
    folder = _own_folder() / "slurm"
    folder.mkdir(exist_ok=True)
    (folder / "job-12.json").write_bytes(data)
    return bool(read_jobs(folder.parent)), ""


def _verbs(*commands: tuple[str, ...]) -> Outcome:
    return partial(_verb_outcome, commands)


def _verb_outcome(commands: Sequence[tuple[str, ...]], data: bytes, i: int) -> tuple[bool, str]:
    """Whether a verb took the file, and its fault."""
    path = _own_folder() / "named.toml"
    path.write_bytes(data)
    words = commands[i % len(commands)]
    return _ended([word.replace(NAMED, path.name) for word in words])


def _ended(argv: list[str]) -> tuple[bool, str]:
    code, said = called(argv)
    return code != ExitCode.INPUT, said[:400] if code in _FAULTS else ""


@cache
def _folder_of(_process: int) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="weft-fuzz-"))
    os.chdir(folder)
    return folder


def _own_folder() -> Path:
    """A folder of this process, which works there."""
    return _folder_of(os.getpid())


def called(argv: list[str]) -> tuple[int, str]:
    """A call in this process: its exit code, and what it printed, errors first where it failed."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, err
    try:
        code = run(argv)
        out.flush()
        err.flush()
    finally:
        sys.stdout, sys.stderr = before
    printed = err if code != ExitCode.GOOD else out
    return code, printed.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]
