"""What podman and docker keep apart: /dev/shm of 64 MB, and a network. Each runtime's own options,
as tests/oracle has them from podman itself."""
# mypy: disable-error-code="no-untyped-def"

import pytest
from tests.unit.doctor.container.container_cases import judged
from tests.unit.doctor.container.test_engine_launches import DEVICE, ENV, MOUNTS

from weft.core.finding import Severity

SMALL, OWN = "shared-memory-small", "own-network"


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
        ("#SBATCH -N 1 -n 8\nsrun podman run {}", {OWN}),
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
