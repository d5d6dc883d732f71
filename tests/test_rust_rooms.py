"""Rooms of a Rust crate: a room uses those before it, never one after it.

A path (`crate::a::b::Name`, `super::`, or a child of the module itself) counts wherever it stands,
in a `use` or in the midst of code. A room that stands beside another in one row does not use it.
Inherent methods live in the room of their type, so that a call upwards needs a path upwards; a type
of another room may have them where one of their own room's types is its argument.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MOST_FILES_IN_A_CIRCLE = 3
MOST_FILES_IN_A_FOLDER = 15

# Rows of rooms, the lowest first; `lib.rs` and binaries stand above all.
ROOMS: dict[str, list[list[str]]] = {
    "weft-sim": [
        ["error"],
        ["limits", "settings"],
        ["congestion"],
        ["document"],
        ["model"],
        ["state"],
        ["packet"],
        ["host"],
        ["flow", "in_network"],
        ["run"],
    ],
    "weft-fabric": [
        ["error"],
        ["ids"],
        ["units"],
        ["node_set"],
        ["limits"],
        ["json"],
        ["document"],
        ["node"],
        ["fabric"],
        ["generate"],
        ["routing"],
        ["subnet"],
        ["alteration"],
        ["read"],
        ["opensm"],
        ["paths"],
        ["export"],
    ],
    "weft-traffic": [
        ["random"],
        ["error"],
        ["exchange"],
        ["collective"],
        ["pair"],
        ["renumbering"],
        ["schedule"],
        ["step"],
        ["flows"],
        ["keys"],
        ["phase"],
        ["growth"],
        ["plan"],
    ],
    "weft-logs": [
        ["line"],
        ["speaker"],
        ["facts"],
        ["nccl"],
        ["library"],
        ["reader"],
    ],
    "weft-nccl": [
        ["error"],
        ["document"],
        ["version"],
        ["topology"],
        ["graph"],
        ["capacity"],
        ["channels"],
        ["passes"],
    ],
}

Module = tuple[str, ...]
PATH = re.compile(r"(?<![\w:$])(\w+(?:\s*::\s*\w+)+)")
ITEM = re.compile(r"^\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|type|union) (\w+)", re.M)
VISIBLE = re.compile(r"^\s*pub(?:\([^)]*\))? (?:struct|enum|trait|type|union) (\w+)", re.M)
IMPL = re.compile(r"^impl(?:<[^{]*?>)? (?![^{]*? for )(\w+)(<[^{]*>)? *(?:where[^{]*)?\{", re.M)


def code_of(text: str) -> str:
    """A source without comments, texts and lifetimes, which name no module."""
    text = re.sub(r"//.*", "", text)
    text = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text, flags=re.DOTALL)
    return re.sub(r"'(?:\\.|[^'\\])'", "' '", text)


def expanded(code: str) -> str:
    """A source whose `use a::{b, c::{d}}` are one path each."""
    group = re.compile(r"([\w:]+)::\{([^{}]*)\}")

    def apart(found: re.Match[str]) -> str:
        names = [name.strip() for name in found[2].split(",") if name.strip()]
        return ", ".join(f"{found[1]}::{name}" for name in names)

    uses = re.compile(r"\buse [^;]*;", re.DOTALL)

    def whole(found: re.Match[str]) -> str:
        text = re.sub(r"\s+", " ", found[0]).replace(" ::", "::").replace(":: ", "::")
        text = re.sub(r" as \w+", "", text)
        while group.search(text):
            text = group.sub(apart, text)
        return text

    return uses.sub(whole, code)


@cache
def sources(crate: str) -> dict[Module, Path]:
    """The modules of a crate's library, each with its file."""
    src = ROOT / "crates" / crate / "src"
    made: dict[Module, Path] = {}
    for path in sorted(src.rglob("*.rs")):
        parts = path.relative_to(src).with_suffix("").parts
        if parts[0] not in ("bin", "main"):
            made[() if parts == ("lib",) else parts[: -1 if parts[-1] == "mod" else None]] = path
    return made


