"""`weft check` in an allocation of a real Slurm, its ranks started by srun on four nodes of
loopback."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from tests.oracle.test_slurm import Slurm, running

pytestmark = pytest.mark.slow

NODES = ("n1", "n2", "n3", "n4")
LIMIT_S = 110
JOB = """\
#!/bin/sh
cd {folder} || exit 9
"{python}" -c 'import sys; from weft.cli import main; sys.exit(main())' check --schedule pairs \\
    --no-report --mpi {folder}/mpi/mpicc --drain drain.sh --dir run --format json >answer.json
echo $? >code
"""


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    with running(tmp_path_factory.mktemp("slurm"), NODES, "MpiDefault=pmi2\n") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def job(slurm: Slurm) -> Path:
    """Where a check of all nodes left what it said: of the embedded MPI, without its launcher. The
    nodes are one machine of few CPUs: one pair at a time, each of them twice."""
    folder = slurm.folder
    (folder / "pairs").write_text(2 * "".join(f"{a}-{b}\n" for a, b in combinations(NODES, 2)))
    (folder / "mpi").mkdir()
    mpicc = folder / "mpi/mpicc"
    mpicc.write_text(f'#!/bin/sh\nexec {Path(sys.executable).parent / "mpicc"} "$@"\n')
    script = folder / "job"
    script.write_text(JOB.format(folder=folder, python=sys.executable))
    for path in (mpicc, script):
        path.chmod(0o755)
    argv = ["salloc", f"--nodes={len(NODES)}", "--ntasks-per-node=1", str(script)]
    done = subprocess.run(
        argv, env=slurm.env, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stderr
    # Four nodes without a platform are never called good.
    assert (folder / "code").read_text().strip() in ("1", "5"), done.stderr
    return folder


def test_a_check_in_an_allocation_measures_its_nodes_by_srun(job: Path) -> None:
    answer = json.loads((job / "answer.json").read_text())
    assert answer["exit_code"] == int((job / "code").read_text())
    assert answer["coverage"]["pairs"] == answer["coverage"]["pairs_possible"] == 6
    assert answer["findings"]
    (survey,) = (job / "run/recipes").glob("*survey*.txt")
    recipe = survey.read_text()
    assert re.search(r"/srun --nodes=4 --ntasks=4 .*--nodelist=n1,n2,n3,n4 ", recipe)


def test_slurm_takes_the_drain_list_of_the_check(slurm: Slurm, job: Path) -> None:
    text = (job / "drain.sh").read_text()
    assert text.startswith("# weft check: bad nodes, for Slurm\n")
    subprocess.run(["sh", "-e"], input=text, text=True, env=slurm.env, check=True, timeout=30)
