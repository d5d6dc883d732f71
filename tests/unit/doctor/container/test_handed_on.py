"""Variables of a job that reach a container: through srun --export, and by Apptainer's prefixes."""

from pathlib import Path

import pytest
from tests.unit.doctor.container.container_cases import MOUNTS, PATH, judged
from tests.unit.doctor.container.container_trees import SlingshotNode
from tests.unit.doctor.container.remedy.emissions import remedy_of

from weft.core.finding import Severity

PYXIS = f"--container-image=i --container-mounts={','.join(MOUNTS)} ./a"
EXEC = f"apptainer exec -B {','.join(MOUNTS)} --env LD_LIBRARY_PATH={PATH}"


@pytest.mark.parametrize(
    ("text", "reaches"),
    [
        (f"export NCCL_NET_PLUGIN=ofi\nsrun {PYXIS}", True),
        (f"export NCCL_NET_PLUGIN=ofi\nsrun --export=ALL {PYXIS}", True),
        (f"export NCCL_NET_PLUGIN=ofi\nsrun --export=NONE {PYXIS}", False),
        (f"export NCCL_NET_PLUGIN=ofi\nsrun --export=NIL,A=1 {PYXIS}", False),
        (f"export NCCL_NET_PLUGIN=ofi\nsrun --export=A,NCCL_NET_PLUGIN {PYXIS}", True),
        (f"NCCL_NET_PLUGIN=ofi srun --export=NONE {PYXIS}", False),
        (f"srun --export=NCCL_NET_PLUGIN=ofi {PYXIS}", True),
        (f"export NCCL_NET_PLUGIN=ofi\nsrun --genvnone {PYXIS}", True),
        (f"#SBATCH --export=NONE\nexport NCCL_NET_PLUGIN=ofi\nsrun {PYXIS}", False),
        (f"#SBATCH --export=NONE\nexport NCCL_NET_PLUGIN=ofi\nsrun --export=ALL {PYXIS}", True),
        (f"#SBATCH --export=NCCL_NET_PLUGIN=ofi\nsrun {PYXIS}", True),
        (f"#SBATCH --export=NCCL_NET_PLUGIN=ofi\nsrun --export=NONE {PYXIS}", False),
        (f"#SBATCH --export=NONE\nexport NCCL_NET_PLUGIN=ofi\nsrun {EXEC} i ./a", False),
        (f"#SBATCH --export=NONE\nexport NCCL_NET_PLUGIN=ofi\n{EXEC} i ./a", True),
        (f"#SBATCH --export=NCCL_NET_PLUGIN=ofi\n{EXEC} i ./a", True),
        (f"export SLURM_EXPORT_ENV=NIL NCCL_NET_PLUGIN=ofi\nsrun {PYXIS}", False),
        # Only the running job knows it: no accusation.
        (f"export NCCL_NET_PLUGIN=ofi\nsrun --export=$NAMES {PYXIS}", True),
        (f"#SBATCH --export=NONE\nexport NCCL_NET_PLUGIN=ofi\nexport SLURM_EXPORT_ENV=$X\n"
         f"srun {PYXIS}", True),
        (f"export NCCL_NET_PLUGIN=ofi\nsrun --export=NONE {EXEC} i ./a", False),
        (f"export NCCL_NET_PLUGIN=ofi\nsrun {EXEC} i ./a", True),
        (f"srun --export=NONE {EXEC} --env NCCL_NET_PLUGIN=ofi i ./a", True),
        (f"export APPTAINERENV_NCCL_NET_PLUGIN=ofi\nsrun {EXEC} i ./a", True),
        (f"export APPTAINERENV_NCCL_NET_PLUGIN=ofi\nsrun --export=NONE {EXEC} i ./a", False),
        (f"APPTAINERENV_NCCL_NET_PLUGIN=ofi srun --export=A {EXEC} i ./a", False),
        (f"export SINGULARITYENV_NCCL_NET_PLUGIN=ofi\nsrun singularity {EXEC[10:]} i ./a", True),
        # The prefix is Apptainer's.
        (f"export APPTAINERENV_NCCL_NET_PLUGIN=ofi\nsrun {PYXIS}", False),
    ],
)  # fmt: skip
def test_a_variable_reaches_the_container(
    node: SlingshotNode, tmp_path: Path, text: str, reaches: bool
) -> None:
    """SOURCE: srun(1), --export; Apptainer user guide, Environment and Metadata."""
    path = tmp_path / "job.sh"
    path.write_text(f"{text}\n")
    case, _ = judged(node.image, node.host, script=path)
    assert case.value("NCCL_NET_PLUGIN") == ("ofi" if reaches else "")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--export=ALL", Severity.GOOD),
        ("--export=ALL,NCCL_DEBUG=$LEVEL", Severity.GOOD),
        ("--export=$NAMES", Severity.UNKNOWN),
        ("--export=ALL,$NAMES", Severity.UNKNOWN),
    ],
)
def test_a_list_that_only_the_job_knows_is_asked_of(
    node: SlingshotNode, tmp_path: Path, options: str, expected: Severity
) -> None:
    path = tmp_path / "job.sh"
    path.write_text(f"export NCCL_NET_PLUGIN=ofi LD_LIBRARY_PATH={PATH}\nsrun {options} {PYXIS}\n")
    _, chain = judged(node.image, node.host, script=path)
    assert chain.verdict() is expected
    asked = [one.unknown for one in chain.gaps]
    assert any("of line 2 hands on" in one for one in asked) is (expected is Severity.UNKNOWN)


def test_lines_with_export_mend_no_launch_that_takes_none(
    node: SlingshotNode, tmp_path: Path
) -> None:
    path = tmp_path / "job.sh"
    path.write_text("srun --export=NONE --container-image=i ./a\n")
    remedy = remedy_of(node.image, node.host, "pyxis", script=path)
    assert remedy.chain.verdict() is Severity.BAD
    path.write_text("srun --export=ALL --container-image=i ./a\n")
    remedy = remedy_of(node.image, node.host, "pyxis", script=path)
    assert remedy.chain.verdict() is Severity.GOOD
