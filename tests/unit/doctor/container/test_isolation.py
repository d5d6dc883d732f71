"""What podman and docker keep apart: /dev/shm of 64 MB, and a network. Each runtime's own options,
as tests/oracle has them from podman itself."""
# mypy: disable-error-code="no-untyped-def"

import pytest
from tests.unit.doctor.container.container_cases import judged
from tests.unit.doctor.container.test_engine_launches import DEVICE, ENV, MOUNTS

from weft.core.finding import Severity

SMALL, OWN, APART = "shared-memory-small", "own-network", "own-namespaces"


@pytest.mark.parametrize(
    ("command", "warned"),
    [
        ("podman run", {SMALL, OWN}),
        ("docker run", {SMALL, OWN}),
        ("docker run --ipc=host --network=host", set()),
        ("podman run --ipc host --net host", set()),
        ("podman run --ipc=private --network bridge", {SMALL, OWN}),
        ("podman run --shm-size 1g --network none", {OWN}),
        ("podman run -v /dev/shm:/dev/shm --network=host", set()),
        ("docker run --ipc=container:other --network=host", set()),
        ("podman run --network $NET --ipc $IPC", set()),
        ("podman run --pod fabric", set()),
        ("podman run --tmpfs /dev/shm:size=1g --network host", set()),
        ("podman-hpc run", set()),
    ],
)
def test_a_container_s_own_memory_and_network_are_warned_of(node, tmp_path, command, warned):
    (node.host / "dev/shm").mkdir()
    path = tmp_path / "job.sh"
    path.write_text(f"{command} {MOUNTS} {DEVICE}{ENV} i ./a\n")
    _, chain = judged(node.image, node.host, script=path)
    assert {one.rule.id for one in chain.warnings} == warned
    assert {one.rule.severity for one in chain.warnings} <= {"warning"}
    assert chain.verdict() is Severity.GOOD


@pytest.mark.parametrize(
    ("script", "warned"),
    [
        ("#SBATCH -N 1\npodman run {}", set()),
        ("#SBATCH -N 1 -n 8\npodman run {}", set()),
        ("#SBATCH -N 1 -n 1\nsrun podman run {}", set()),
        ("srun -N 1 -n 1 podman run {}", set()),
        # Each rank has a container, and a network, of its own.
        ("#SBATCH -N 1 -n 8\nsrun podman run {}", {OWN, APART}),
        ("#SBATCH -N 2\npodman run {}", {OWN}),
        ("srun -N 1 -n 1 podman run {} torchrun --nnodes 2", {OWN}),
        ("#SBATCH -N 2\nsrun -N 1 -n 1 podman run {}", {OWN}),
        ("srun -N $NODES -n 1 podman run {}", {OWN}),
        ("podman run {}", {OWN}),
    ],
)
def test_one_container_on_one_node_may_have_a_network_of_its_own(node, tmp_path, script, warned):
    path = tmp_path / "job.sh"
    options = f"--shm-size 1g {MOUNTS} {DEVICE}{ENV} i"
    begin, _, program = script.partition("{}")
    path.write_text(f"{begin}{options}{program or ' ./a'}\n")
    _, chain = judged(node.image, node.host, script=path)
    assert {one.rule.id for one in chain.warnings} == warned
    assert chain.verdict() is Severity.GOOD


@pytest.mark.parametrize(
    ("ranks", "several"),
    [
        ("#SBATCH -N 1 -n 8\nsrun", True),
        ("#SBATCH -N 2 --ntasks-per-node=4\nsrun", True),
        ("#SBATCH -N 2 -n 8\nsrun", True),
        ("#SBATCH -N 4\nsrun -N 2 -n 3", True),
        ("#SBATCH -N 2 --ntasks-per-node=1\nsrun", False),
        # Beside a number of all ranks that of a node is a most.
        ("#SBATCH -N 2 --ntasks-per-node=4\nsrun -n 1", False),
        ("#SBATCH -N 2 --ntasks-per-node=4\nsrun -N 2 -n 2", False),
        ("#SBATCH -N 4 -n 4 --ntasks-per-node=2\nsrun", False),
        # How many nodes there are is not known.
        ("#SBATCH -n 8\nsrun", False),
        ("#SBATCH -N 2\nsrun -N $NODES -n 8", False),
        ("srun", False),
    ],
)
@pytest.mark.parametrize(
    ("options", "names"),
    [
        ("", "IPC namespace and PID namespace"),
        ("--ipc=host", "PID namespace"),
        ("--pid host --ipc shareable", "IPC namespace"),
        ("--pid=private --ipc=container:other", "PID namespace"),
        ("--ipc=none --pid=host", "IPC namespace"),
        ("--ipc=host --pid=host", ""),
        ("--ipc=$IPC --pid=$PID", ""),
    ],
)
def test_ranks_of_a_node_in_separate_containers_are_apart(
    node, tmp_path, ranks, several, options, names
):
    path = tmp_path / "job.sh"
    start = f"podman run --network=host -v /dev/shm:/dev/shm {options} {MOUNTS} {DEVICE}{ENV} i ./a"
    path.write_text(f"{ranks} {start}\n")
    (node.host / "dev/shm").mkdir()
    _, chain = judged(node.image, node.host, script=path)
    found = [one for one in chain.warnings if one.rule.id == APART]
    assert len(found) == len(chain.warnings) == bool(several and names)
    assert all(f"with its own {names} by podman" in one.happens for one in found)
    assert chain.verdict() is Severity.GOOD


def test_one_container_of_all_ranks_keeps_none_apart(node, tmp_path):
    path = tmp_path / "job.sh"
    path.write_text(f"#SBATCH -N 1 -n 8\npodman run {MOUNTS} {DEVICE}{ENV} i mpirun -n 8 ./a\n")
    _, chain = judged(node.image, node.host, script=path)
    assert APART not in {one.rule.id for one in chain.warnings}
