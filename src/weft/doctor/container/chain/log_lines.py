"""The lines that NCCL will print about its net plug-in and network, as its own library forms them.

SOURCE: tried on libnccl 2.18.3, 2.26.5 and 2.32.3; each case is a test against them.
"""

import os
from collections.abc import Iterator

from weft.doctor.container.case import ContainerCase
from weft.doctor.container.chain.plugin import (
    BEGIN,
    LONGEST,
    LONGEST_BEFORE,
    MOST_LISTED,
    PluginSearch,
    interfaces_of,
    listed,
)
from weft.doctor.container.chain.report import is_known, is_switch_on
from weft.doctor.container.image.view import View
from weft.doctor.container.loader.closure import Closure, LoadedFile, MissingFile
from weft.doctor.container.loader.elf import ElfError
from weft.doctor.log.network import OWN_NETWORKS

NOT_THERE = "cannot open shared object file: No such file or directory"
NATIVE_OF_LOAD = 6
"""The newest interface of libraries with the first form, which they take without a line."""
TRIED_FALL_BACK = "2.26."
"""Of libraries with a fall-back in the line, this version's form is known."""
INFO, ATTENTION, WARNING = "NCCL INFO ", "NCCL ATTN ", "NCCL WARN "


def predicted_lines(search: PluginSearch, *, is_good: bool) -> tuple[str, ...] | None:
    """The lines at NCCL_DEBUG=INFO, from the level on; None where the form is not known. `is_good`:
    the chain holds, so that a plug-in that NCCL takes starts."""
    if search.nccl is None or not search.is_known:
        return None
    form, version = search.nccl.library.plugin_form, search.nccl.library.version
    if _is_cut(search, form):
        return None
    if form == "list":
        lines = _of_list(search)
    elif form == "load":
        lines = (f"{INFO}{one}" for one in _of_load(search))
    elif form == "fall-back" and version.startswith(TRIED_FALL_BACK):
        lines = (f"{INFO}{one}" for one in _of_fall_back(search))
    else:
        return None
    return (*lines, *_of_network(search, form, is_good=is_good))


def _is_cut(search: PluginSearch, form: str) -> bool:
    """Whether a name, or the reason why it does not load, may be longer than NCCL's memory for it:
    then its lines are cut, or other ones."""
    longest = LONGEST_BEFORE if form == "load" else LONGEST
    entries = listed(search.value) if form == "list" else [search.value]
    if any(len(os.fsencode(f"{BEGIN}-{one}.so")) > longest for one in entries):
        return True
    tried = (one for names in search.tried for one in names)
    errors = (load_error(search.case.view, name, closure) for name, closure in tried)
    return any(len(os.fsencode(one)) > LONGEST for one in errors)


def _of_network(search: PluginSearch, form: str, *, is_good: bool) -> Iterator[str]:
    """The network that NCCL takes, where it can be known before: else no line.

    SOURCE: NVIDIA/nccl, net.cc: of the plug-in, IB and Socket the first that starts, and with
    NCCL_NET only the one of that name, without regard to case.
    """
    demanded = search.case.variables.get("NCCL_NET")
    if demanded is not None and not is_known(demanded.value):
        return
    name = ""
    if demanded is not None:
        name = _of_own_name(demanded.value)
        if name not in OWN_NETWORKS and not search.is_taken:
            lost = f"Error: network {name} not found."
            yield f"{WARNING}{'Failed to initialize any NET plugin' if form == 'list' else lost}"
            return
    elif search.is_taken:
        name = "..."
    else:
        name = "Socket" if has_no_adapter(search.case) else "IB"
    if is_good or name == "Socket":
        yield f"{INFO}Using network {name}"


def _of_own_name(value: str) -> str:
    """A value of NCCL_NET as the network of that name is spelled, if NCCL itself has it."""
    return next((one for one in OWN_NETWORKS if one.lower() == value.lower()), value)