def resolved(crate: str, at: Module, path: list[str]) -> Module | None:
    """The module that a path written in the module `at` leads to."""
    modules, place = sources(crate), at
    first, rest = path[0], path[1:]
    if first == "crate":
        place = ()
    elif first == "super":
        place = at[:-1]
    elif first != "self" and (*at, first) in modules:
        place, rest = at, path
    elif first != "self":
        return None
    for name in rest:
        if name == "super":
            place = place[:-1]
        elif (*place, name) in modules:
            place = (*place, name)
        elif (source := reexport(crate, place, name)) is not None:
            return source
        else:
            break
    return place


@cache
def reexport(crate: str, place: Module, name: str) -> Module | None:
    """The module from which a module has a public name that is not its own."""
    code = expanded(code_of(sources(crate)[place].read_text(encoding="utf-8")))
    for use in re.findall(r"pub(?:\([^)]*\))? use ([^;]*);", code):
        for path in use.split(", "):
            parts = path.strip().split("::")
            if parts[-1] == name:
                return resolved(crate, place, parts)
    return None


def main_code(text: str) -> str:
    """A source without its unit tests, in which `super` is the module itself."""
    tests = re.compile(r"\n#\[cfg\(test\)\]\n(?:pub\(\w+\) )?mod tests \{.*", re.DOTALL)
    return tests.sub("\n", text)


def used_modules(crate: str, at: Module) -> set[Module]:
    """The modules of its crate that a module names."""
    text = main_code(sources(crate)[at].read_text(encoding="utf-8"))
    code = re.sub(r"\bpub(?:\([^)]*\))? use [^;]*;", "", expanded(code_of(text)))
    found = set()
    for path in PATH.findall(code):
        to = resolved(crate, at, re.findall(r"\w+", path))
        if to is not None and to != at:
            found.add(to)
    return found


def room_of(module: Module) -> str:
    return module[0] if module else "lib"


def row_of(crate: str, room: str) -> int | None:
    return next((n for n, row in enumerate(ROOMS[crate]) if room in row), None)


def circles(graph: dict[Module, set[Module]]) -> Iterator[list[Module]]:
    """Strongly connected components of more than one module, by Tarjan's algorithm."""
    number: dict[Module, int] = {}
    low: dict[Module, int] = {}
    stack: list[Module] = []

    def visit(at: Module) -> Iterator[list[Module]]:
        number[at] = low[at] = len(number)
        stack.append(at)
        for to in sorted(graph[at]):
            if to not in number:
                yield from visit(to)
                low[at] = min(low[at], low[to])
            elif to in stack:
                low[at] = min(low[at], number[to])
        if low[at] == number[at]:
            place = stack.index(at)
            found = stack[place:]
            del stack[place:]
            if len(found) > 1:
                yield sorted(found)

    for module in sorted(graph):
        if module not in number:
            yield from visit(module)


@cache
def graph_of(crate: str) -> dict[Module, set[Module]]:
    return {module: used_modules(crate, module) for module in sources(crate)}


def upward_paths(crate: str) -> list[str]:
    """Modules that use a room which does not stand before their own."""
    complaints = []
    for module, used in graph_of(crate).items():
        own = row_of(crate, room_of(module))
        for to in used:
            there = row_of(crate, room_of(to))
            same = room_of(module) == room_of(to)
            if own is not None and not same and (there is None or there >= own):
                complaints.append(f"{'::'.join(module)} uses {'::'.join(to)}")
    return sorted(complaints)


def far_methods(crate: str) -> list[str]:
    """Inherent methods that stand in another room than their type and its arguments."""
    rooms_of_types: dict[str, set[str]] = {}
    for module, path in sources(crate).items():
        for name in ITEM.findall(code_of(path.read_text(encoding="utf-8"))):
            rooms_of_types.setdefault(name, set()).add(room_of(module))
    complaints = []
    for module, path in sources(crate).items():
        code = main_code(code_of(path.read_text(encoding="utf-8")))
        for name, arguments in IMPL.findall(code):
            named = {name, *re.findall(r"\w+", arguments)} & rooms_of_types.keys()
            if not any(room_of(module) in rooms_of_types[each] for each in named):
                complaints.append(f"{'::'.join(module)}: impl {name}{arguments}")
    return complaints


def large_circles(crate: str) -> list[list[str]]:
    """Circles of more files than there may be."""
    found = circles(graph_of(crate))
    return [
        ["::".join(m) for m in circle] for circle in found if len(circle) > MOST_FILES_IN_A_CIRCLE
    ]


