"""Device files that a launch names: whole paths of podman and docker, files of CDI and Sarus."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.unit.doctor.container.container_cases import MOUNTS, PATH, judged
from tests.unit.doctor.container.container_trees import SlingshotNode

from weft.core.finding import Severity

ALL = tuple(f"/dev/cxi{number}" for number in range(4))
ENV = [f"LD_LIBRARY_PATH={PATH}", "NCCL_NET_PLUGIN=ofi"]


def devices(node: SlingshotNode, **options: Any) -> tuple[str, ...]:
    """Those of the container, which lacks nothing else: it is GOOD with one, and not without."""
    case, chain = judged(node.image, node.host, mounts=MOUNTS, env=ENV, **options)
    found = case.devices("/dev/cxi")
    assert (chain.verdict() is Severity.GOOD) == bool(found)
    return found


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([], ()),
        ([{"path": ""}], ()),
        ([{"path": "/"}], ()),
        ([{"path": "/dev"}], ()),
        ([{"path": "/dev/"}], ()),
        ([{"path": "dev/cxi0"}], ()),
        ([{"hostPath": "/dev/cxi0"}], ()),
        ([{"path": "/dev/cxi0", "hostPath": "/dev/null"}], ()),
        ([{"path": "/dev/cxi0", "hostPath": "/dev/cxi0"}], ("/dev/cxi0",)),
        ([{"path": "/dev/cxi0"}, {"path": "/dev/cxi2"}], ("/dev/cxi0", "/dev/cxi2")),
    ],
)
def test_a_specification_names_device_files(
    node: SlingshotNode, tmp_path: Path, nodes: list[Mapping[str, str]], expected: tuple[str, ...]
) -> None:
    edits = {"deviceNodes": nodes}
    table = {"cdiVersion": "0.6.0", "devices": [{"name": "all", "containerEdits": edits}]}
    path = tmp_path / "cxi.json"
    path.write_text(json.dumps(table))
    assert devices(node, cdi=path) == expected


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--device", "/dev/cxi0"], ("/dev/cxi0",)),
        (["--device", "/dev/null"], ()),
        (["--device=/dev"], ()),
        (["--device="], ()),
        (["--device"], ()),
        (["--device", "dev/cxi0"], ()),
        (["--device", "/dev/cxi0:/dev/cxi0:rw", "--device=/dev/cxi3"], ("/dev/cxi0", "/dev/cxi3")),
        (["--device=/dev/null:/dev/cxi0"], ()),
        (["--device=/dev/cxi0:/dev/other"], ()),
    ],
)
def test_a_hook_of_sarus_names_device_files(
    node: SlingshotNode, tmp_path: Path, args: list[str], expected: tuple[str, ...]
) -> None:
    path = tmp_path / "hook.json"
    hook = {"path": "/opt/sarus/default/bin/mount_hook", "args": ["mount_hook", *args]}
    path.write_text(json.dumps({"version": "1.0.0", "hook": hook}))
    assert devices(node, hook=path) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("podman run --device /dev/cxi1", ("/dev/cxi1",)),
        ("podman run --device=/dev/cxi1:/dev/cxi1:rwm", ("/dev/cxi1",)),
        ("podman run --device=/dev/cxi1:rwm", ("/dev/cxi1",)),
        ("podman run --device=/dev/cxi1:/dev/other", ()),
        ("podman run --device /dev/cx", ()),
        ("podman run --device /dev", ALL),
        ("docker run --device /dev/", ALL),
        ("srun sarus run --device=/dev/cxi1", ("/dev/cxi1",)),
        ("srun sarus run --device=/dev", ()),
    ],
)
def test_options_name_files_and_of_podman_and_docker_folders(
    node: SlingshotNode, tmp_path: Path, line: str, expected: tuple[str, ...]
) -> None:
    path = tmp_path / "job.sh"
    path.write_text(f"{line} i ./a\n")
    assert devices(node, script=path) == expected
