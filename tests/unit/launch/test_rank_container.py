"""The words of a container around each rank, and the folders that it needs."""

import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from weft.launch.launchers import LAUNCHERS
from weft.launch.launchers.container import (
    RankContainer,
    edf_text,
    in_container,
    launcher_for,
    program_folders,
)
from weft.launch.spec import LaunchSpec

KERNEL = Path(sys.prefix) / "var/weft/kernels/weft-kernel-1"
SPEC = LaunchSpec(
    launcher=Path("/m/mpiexec"),
    program=("/k", "--benchmark", "latency"),
    hosts=("n1", "n2"),
    tasks_per_node=1,
    hostfile=Path("/run/h"),
    env={"UCX_TLS": "rc,self"},
)
BY_SRUN = replace(SPEC, launcher=Path("/usr/bin/srun"))
CONTAINER = RankContainer(
    "podman",
    "job:1",
    ("/a:/b:ro",),
    ("/dev/cxi0",),
    {"UCX_TLS": "tcp", "NCCL_NET": "AWS Libfabric"},
    {"com.hooks.cxi.enabled": "true"},
    ("--device", "gpu"),
    "single_node_vni",
)


def argv(spec: LaunchSpec, runtime: str, launcher: str) -> str:
    wrapped = in_container(spec, replace(CONTAINER, runtime=runtime), Path("/run/launch.toml"))
    return " ".join(LAUNCHERS[launcher].command(wrapped).argv)


def test_podman_shares_the_namespaces_of_the_host_and_hands_on_what_ranks_need() -> None:
    words = argv(SPEC, "podman", "hydra")
    assert words.startswith("/m/mpiexec -print-all-exitcodes -pmi-port -f /run/h ")
    assert "podman run --rm --network=host --ipc=host --pid=host --userns=keep-id " in words
    assert "--env PMI_* " in words
    assert "--env WEFT_LAUNCH " in words
    assert words.endswith(
        "--env UCX_TLS=rc,self --env NCCL_NET=AWS Libfabric --device gpu --device /dev/cxi0 "
        "--volume /a:/b:ro job:1 /k --benchmark latency"
    )
    # SOURCE: podman-run(1): keep-id is refused to root.
    assert "--userns" not in argv(replace(SPEC, as_root=True), "podman", "hydra")


def test_apptainer_gets_variables_by_prefix() -> None:
    words = argv(SPEC, "apptainer", "openmpi")
    assert "-x APPTAINERENV_UCX_TLS=rc,self " in words
    assert words.endswith(
        "apptainer exec --device gpu --bind /a:/b:ro --bind /dev/cxi0 job:1 /k --benchmark latency"
    )


def test_pyxis_is_options_of_srun_and_variables_win_over_the_image() -> None:
    words = argv(BY_SRUN, "pyxis", "srun")
    assert words.endswith(
        "--export=ALL --network=single_node_vni --container-image=job:1 "
        "--container-mounts=/a:/b:ro --container-env=UCX_TLS,NCCL_NET --container-writable "
        "--no-container-mount-home /k --benchmark latency"
    )


def test_ce_reads_an_edf() -> None:
    assert argv(BY_SRUN, "ce", "srun").endswith(
        "--network=single_node_vni --environment=/run/launch.toml /k --benchmark latency"
    )
    assert tomllib.loads(edf_text(CONTAINER, {"UCX_TLS": "rc,self"})) == {
        "image": "job:1",
        "mounts": ["/a:/b:ro", "/dev/cxi0:/dev/cxi0"],
        "env": {"UCX_TLS": "rc,self"},
        "annotations": {"com": {"hooks": {"cxi": {"enabled": "true"}}}},
    }


def test_the_launcher_is_the_one_whose_ranks_meet() -> None:
    found = {one: launcher_for(replace(CONTAINER, runtime=one)) for one in ("podman", "pyxis")}
    assert found == {"podman": "mpiexec", "pyxis": "srun"}
    assert launcher_for(replace(CONTAINER, runtime="apptainer")) is None
    assert launcher_for(None) is None


@pytest.mark.parametrize(
    ("kernel", "mpicc", "folders"),
    [
        (KERNEL, f"{sys.prefix}/bin/mpicc", (sys.prefix,)),
        (KERNEL, "/opt/mpi/bin/mpicc", (sys.prefix, "/opt/mpi")),
        (KERNEL, "/usr/bin/mpicc", (sys.prefix,)),
        (Path("/shared/kernels/weft-kernel-1"), "/usr/bin/mpicc", ("/shared/kernels",)),
        (Path("weft-kernel"), "/usr/local/bin/mpicc", (sys.prefix,)),
    ],
)
def test_folders_of_the_program(kernel: Path, mpicc: str, folders: tuple[str, ...]) -> None:
    assert program_folders(kernel, Path(mpicc)) == tuple(map(Path, folders))


def test_folders_of_the_system_are_not_mounted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", "/usr")
    kernel = Path("/usr/var/weft/kernels/weft-kernel-1")
    assert program_folders(kernel, Path("/usr/bin/mpicc")) == (kernel.parent,)


def test_the_record_masks_a_secret_of_the_image() -> None:
    image = "docker://user:tiger-9@host/job"
    record = replace(CONTAINER, image=image, recipe="azure-ndv5").to_record()
    assert "tiger-9" not in record["image"]
    assert (record["runtime"], record["mounts"], record["recipe"]) == (
        "podman",
        ["/a:/b:ro"],
        "azure-ndv5",
    )
