"""The loader of an image finds what ld.so finds: programs and libraries of this machine."""

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from tests.unit.doctor.container.container_cases import need_gcc
from tests.unit.doctor.container.container_trees import (
    LIBRARY_FOLDER,
    SlingshotNode,
    compile_library,
)
from tests.unit.doctor.container.loader_plants import PLANTS
from tests.unit.doctor.container.real_loader import LD_SO, Loads, found_loads, real_loads

from weft.doctor.container.image.tree import FolderTree
from weft.doctor.container.image.view import View
from weft.doctor.container.loader.closure import Loader
from weft.doctor.container.loader.directories import Directories, Processor
from weft.doctor.container.loader.elf import ElfError, ElfFacts, read_elf

FOLDERS = ("/usr/bin", "/usr/sbin", "/usr/lib/x86_64-linux-gnu")
NUMBER, EVERY = 500, 50


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_gcc()
    return compile_library(tmp_path_factory.mktemp("stub") / "libstub.so", "int stub;")


def processor() -> Processor:
    return Processor.of_cpuinfo(Path("/proc/cpuinfo").read_text())


def facts_of(path: str) -> ElfFacts:
    with open(path, "rb") as file:
        return read_elf(file, path)


def dynamic_files(seed: int) -> list[str]:
    """Programs and libraries of this machine in an order drawn by chance."""
    found = set()
    for folder in FOLDERS:
        for name in os.listdir(folder):
            path = os.path.realpath(f"{folder}/{name}")
            try:
                if os.path.isfile(path) and facts_of(path).needed:
                    found.add(path)
            except (ElfError, OSError):
                continue
    files = sorted(found)
    Random(seed).shuffle(files)
    return files


def ours(directories: Directories, program: str, env: dict[str, str]) -> Loads:
    path, first = env.get("LD_LIBRARY_PATH", ""), env.get("LD_PRELOAD", "")
    return found_loads(Loader(directories.view, directories, path, first).run(program))


def differing(program: str, env: dict[str, str], directories: Directories) -> str:
    real, own = real_loads(program, env), ours(directories, program, env)
    if real.is_ended or own.is_ended:
        return "" if real.is_ended == own.is_ended else f"{program} {env}: ended {real.is_ended}"
    if real == own:
        return ""
    paths = set(real.paths.items()) ^ set(own.paths.items())
    return f"{program} {env}: {sorted(paths)} {sorted(real.versions ^ own.versions)}"


def machine() -> Directories:
    return Directories(View(FolderTree(Path("/"))), "x86_64", processor())


def planted(
    files: Sequence[str], n_each: int, folder: Path, stub: Path, seed: int, view: Directories
) -> list[str]:
    """The differences over the files with so many planted changes each."""
    chance, names = Random(seed), list(PLANTS)
    found = []
    for index, program in enumerate(files):
        needs = list(facts_of(program).needed)
        for number in range(n_each):
            own = folder / f"{index}-{number}"
            own.mkdir()
            plant = PLANTS[names[(index + number) % len(names)]]
            env = plant(chance, own, needs, stub)
            found.append(differing(program, env, view))
    return [one for one in found if one]


def test_programs_and_libraries_as_they_are(stub: Path) -> None:
    view = machine()
    found = [differing(one, {}, view) for one in dynamic_files(1)[:100]]
    assert [one for one in found if one] == []


def test_planted_changes(tmp_path: Path, stub: Path) -> None:
    assert planted(dynamic_files(2)[:30], len(PLANTS), tmp_path, stub, 2, machine()) == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_500_files_with_50_planted_changes_each(tmp_path: Path, stub: Path) -> None:
    """The proof: 25,000 answers of ld.so, and 500 without a change."""
    files = dynamic_files(3)[:NUMBER]
    view = machine()
    assert [one for one in (differing(each, {}, view) for each in files) if one] == []
    assert planted(files, EVERY, tmp_path, stub, 3, view) == []


