"""Faults of the libraries below a link: absent, broken, or of an older version."""

from weft.doctor.container.chain.report import Chain
from weft.doctor.container.loader.closure import Closure, LoadedFile, MissingFile, MissingVersion

MOST_LIBRARY_BYTES = 256 << 20
_GLIBC = ("libc.", "libc-", "libm.", "libm-")


def report_loads(chain: Chain, file: LoadedFile, closure: Closure, apart: str = "") -> None:
    """Add the faults of what a file loads; the absence of `apart` has a rule of its own."""
    for lost in closure.missing:
        if lost.name != apart or lost.reason:
            _report_lost(chain, file, lost)
    for one in closure.versions:
        if one.is_fatal:
            _report_version(chain, one)


def _report_lost(chain: Chain, file: LoadedFile, lost: MissingFile) -> None:
    if lost.reason:
        chain.fault("library-broken", path=lost.path, name=lost.name, reason=lost.reason)
        return
    asked = lost.asked_by.opened if lost.asked_by is not None else file.opened
    passed = ", ".join(lost.passed)
    detail = f"; {passed} is for another architecture" if passed else ""
    chain.fault("dependency-missing", name=lost.name, file=asked, detail=detail)


def _report_version(chain: Chain, lost: MissingVersion) -> None:
    asks, has = lost.asked_by, lost.offered_by
    if has.located.path.rpartition("/")[2].startswith(_GLIBC):
        newer = lost.version.removeprefix("GLIBC_")
        name = asks.opened.rpartition("/")[2]
        better = f"take an image with glibc {newer} or newer, or build {name} against an older one"
    else:
        name = has.name.rpartition("/")[2]
        better = f"mount the host's {name} as well, or take a newer image"
    chain.fault(
        "version-missing",
        file=asks.opened,
        version=lost.version,
        library=has.opened,
        newest=lost.newest,
        better=better,
    )


def content_of(library: LoadedFile) -> bytes:
    """What is in a library, for its strings; none where it cannot be read."""
    try:
        with library.located.reader() as file:
            return file.read(MOST_LIBRARY_BYTES)
    except OSError:
        return b""
