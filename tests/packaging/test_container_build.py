"""podman builds the container file: all of its instructions, on a base and an archive of stubs."""

import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from tests.oracle.podman_node import PodmanNode, need_podman
from tests.packaging.test_recipes import CONTAINER

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
TOOLS = ("sh", "tar", "gzip", "mkdir", "uname", "rm", "chmod", "cat")
"""What the container file and the installer below call, of this machine."""
APT_GET = '#!/bin/sh\necho "$@" >>/asked\nmkdir -p /var/lib/apt/lists/one\n'
INSTALL = """#!/bin/sh
mkdir -p "$1/bin"
echo '#!/bin/sh' >"$1/bin/weft"
echo 'echo "weft $*"; cat /asked; echo /var/lib/apt/lists/*' >>"$1/bin/weft"
chmod 755 "$1/bin/weft"
"""


def _program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def _build_base(root: Path) -> None:
    """A root with a shell, some tools, and an apt-get that writes down what it is asked."""
    for tool in TOOLS:
        program = Path(shutil.which(tool) or tool).resolve()
        linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        for library in map(Path, re.findall(r"(/\S+) \(0x", linked)):
            (root / library.parent.relative_to("/")).mkdir(parents=True, exist_ok=True)
            shutil.copy(library, root / library.relative_to("/"))
        (root / "bin").mkdir(exist_ok=True)
        shutil.copy(program, root / "bin" / tool)
    (root / "tmp").mkdir()
    _program(root / "bin/apt-get", APT_GET)


def _pack_archive(source: Path) -> None:
    """What `make dist` leaves in dist/, with an installer that writes a small weft."""
    name = f"weft-0-wheelhouse-cp311-linux_{os.uname().machine}"
    _program(source / name / "install.sh", INSTALL)
    (source / "dist").mkdir()
    with tarfile.open(source / f"dist/{name}.tar.gz", "w:gz") as archive:
        archive.add(source / name, name)


def test_podman_builds_the_container_and_starts_weft_in_it(tmp_path: Path) -> None:
    need_podman()
    base, source = tmp_path / "base", tmp_path / "source"
    _build_base(base)
    _pack_archive(source)
    (tmp_path / "host/opt").mkdir(parents=True)
    node = PodmanNode(tmp_path / "node", tmp_path / "host", ())
    end = node.run(f"""set -e
cd {source}
tar -C {base} -cf ../base.tar .
podman import --quiet ../base.tar localhost/base:1
podman build --quiet --pull-never --isolation chroot \\
    --build-arg BASE=localhost/base:1 -f {CONTAINER} -t localhost/weft:1 . >&2
podman run localhost/weft:1 check --twin fat-tree""")
    assert end.returncode == 0, end.stderr[-2000:]
    said = end.stdout[end.stdout.index("weft ") :].splitlines()
    assert said[0] == "weft check --twin fat-tree"
    # Only the second stage's packages are left, without apt's lists.
    assert said[1] == "update"
    assert "openssh-client" in said[2]
    assert "python3-venv" not in end.stdout
    assert said[-1] == "/var/lib/apt/lists/*"