INTEL = """vendor_id\t: GenuineIntel
flags\t\t: {}
"""
V2 = "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3"
V3 = f"{V2} avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"
V4 = f"{V3} avx512f avx512bw avx512cd avx512dq avx512vl"
PHI = f"{V3} avx512f avx512cd avx512er avx512pf"
PROCESSORS = {
    "none": ("", Processor()),
    "Intel, SSE": (INTEL.format(V2), Processor(("x86-64-v2",))),
    "Intel, AVX2": (INTEL.format(V3), Processor(("x86-64-v3", "x86-64-v2"), "haswell")),
    "Intel, AVX-512": (
        INTEL.format(V4),
        Processor(("x86-64-v4", "x86-64-v3", "x86-64-v2"), "haswell", has_avx512=True),
    ),
    "Xeon Phi": (INTEL.format(PHI), Processor(("x86-64-v3", "x86-64-v2"), "xeon_phi")),
    "AMD, AVX-512": (
        INTEL.format(V4).replace("GenuineIntel", "AuthenticAMD"),
        Processor(("x86-64-v4", "x86-64-v3", "x86-64-v2")),
    ),
}


@pytest.mark.parametrize("title", PROCESSORS)
def test_older_folders_are_those_of_intel_s_processors(title: str) -> None:
    cpuinfo, expected = PROCESSORS[title]
    assert Processor.of_cpuinfo(cpuinfo) == expected


def test_the_folders_below_each_one_are_those_that_the_loader_tries() -> None:
    """What ld.so itself prints, without doublets, of a folder that does not exist."""
    env = {"LD_DEBUG": "libs", "LD_LIBRARY_PATH": "/nowhere"}
    said = subprocess.run([LD_SO, "/bin/true"], capture_output=True, text=True, env=env, check=True)
    (line,) = re.findall(r"search path=(\S+)\s+\(LD_LIBRARY_PATH\)", said.stderr)[:1]
    tried = list(dict.fromkeys(one.removeprefix("/nowhere").lstrip("/") for one in line.split(":")))
    assert list(machine().below) == tried


@pytest.mark.parametrize(
    ("release", "has_older"), [(b"2.36", True), (b"2.37", False), (b"2.99", False)]
)
def test_the_release_of_a_loader_is_the_one_in_its_text(
    tmp_path: Path, release: bytes, has_older: bool
) -> None:
    """Symbols of libc do not tell 2.37 from 2.36. SOURCE: glibc NEWS: 2.37 has no older folders."""
    need_gcc()
    SlingshotNode.add_libc(tmp_path)
    loader = tmp_path / LIBRARY_FOLDER / "ld-linux-x86-64.so.2"
    content, own = loader.read_bytes(), re.compile(rb"(?<= release version )2\.\d\d(?=\.)")
    assert len(own.findall(content)) == 1
    loader.write_bytes(own.sub(release, content))
    libc = tmp_path / LIBRARY_FOLDER / "libc.so.6"
    compile_library(libc, "int one;", versions="GLIBC_2.35 { global: one; };", soname="libc.so.6")
    view = Directories(View(FolderTree(tmp_path)), "x86_64", processor())
    assert f"2.{view.glibc}" == release.decode()
    assert ("tls/x86_64" in view.below) is has_older


@pytest.mark.parametrize(("name", "release"), [("ld-2.31.so", 31), ("ld-linux-x86-64.so.2", 30)])
def test_an_older_loader_has_its_release_in_its_name(
    tmp_path: Path, name: str, release: int
) -> None:
    """As Debian 11: its libc.so.6 has symbols of 2.30 at most, and no text in its loader."""
    need_gcc()
    own, asked = tmp_path / "lib64", "ld-linux-x86-64.so.2"
    compile_library(own / name, "int one;")
    compile_library(own / "libc.so.6", "int one;", versions="GLIBC_2.30 { global: one; };")
    if name != asked:
        (own / asked).symlink_to(name)
    assert Directories(View(FolderTree(tmp_path)), "x86_64").glibc == release
