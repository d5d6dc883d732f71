"""Mounts that keep a container from its start, and those that hide libraries of the image."""

from pathlib import Path

import pytest
from tests.unit.doctor.container.container_cases import MOUNTS, PATH, judged
from tests.unit.doctor.container.container_trees import SlingshotNode
from tests.unit.doctor.container.image.image_archives import docker_archive, layer_of

from weft.core.finding import Severity
from weft.doctor.container.judge import outcome

RUN = f"podman run --device /dev/cxi0 -e LD_LIBRARY_PATH={PATH} -e NCCL_NET_PLUGIN=ofi " + " ".join(
    f"-v {one}" for one in MOUNTS
)
UNFIT = "mount-point-unfit"


def verdict(node: SlingshotNode, folder: Path, text: str) -> tuple[Severity, set[str], str]:
    script = folder / "job.sh"
    script.write_text(text + "\n")
    _, chain = judged(node.image, node.host, script=script)
    words = " ".join([*(one.happens for one in chain.faults), *(one.unknown for one in chain.gaps)])
    return chain.verdict(), {one.rule.id for one in chain.faults}, words


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("-v /etc/a.conf:/etc", "it is a file, and the container has a folder there"),
        ("-v /opt/empty:/opt/ofi", "another mount of the launch has this place"),
        (
            "-v /opt/ofi:/opt/libfabric/libfabric.so.1",
            "it is a folder, and the container has a file",
        ),
        ("-v /opt/empty:/opt/r:ro -v /opt/ofi:/opt/r/new", "the mount above it is read-only"),
        ("-v /opt/empty:/opt/r:z,ro -v /opt/ofi:/opt/r/new", "the mount above it is read-only"),
        (
            "--mount type=bind,src=/opt/empty,dst=/opt/r,ro -v /opt/ofi:/opt/r/new",
            "the mount above it is read-only",
        ),
        (
            "--mount type=bind,readonly=true,src=/opt/empty,dst=/opt/r -v /opt/ofi:/opt/r/new",
            "the mount above it is read-only",
        ),
    ],
)
def test_a_container_that_cannot_start_is_bad(
    node: SlingshotNode, tmp_path: Path, options: str, reason: str
) -> None:
    (node.host / "opt/empty").mkdir()
    (node.host / "etc").mkdir(exist_ok=True)
    (node.host / "etc/a.conf").touch()
    found, rules, words = verdict(node, tmp_path, f"{RUN} {options} i ./a")
    assert found is Severity.BAD
    assert UNFIT in rules
    assert reason in words


@pytest.mark.parametrize(
    "options",
    [
        "",
        "-v /opt/empty:/opt/r -v /opt/ofi:/opt/r/new",
        "-v /opt/empty:/opt/r:ro=false -v /opt/ofi:/opt/r/new",
        "-v /opt:/opt/r:ro -v /opt/ofi:/opt/r/empty",
        "-v /etc/a.conf:/etc/a.conf -v /opt/ofi:/opt/ofi",
        "--tmpfs /tmp --mount type=tmpfs,dst=/scratch",
        "--mount type=volume,src=one,dst=/data",
        "--tmpfs /opt/libfabric/sub",
    ],
)
def test_mounts_that_fit_leave_it_good(node: SlingshotNode, tmp_path: Path, options: str) -> None:
    (node.host / "opt/empty").mkdir()
    (node.host / "etc").mkdir(exist_ok=True)
    (node.host / "etc/a.conf").touch()
    assert verdict(node, tmp_path, f"{RUN} {options} i ./a")[0] is Severity.GOOD


@pytest.mark.parametrize(
    "options",
    [
        "--tmpfs /usr/lib",
        "--tmpfs /tmp --tmpfs /usr:size=1g --tmpfs /run",
        "--mount type=tmpfs,destination=/usr/lib",
        "--mount type=volume,src=one,target=/usr",
        "--tmpfs /opt/ofi",
        "-v vol:/usr/lib",
        "-v ./own:/usr/lib:ro",
        "--mount type=image,src=other,dst=/usr/lib",
        "--mount type=ramfs,dst=/usr/lib",
        "--mount src=vol,dst=/usr/lib",
        "--tmpfs /etc/libibverbs.d",
    ],
)
def test_a_folder_with_libraries_that_is_covered_is_never_good(
    node: SlingshotNode, tmp_path: Path, options: str
) -> None:
    (node.image / "usr/lib").mkdir(parents=True, exist_ok=True)
    (node.image / "usr/lib/libown.so.1").touch()
    (node.image / "etc/libibverbs.d").mkdir(parents=True)
    (node.image / "etc/libibverbs.d/mlx5.driver").touch()
    found, _, words = verdict(node, tmp_path, f"{RUN} {options} i ./a")
    assert found is Severity.UNKNOWN
    assert "a tmpfs or volume there" in words


def test_a_mount_point_below_a_read_only_mount_of_another_runtime_is_asked_of(
    node: SlingshotNode, tmp_path: Path
) -> None:
    (node.host / "opt/empty").mkdir()
    mounts = ",".join((*MOUNTS, "/opt/empty:/opt/r:ro", "/opt/ofi:/opt/r/new"))
    text = f"""export LD_LIBRARY_PATH={PATH} NCCL_NET_PLUGIN=ofi
srun --container-image=i --container-mounts={mounts} ./a"""
    found, rules, words = verdict(node, tmp_path, text)
    assert (found, rules) == (Severity.UNKNOWN, set())
    assert "nothing is at /opt/r/new, and the mount above it is read-only" in words


