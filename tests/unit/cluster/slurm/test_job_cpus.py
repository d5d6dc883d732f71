"""CPUs by node, from what Slurm puts into a job's environment."""

import pytest

from weft.cluster.slurm.job_cpus import cpus_by_node


@pytest.mark.parametrize(
    ("nodes", "counts", "known"),
    [
        # SOURCE: sbatch(1): "72(x2),36" means that the first two nodes have 72 and the third 36.
        ("n[1-3]", "72(x2),36", {"n1": 72, "n2": 72, "n3": 36}),
        ("n7", "4", {"n7": 4}),
        ("n[1-3]", "72(x2)", {}),
        ("n[1-2]", "many", {}),
        ("n[1-2]", "", {}),
    ],
)
def test_counts_are_in_the_order_of_the_nodes(
    nodes: str, counts: str, known: dict[str, int]
) -> None:
    environ = {"SLURM_JOB_NODELIST": nodes, "SLURM_JOB_CPUS_PER_NODE": counts}
    assert cpus_by_node(environ) == known


def test_outside_of_a_job_nothing_is_known() -> None:
    assert cpus_by_node({"SLURM_JOB_CPUS_PER_NODE": "4"}) == {}
