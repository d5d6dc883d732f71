"""The lines of libfabric about its provider, and of ld.so about a program that does not start.

SOURCE: tried on libfabric 1.17, 2.1 of Intel MPI and 2.5.1 of MPICH and Open MPI, and on ld.so of
glibc 2.36; each case is a test against them.
"""

from dataclasses import dataclass

from weft.doctor.container.chain.log_lines import load_error
from weft.doctor.container.chain.providers import ProviderSearch
from weft.doctor.container.chain.report import is_known
from weft.doctor.container.image.view import View
from weft.doctor.container.loader.closure import Closure

BEGIN = "libfabric:..."
"""Of a line: for the process, the time and the place in the source, which nobody knows before."""
_REGISTERS = b"registering provider: %s"
_LOADS = b"dlopen(%s): %s"


@dataclass(frozen=True, slots=True)
class ProviderLog:
    """Lines of libfabric about the `provider` that it looks for: none where it meets none of that
    name. `reason`: why they are not known."""

    provider: str
    lines: tuple[str, ...] = ()
    reason: str = ""


def provider_log(search: ProviderSearch) -> ProviderLog:
    """The lines at FI_LOG_LEVEL=info about the provider, each once."""
    case, name, devices = search.case, search.provider.name, search.provider.devices
    filters = case.variables.get("FI_PROVIDER")
    for variable in ("FI_PROVIDER", "FI_PROVIDER_PATH"):
        if not is_known(case.value(variable)):
            return ProviderLog(name, reason=f"only the job knows the value of {variable}")
    if _REGISTERS not in search.content:
        return ProviderLog(name, reason="weft does not know the lines of this libfabric")
    meets = search.is_inside or any(one.is_whole for one in search.files)
    if meets and not case.devices(devices):
        without = "what the provider does without its adapter is not known"
        return ProviderLog(name, reason=f"no {devices}* is in the container, and {without}")
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
    return ProviderLog(name, tuple(f"{BEGIN}{one}" for one in dict.fromkeys(found)))


def is_excluded(name: str, value: str) -> bool:
    """Whether FI_PROVIDER of this value leaves a provider out: an empty one leaves all out. Upper
    and lower case are the same."""
    listed = [one.partition(";")[0].lower() for one in value.removeprefix("^").split(",")]
    return (name.lower() in listed) == value.startswith("^")


@dataclass(frozen=True, slots=True)
class StartLog:
    """Lines of ld.so with which a `program`, as the launch names it, ends at its start; none where
    it finds all libraries."""

    program: str
    lines: tuple[str, ...] = ()


def start_log(view: View, program: str, closure: Closure) -> StartLog:
    """Of a program that loads these: the first library that is missing, or else all versions."""
    if closure.missing:
        error = load_error(view, "", closure)
        return StartLog(program, (f"{program}: error while loading shared libraries: {error}",))
    found = [
        f"{program}: {one.offered_by.opened}: version `{one.version}' not found (required by "
        f"{program if one.asked_by.is_program else one.asked_by.opened})"
        for one in closure.versions
        if one.is_fatal
    ]
    return StartLog(program, tuple(found))
