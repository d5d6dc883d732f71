"""Changes of paths that are planted round a program: folders, variables, files of other kinds."""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

LIBRARIES = "/lib/x86_64-linux-gnu"
Environment = dict[str, str]
Plant = Callable[[Random, Path, list[str], Path], Environment]
"""Of (chance, an empty folder, names that the program needs, a library without versions)."""
MOST_COPIED_BYTES = 200_000
HEADER_32 = b"\x7fELF\x01\x01\x01" + bytes(9) + b"\x03\x00\x03\x00" + bytes(32)
HEADER_ARM = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00\xb7\x00\x01\x00\x00\x00" + bytes(40)


def _name(chance: Random, names: list[str]) -> str:
    return chance.choice(names or ["libc.so.6"])


def _link(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    real = os.path.realpath(f"{LIBRARIES}/{name}")
    (folder / name).symlink_to(real)
    return folder


def same_in_folder(chance: Random, folder: Path, names: list[str], _: Path) -> Environment:
    return {"LD_LIBRARY_PATH": str(_link(folder, _name(chance, names)))}


def copy_in_folder(chance: Random, folder: Path, names: list[str], _: Path) -> Environment:
    name = _name(chance, [one for one in names if one not in ("libc.so.6", "libm.so.6")])
    own = Path(f"{LIBRARIES}/{name}")
    if own.exists() and own.stat().st_size < MOST_COPIED_BYTES:
        shutil.copy(f"{LIBRARIES}/{name}", folder / name)
    return {"LD_LIBRARY_PATH": f"/nowhere:{folder}/"}


def below_folder(chance: Random, folder: Path, names: list[str], _: Path) -> Environment:
    kinds = ("glibc-hwcaps/x86-64-v3", "glibc-hwcaps/x86-64-v2", "glibc-hwcaps/x86-64-v4", "tls")
    kinds += ("x86_64", "tls/x86_64", "x86_64/x86_64", "haswell", "glibc-hwcaps/other")
    name = _name(chance, names)
    for kind in chance.sample(kinds, 2):
        _link(folder / kind, name)
    return {"LD_LIBRARY_PATH": str(folder)}


def other_architecture(chance: Random, folder: Path, names: list[str], _: Path) -> Environment:
    header = chance.choice((HEADER_32, HEADER_ARM)) + bytes(1024)
    (folder / _name(chance, names)).write_bytes(header)
    return {"LD_LIBRARY_PATH": str(folder)}


def broken_file(chance: Random, folder: Path, names: list[str], _: Path) -> Environment:
    content = chance.choice((b"", b"INPUT(-lc)\n" * 20, b"\x7fELF"))
    (folder / _name(chance, names)).write_bytes(content)
    return {"LD_LIBRARY_PATH": str(folder)}


def folder_for_a_file(chance: Random, folder: Path, names: list[str], _: Path) -> Environment:
    (folder / _name(chance, names)).mkdir()
    return {"LD_LIBRARY_PATH": str(folder)}


def dangling_link(chance: Random, folder: Path, names: list[str], _: Path) -> Environment:
    name = _name(chance, names)
    (folder / name).symlink_to(chance.choice(("/nowhere/at/all", name)))
    return {"LD_LIBRARY_PATH": str(folder)}


def chained_links(chance: Random, folder: Path, names: list[str], _: Path) -> Environment:
    name = _name(chance, names)
    _link(folder / "real", name)
    (folder / "a").symlink_to("real")
    (folder / "b").symlink_to("a/../a")
    return {"LD_LIBRARY_PATH": f"{folder}/b//"}


def without_versions(chance: Random, folder: Path, names: list[str], stub: Path) -> Environment:
    libraries = [one for one in names if one != "libc.so.6"]
    shutil.copy(stub, folder / _name(chance, libraries or ["libz.so.1"]))
    return {"LD_LIBRARY_PATH": str(folder)}


def separators(chance: Random, folder: Path, names: list[str], _: Path) -> Environment:
    own = str(_link(folder, _name(chance, names)))
    forms = (
        f"/a;{own}",
        f":{own}",
        f"{own}:",
        f"/a::/b:{own}",
        f"{own}///",
        f"{own}/../{folder.name}",
    )
    return {"LD_LIBRARY_PATH": chance.choice(forms)}


def origin(chance: Random, folder: Path, names: list[str], _: Path) -> Environment:
    forms = (
        "$ORIGIN/../$LIB",
        "${ORIGIN}",
        "/usr/$LIB",
        "/$LIB:/x",
        "/lib/$PLATFORM",
        "$ORIGINAL/x",
    )
    return {"LD_LIBRARY_PATH": chance.choice(forms)}


def two_folders(chance: Random, folder: Path, names: list[str], stub: Path) -> Environment:
    first, second = folder / "first", folder / "second"
    _link(first, _name(chance, names))
    _link(second, _name(chance, names))
    return {
        "LD_LIBRARY_PATH": f"{first}:{second}" if chance.random() < 0.5 else f"{second}:{first}"
    }


def preload(chance: Random, folder: Path, names: list[str], stub: Path) -> Environment:
    shutil.copy(stub, folder / "libfirst.so")
    forms = (f"{folder}/libfirst.so", "libm.so.6", f"libz.so.1 {folder}/libfirst.so", "libnone.so")
    forms += (f"{LIBRARIES}/libz.so.1", f"libm.so.6:{folder}/libfirst.so")
    return {"LD_PRELOAD": chance.choice(forms)}


def preload_with_path(chance: Random, folder: Path, names: list[str], stub: Path) -> Environment:
    _link(folder, "libm.so.6")
    return {"LD_PRELOAD": "libm.so.6", "LD_LIBRARY_PATH": str(folder)}


PLANTS: Mapping[str, Plant] = {
    one.__name__: one
    for one in (
        same_in_folder, copy_in_folder, below_folder, other_architecture, broken_file,
        folder_for_a_file, dangling_link, chained_links, without_versions, separators, origin,
        two_folders, preload, preload_with_path,
    )
}  # fmt: skip
