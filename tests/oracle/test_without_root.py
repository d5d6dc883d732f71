"""A virtual cluster made by a user who is not root.

The user, his home and what he may read of root's are mounts that end with the test's own namespace.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.oracle.virtual import need_in_hosts, skip_without_namespaces

import weft
from weft.cluster.local.start import LOSS_TOOLS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

UID = 4242
ENTER = r"""
set -e
mount --make-rprivate /
mount -t tmpfs -o mode=755 none /mnt
cp /etc/passwd /mnt/passwd
echo "ann:x:$1:$1::/mnt/ann:/bin/sh" >> /mnt/passwd
mount --bind /mnt/passwd /etc/passwd
mkdir -m 700 /mnt/ann
chown "$1:$1" /mnt/ann
n=0
for path in $2; do
    n=$((n + 1))
    mkdir "/mnt/$n"
    mount --bind "$path" "/mnt/$n"
done
mount -t tmpfs -o mode=755 none /root
n=0
for path in $2; do
    n=$((n + 1))
    mkdir -p "$path"
    mount --bind "/mnt/$n" "$path"
done
cd /
exec setpriv --reuid="$1" --regid="$1" --clear-groups --inh-caps=-all --bounding-set=-all \
    env HOME=/mnt/ann XDG_STATE_HOME=/mnt/ann/state PYTHONPATH="$3" sh -c "$4"
"""
WEFT = f"{sys.executable} -c 'import sys; from weft.cli import run; sys.exit(run(sys.argv[1:]))'"


@pytest.fixture
def needs_root() -> Iterator[None]:
    """The tests beside this one are without root where this one cannot be anybody else."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to be somebody else")
    skip_without_namespaces()
    need_in_hosts("setpriv", "unshare", package="util-linux")
    need_in_hosts("pgrep", "pkill", package="procps")
    as_uid = ("setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups")
    subprocess.run([*as_uid, "true"], check=True, timeout=20)
    if subprocess.run([*as_uid, "unshare", "--user", "true"], check=False, timeout=20).returncode:
        pytest.skip("this kernel allows no user namespaces without root")
    assert _of_ann() == "", "somebody else is this user here"
    yield
    subprocess.run(["pkill", "-KILL", "-u", str(UID)], check=False, timeout=20)


def as_ann(script: str) -> "subprocess.CompletedProcess[str]":
    """Run a script as a user who is there as long as it runs."""
    source = Path(weft.__file__).resolve().parents[1]
    root = Path("/root")
    wanted = dict.fromkeys((Path(sys.prefix), Path(sys.base_prefix), source))
    kept = " ".join(str(path) for path in wanted if path.is_relative_to(root))
    words = ("unshare", "--mount", "sh", "-c", ENTER, "sh", str(UID), kept, str(source), script)
    return subprocess.run(words, capture_output=True, text=True, timeout=200, check=False)


@pytest.mark.usefixtures("needs_root")
def test_a_plain_user_makes_a_virtual_cluster_and_measures_on_it() -> None:
    need_in_hosts(*LOSS_TOOLS, package=" ".join(LOSS_TOOLS.values()))
    readable = as_ann(f"{WEFT} --version")
    assert readable.returncode == 0, f"another user cannot read this: {readable.stderr[-500:]}"
    impaired = "--rate node2=200mbit --delay node1=100us --loss node2:sending=0.1%"
    done = as_ann(
        f"{{ {WEFT} cluster up --local 2 {impaired} --name own --format json &&"
        f" {WEFT} bench latency --cluster own --sizes 8 --iterations 100 --repeats 1 --dir ~/run"
        " --format json > ~/table &&"
        f" cat ~/table >&2; }}; code=$?; {WEFT} cluster down own >&2 || exit 99; exit $code"
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["good"] == ["node1", "node2"]
    assert (said["agreed"]["user"], said["agreed"]["home"]) == ("ann", "/mnt/ann")
    assert '"size_bytes": 8' in done.stderr
    assert "DOWN own: " in done.stderr
    # The kernel ends what is in a namespace just after its first process.
    until = time.monotonic() + 10
    while (left := _of_ann()) and time.monotonic() < until:
        time.sleep(0.1)
    assert left == ""


def _of_ann() -> str:
    words = ("pgrep", "-a", "-u", str(UID))
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


@pytest.mark.usefixtures("needs_root")
def test_where_the_kernel_allows_no_user_namespaces_it_says_so() -> None:
    own = f"unshare --user --map-user={UID} --map-group={UID} --keep-caps"
    up = f"{WEFT} cluster up --local 2 --name own"
    done = as_ann(
        f'{own} sh -c "echo 0 > /proc/sys/user/max_user_namespaces; exec \\"\\$@\\"" sh {up}'
    )
    assert done.returncode == 3, done.stderr
    assert "no virtual cluster can be made here: unshare: " in done.stderr
    assert "user.max_user_namespaces" in done.stderr
