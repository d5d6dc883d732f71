"""Launches by podman and docker, of which tests/oracle asks podman itself where it is there."""

import json
from pathlib import Path

import pytest
from tests.unit.doctor.container.container_cases import PATH, judged, verdict_of
from tests.unit.doctor.container.container_trees import SlingshotNode

from weft.core.errors import InputError
from weft.core.finding import Severity
from weft.doctor.readers.file import read_job

MOUNTS = "-v /opt/ofi:/opt/ofi -v /opt/libfabric:/opt/libfabric"
DEVICE = "--device /dev/cxi0"
PAIRS = f"LD_LIBRARY_PATH={PATH} NCCL_NET_PLUGIN=ofi"
ENV = "".join(f" -e {one}" for one in PAIRS.split())
RUN = f"podman run {MOUNTS} {DEVICE}{ENV}"
OPENS, FAILS, OPEN = Severity.GOOD, Severity.BAD, Severity.UNKNOWN


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (f"{RUN} i ./a", OPENS),
        (f"podman run {MOUNTS} --privileged=false{ENV} i ./a", FAILS),
        (f"podman run {MOUNTS} --privileged=true{ENV} i ./a", OPENS),
        (f"podman run {MOUNTS}{ENV} i ./a {DEVICE}", FAILS),
        (f"podman run -v /opt {DEVICE}{ENV} i ./a", FAILS),
        (f"podman run -v /opt:/opt {DEVICE}{ENV} i ./a", OPENS),
        (f"podman run -v /opt/ofi:/opt/ofi,/opt/libfabric:/a {DEVICE}{ENV} i ./a", FAILS),
        (f"podman run -u 0:0 --pull never -h n -m 1g {MOUNTS} {DEVICE}{ENV} i ./a", OPENS),
        (f"docker run --gpus all --link a {MOUNTS} {DEVICE}{ENV} i ./a", OPENS),
        (f"podman run -v/opt:/opt -itu 0 -eLD_LIBRARY_PATH={PATH} -e=NCCL_NET_PLUGIN=ofi {DEVICE}"
         " i ./a", OPENS),
        (f"podman run --mount src=/opt,dst=/opt,type=bind {DEVICE}{ENV} i ./a", OPENS),
        (f"podman run -v /opt:/x/../opt {DEVICE}{ENV} i ./a", OPENS),
        (f"podman --log-level error container run {MOUNTS} {DEVICE}{ENV} i ./a", OPENS),
        (f"docker --context c run {MOUNTS} {DEVICE}{ENV} i ./a", OPENS),
        (f"timeout -k 5 20 {RUN} i ./a", OPENS),
        (f"podman create --name c {MOUNTS} {DEVICE}{ENV} i ./a\npodman start -a c", OPENS),
        (f"{RUN} i sleep 9\npodman exec c ./a", OPENS),
        (f"podman run {MOUNTS} {DEVICE} i sleep 9\npodman exec{ENV} c ./a", OPEN),
        # Options that weft does not know may take the next word.
        (f"podman run --other x {MOUNTS} {DEVICE}{ENV} i ./a", OPEN),
        (f"podman-hpc run --other {MOUNTS} {DEVICE}{ENV} i ./a", OPENS),
        # Words that only the running job knows.
        (f"podman run {MOUNTS}{ENV} --device /dev/cxi$N i ./a", OPEN),
        (f"podman run {MOUNTS} {DEVICE} $OPTIONS i ./a", OPEN),
        (f"podman run {MOUNTS} {DEVICE}{ENV} $OPTIONS i ./a", OPEN),
        (f"podman run {MOUNTS} {DEVICE}{ENV} $IMAGE ./a", OPENS),
        (f'podman run "$@" {MOUNTS} {DEVICE}{ENV} i ./a', OPEN),
        (f'set -- {MOUNTS} {DEVICE}\npodman run "$@"{ENV} i ./a', OPENS),
        (f'set -- a {MOUNTS} {DEVICE}\nshift\npodman run "$@"{ENV} i ./a', OPENS),
        (f'set -- {MOUNTS} {DEVICE}\nshift $N\npodman run "$@"{ENV} i ./a', OPEN),
        (f'f() {{ {RUN} "$@"; }}\nf i ./a', OPENS),
        (f'set -- i\nf() {{ {RUN} "$@"; }}\nsrun ./b', OPEN),
        (f"podman run {MOUNTS} --device site/a=b{ENV} i ./a", OPEN),
        (f"podman run {MOUNTS} --device nvidia.com/gpu=all{ENV} i ./a", FAILS),
    ],
)  # fmt: skip
def test_options_of_a_launch(
    node: SlingshotNode, tmp_path: Path, text: str, verdict: Severity
) -> None:
    path = tmp_path / "job.sh"
    path.write_text(f"{text}\n")
    assert verdict_of(node.image, node.host, script=path)[0] is verdict


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (f"export {PAIRS}\n{{}} -e LD_LIBRARY_PATH -e NCCL_NET_PLUGIN i ./a", OPENS),
        (f"{PAIRS} {{}} -e LD_LIBRARY_PATH -e NCCL_NET_PLUGIN i ./a", OPENS),
        (f"export {PAIRS}\n{{}} i ./a", FAILS),
        (f"export {PAIRS}\n{{}} -e 'LD_*' -e 'NCCL_*' i ./a", OPENS),
        (f"export {PAIRS}\n{{}} --env-host i ./a", OPENS),
        (f"export {PAIRS}\n{{}} --env-host=false i ./a", FAILS),
        ("{} --env-file a.env i ./a", OPEN),
        (f"{{}}{ENV} --env-file a.env i ./a", OPEN),
        (f"{{}}{ENV} --unsetenv LD_LIBRARY_PATH i ./a", OPENS),
        (f"{{}} i sh -c 'export {PAIRS}; ./a'", OPENS),
        (f"{{}} i sh -c '{PAIRS} exec ./a'", OPENS),
        (f"{{}} i sh -c '{PAIRS} ./b; ./a'", OPEN),
        (f"{{}} i env {PAIRS} ./a", OPENS),
        (f"{{}}{ENV} i sh -c 'unset LD_LIBRARY_PATH; ./a'", FAILS),
        (f"{{}}{ENV} i sh -c 'unset OTHER; ./a'", OPENS),
        (f"{{}}{ENV} i sh -c 'if ./b; then export LD_LIBRARY_PATH=/a; fi; ./a'", OPEN),
        (f"{{}}{ENV} i sh -c 'if ./b; then unset NCCL_NET_PLUGIN; fi; ./a'", OPEN),
        (f"{{}}{ENV} i sh -c 'LD_LIBRARY_PATH=/a; ./a'", OPEN),
        (f"{{}}{ENV} i sh -c '. /a.sh; ./a'", OPEN),
        (f"{{}} --entrypoint sh i -c 'export {PAIRS}; ./a'", OPENS),
        ("{} -w /opt -e LD_LIBRARY_PATH=ofi:libfabric -e NCCL_NET_PLUGIN=ofi i ./a", OPEN),
        (f"{{}} -w /opt{ENV} i ./a", OPENS),
        (f"{{}}{ENV} i env -u LD_LIBRARY_PATH ./a", OPEN),
        (f"{{}} i sh -c './a; export {PAIRS}'", OPEN),
    ],
)
def test_variables_of_a_launch(
    node: SlingshotNode, tmp_path: Path, text: str, verdict: Severity
) -> None:
    path = tmp_path / "job.sh"
    path.write_text(text.replace("{}", f"podman run {MOUNTS} {DEVICE}") + "\n")
    assert verdict_of(node.image, node.host, script=path)[0] is verdict


