"""rdma-core and libfabric of EFA from small libraries, for roots of images and hosts."""

from pathlib import Path

from tests.unit.doctor.container.container_trees import SlingshotNode, compile_library

VERSIONS = "IBVERBS_1.1 { ibv_get; }; IBVERBS_PRIVATE_%s { ibv_own; };"
EFA_LIBFABRIC_SOURCE = """
int efa_open(void); int fi_getinfo(void) { return efa_open(); }
const char *own = "efa_rdm_ep";
"""


def verbs_source(number: str, folder: str) -> str:
    """libibverbs with the formats of the names that it opens, as rdma-core is built."""
    names = f"/{folder}/libibverbs/lib%s-rdmav{number}.so", f"lib%s-rdmav{number}.so"
    texts = "".join(f'const char *name{at} = "{one}";' for at, one in enumerate(names))
    return f"{texts} int ibv_get(void) {{ return 0; }} int ibv_own(void) {{ return 0; }}"


def add_rdma_core(root: Path, folder: str, number: str, driver: str = "mlx5") -> Path:
    """libibverbs, a driver of the same build, and the file that names it."""
    verbs = root / folder / "libibverbs.so.1"
    compile_library(verbs, verbs_source(number, folder), versions=VERSIONS % number)
    file = root / folder / f"libibverbs/lib{driver}-rdmav{number}.so"
    compile_library(file, "int ibv_get(void); int use(void) { return ibv_get(); }", needs=[verbs])
    SlingshotNode.add_file(root / f"etc/libibverbs.d/{driver}.driver", f"driver {driver}\n")
    return verbs