@pytest.mark.parametrize(
    ("path", "option", "expected"),
    [
        ("opt/ofi:opt/libfabric", "", Severity.UNKNOWN),
        ("ofi:libfabric", "", Severity.UNKNOWN),
        ("ofi:libfabric", "-w /opt ", Severity.UNKNOWN),
    ],
)
def test_relative_folders_are_asked_of_where_no_configuration_names_the_working_folder(
    node: SlingshotNode, tmp_path: Path, path: str, option: str, expected: Severity
) -> None:
    text = RUN.replace(PATH, path).replace("podman run ", f"podman run {option}")
    assert verdict(node, tmp_path, f"{text} i ./a")[0] is expected


@pytest.mark.parametrize(
    ("settings", "option", "expected"),
    [
        ({"WorkingDir": "/opt"}, "", Severity.GOOD),
        ({"WorkingDir": "/opt", "Entrypoint": []}, "", Severity.GOOD),
        ({"WorkingDir": "/opt"}, "-w / ", Severity.UNKNOWN),
        ({"WorkingDir": "/opt", "Entrypoint": ["/opt/start"]}, "", Severity.UNKNOWN),
        ({"WorkingDir": "/opt", "Entrypoint": "start"}, "", Severity.UNKNOWN),
        ({"WorkingDir": "/opt", "Entrypoint": ["/opt/start"]}, "--entrypoint= ", Severity.GOOD),
        ({"WorkingDir": "/opt"}, "--entrypoint /opt/start.sh ", Severity.UNKNOWN),
    ],
)
def test_relative_folders_begin_where_the_configuration_says_unless_an_entry_point_moves(
    node: SlingshotNode,
    tmp_path: Path,
    settings: dict[str, object],
    option: str,
    expected: Severity,
) -> None:
    archive = docker_archive(tmp_path / "image.tar", [layer_of(node.image)], **settings)
    script = tmp_path / "job.sh"
    text = RUN.replace(PATH, "ofi:libfabric").replace("podman run ", f"podman run {option}")
    script.write_text(f"{text} i ./a\n")
    _, chain = judged(archive, node.host, script=script)
    assert (chain.verdict(), chain.faults) == (expected, [])


def test_relative_folders_of_the_image_are_asked_of_where_the_job_has_its_own(
    node: SlingshotNode, tmp_path: Path
) -> None:
    (node.image / "etc").mkdir(exist_ok=True)
    (node.image / "etc/environment").write_text("LD_LIBRARY_PATH=opt/ofi:opt/libfabric\n")
    mounts = ",".join(MOUNTS)
    text = f"export NCCL_NET_PLUGIN=ofi\nsrun --container-image=i --container-mounts={mounts} ./a"
    found, _, words = verdict(node, tmp_path, text)
    assert found is Severity.UNKNOWN
    assert "LD_LIBRARY_PATH, which begins at the working directory," in words


def test_a_tmpfs_over_a_folder_that_only_the_job_knows_is_never_good(
    node: SlingshotNode, tmp_path: Path
) -> None:
    found, _, words = verdict(node, tmp_path, f"{RUN} --tmpfs $SCRATCH:rw i ./a")
    assert found is Severity.UNKNOWN
    assert "which folder of the image" in words


def test_a_place_that_the_script_may_make_is_asked_of(node: SlingshotNode, tmp_path: Path) -> None:
    (node.host / "opt/empty").mkdir()
    launch = f"{RUN} -v /opt/empty:/opt/r:ro -v /opt/ofi:/opt/r/new i ./a"
    assert verdict(node, tmp_path, launch)[0] is Severity.BAD
    found, rules, words = verdict(node, tmp_path, f"mkdir -p /opt/empty/new\n{launch}")
    assert (found, rules) == (Severity.UNKNOWN, set())
    assert "nothing is at /opt/r/new" in words


def test_other_runtimes_mount_in_the_order_of_their_options(
    node: SlingshotNode, tmp_path: Path
) -> None:
    (node.host / "opt/empty").mkdir()
    mounts = ",".join((*MOUNTS, "/opt/ofi:/opt/r/new", "/opt/empty:/opt/r:ro"))
    text = f"""export LD_LIBRARY_PATH={PATH} NCCL_NET_PLUGIN=ofi
srun --container-image=i --container-mounts={mounts} ./a"""
    assert verdict(node, tmp_path, text)[0] is Severity.GOOD


def test_a_container_that_does_not_start_has_no_network(
    node: SlingshotNode, tmp_path: Path
) -> None:
    script = tmp_path / "job.sh"
    script.write_text(f"{RUN.replace('NCCL_NET_PLUGIN=ofi', 'A=b')} -v /none:/none i ./a\n")
    case, chain = judged(node.image, node.host, script=script)
    assert outcome(case, chain) == "the container does not start"
    assert chain.faults[0].rule.id == "mount-source-absent"
