"""Net plug-ins, right and wrong ones, in a folder, and the variables that ask NCCL for them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.unit.doctor.container.container_trees import compile_library
from tests.unit.doctor.container.loader_plants import HEADER_32, HEADER_ARM

SOURCE = """
#include <string.h>
static int start(void) { return %d; }
static int devices(int *n) { *n = 1; return 0; }
#define PROPERTIES(version, n_bytes) \\
    static int properties_##version(int device, void *all) { memset(all, 0, n_bytes); return 0; }
PROPERTIES(6, 48) PROPERTIES(7, 56) PROPERTIES(8, 60) PROPERTIES(9, 84)
typedef struct { const char *name; void *calls[40]; } Interface;
#define CALLS(properties) {(void *)start, (void *)devices, (void *)properties}
"""
"""The sizes are those of NCCL's structures up to what it looks at."""
FILE = "libnccl-net-ofi.so"
NEWEST = 13
Plant = Callable[[Path], Mapping[str, str]]


def source(*versions: int, collnet: Sequence[int] = (), result: int = 0) -> str:
    """A plug-in with these versions of NCCL's interfaces; `result` is that of its start."""
    kinds = [("Net", one) for one in versions] + [("CollNet", one) for one in collnet]
    return SOURCE % result + "".join(
        f"Interface nccl{kind}Plugin_v{one} = "
        f'{{"Stub", CALLS(properties_{min(max(one, 6), 9)})}};\n'
        for kind, one in kinds
    )


def asks(value: str = "ofi", **others: str) -> Mapping[str, str]:
    return {"NCCL_NET_PLUGIN": value, **others}


def right(folder: Path) -> Mapping[str, str]:
    compile_library(folder / FILE, source(6))
    return asks()


def default_name(folder: Path) -> Mapping[str, str]:
    compile_library(folder / "libnccl-net.so", source(6))
    return {}


def default_unfit(folder: Path) -> Mapping[str, str]:
    compile_library(folder / "libnccl-net.so", source(3))
    return {}


def empty_value(folder: Path) -> Mapping[str, str]:
    compile_library(folder / "libnccl-net.so", source(6))
    return asks("")


def none(_: Path) -> Mapping[str, str]:
    return asks("none")


def absent(_: Path) -> Mapping[str, str]:
    return asks()


def absent_default(_: Path) -> Mapping[str, str]:
    return {}


def dependency(folder: Path) -> Mapping[str, str]:
    gone = compile_library(folder / "libgone.so.3", "int gone;")
    compile_library(folder / FILE, source(6), needs=[gone])
    gone.unlink()
    return asks()


def newer_glibc(folder: Path) -> Mapping[str, str]:
    libc = folder / "new/libc.so.6"
    compile_library(libc, "int newer(void) { return 1; }", versions="GLIBC_2.99 { newer; };")
    use = "int newer(void); int use(void) { return newer(); }"
    compile_library(folder / FILE, use + source(6), needs=[libc])
    libc.unlink()
    return asks()


def no_interface(folder: Path) -> Mapping[str, str]:
    compile_library(folder / FILE, "int other;")
    return asks()


def several_interfaces(folder: Path) -> Mapping[str, str]:
    compile_library(folder / FILE, source(5, 8, 10, 13, collnet=(5, 7, 9)))
    return asks()


def only_collnet(folder: Path) -> Mapping[str, str]:
    compile_library(folder / FILE, source(collnet=(6,)))
    return asks()


def class_32(folder: Path) -> Mapping[str, str]:
    (folder / FILE).write_bytes(HEADER_32 + bytes(1000))
    return asks()


def other_machine(folder: Path) -> Mapping[str, str]:
    (folder / FILE).write_bytes(HEADER_ARM + bytes(1000))
    return asks()


def no_elf(folder: Path) -> Mapping[str, str]:
    (folder / FILE).write_bytes(b"version https://git-lfs\n" * 50)
    return asks()


def empty(folder: Path) -> Mapping[str, str]:
    (folder / FILE).write_bytes(b"")
    return asks()


def two_candidates(folder: Path) -> Mapping[str, str]:
    compile_library(folder / "libnccl-net.so", "int hpcx;")
    compile_library(folder / FILE, source(6))
    return asks()


def by_path(folder: Path) -> Mapping[str, str]:
    compile_library(folder / "libown.so", source(6))
    return asks(f"{folder}/libown.so")


def by_absent_path(folder: Path) -> Mapping[str, str]:
    return asks(f"{folder}/libnone.so")


def by_file_name(folder: Path) -> Mapping[str, str]:
    compile_library(folder / FILE, source(6))
    return asks(FILE)


def listed(folder: Path) -> Mapping[str, str]:
    """A list: two that are not there, a broken one, two that are refused, and two that fit."""
    (folder / "libnccl-net-cut.so").write_bytes(b"")
    compile_library(folder / "libnccl-net-old.so", source(5))
    compile_library(folder / "libnccl-net-coll.so", source(collnet=(8,)))
    compile_library(folder / FILE, source(6, 9))
    compile_library(folder / "libnccl-net-late.so", source(12))
    return asks(f"gone,,{folder}/libgone.so,cut,old,coll,ofi,late")


def listed_lost(folder: Path) -> Mapping[str, str]:
    compile_library(folder / "libnccl-net-old.so", source(5))
    return asks("gone,old")


def listed_too_many(folder: Path) -> Mapping[str, str]:
    """NCCL does not try the fifteenth, which fits."""
    compile_library(folder / FILE, source(6, 9))
    return asks(",,".join([*(f"gone{number}" for number in range(14)), "ofi"]))


def listed_most(folder: Path) -> Mapping[str, str]:
    compile_library(folder / FILE, source(6, 9))
    return asks(",".join([*(f"gone{number}" for number in range(13)), "ofi"]) + ",")


def demanded(folder: Path) -> Mapping[str, str]:
    compile_library(folder / FILE, source(6))
    return asks(NCCL_NET="Stub")


def sockets_demanded(folder: Path) -> Mapping[str, str]:
    compile_library(folder / FILE, source(6))
    return asks(NCCL_NET="SOCKET")


def demanded_absent(_: Path) -> Mapping[str, str]:
    return asks(NCCL_NET="AWS Libfabric")


def no_name_demanded(_: Path) -> Mapping[str, str]:
    return asks(NCCL_NET="")


def switched_off(_: Path) -> Mapping[str, str]:
    return asks(NCCL_IB_DISABLE="1")


def of_interface(version: int) -> Plant:
    def plant(folder: Path) -> Mapping[str, str]:
        compile_library(folder / FILE, source(version))
        return asks()

    plant.__name__ = f"interface_v{version}"
    return plant


STARTING: tuple[Plant, ...] = (
    right, default_name, default_unfit, empty_value, none, absent, absent_default, dependency,
    newer_glibc, no_interface, several_interfaces, only_collnet, class_32, other_machine, no_elf,
    empty, two_candidates, by_path, by_absent_path, by_file_name, listed, listed_lost,
    listed_too_many, listed_most, demanded, sockets_demanded, switched_off,
)  # fmt: skip
CASES: tuple[Plant, ...] = (
    *STARTING, demanded_absent, no_name_demanded, *map(of_interface, range(3, NEWEST + 1)),
)  # fmt: skip
"""Behind the jobs that start: those that NCCL_NET ends, and each version of the interface."""
