"""The house rules a machine can check: sizes, names of hosts and machines, forbidden calls.

Argue with a rule in a commit that changes it here, never by an exception in the code.
"""

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 70
MAX_LINE_LENGTH = 100
CODE = {".py", ".rs", ".c", ".h", ".pyi"}
PROSE = {".md", ".toml", ".sh", ".j2", ".css", ".lock", ".in", ".cfg", ".yml", ".txt", ""}

# In pieces, so that this file does not name what it forbids.
PACKAGE_HOSTS = [
    "pypi" + r"\.org",
    "python" + "hosted",
    "crates" + r"\.io",
    "crates" + r"\.io-index",
    "registry" + r"\.npmjs",
    "proxy\\.golang" + r"\.org",
    "deb" + r"\.debian\.org",
]
MACHINE_PATHS = ["/" + "work/", "/" + "root/", "/" + r"home/[a-z]+/", "/" + "opt/wheels"]
FORBIDDEN_PYTHON = [r"\bshell=True", r"\bos\.system\(", r"(?<![.\w])eval\(", r"(?<![.\w])exec\("]


def tracked_files() -> list[Path]:
    """Files git tracks or would track; those git ignores do not count."""
    argv = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(argv, cwd=ROOT, check=True, capture_output=True, text=True)
    paths = [ROOT / name for name in listing.stdout.splitlines()]
    return [path for path in paths if path.is_file()]


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


@pytest.fixture(scope="module")
def files() -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    return tracked_files()


def complaints_about_sizes(path: Path) -> Iterator[str]:
    lines = text_of(path).splitlines()
    name = path.relative_to(ROOT)
    if len(lines) > MAX_FILE_LINES:
        yield f"{name}:{len(lines)}: error: more than {MAX_FILE_LINES} lines"
    for number, line in enumerate(lines, start=1):
        if len(line) > MAX_LINE_LENGTH:
            yield f"{name}:{number}: error: {len(line)} characters, {MAX_LINE_LENGTH} allowed"


def test_code_files_and_lines_are_short(files: list[Path]) -> None:
    code = [path for path in files if path.suffix in CODE]
    complaints = [text for path in code for text in complaints_about_sizes(path)]
    assert not complaints, "\n".join(complaints)


