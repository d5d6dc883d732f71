"""The limit of locked memory that weft reads from options of podman is that of the container."""

import shlex
from pathlib import Path

import pytest
from tests.oracle.test_container_podman import PodmanSite, site  # noqa: F401

from weft.doctor.container.launch.isolation import locked_memory_of
from weft.doctor.container.launch.plan import plans_of
from weft.doctor.readers.shell import read_script

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.mark.parametrize(
    "options",
    [
        "--ulimit memlock=65536 ",
        "--ulimit=memlock=65536:131072 ",
        "--ulimit memlock=8388608 --cap-add SYS_PTRACE ",
        "--ulimit memlock=65536 --cap-add CAP_IPC_LOCK ",
        "--ulimit memlock=65536 --cap-add sys_ptrace,ipc_lock ",
        "--ulimit memlock=65536 --cap-add all ",
        "--privileged --ulimit memlock=65536 ",
    ],
)
def test_locked_memory_has_the_limit_that_weft_says(
    site: PodmanSite,  # noqa: F811
    tmp_path: Path,
    options: str,
) -> None:
    """By the files of /proc in the container, which have no limit of one with CAP_IPC_LOCK."""
    one = "while read -r a; do echo $a; done < /proc/self/"
    reads = f"{one}limits; echo =; {one}status"
    options += "--ulimit nofile=1024:1024 --ulimit nproc=4096:4096 "
    start = f"podman run {options}localhost/right:1 /bin/sh -c {shlex.quote(reads)}"
    limits, _, status = site.node.do(start).partition("=\n")
    (tmp_path / "limits").write_text(limits)
    (tmp_path / "status").write_text(status)
    (plan,) = plans_of(read_script("job.sh", start))
    found = locked_memory_of(tmp_path)
    assert plan.isolation.locked_memory.limit_bytes == found.limit_bytes
    assert bool(plan.isolation.locked_memory.told_by) == bool(found.told_by)
