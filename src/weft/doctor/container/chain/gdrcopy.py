"""GDRCopy, where a launch or an image asks for it: who opens it, and what it lacks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from weft.doctor.container.case import ContainerCase
from weft.doctor.container.chain.loads import content_of
from weft.doctor.container.chain.plugin import ImageNccl
from weft.doctor.container.chain.report import Chain, is_known, open_parts
from weft.doctor.container.loader.closure import Closure, LoadedFile
from weft.doctor.numbers import strtoll
from weft.doctor.rules.gpudirect import ON

DEVICE = "/dev/gdrdrv"
LIBRARY = "libgdrapi.so"
"""The name that NCCL and libfabric give to dlopen, without a number. SOURCE: tried on libnccl
2.18.3, 2.26.5 and 2.32.3; ofiwg/libfabric 0ead8df, src/hmem_cuda_gdrcopy.c."""
NUMBERED = "libgdrapi.so.2"
"""Its SONAME, which libraries that are linked to it need."""
OWN_BACK_END = "NCCL_GDRCOPY_USE_INTERNAL_DMABUF"
"""An NCCL that knows this name has a back end of its own for a GDRCopy that it cannot open.
SOURCE: tried on libnccl 2.32.3."""
LEAST_VERSION = (2, 1)
"""SOURCE: NVIDIA/nccl 07d9ed2, src/include/gdrwrap.h; tried on libnccl 2.18.3, 2.26.5 and 2.32.3
with a library that says 2.0."""
UCX = "libucs.so.0"
UCX_MODULE = "ucx/libuct_cuda_gdrcopy.so.0"
"""Beside libucs. SOURCE: UCX 1.22.0 of PyPI and Debian's 1.13.1 have their modules there."""
_VERSION = re.compile(r"libgdrapi\.so\.(\d{1,4})\.(\d{1,4})")


@dataclass(frozen=True, slots=True)
class CopyDemand:
    """A library that is asked to use GDRCopy by the variable `name`. `file` is what it opens,
    `closure` what the loader finds for that; `without` says what the library does instead."""

    name: str
    user: str
    file: str
    closure: Closure
    without: str
    has_own: bool = False


def follow_gdrcopy(
    case: ContainerCase, chain: Chain, nccl: ImageNccl | None, fabric: LoadedFile | None = None
) -> None:
    """A warning for each demand that cannot be met for sure; a link where GDRCopy is whole."""
    demands = [*_of_nccl(case, nccl), *_of_ucx(case), *_of_libfabric(case, fabric)]
    is_whole = True
    for one in demands:
        is_whole = _is_met(case, chain, one) and is_whole
    caller = nccl.file if nccl is not None else case.program
    found = [one.closure for one in demands]
    found += [case.loader.dlopen(name, caller) for name in (LIBRARY, NUMBERED)]
    file = next((_library_of(one) for one in found if _library_of(one) is not None), None)
    if is_whole and file is not None and case.devices(DEVICE):
        chain.link("GDRCopy", file, f"device {DEVICE}", is_first=True)


def _of_nccl(case: ContainerCase, nccl: ImageNccl | None) -> Iterator[CopyDemand]:
    name = "NCCL_GDRCOPY_ENABLE"
    if nccl is None or not is_known(case.value(name)) or strtoll(case.value(name))[0] != 1:
        return
    closure = case.loader.dlopen(LIBRARY, nccl.file)
    has_own = OWN_BACK_END in nccl.library.names
    yield CopyDemand(name, "NCCL", LIBRARY, closure, "NCCL goes on without it", has_own)


def _of_ucx(case: ContainerCase) -> Iterator[CopyDemand]:
    name = "UCX_TLS"
    value = case.value(name)
    names = [one.strip() for one in value.split(",")]
    if not is_known(value) or value.startswith("^") or "gdr_copy" not in names:
        return
    library = next((one for one in case.loader.dlopen(UCX, case.program).files), None)
    if library is None or case.value("UCX_MODULE_DIR"):
        return
    folder = library.opened.rpartition("/")[0]
    closure = case.loader.dlopen(f"{folder}/{UCX_MODULE}", library)
    is_there = bool(closure.files) or any(one.reason for one in closure.missing)
    without = "UCX warns that transport 'gdr_copy' is not available, and goes on without it"
    file = NUMBERED if is_there else UCX_MODULE
    yield CopyDemand(name, "UCX", file, closure, without)


