"""The variables that weft says a step of a job gets are those that a real Slurm gives it."""

from collections.abc import Iterator

import pytest
from tests.oracle.slurm_cluster import SlurmCluster, slurm_cluster

from weft.doctor.container.launch.environment import environment
from weft.doctor.container.launch.plan import plans_of
from weft.doctor.readers.shell import read_script

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SETS = "export NCCL_A=1\n"
NAMES = ("NCCL_A", "NCCL_B")
SCRIPTS = (
    SETS + "srun ./a",
    "#SBATCH --export=NONE\n" + SETS + "srun ./a",
    "#SBATCH --export=NONE\n" + SETS + "srun --export=ALL ./a",
    "#SBATCH --export=NONE\n" + SETS + "export SLURM_EXPORT_ENV=ALL\nsrun ./a",
    "#SBATCH --export=NONE\n" + SETS + "SLURM_EXPORT_ENV=ALL\nsrun ./a",
    "#SBATCH --export=NONE\n" + SETS + "SLURM_EXPORT_ENV=ALL srun ./a",
    "#SBATCH --export=NONE\nunset SLURM_EXPORT_ENV\n" + SETS + "srun ./a",
    "#SBATCH --export=NIL\n" + SETS + "srun ./a",
    "#SBATCH --export=NONE\n" + SETS + "srun --export=NCCL_B=2 ./a",
    "#SBATCH --export=NCCL_A\n" + SETS + "srun ./a",
    "#SBATCH --export=NCCL_B=2\n" + SETS + "srun ./a",
    "#SBATCH --export=NCCL_B=2\n" + SETS + "export NCCL_B=3\nsrun ./a",
    "#SBATCH --export=NCCL_B=2\n" + SETS + "NCCL_B=3 srun ./a",
    "#SBATCH --export=ALL,NCCL_B=2\n" + SETS + "export NCCL_B=3\nsrun ./a",
    "#SBATCH --export=ALL,NCCL_B=2\n" + SETS + "srun ./a",
    SETS + "export SLURM_EXPORT_ENV=NONE\nsrun ./a",
    SETS + "SLURM_EXPORT_ENV=NONE\nsrun ./a",
    SETS + "SLURM_EXPORT_ENV=NONE srun ./a",
    SETS + "export SLURM_EXPORT_ENV=NCCL_B=2,NCCL_C\nsrun ./a",
    SETS + "export NCCL_B=3\nexport SLURM_EXPORT_ENV=NCCL_B\nsrun ./a",
    SETS + "export SLURM_EXPORT_ENV=NONE\nunset SLURM_EXPORT_ENV\nsrun ./a",
    SETS + "export NCCL_B=3\nsrun --export=NCCL_B=2 ./a",
    SETS + "export NCCL_B=3\nsrun --export=ALL,NCCL_B=2 ./a",
    SETS + "export NCCL_B=3\nSLURM_EXPORT_ENV=ALL,NCCL_B=2 srun ./a",
)


@pytest.fixture(scope="module")
def slurm() -> Iterator[SlurmCluster]:
    with slurm_cluster(2) as one:
        yield one


def seen(slurm: SlurmCluster, script: str) -> dict[str, str]:
    """The variables of a step of a job."""
    path = slurm.folder / "job.sh"
    path.write_text("#!/bin/bash\n" + script.replace("./a", "/usr/bin/env") + "\n")
    out = slurm.folder / "out"
    out.unlink(missing_ok=True)
    slurm.say("sbatch", "--wait", f"--output={out}", str(path), timeout_s=60)
    pairs = (line.partition("=") for line in out.read_text().splitlines())
    return {name: value for name, _, value in pairs if name in NAMES}


def said(script: str) -> dict[str, str]:
    """Those that weft says a container of this step gets."""
    text = script.replace("./a", "--container-image=i ./a") + "\n"
    (plan,) = plans_of(read_script("job.sh", text))
    found = environment(plan.runtime, (), plan.layers)
    return {name: one.value for name, one in found.items() if name in NAMES}


def test_a_step_gets_what_weft_says(slurm: SlurmCluster) -> None:
    wrong = [
        (script, found, told)
        for script in SCRIPTS
        if (found := seen(slurm, script)) != (told := said(script))
    ]
    assert not wrong, "\n".join(map(str, wrong))