@pytest.mark.parametrize(
    ("options", "left"),
    [("--unsetenv LD_LIBRARY_PATH", {"A"}), ("--unsetenv A --unsetenv B", {"LD_LIBRARY_PATH"}),
     ("--unsetenv-all", set()), ("--unsetenv-all=false", {"A", "LD_LIBRARY_PATH"})],
)  # fmt: skip
def test_variables_of_the_image_are_unset(
    node: SlingshotNode, tmp_path: Path, options: str, left: set[str]
) -> None:
    path = tmp_path / "job.sh"
    path.write_text(f"podman run {options} i ./a\n")
    case, _ = judged(node.image, node.host, script=path)
    names = case.plan.layers.drops
    assert {one for one in ("A", "LD_LIBRARY_PATH") if names is not None and one not in names} == (
        left
    )


@pytest.mark.parametrize(
    "options",
    [
        "apptainer exec --pid --ipc --net -w -u -p",
        "apptainer exec -o a.img -S /s -W /w --cwd /x --no-mount a",
        "singularity run -e -c --env A=1 --fusemount a",
        "enroot start -w -r -e A=1 -m /a:/b -c a.sh --rc b.sh",
        "sarus run --mpi -w /x",
    ],
)
def test_each_runtime_has_its_own_options(options: str) -> None:
    """SOURCE: the manual pages of Apptainer; NVIDIA/enroot, doc/cmd/start.md; guide of Sarus."""
    (launch,) = read_job("job.sh", f"{options} image ./a b\n").launches
    assert launch.container is not None
    assert launch.container.image == "image"
    assert [one.text for one in launch.program] == ["./a", "b"]


def test_a_running_container_is_no_image(node: SlingshotNode, tmp_path: Path) -> None:
    path = tmp_path / "job.sh"
    path.write_text("podman start c\npodman exec c ./a\n")
    with pytest.raises(InputError, match="it starts no image"):
        judged(node.image, node.host, script=path)


@pytest.mark.parametrize(
    ("device", "verdict"),
    [("site/a=all", OPENS), ("site/a=one", FAILS), ("site/a=two", OPEN), ("/dev/null", OPENS)],
)
def test_the_device_that_a_launch_names_is_taken(
    node: SlingshotNode, tmp_path: Path, device: str, verdict: Severity
) -> None:
    """Without a name of the file's kind, all of the file counts: --cdi says that it is used."""
    edits = {"deviceNodes": [{"path": "/dev/cxi0"}]}
    mounts = [{"hostPath": one, "containerPath": one} for one in ("/opt/ofi", "/opt/libfabric")]
    devices = [
        {"name": "one", "containerEdits": edits},
        {"name": "all", "containerEdits": {**edits, "mounts": mounts, "env": PAIRS.split()}},
    ]
    cdi = tmp_path / "site.json"
    cdi.write_text(json.dumps({"cdiVersion": "0.3.0", "kind": "site/a", "devices": devices}))
    path = tmp_path / "job.sh"
    path.write_text(f"podman run --device {device} i ./a\n")
    assert verdict_of(node.image, node.host, script=path, cdi=cdi)[0] is verdict
