"""The lines that NCCL will print about its net plug-in, as its own library forms them.

SOURCE: tried on libnccl 2.18.3, 2.26.5 and 2.32.3; each case is a test against them.
"""

from collections.abc import Iterator

from weft.doctor.container.chain.plugin import BEGIN, PluginSearch, interfaces_of
from weft.doctor.container.image.view import View
from weft.doctor.container.loader.closure import Closure, MissingFile
from weft.doctor.container.loader.elf import ElfError

NOT_THERE = "cannot open shared object file: No such file or directory"
NATIVE_OF_LOAD = 6
"""The newest interface of libraries with the first form, which they take without a line."""
TRIED_FALL_BACK = "2.26."
"""Of libraries with a fall-back in the line, this version's form is known."""


def predicted_lines(search: PluginSearch) -> tuple[str, ...]:
    """The lines at NCCL_DEBUG=INFO, without host and process; none where the form is not known."""
    if search.nccl is None or not search.is_known:
        return ()
    form, version = search.nccl.library.plugin_form, search.nccl.library.version
    if form == "load":
        return tuple(_of_load(search))
    if form == "fall-back" and version.startswith(TRIED_FALL_BACK):
        return tuple(_of_fall_back(search))
    return tuple(_of_list(search)) if form == "list" else ()


def load_error(view: View, name: str, closure: Closure) -> str:
    """The text of dlerror() after dlopen(name), "" where it loads."""
    if closure.missing:
        return _lost(view, closure.missing[0])
    for one in closure.versions:
        if one.is_fatal:
            asks, has = one.asked_by.opened, one.offered_by.opened
            return f"{has}: version `{one.version}' not found (required by {asks})"
    return "" if closure.files else f"{name}: {NOT_THERE}"


def _lost(view: View, lost: MissingFile) -> str:
    if lost.reason:
        return f"{lost.path}: {lost.reason}"
    for path in lost.passed:
        found = view.resolve(path)
        try:
            facts = view.facts(found) if found is not None else None
        except ElfError:
            continue
        asking = lost.asked_by.facts.bits if lost.asked_by is not None else 64
        if facts is not None and facts.bits != asking:
            return f"{lost.name}: wrong ELF class: ELFCLASS{facts.bits}"
    return f"{lost.name}: {NOT_THERE}"


def _is_not_there(name: str, error: str) -> bool:
    """As NCCL decides it: the text has the name, and that there is no such file."""
    return name in error and "No such file or directory" in error


def _of_load(search: PluginSearch) -> Iterator[str]:
    value = search.value
    name = f"{BEGIN}-{value}.so" if value else f"{BEGIN}.so"
    if value:
        yield f"Plugin name set by env to {name}"
    closure = dict(search.tried).get(name)
    if closure is None:
        # "none" is a name like any other.
        closure = search.case.loader.dlopen(name, search.nccl.file) if search.nccl else Closure()
    error = load_error(search.case.view, name, closure)
    if error:
        yield f"NET/Plugin : Plugin load ({name}) returned 2 : {error}"
        yield "NET/Plugin : No plugin found, using internal implementation"
        return
    for kind, word in (("Net", "net"), ("CollNet", "coll")):
        offered = interfaces_of(closure.files[0], f"nccl{kind}Plugin")
        older = [one for one in (5, 4) if one in offered]
        if NATIVE_OF_LOAD in offered:
            continue
        yield f"NET/Plugin: Failed to find nccl{kind}Plugin_v6 symbol."
        if not older:
            yield f"NET/Plugin: Failed to find nccl{kind}Plugin symbol (v4 or v5)."
            return
        yield f"NET/Plugin: Loaded {word} plugin ... (v{older[0]})"


def _of_fall_back(search: PluginSearch) -> Iterator[str]:
    names = [search.value] if search.value else []
    names.append(f"{BEGIN}-{search.value}.so" if search.value else f"{BEGIN}.so")
    lost = ""
    for name in names:
        closure = dict(search.tried).get(name)
        if closure is None and search.nccl is not None:
            closure = search.case.loader.dlopen(name, search.nccl.file)
        error = load_error(search.case.view, name, closure or Closure())
        if not error:
            if search.value:
                yield f"NET/Plugin: Plugin name set by env to {name}"
            return
        if _is_not_there(name, error):
            # This version keeps the last name only.
            lost = name
        else:
            yield f"NET/Plugin: {error}"
    fall_back = "Using internal net plugin."
    yield f"NET/Plugin: Could not find: {lost}. {fall_back}" if lost else f"NET/Plugin: {fall_back}"


def _of_list(search: PluginSearch) -> Iterator[str]:
    taken = search.nccl.library.interfaces if search.nccl is not None else frozenset()
    lost: list[str] = []
    for index, (name, closure) in enumerate(search.tried):
        error = load_error(search.case.view, name, closure)
        if not error:
            path = closure.files[0].opened
            if taken & set(interfaces_of(closure.files[0])):
                yield f"Successfully loaded external network plugin {path}"
                return
            yield f"External network plugin {path} is unsupported"
            continue
        if _is_not_there(name, error):
            lost.append(name)
        else:
            yield f"NET/Plugin: {name}: {error}"
        following = search.tried[index + 1][0] if index + 1 < len(search.tried) else ""
        if lost and not following.startswith(f"{BEGIN}-{name}."):
            yield f"NET/Plugin: Could not find: {' '.join(lost)}"
            lost = []