def long_python_functions(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(text_of(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > MAX_FUNCTION_LINES:
                where = f"{path.relative_to(ROOT)}:{node.lineno}"
                yield f"{where}: error: {node.name} has {length} lines"


RUST_OR_C_FUNCTION = re.compile(
    r"^(?P<indent>\s*)(?:(?:pub(?:\([a-z]+\))? |const |unsafe |extern \"C\" )*fn (?P<rust>\w+)"
    r"|(?:static |inline |const )*[A-Za-z_][\w ]*[\s*]+(?P<c>\w+)\([^;{}]*\)\s*\{\s*$)"
)


def long_braced_functions(path: Path) -> Iterator[str]:
    """Functions of rustfmt-formatted Rust and of C: from the heading to the brace at its indent."""
    lines = text_of(path).splitlines()
    for start, line in enumerate(lines):
        match = RUST_OR_C_FUNCTION.match(line)
        if match is None:
            continue
        closing = match.group("indent") + "}"
        for end in range(start + 1, len(lines)):
            if lines[end] == closing:
                if end - start + 1 > MAX_FUNCTION_LINES:
                    name = match.group("rust") or match.group("c")
                    yield (
                        f"{path.relative_to(ROOT)}:{start + 1}: error: "
                        f"{name} has {end - start + 1} lines"
                    )
                break


def test_functions_are_short(files: list[Path]) -> None:
    complaints = [
        text
        for path in files
        if path.suffix in CODE
        for text in (
            long_python_functions(path)
            if path.suffix in {".py", ".pyi"}
            else long_braced_functions(path)
        )
    ]
    assert not complaints, "\n".join(complaints)


def test_no_file_names_a_package_host_or_a_machine_path(files: list[Path]) -> None:
    forbidden = re.compile("|".join(PACKAGE_HOSTS + MACHINE_PATHS))
    complaints = [
        f"{path.relative_to(ROOT)}:{number}: error: names '{match.group()}'"
        for path in files
        if path.suffix in CODE | PROSE
        for number, line in enumerate(text_of(path).splitlines(), start=1)
        if (match := forbidden.search(line))
    ]
    assert not complaints, "\n".join(complaints)


def test_nothing_reaches_a_shell(files: list[Path]) -> None:
    forbidden = re.compile("|".join(FORBIDDEN_PYTHON))
    complaints = [
        f"{path.relative_to(ROOT)}:{number}: error: '{match.group()}'"
        for path in files
        if path.suffix == ".py" and path != Path(__file__)
        for number, line in enumerate(text_of(path).splitlines(), start=1)
        if (match := forbidden.search(line))
    ]
    assert not complaints, "\n".join(complaints)


def test_no_binary_or_large_file_is_tracked(files: list[Path]) -> None:
    large = [p for p in files if p.stat().st_size > 400_000]
    assert not large, f"larger than 400 kB: {[str(p.relative_to(ROOT)) for p in large]}"


def test_every_source_package_is_importable_and_documented(files: list[Path]) -> None:
    packages = {p.parent for p in files if p.suffix == ".py" and ROOT / "src" in p.parents}
    for package in packages:
        init = package / "__init__.py"
        assert init.exists(), f"{package.relative_to(ROOT)} has no __init__.py"
        assert ast.get_docstring(ast.parse(text_of(init))), (
            f"{init.relative_to(ROOT)}: no docstring"
        )


MAY_TOUCH_THE_ENGINE = ("weft/topology/engine.py",)


def test_one_module_touches_the_engine(files: list[Path]) -> None:
    """The engine is a compiled module, which import-linter cannot see."""
    offenders = [
        str(path.relative_to(ROOT))
        for path in files
        if path.suffix == ".py"
        and ROOT / "src" in path.parents
        and not str(path.relative_to(ROOT / "src")).startswith(MAY_TOUCH_THE_ENGINE)
        and "_engine" in {name.split(".")[-1] for name in imported_names(path)}
    ]
    assert not offenders, f"import weft._engine: {offenders}"


def imported_names(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(text_of(path))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update(alias.name for alias in node.names)
            names.add(node.module or "")
    return names


def test_every_rust_test_file_is_compiled() -> None:
    # A crate's tests are one binary: a file that its root does not name would never run.
    for root in sorted(ROOT.glob("crates/*/tests/all.rs")):
        named = set(re.findall(r"^mod (\w+);$", text_of(root), flags=re.MULTILINE))
        found = {path.stem for path in root.parent.glob("*.rs")} - {"all"}
        found |= {path.parent.name for path in root.parent.glob("*/mod.rs")}
        assert found == named, f"{root.relative_to(ROOT)}: {sorted(found ^ named)}"
    with_tests = {path.parent for path in ROOT.glob("crates/*/tests/*.rs")}
    assert all((folder / "all.rs").exists() for folder in with_tests)


MAX_FOLDER_FILES = 15
# Documents of the catalogue, one a file; the C programs.
OF_DATA = ("catalog/", "_mpi")


def test_a_folder_of_the_sources_fits_on_a_screen(files: list[Path]) -> None:
    source = ROOT / "src" / "weft"
    counts = Counter(
        path.parent
        for path in files
        if source in path.parents
        and path.name != "__init__.py"
        and not str(path.parent.relative_to(source)).startswith(OF_DATA)
    )
    crowded = {str(f.relative_to(ROOT)): n for f, n in counts.items() if n > MAX_FOLDER_FILES}
    assert not crowded, f"more than {MAX_FOLDER_FILES} files in a folder: {crowded}"


def test_a_public_class_name_stands_for_one_class(files: list[Path]) -> None:
    found: dict[str, list[str]] = {}
    for path in files:
        if path.suffix == ".py" and ROOT / "src" in path.parents:
            for node in ast.parse(text_of(path)).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    twice = {name: places for name, places in found.items() if len(places) > 1}
    assert not twice, "\n".join(f"{name}: {', '.join(at)}" for name, at in twice.items())
