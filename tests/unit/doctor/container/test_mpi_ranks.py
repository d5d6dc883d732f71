"""How many ranks an MPI of a container has: a plug-in of srun that does not fit harms several."""

from pathlib import Path

import pytest
from tests.unit.doctor.container.container_cases import MOUNTS, PATH, judged
from tests.unit.doctor.container.mpi_node import MpiNode

from weft.core.finding import Severity
from weft.doctor.container.judge import outcome


@pytest.mark.parametrize(
    ("options", "verdict"),
    [
        ("", Severity.UNKNOWN),
        ("-N 1", Severity.UNKNOWN),
        ("-N 2 -n $NP", Severity.UNKNOWN),
        ("-N $NODES", Severity.UNKNOWN),
        ("-n 1", Severity.GOOD),
        ("-n 2", Severity.BAD),
        ("-N 2", Severity.BAD),
        ("--ntasks-per-node 2", Severity.BAD),
        ("-N 2 --ntasks-per-node=$GPUS", Severity.BAD),
        ("-n 2 -N $NODES", Severity.BAD),
    ],
)
def test_one_rank_alone_is_no_fault(
    mpi: MpiNode, tmp_path: Path, options: str, verdict: Severity
) -> None:
    """srun starts one task where nothing asks for more."""
    program, binds = mpi.program(mpi.open_mpi_5()), ",".join(MOUNTS)
    script = tmp_path / "job.sh"
    script.write_text(
        f"export NCCL_NET_PLUGIN=ofi LD_LIBRARY_PATH={PATH}\n"
        f"srun {options} --mpi=pmi2 --container-image=i --container-mounts={binds} {program}\n"
    )
    case, chain = judged(mpi.node.image, mpi.node.host, script=script)
    assert chain.verdict() is verdict
    questions = [one for one in chain.gaps if one.unknown.startswith("how many ranks there are (")]
    assert [one.would_tell for one in questions] == (
        ["-n of srun in the job script"] if verdict is Severity.UNKNOWN else []
    )
    if options == "-N 2":
        assert outcome(case, chain) == "each rank will be alone in an MPI world of size 1"


@pytest.mark.parametrize(
    "options", ["-n $NP", "-N 4 --ntasks-per-node=$G", "-N $N", "--ntasks=${NP:-2}"]
)
def test_the_job_s_number_is_not_that_of_a_launch_with_its_own(mpi: MpiNode, options: str) -> None:
    program = mpi.program(mpi.open_mpi_5())
    for plugin, verdict in (("pmix", Severity.GOOD), ("pmi2", Severity.UNKNOWN)):
        ranks, chain = mpi.judged(program, f"--mpi={plugin} {options}", before="#SBATCH --ntasks=1")
        assert not ranks.startswith("1 of 1 ranks")
        assert chain.verdict() is verdict


def test_ranks_of_no_known_number_do_not_find_each_other(mpi: MpiNode, tmp_path: Path) -> None:
    program = mpi.program(mpi.mpich())
    script = tmp_path / "job.sh"
    script.write_text(f"srun -N 2 --mpi=pmix --container-image=i {program}\n")
    case, chain = judged(mpi.node.image, mpi.node.host, script=script)
    assert outcome(case, chain).endswith("ranks will not find each other")
