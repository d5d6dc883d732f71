"""A node of Slingshot whose image has stand-ins of MPI libraries."""

from dataclasses import dataclass
from pathlib import Path

from tests.unit.doctor.container.container_cases import MOUNTS, PATH, judged
from tests.unit.doctor.container.container_trees import (
    LIBRARY_FOLDER,
    SlingshotNode,
    compile_library,
)

from weft.doctor.container.chain.report import Chain
from weft.doctor.container.judge import outcome

MPICH = 'const char *text[] = {"MPICH Version:\\t%s", "PMI_FD"}; int MPI_Init(void) { return 0; }'
MPICH_WITH_PMIX = MPICH.replace('"PMI_FD"', '"PMI_FD", "PMIX_SERVER_URI"')
INTEL = (
    'const char *text[] = {"Intel(R) MPI Library %s for Linux* OS", "MPI startup(): PMI server not '
    'found. Please set I_MPI_PMI_LIBRARY variable"}; int MPI_Init(void) { return 0; }'
)
OPEN_MPI_4 = (
    "int ompi_mpi_comm_world; int orte_init(void); int MPI_Init(void) { return orte_init(); }"
)
OPEN_MPI_5 = (
    "int ompi_mpi_comm_world; int PMIx_Init(void); int MPI_Init(void) { return PMIx_Init(); }"
)
PROGRAM = "int MPI_Init(void); int main(void) { return MPI_Init(); }"
OSU = "opt/osu/osu_bw"
JOB = """#SBATCH -N 2
#SBATCH --ntasks-per-node=2
export NCCL_NET_PLUGIN=ofi FI_CXI_X=1 LD_LIBRARY_PATH={path}
{before}
srun {options} --container-image=i --container-mounts={mounts} {program}
"""


@dataclass
class MpiNode:
    """A node of Slingshot whose network is whole, and whose image gets an MPI."""

    node: SlingshotNode

    @property
    def folder(self) -> Path:
        """Of the image's own libraries."""
        return self.node.image / LIBRARY_FOLDER

    def mpich(self, source: str = MPICH, *, name: str = "libmpi.so.12") -> Path:
        return compile_library(self.folder / name, source)

    def open_mpi_4(self) -> Path:
        pal = compile_library(self.folder / "libopen-pal.so.40", "int opal_init(void) {return 0;}")
        rte = compile_library(
            self.folder / "libopen-rte.so.40", "int orte_init(void) {return 0;}", needs=[pal]
        )
        return compile_library(self.folder / "libmpi.so.40", OPEN_MPI_4, needs=[rte])

    def open_mpi_5(self) -> Path:
        pmix = compile_library(self.folder / "libpmix.so.2", "int PMIx_Init(void) {return 0;}")
        return compile_library(self.folder / "libmpi.so.40", OPEN_MPI_5, needs=[pmix])

    def program(self, *needs: Path, path: str = OSU) -> str:
        """The path in the container of a program of the image."""
        compile_library(self.node.image / path, PROGRAM, needs=needs)
        return f"/{path}"

    def judged(
        self,
        program: str,
        options: str = "",
        *,
        before: str = "",
        mounts: tuple[str, ...] = (),
        path: str = PATH,
        env: tuple[str, ...] = (),
    ) -> tuple[str, Chain]:
        """What ranks will do, and the chain."""
        script = self.node.folder / "job.sh"
        words = {"before": before, "options": options, "program": program, "path": path}
        script.write_text(JOB.format(mounts=",".join((*MOUNTS, *mounts)), **words))
        case, chain = judged(self.node.image, self.node.host, script=script, env=env)
        return outcome(case, chain), chain
