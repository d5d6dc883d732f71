"""Sarus' MPI hook: it ends the start of an image whose MPI is absent or of another ABI.

The cases are those of the hook's own integration tests, with a cache of a real ldconfig."""

import json
import subprocess
from pathlib import Path

import pytest
from tests.needs import need
from tests.unit.doctor.container.container_cases import judged
from tests.unit.doctor.container.container_trees import (
    LIBRARY_FOLDER,
    SlingshotNode,
    compile_library,
)

from weft.core.finding import Severity
from weft.doctor.container.judge import outcome
from weft.doctor.container.launch.mpi_hook import MpiHook

HOST = "/opt/cray/lib"


def with_libraries(node: SlingshotNode, *names: str) -> None:
    """MPI libraries in the image, and a cache that has them."""
    need("ldconfig", package="libc-bin", path="/usr/sbin:/sbin:/usr/bin")
    for name in names:
        compile_library(node.image / LIBRARY_FOLDER / name, "int MPI_Init(void) { return 0; }")
    (node.image / "etc/ld.so.conf").write_text("/usr/lib/x86_64-linux-gnu\n")
    path = "/usr/sbin:/sbin:/usr/bin:/bin"
    subprocess.run(
        ["ldconfig", "-r", str(node.image), "-X"], check=True, timeout=60, env={"PATH": path}
    )


def hook(folder: Path, *names: str) -> Path:
    path = folder / "05-mpi-hook.json"
    libraries = ":".join(f"{HOST}/{one}" for one in names)
    env = ["LDCONFIG_PATH=/sbin/ldconfig", f"MPI_LIBS={libraries}", "MPI_DEPENDENCY_LIBS="]
    own = {"path": "/opt/sarus/bin/mpi_hook", "env": env}
    path.write_text(json.dumps({"version": "1.0.0", "hook": own, "when": {"always": True}}))
    return path


@pytest.mark.parametrize(
    ("image", "host", "refusal"),
    [
        ((), ("libmpi.so.12.5.5",), "the image's ld.so.cache has no libmpi.so"),
        (
            ("libmpi.so.40",),
            ("libmpi.so.12.5.5",),
            "the host's libmpi.so.12 has another ABI than the image's libmpi.so.40",
        ),
        (("libmpich.so.12",), ("libmpi.so.12",), "the image's ld.so.cache has no libmpi.so"),
        (("libmpi.so.12",), ("libmpi.so.12.5.5",), ""),
        (("libmpi.so.12", "libmpi.so.40"), ("libmpi.so.12",), ""),
        (("libmpi.so.12",), ("libmpi.so.12", "libmpifort.so.12"), ""),
        (("libmpi.so.12",), ("libmpi.so",), ""),
    ],
)
def test_what_the_hook_refuses(
    node: SlingshotNode,
    tmp_path: Path,
    image: tuple[str, ...],
    host: tuple[str, ...],
    refusal: str,
) -> None:
    with_libraries(node, *image)
    case, chain = judged(node.image, node.host, hook=hook(tmp_path, *host))
    rules = {one.rule.id for one in chain.faults}
    if not refusal:
        # What it brings is not known.
        assert (chain.verdict(), rules) == (Severity.UNKNOWN, set())
        return
    assert rules == {"mpi-hook-refuses"}
    (fault,) = chain.faults
    assert fault.happens == f"/opt/sarus/bin/mpi_hook ends the start of the container: {refusal}"
    assert outcome(case, chain) == "every rank will not start"


def test_an_image_without_a_cache_is_not_judged() -> None:
    assert MpiHook("/opt/mpi_hook", (f"{HOST}/libmpi.so.12",)).refusal(()) == ""


def test_another_hook_is_none_of_mpi(node: SlingshotNode, tmp_path: Path) -> None:
    with_libraries(node)
    path = hook(tmp_path, "libmpi.so.12")
    path.write_text(path.read_text().replace("mpi_hook", "site_hook"))
    _, chain = judged(node.image, node.host, hook=path)
    assert not chain.faults
