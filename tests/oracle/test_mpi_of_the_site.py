"""An MPI by the site's module, and by the distribution's packages, on hosts taken for real ones."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.needs import absent
from tests.oracle.real import USER_ANN, Real, bare
from tests.oracle.virtual import Virtual, need_in_hosts, states

from weft.cluster.bringup.stages.packages import DISTRIBUTIONS
from weft.cluster.remote import Ssh

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
NODES = ("node1", "node2")

# What is linked needs a library that only the module's LD_LIBRARY_PATH finds.
MODULE = r"""
set -e
mkdir -p /run/weft/mpi/bin /run/weft/mpi/lib /run/weft/modules
echo 'int weft_mark;' | cc -shared -fPIC -x c - -o /run/weft/mpi/lib/libweftmark.so
cat > /run/weft/mpi/bin/mpicc <<'END'
#!/bin/sh
exec mpicc.openmpi "$@" -L/run/weft/mpi/lib -Wl,--no-as-needed -lweftmark
END
chmod 755 /run/weft/mpi/bin/mpicc
for tool in mpirun orted; do
    ln -s $(command -v $tool.openmpi || command -v $tool) /run/weft/mpi/bin/$tool
done
cat > /run/weft/modules/sitempi <<'END'
#%Module
prepend-path PATH /run/weft/mpi/bin
prepend-path LD_LIBRARY_PATH /run/weft/mpi/lib
END
echo 'echo Welcome; module use /run/weft/modules' > ~/.profile
"""


@pytest.fixture
def real(virtual: Virtual, tmp_path: Path) -> Real:
    return bare(virtual, len(NODES), tmp_path)


def need_modules() -> None:
    if not Path("/etc/profile.d/modules.sh").exists():
        absent("needs 'module' (Debian: environment-modules)")


def test_a_module_brings_the_mpi_and_its_libraries_to_every_rank(real: Real) -> None:
    need_in_hosts("mpicc.openmpi", "cc", package="libopenmpi-dev gcc")
    need_modules()
    real.on_all(NODES, MODULE)
    config = real.config()
    code, said = real.up("node[1-2]", config, "--mpi-module", "sitempi")
    assert code == 0, said
    assert said["agreed"]["mpicc"] == "/run/weft/mpi/bin/mpicc"
    assert said["agreed"]["library_path"].startswith("/run/weft/mpi/lib")
    where = ("--cluster", real.name, "--dir", str(real.folder / "run"))
    code, table = real.virtual.weft("bench", "latency", *where, "--sizes", "8")
    assert code == 0, table
    code, again = real.virtual.weft("cluster", "status", real.name)
    assert (code, states(again, "node2")["mpi"]) == (0, "right")
    kernel = said["agreed"]["kernel"]
    assert "weftmark.so => not found" in real.virtual.on("node2", "ldd", kernel).out


def test_a_module_that_is_not_there_is_named(real: Real) -> None:
    need_modules()
    real.on_all(NODES, MODULE)
    real.on_all(["node2"], "rm /run/weft/modules/sitempi")
    code, said = real.up("node[1-2]", real.config(), "--mpi-module", "sitempi")
    assert code == 1
    assert said["good"] == ["node1"]
    mpi = said["hosts"]["node2"]["mpi"]
    assert mpi["state"] == "failed"
    assert mpi["note"].startswith("no such module: ")
    assert "module avail" in mpi["remedy"]


# Open MPI's wrapper is hidden until the stand-in for apt-get "installs" it, which root alone can.
HIDDEN = r"""
set -e
touch /run/weft/nothing
mount --bind /run/weft/nothing $(readlink -f /usr/bin/mpicc.openmpi)
cat > /run/weft/apt-get <<'END'
#!/bin/sh
echo "$@" >> /tmp/apt-get.said
case " $* " in *" install "*) umount $(readlink -f /usr/bin/mpicc.openmpi) ;; esac
END
chmod 755 /run/weft/apt-get
mount --bind /run/weft/apt-get /usr/bin/apt-get
"""
SUDOERS = """
cp /etc/sudoers /run/weft/sudoers
echo 'ann ALL=(root) NOPASSWD: /usr/bin/apt-get' >> /run/weft/sudoers
mount --bind /run/weft/sudoers /etc/sudoers
"""


def test_packages_come_by_sudo_and_never_by_a_password(real: Real) -> None:
    need_in_hosts("mpicc.openmpi", "apt-get", "sudo", package="libopenmpi-dev apt sudo")
    real.on_all(NODES, USER_ANN + HIDDEN)
    real.on_all(["node1"], SUDOERS)
    config = real.config(["Host node1 node2\n  User ann\n"])
    code, said = real.up("node[1-2]", config, "--sudo")
    assert code == 1, said
    assert said["good"] == ["node1"], said["hosts"]["node1"]["mpi"]
    assert said["agreed"]["mpicc"] == "/usr/bin/mpicc.openmpi"
    assert states(said, "node1")["mpi"] == "mended"
    asked = real.virtual.on("node1", "cat", "/tmp/apt-get.said").out
    assert asked.splitlines() == [
        "-q -o DPkg::Lock::Timeout=120 update",
        "-q -y -o DPkg::Lock::Timeout=120 --no-install-recommends install"
        " openmpi-bin libopenmpi-dev gcc libc6-dev",
    ]
    mpi = said["hosts"]["node2"]["mpi"]
    assert (mpi["state"], mpi["note"]) == (
        "failed", "sudo wants a password there, which weft never asks",
    )  # fmt: skip
    assert "sudo apt-get" in mpi["remedy"]


@pytest.mark.parametrize("product", ["openmpi", "mpich"])
def test_apt_knows_the_packages(product: str) -> None:
    need_in_hosts("apt-get", package="apt")
    distribution = DISTRIBUTIONS["debian"]
    words = (*distribution.commands[-1], "--simulate", *distribution.packages[product])
    if subprocess.run(["apt-cache", "show", "gcc"], capture_output=True, check=False).returncode:
        pytest.skip("apt has no lists of packages here ('apt-get update')")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_other_tools_take_the_lists_of_hosts(virtual: Virtual) -> None:
    need_in_hosts("mpicc.openmpi", "mpiexec.mpich", package="libopenmpi-dev mpich")
    code, said = virtual.up(2, "--mpi", "/usr/bin/mpicc.openmpi")
    assert code == 0, said
    siblings = Path("/sys/devices/system/cpu").glob("cpu[0-9]*/topology/thread_siblings_list")
    n = len({path.read_text() for path in siblings}) or os.cpu_count() or 1
    shell, interface = said["agreed"]["remote_shell"], said["agreed"]["interface"]
    openmpi = (
        *("mpirun.openmpi", "--allow-run-as-root", "--mca", "plm_rsh_agent", shell),
        *("--mca", "oob_tcp_if_include", interface),
    )
    hydra = ("mpiexec.mpich", "-launcher", "ssh", "-launcher-exec", shell, "-iface", interface)
    launches = {
        "openmpi.hostfile": (*openmpi, "--hostfile", "list"),
        "openmpi.rankfile": (*openmpi, "--host", f"node1:{n},node2:{n}", "--rankfile", "list"),
        "hydra.machinefile": (*hydra, "-f", "list"),
        "hosts": (*hydra, "-ppn", str(n), "-f", "list"),
    }
    assert said["hostfiles"].keys() == launches.keys()
    for name, launcher in launches.items():
        text = Path(said["hostfiles"][name]).read_text()
        words = ("sh", "-c", 'cd && cat > list && exec "$@"', "sh", *launcher)
        with_ssh = Ssh(virtual.folder / "ssh_config").run(
            "node1", (*words, "-n", str(2 * n), "uname", "-n"), stdin=text.encode(), timeout_s=60
        )
        assert with_ssh.ok, (name, with_ssh)
        assert sorted(with_ssh.out.split()) == ["node1"] * n + ["node2"] * n, name