@pytest.mark.parametrize("crate", ROOMS)
def test_every_module_has_a_room(crate: str) -> None:
    rooms = {room_of(module) for module in sources(crate)} - {"lib"}
    assert rooms == {room for row in ROOMS[crate] for room in row}


@pytest.mark.parametrize("crate", ROOMS)
def test_rooms_use_only_those_before_them(crate: str) -> None:
    complaints = upward_paths(crate)
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize("crate", ROOMS)
def test_no_circle_has_many_files(crate: str) -> None:
    assert not large_circles(crate)


@pytest.mark.parametrize("crate", ["weft-sim", "weft-logs"])
def test_inherent_methods_live_in_the_room_of_their_type(crate: str) -> None:
    complaints = far_methods(crate)
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize("crate", [*ROOMS, "weft-py"])
def test_the_name_of_a_visible_type_exists_once(crate: str) -> None:
    """Private types of two files may share a name; what one of them shows to others may not."""
    src = ROOT / "crates" / crate / "src"
    codes = [main_code(code_of(path.read_text("utf-8"))) for path in src.rglob("*.rs")]
    names = Counter(name for code in codes for name in ITEM.findall(code))
    shown = {name for code in codes for name in VISIBLE.findall(code)}
    assert not {name: names[name] for name in shown if names[name] > 1}


@pytest.mark.parametrize("crate", ROOMS)
def test_a_folder_has_few_files(crate: str) -> None:
    folders = Counter(path.parent for path in sources(crate).values())
    large = {folder: n for folder, n in folders.items() if n > MOST_FILES_IN_A_FOLDER}
    assert not large, {str(folder.relative_to(ROOT)): n for folder, n in large.items()}


@pytest.fixture
def small_crate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A crate of two rooms, `low` and `high`, in which a test writes files."""
    caches = (sources, reexport, graph_of)
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    monkeypatch.setitem(ROOMS, "small", [["low"], ["high"]])
    src = tmp_path / "crates" / "small" / "src"
    for room in ("low", "high"):
        (src / room).mkdir(parents=True)
        (src / room / "mod.rs").write_text("pub(crate) use self::part::Part;\n")
    (src / "high" / "part.rs").write_text("pub(crate) struct Part;\n")
    (src / "lib.rs").write_text("mod high;\nmod low;\n")
    for cached in caches:
        cached.cache_clear()
    yield src
    for cached in caches:
        cached.cache_clear()


@pytest.mark.parametrize(
    "code",
    [
        "use crate::high::part::Part;",
        "use crate::high::{\n    part::{self, Part},\n};",
        "use super::super::high::Part;",
        "fn part() { crate::high::part::new(); }",
    ],
)
def test_a_path_upwards_is_found_however_it_is_written(small_crate: Path, code: str) -> None:
    (small_crate / "low" / "part.rs").write_text(code)
    assert upward_paths("small") == ["low::part uses high::part"]


def test_a_comment_or_text_is_no_path(small_crate: Path) -> None:
    text = '// crate::high::part\npub(crate) struct Part;\nconst A: &str = "crate::high::part";\n'
    (small_crate / "low" / "part.rs").write_text(text)
    assert upward_paths("small") == []


def test_methods_far_from_their_type_are_found(small_crate: Path) -> None:
    (small_crate / "low" / "part.rs").write_text("pub(crate) struct Low<T>(T);\n")
    far, own = "impl Low<u8> {\n}\n", "impl Low<Part> {\n}\nimpl Clone for Low<u8> {\n}\n"
    (small_crate / "high" / "far.rs").write_text(far + own)
    assert far_methods("small") == ["high::far: impl Low<u8>"]


def test_a_circle_of_four_files_is_found(small_crate: Path) -> None:
    names = ["a", "b", "c", "d"]
    (small_crate / "low" / "part.rs").write_text("pub(crate) struct Part;\n")
    for name, other in zip(names, names[1:] + names[:1], strict=True):
        (small_crate / "low" / f"{name}.rs").write_text(f"use super::{other}::X;\n")
    assert large_circles("small") == [[f"low::{name}" for name in names]]