def _of_libfabric(case: ContainerCase, fabric: LoadedFile | None) -> Iterator[CopyDemand]:
    """By the word of a user; by default libfabric tries GDRCopy and is silent without it."""
    name = "FI_HMEM_CUDA_USE_GDRCOPY"
    if fabric is None or case.value(name).strip().lower() not in ON:
        return
    if f"{LIBRARY}\0".encode() in content_of(fabric):
        closure = case.loader.dlopen(LIBRARY, fabric)
        yield CopyDemand(name, "libfabric", LIBRARY, closure, "libfabric copies by CUDA instead")


def _is_met(case: ContainerCase, chain: Chain, demand: CopyDemand) -> bool:
    """Whether nothing is known to be missing for it; else a warning is added."""
    variable = case.variables[demand.name]
    words = {
        "asks": f"{demand.name}={variable.text} ({variable.origin})",
        "user": demand.user,
        "without": demand.without,
    }
    library = _library_of(demand.closure)
    version = _version_of(library) if library is not None else None
    if demand.user == "NCCL" and version is not None and version < LEAST_VERSION:
        least, has = (".".join(map(str, one)) for one in (LEAST_VERSION, version))
        chain.fault("gdrcopy-too-old", has=has, least=least, **words)
        return False
    if demand.has_own or open_parts(case):
        return library is not None
    if library is None and not case.has_unknown_folders:
        detail, better = _lack_of(case, demand)
        file = demand.file
        chain.fault("gdrcopy-library-missing", file=file, detail=detail, better=better, **words)
    lack = _lack_of_device(case)
    if lack is not None:
        chain.fault("gdrcopy-device-missing", detail=lack[0], better=lack[1], **words)
    return lack is None and library is not None


def _library_of(closure: Closure) -> LoadedFile | None:
    """GDRCopy's library in what is loaded, None where something is missing."""
    if not closure.is_whole:
        return None
    named = (one for one in closure.files if one.answers(LIBRARY) or one.answers(NUMBERED))
    return next(named, None)


def _version_of(library: LoadedFile) -> tuple[int, int] | None:
    """From the name of its file, as GDRCopy's Makefile forms it; None for another name."""
    found = _VERSION.fullmatch(library.located.path.rpartition("/")[2])
    return (int(found[1]), int(found[2])) if found is not None else None


def _lack_of(case: ContainerCase, demand: CopyDemand) -> tuple[str, str]:
    """Why a library is not loaded, and what mends it."""
    lost = next((one for one in demand.closure.missing if one.asked_by is not None), None)
    numbered = case.loader.dlopen(NUMBERED, case.program)
    if demand.file == LIBRARY and numbered.is_whole and numbered.files:
        path = numbered.files[0].opened
        detail = f" ({path} is there: {demand.user} asks for the name without a number)"
        return detail, f"ln -s {NUMBERED} {path.rpartition('/')[0]}/{LIBRARY} in the image"
    if demand.file == UCX_MODULE:
        return "", "take a UCX that is built with GDRCopy, or leave gdr_copy out of UCX_TLS"
    detail = f" ({lost.name} is missing)" if lost is not None and lost.name != demand.file else ""
    return detail, f"install GDRCopy's library in the image, or leave {demand.name} out"


def _lack_of_device(case: ContainerCase) -> tuple[str, str] | None:
    """Why the device is certainly not in the container and what mends it; None where it may be."""
    host, runtime = case.host_devices(DEVICE), case.plan.runtime
    if case.devices(DEVICE):
        return None
    if case.image.is_running:
        return "", f"start the container with --device {DEVICE}"
    if not host:
        detail = ", and the host has none"
        return (detail, "load gdrdrv on the hosts") if case.host_is_given else None
    if runtime.has_devices is None:
        return None
    return f": {runtime.name} passes none on", f"start the container with --device {DEVICE}"
