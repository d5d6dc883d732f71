"""Documents and other files of a user, damaged: verbs read them, and runs are read again."""

import io
import os
import random
import shutil
import struct
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

import fuzz_mutations
from fuzz_mutations import Reader

from weft.catalog.load import launch_recipe_names, platform_names, study_names
from weft.catalog.toml_file import catalogue_text
from weft.check.external_evidence import fabric_marks, platform_choice
from weft.cli import run
from weft.cluster.folder import cluster_folder
from weft.cluster.record import (
    FILE,
    agreed_mpi,
    first_on_machine,
    ready_cluster,
    tcp_rails,
    with_settings,
)
from weft.core.errors import ExitCode
from weft.core.nodeset import expand, fold
from weft.doctor.libnccl import read_libnccl
from weft.launch.hostfile import read_hostfile
from weft.report.page import page_of
from weft.study.run.store import read_run
from weft.study.submission.attempts import read_attempt
from weft.study.submission.block_states import read_jobs

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures"
FABRIC = str(ROOT / "docs" / "samples" / "unplugged-cable.out")
RESULT = str(FIXTURES / "field" / "c01-flux-hpcx-hdr.txt")
TWIN = ("--twin", "fat-tree", "--nodes", "4")
NAMED, NAMED_FILE = "@", "named.toml"
PAIRS = "c104-001 c104-002\nc104-003,c104-004\n# none\nc104-005 c104-001\n"
CLUSTER = """{"schema": "weft.cluster/1", "name": "mine", "hosts": ["n1", "n2"],
"all_hosts": ["n1", "n2", "n3"], "ssh_config": null, "n_cpus": 8, "machines": {"n1": "a"},
"agreed": {"home": "/h", "user": "me", "interface": "eth0", "rails": "mlx5_0:1",
"remote_shell": "/h/ssh", "kernel": "/h/kernel", "mpi": "mpich", "path": "/opt/bin",
"mpicc": "/opt/bin/mpicc", "launcher": "/opt/bin/mpiexec", "launcher_kind": "hydra",
"version": "5.0.0", "library": "MPICH 5.0.0"}, "virtual": false, "asked": {"mpi": null}}"""
_LONGEST_PIECE = 40_000
_SAMPLED, _COMPARED, _REPORTED, _DRAWN = 64, 16, 64, 32
"""Of so many inputs one is taken through a verb, or drawn: that costs 5 to 50 times the reading."""
DOCUMENT_LIMIT_S = 20.0
"""A document of a few lines may ask for a large fabric or plan."""
_FAULTS = (ExitCode.OUR_FAULT, ExitCode.INTERRUPTED)

Outcome = Callable[[bytes, int], tuple[bool, str]]
_reader = partial(Reader, limit_s=DOCUMENT_LIMIT_S)


def document_readers() -> list[Reader]:
    """Readers of a user's own documents and of runs, by the verbs that take them. They write into
    the folder they work in."""
    return [
        *_documents(),
        *_fabric_files(),
        *_judged(),
        *_lists(),
        *_run_files(),
        *_records(),
        *_libraries(),
    ]