def has_no_adapter(case: ContainerCase) -> bool:
    """Whether it is known that NCCL's own code finds no adapter for InfiniBand or RoCE."""
    if is_switch_on(case.value("NCCL_IB_DISABLE")):
        return True
    is_seen = case.host_is_given and bool(case.host.names("/sys/class"))
    has_one = case.host.names("/sys/class/infiniband") or case.host_devices("/dev/infiniband")
    return is_seen and not has_one


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
    closure = _closure_of(search, name)
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


def _closure_of(search: PluginSearch, name: str) -> Closure:
    """What a name loads. These libraries open "none", too, as a name like any other."""
    tried = dict(one for names in search.tried for one in names)
    if name not in tried and search.nccl is not None:
        return search.case.loader.dlopen(name, search.nccl.file)
    return tried.get(name, Closure())


def _of_fall_back(search: PluginSearch) -> Iterator[str]:
    names = [search.value] if search.value else []
    names.append(f"{BEGIN}-{search.value}.so" if search.value else f"{BEGIN}.so")
    lost = ""
    for name in names:
        closure = _closure_of(search, name)
        error = load_error(search.case.view, name, closure)
        if not error:
            if search.value:
                yield f"NET/Plugin: Plugin name set by env to {name}"
            yield from _symbols(search, closure.files[0])
            return
        if _is_not_there(name, error):
            # This version keeps the last name only.
            lost = name
        else:
            yield f"NET/Plugin: {error}"
    fall_back = "Using internal net plugin."
    yield f"NET/Plugin: Could not find: {lost}. {fall_back}" if lost else f"NET/Plugin: {fall_back}"


def _symbols(search: PluginSearch, plugin: LoadedFile) -> Iterator[str]:
    """NCCL looks for each version of an interface, the newest first. It looks for the interface of
    collectives only in a plug-in that has the one of networks."""
    for kind, word in KINDS:
        offered = interfaces_of(plugin, f"nccl{kind}Plugin")
        for version in _taken(search):
            if version in offered:
                yield f"NET/Plugin: Loaded {word} plugin ... (v{version})"
                break
            yield f"NET/Plugin: Failed to find nccl{kind}Plugin_v{version} symbol."
        else:
            return


KINDS = (("Net", "net"), ("CollNet", "collnet"))
"""The interfaces of a plug-in, as its symbols and as the lines name them."""


def _taken(search: PluginSearch) -> list[int]:
    """Versions that this NCCL takes, the newest first, the same ones of both interfaces."""
    return sorted(search.nccl.library.interfaces if search.nccl is not None else (), reverse=True)


def _of_list(search: PluginSearch) -> Iterator[str]:
    if search.is_set:
        yield f"{INFO}NCCL_NET_PLUGIN set by environment to {search.value}".rstrip()
        if len(listed(search.value)) > MOST_LISTED:
            most = f"more than {MOST_LISTED - 1} plugins"
            yield f"{INFO}NCCL_NET_PLUGIN list contains {most}, ignoring the rest"
    for names in search.tried:
        lost: list[str] = []
        for name, closure in names:
            error = load_error(search.case.view, name, closure)
            if not error:
                lost.clear()
                yield from _of_file(search, closure.files[0])
            elif _is_not_there(name, error):
                lost.append(name)
            else:
                yield f"{INFO}NET/Plugin: {name}: {error}"
        if lost:
            yield f"{INFO}NET/Plugin: Could not find: {' '.join(lost)}"


def _of_file(search: PluginSearch, plugin: LoadedFile) -> Iterator[str]:
    """The lines about a file that loads. NCCL refuses one without an interface that it takes: at
    ATTN, where the library has that level and the environment asks for the plug-in."""
    newest = []
    for kind, word in KINDS:
        offered = interfaces_of(plugin, f"nccl{kind}Plugin")
        newest += [(word, version) for version in _taken(search) if version in offered][:1]
    if not newest or newest[0][0] != "net":
        has_attention = search.nccl is not None and search.nccl.library.has_attention
        level = ATTENTION if has_attention and search.is_set else INFO
        yield f"{level}External network plugin {plugin.opened} is unsupported"
        return
    for word, version in newest:
        yield f"{INFO}NET/Plugin: Loaded {word} plugin ... (v{version})"
    yield f"{INFO}Successfully loaded external network plugin {plugin.opened}"
