"""The words of a container around each rank, and the folders that it needs."""

import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from weft.core.errors import InputError
from weft.launch.launchers import LAUNCHERS
from weft.launch.launchers.container import (
    RankContainer,
    edf_text,
    in_container,
    launcher_for,
    own_mounts,
    program_folders,
)
from weft.launch.spec import LaunchSpec

KERNEL = Path(sys.prefix) / "var/weft/kernels/weft-kernel-1"
ELSEWHERE = Path("/shared/kernels/weft-kernel-1")
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
    alone = "podman run --rm --network=host --ipc=host --pid=host --userns=keep-id "
    assert f"{alone}--entrypoint= --env " in words
    assert "--env PMI_* " in words
    assert "--env WEFT_LAUNCH " in words
    assert words.endswith(
        "--env UCX_TLS=rc,self --env NCCL_NET=AWS Libfabric --device gpu --device /dev/cxi0 "
        "--volume /a:/b:ro job:1 /k --benchmark latency"
    )
    # SOURCE: podman-run(1): keep-id is refused to root.
    assert "--userns" not in argv(replace(SPEC, as_root=True), "podman", "hydra")


@pytest.mark.parametrize(("limit_s", "word"), [(25.0, 25), (24.2, 25), (0.0, 1)])
def test_a_container_of_podman_ends_by_itself_after_the_launch(limit_s: float, word: int) -> None:
    # SOURCE: podman-run(1): --timeout; conmon of podman 4.3 takes 0 as none.
    assert f" --timeout={word} " in argv(replace(SPEC, limit_s=limit_s), "podman", "hydra")
    assert "--timeout" not in argv(SPEC, "podman", "hydra")


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
        (KERNEL, "/opt/mpi/bin/mpicc", (KERNEL.parent, "/opt/mpi")),
        (KERNEL, "/usr/bin/mpicc", (KERNEL.parent,)),
        (ELSEWHERE, "/usr/bin/mpicc", (ELSEWHERE.parent,)),
        (ELSEWHERE, f"{sys.prefix}/bin/mpicc", (ELSEWHERE.parent, sys.prefix)),
        (ELSEWHERE, "/shared/bin/mpicc", ("/shared",)),
        (Path("weft-kernel"), "/usr/local/bin/mpicc", (KERNEL.parent,)),
    ],
)
def test_folders_of_the_program(kernel: Path, mpicc: str, folders: tuple[str, ...]) -> None:
    assert program_folders(kernel, Path(mpicc)) == tuple(map(Path, folders))


def test_folders_of_the_system_are_not_mounted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", "/usr")
    kernel = Path("/usr/var/weft/kernels/weft-kernel-1")
    assert program_folders(kernel, Path("/usr/bin/mpicc")) == (kernel.parent,)


def own(*folders: str | Path, mounts: tuple[str, ...] = ()) -> list[str]:
    named = {Path(one): "choose another folder" for one in folders}
    return list(own_mounts(replace(CONTAINER, mounts=mounts), named))


def test_folders_are_mounted_where_they_are() -> None:
    assert own("/a", "/b", mounts=("/c:/d",)) == ["/a:/a:ro", "/b:/b:ro"]


def test_a_folder_that_the_user_mounts_is_not_mounted_again(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to("a")
    one, other = tmp_path / "a", tmp_path / "link"
    assert own(one, "/b", mounts=(f"{one}/:{one}/:rw",)) == ["/b:/b:ro"]
    assert own(one, mounts=(f"{other}:{one}",)) == []


def test_a_mount_in_place_of_a_folder_is_refused() -> None:
    with pytest.raises(InputError, match="the mount /x:/b/:ro would hide weft's own mount of /b"):
        own("/a", "/b", mounts=("/x:/b/:ro",))


@pytest.mark.parametrize("name", ["my run", "run,1", "run:1", "run$1", "run\\1", "run\u202e1"])
def test_a_folder_whose_name_a_runtime_splits_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="weft cannot mount") as error:
        own(f"/{name}/recipes")
    assert error.value.hint == "choose another folder"


def test_the_record_masks_a_secret_of_the_image() -> None:
    image = "docker://user:tiger-9@host/job"
    record = replace(CONTAINER, image=image, recipe="azure-ndv5").to_record()
    assert "tiger-9" not in record["image"]
    assert (record["runtime"], record["mounts"], record["recipe"]) == (
        "podman",
        ["/a:/b:ro"],
        "azure-ndv5",
    )
