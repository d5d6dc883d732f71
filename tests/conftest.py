"""What all tests share."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from hypothesis import settings
from tests.mock_backend import put_into_verbs
from tests.needs import need

# A busy machine is not a failure, and a red run must be red again when it is repeated.
settings.register_profile("weft", deadline=None, derandomize=True)
settings.load_profile("weft")

put_into_verbs()

# A shell starts what runs in its background deaf to Ctrl-C, and what that starts stays so.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

FAKE_SSH = """#!/bin/sh
# Stands in for ssh: the rest of the command runs here, under the name of the host.
while [ $# -gt 0 ]; do case $1 in -o|-p|-l|-i) shift 2;; -*) shift;; *) break;; esac; done
host=$1
shift
exec unshare --uts sh -c 'hostname "$0"; exec sh -c "$1"' "$host" "$*"
"""


@pytest.fixture
def two_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Names under which this machine can be reached twice by a launcher's remote shell."""
    if os.geteuid() != 0:
        pytest.skip("host names of one's own need root")
    need("unshare", package="util-linux")
    if subprocess.run(["unshare", "--uts", "true"], check=False).returncode != 0:
        pytest.skip("this sandbox allows no UTS namespace")
    shell = tmp_path / "ssh"
    shell.write_text(FAKE_SSH)
    shell.chmod(0o755)
    monkeypatch.setenv("HYDRA_LAUNCHER_EXEC", str(shell))
    monkeypatch.setenv("OMPI_MCA_plm_rsh_agent", str(shell))
    return ("alpha", "beta")
