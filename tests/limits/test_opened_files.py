"""`core/documents/text_file.py` alone reads a file that a user names or that lies in a run, and
`core/files.py` alone writes one: a pipe or a full disk is their matter."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "src/weft"
CALLS = {"open", "read_text", "read_bytes", "write_text", "write_bytes", "fromfile", "memmap"}
OTHERS: dict[str, str] = {
    "core/documents/text_file.py": "reads files that a user names",
    "core/files.py": "writes files whole",
    "core/jsonl.py": "appends samples to a file that it claimed",
    "core/host.py": "reads /sys and /proc",
    "core/process_tree.py": "reads /proc",
    "doctor/container/image/tree.py": "reads regular files of an image, without waiting",
    "doctor/container/image/unpacked.py": "unpacks libraries into a temporary folder of its own",
    "doctor/nccl_plan/asking.py": "writes into a temporary folder of its own",
    "doctor/nccl_plan/child.py": "reads /proc",
    "doctor/machine/sysroot.py": "reads /sys and the like below a root, without waiting",
    "catalog/toml_file.py": "reads weft's own documents",
    "catalog/secret_form.py": "reads weft's own document",
    "report/html.py": "reads weft's own templates",
    "launch/kernel.py": "reads the kernel's sources",
    "cluster/bringup/stages/kernel.py": "reads the kernel's sources",
    "cluster/bringup/stages/mpi.py": "reads the embedded MPI",
    "cluster/tar_archive.py": "packs in memory",
    "cluster/local/connect.py": "runs alone, reads what its cluster wrote",
    "cluster/local/host.py": "writes in a namespace of its own",
    "cluster/local/namespace_root.py": "opens a log in the cluster's folder",
    "cluster/local/start.py": "reads /proc, and that log",
    "api/reframe_tests.py": "runs inside ReFrame, reads what its job printed",
    "cli/__init__.py": "opens /dev/null and standard output",
    "launch/redact_text.py": "reads output of a process, a file that weft made for it",
    "bench/live/failure.py": "reads output of a process",
    "bench/live/kernel_records.py": "reads output of a process",
    "bench/rdma/measure.py": "reads output of a process",
}
"""Modules that open files, each with its reason."""


def opened(path: Path) -> Iterator[int]:
    """The lines of a module that open a file. `RunStore.open(PATH)` is a method of ours."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        owner = getattr(getattr(node.func, "value", None), "id", "")
        if name in CALLS and not owner[:1].isupper():
            yield node.lineno


def test_few_modules_open_files() -> None:
    found = {
        str(path.relative_to(SOURCES)): lines
        for path in SOURCES.rglob("*.py")
        if (lines := list(opened(path)))
    }
    assert {name: lines for name, lines in found.items() if name not in OTHERS} == {}
    assert [name for name in OTHERS if name not in found] == []
