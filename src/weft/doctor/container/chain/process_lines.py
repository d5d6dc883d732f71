"""The lines of libfabric about its provider, and of ld.so about a program that does not start.

SOURCE: tried on libfabric 1.17, 2.1 of Intel MPI and 2.5.1 of MPICH and Open MPI, and on ld.so of
glibc 2.36; each case is a test against them.
"""

from collections.abc import Iterator

from weft.doctor.container.chain.log_lines import load_error
from weft.doctor.container.chain.providers import ProviderSearch
from weft.doctor.container.chain.report import is_known
from weft.doctor.container.image.view import View
from weft.doctor.container.loader.closure import Closure

BEGIN = "libfabric:..."
"""Of a line: for the process, the time and the place in the source, which nobody knows before."""
_REGISTERS = b"registering provider: %s"
_LOADS = b"dlopen(%s): %s"


def provider_lines(search: ProviderSearch) -> tuple[str, ...] | None:
    """The lines at FI_LOG_LEVEL=info about the provider; none where libfabric meets no such one.

    None where they are not known: a variable's value, the form of the lines, or what a provider
    does without its adapter.
    """
    case, name = search.case, search.provider.name
    filters = case.variables.get("FI_PROVIDER")
    is_told = (filters is None or is_known(filters.value)) and is_known(
        case.value("FI_PROVIDER_PATH")
    )
    if not is_told or _REGISTERS not in search.content:
        return None
    meets = search.is_inside or any(one.is_whole for one in search.files)
    if meets and not case.devices(search.provider.devices):
        return None
    taken = [f"<info> registering provider: {name} (...)"]
    if filters is not None and is_excluded(name, filters.value):
        taken.append(f'<info> "{name}" filtered by provider include/exclude list, skipping')
    found: list[str] = []
    for one in search.files:
        error = load_error(case.view, one.path, one.closure)
        if one.is_whole:
            found += taken
        elif not error:
            found.append(f"<warn> dlsym: {one.path}: undefined symbol: fi_prov_ini")
        elif _LOADS in search.content and not one.by_name:
            found.append(f"<warn> dlopen({one.path}): {error}")
    found += taken if search.is_inside else []
    return tuple(f"{BEGIN}{one}" for one in found)


def is_excluded(name: str, value: str) -> bool:
    """Whether FI_PROVIDER of this value leaves a provider out: an empty one leaves all out."""
    listed = [one.partition(";")[0] for one in value.removeprefix("^").split(",")]
    return (name in listed) == value.startswith("^")


def start_lines(view: View, program: str, closure: Closure) -> Iterator[str]:
    """What ld.so prints of a program that lacks a library or a version of symbols: the first
    library, or else all versions. `program` as the launch names it."""
    if closure.missing:
        yield f"{program}: error while loading shared libraries: {load_error(view, '', closure)}"
        return
    for one in closure.versions:
        if one.is_fatal:
            asks = program if one.asked_by.is_program else one.asked_by.opened
            has = one.offered_by.opened
            yield f"{program}: {has}: version `{one.version}' not found (required by {asks})"