def _documents() -> list[Reader]:
    toml, in_json = fuzz_mutations.mutated_toml, fuzz_mutations.mutated_json
    platforms = _catalogue("platforms", platform_names())
    studies = _catalogue("studies", study_names())
    recipes = _catalogue("recipes", launch_recipe_names())
    return [
        _reader(
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
        _reader(
            "study", studies, toml, _verbs(
                ("study", "show", "@"),
                ("study", "plan", "@", *TWIN),
                ("study", "run", "@", *TWIN, "--dry-run"),
            ),
        ),
        _reader("recipe", recipes, toml, _verbs(("recipe", "@", "--nodes", "2"))),
        _reader(
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


def _fabric_files() -> list[Reader]:
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
        *(_reader(f"fabric: {one.name}", _files(one), text, verbs) for one in folders),
        _reader("library log", _files(FIXTURES / "field_logs"), text, logs),
    ]


def _files(folder: Path) -> tuple[str, ...]:
    """The beginnings of its files."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    texts = [path.read_text("utf-8", "replace") for path in paths if path.suffix != ".md"]
    return tuple(text[:_LONGEST_PIECE] for text in texts)


def _judged() -> list[Reader]:
    """Result files through the verbs that judge them; the readers alone are cheaper to feed."""
    verbs = _verbs(
        ("judge", "@"),
        ("judge", "@", "--platform", "generic-hdr", "--all-rows", "--format", "json"),
        ("judge", "@", "--platform", "azure-ndv5", "--nodes", "2", "--against", RESULT),
        ("judge", RESULT, "--against", "@"),
        ("import", "@", "--dry-run"),
        ("platform", "fit", "@", "--link", "hdr", "-o", "fitted.toml"),
    )
    texts = (*_files(FIXTURES / "field"), *_files(FIXTURES / "judged"))
    text = fuzz_mutations.mutated_sample
    return [
        _reader("judged results", texts, text, verbs),
        _reader("packed results", texts, fuzz_mutations.mutated_gzip, verbs),
    ]


def _lists() -> list[Reader]:
    text = fuzz_mutations.mutated_sample
    hosts = ("node1\nnode2 slots=4\nnode[3-8]\n# none\nnode9:2\n", "10.0.0.1\n10.0.0.2\n")
    rounds = ("0-1 2-3\n0-2 1-3\n0-3 1-2\n", "1 n000 n001\n1 n002 n003\n2 n000 n002\n")
    sets = ("node[1-64,70]", "rack[1-4]node[01-16]", "a1,b[2-5/2]!b4", "@*:x[1-3]")
    load = ("fabric", "show", FABRIC, "--engine", "minhop", "--load", "pairs:@")
    return [
        _reader("host list", hosts, text, _host_list_outcome),
        _reader("rounds", rounds, text, _verbs(("check", *TWIN, "--schedule", "./@",
                                                     "--dry-run"))),
        _reader("pairs", (PAIRS,), text, _verbs(load)),
        _reader("node set", sets, text, _node_set_outcome),
    ]  # fmt: skip


def _host_list_outcome(data: bytes, i: int) -> tuple[bool, str]:
    """The verb looks for an MPI, which takes far longer than its list."""
    if i % _SAMPLED == 0:
        command = ("study", "run", "smoke", "--hostfile", NAMED, "--dry-run")
        return _verb_outcome((command,), data, i)
    path = Path(NAMED_FILE)
    path.write_bytes(data)
    return bool(fold(read_hostfile(path))), ""


def _node_set_outcome(data: bytes, _i: int) -> tuple[bool, str]:
    names = expand(data.decode("utf-8", "replace"))
    return True, "" if set(expand(fold(names))) == set(names) else "folding loses names"


@cache
def _measured(verb: str) -> Path:
    """A run directory of the twin: of a check or of a benchmark."""
    folder = Path(_runs().name) / verb
    words = {
        "check": ["check", "--twin", "fat-tree", "--fabric", FABRIC, "--schedule", "random:2",
                  "--no-report"],
        "bench": ["bench", "latency", "bandwidth", *TWIN, "--repeats", "2", "--sizes", "8,1M"],
    }[verb]  # fmt: skip
    code, said = called([*words, "--dir", str(folder)])
    assert (folder / "run.toml").exists(), (code, said)
    return folder


@cache
def _runs() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="weft-fuzz-runs-")


def _run_files() -> list[Reader]:
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
            kinds.append(_reader(name, (verb_pieces,), damage, outcome))
    return kinds


def _part(folder: Path, part: str) -> Path | None:
    path = next((folder / part).glob("*.jsonl")) if part == "samples" else folder / part
    return path if path.exists() else None


def _run_outcome(verb: str, part: str, data: bytes, i: int) -> tuple[bool, str]:
    """Each is read; of the ones that are runs still, some become a page or a comparison."""
    folder = Path(verb)
    if not folder.exists():
        shutil.copytree(_measured(verb), folder)
    path = _part(folder, part)
    assert path is not None
    path.write_bytes(data)
    if i % _COMPARED == 0:
        return ended(["compare", verb, str(_measured(verb))])
    if i % _REPORTED == 1:
        return ended(["report", verb])
    if part == "marks.json":
        fabric_marks.of_run(folder)
    elif part == "platform.toml":
        platform_choice.of_run(folder, ())
    if part in ("marks.json", "platform.toml") and i % _DRAWN != 2:
        return True, ""
    study_run = read_run(folder)
    if i % _DRAWN == 2:
        page_of(study_run, "run1")
    return bool(study_run.samples), ""


def _records() -> list[Reader]:
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
        _reader("block record", (attempt,), in_json, _attempt_outcome),
        _reader("job record", (job,), in_json, _job_outcome),
        _reader("cluster record", (CLUSTER,), in_json, _cluster_outcome),
    ]


def _attempt_outcome(data: bytes, _i: int) -> tuple[bool, str]:
    path = Path("000-12.json")
    path.write_bytes(data)
    return bool(read_attempt(path).nodes), ""


def _job_outcome(data: bytes, _i: int) -> tuple[bool, str]:
    Path("slurm").mkdir(exist_ok=True)
    Path("slurm/job-12.json").write_bytes(data)
    return bool(read_jobs(Path())), ""


def _cluster_outcome(data: bytes, _i: int) -> tuple[bool, str]:
    os.environ["XDG_STATE_HOME"] = str(Path.cwd())
    path = cluster_folder("mine") / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    record = ready_cluster("mine")
    mpi, words = agreed_mpi(record.agreed), with_settings(record.agreed)
    first_on_machine(record.machines, record.hosts)
    return bool(mpi.version or words or tcp_rails(record.agreed)), ""


def _libraries() -> list[Reader]:
    library = nccl_library(b"NCCL_DEBUG\0NCCL_ALGO\0NCCL version 2.26.5+cuda12.8\0")
    return [_reader("libnccl", (library.decode("latin-1"),), damaged_words, _library_outcome)]


def damaged_words(rng: random.Random, library: str, _: Sequence[fuzz_mutations.Lines]) -> bytes:
    """Its bytes, as Latin-1, with a few words become other numbers."""
    data = bytearray(library, "latin-1")
    for _i in range(rng.randint(1, 4)):
        n = rng.choice((1, 2, 4, 8))
        word = rng.choice((0, 1, 2**31 - 1, 2**40, 2**63, 2**64 - 1, rng.getrandbits(64)))
        at = rng.randrange(len(data))
        data[at : at + n] = (word % 2 ** (8 * n)).to_bytes(n, "little")
    return bytes(data[: rng.randrange(len(data))] if rng.random() < 0.1 else data)


def nccl_library(read_only: bytes, n_bytes: int | None = None) -> bytes:
    """An ELF file with these read-only data, and maybe with another count of them.

    SOURCE: System V ABI, ELF-64 object file format: a header, the data, and a header a section.
    """
    names = b"\0.rodata\0.shstrtab\0"
    body = read_only + names
    size = len(read_only) if n_bytes is None else n_bytes
    sections = (
        (0, 0, 0, 0),
        (1, 1, 64, size),
        (9, 3, 64 + len(read_only), len(names)),
    )
    header = struct.pack(
        "<4s12B2HI3QI6H", b"\x7fELF", 2, 1, 1, *[0] * 9,
        3, 62, 1, 0, 0, 64 + len(body), 0, 64, 0, 0, 64, len(sections), 2,
    )  # fmt: skip
    table = (struct.pack("<2I4Q2I2Q", *one[:2], 0, 0, *one[2:], 0, 0, 1, 0) for one in sections)
    return header + body + b"".join(table)


def _library_outcome(data: bytes, _i: int) -> tuple[bool, str]:
    path = Path("libnccl.so")
    path.write_bytes(data)
    return bool(read_libnccl(path).names), ""


def _verbs(*commands: tuple[str, ...]) -> Outcome:
    return partial(_verb_outcome, commands)


def _verb_outcome(commands: Sequence[tuple[str, ...]], data: bytes, i: int) -> tuple[bool, str]:
    """Whether a verb took the file, and its fault."""
    Path(NAMED_FILE).write_bytes(data)
    words = commands[i % len(commands)]
    return ended([word.replace(NAMED, NAMED_FILE) for word in words])


def ended(argv: list[str]) -> tuple[bool, str]:
    """Whether a call took its file, and its fault."""
    code, said = called(argv)
    return code != ExitCode.INPUT, said[:400] if code in _FAULTS else ""


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
