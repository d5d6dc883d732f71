"""`weft cluster up HOSTS`: other ports, jump hosts, hosts that do not know one another's names."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.oracle.real import SECOND_PORT, USER_ANN, Real, bare
from tests.oracle.virtual import Virtual, states

from weft.cluster.bringup.stages import hello
from weft.cluster.remote import Ssh, each

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
NODES = ("node1", "node2", "node3")


@pytest.fixture
def real(virtual: Virtual, tmp_path: Path) -> Real:
    return bare(virtual, 3, tmp_path)


def test_a_dry_run_and_status_change_nothing_and_down_leaves_nothing(real: Real) -> None:
    config = real.config()
    before = real.homes(NODES)
    code, said = real.up("node[1-3]", config, "--dry-run")
    assert code == 0, said
    assert states(said, "node2")["keys"] == "would mend"
    assert states(said, "node2")["hello"] == "would mend"
    assert real.homes(NODES) == before
    code, said = real.up("node[1-3]", config)
    assert code == 0, said
    after = real.homes(NODES)
    assert after != before
    code, said = real.virtual.weft("cluster", "status", real.name)
    assert code == 0, said
    assert {state for host in NODES for state in states(said, host).values()} == {"right"}
    assert real.homes(NODES) == after
    code, said = real.down()
    assert code == 0, said
    assert said["hosts"] == dict.fromkeys(NODES, "")
    left = real.homes(NODES)
    for host in NODES:
        assert paths(left[host]) == paths(before[host])
        assert left[host].splitlines()[-1] == before[host].splitlines()[-1]


def paths(listing: str) -> set[str]:
    """Without times: folders whose files came and went have other ones."""
    return {" ".join(line.split(" ")[:2]) for line in listing.splitlines()}


def test_a_host_that_is_installed_anew_or_left_out_is_let_in_no_more(real: Real) -> None:
    config = real.config()
    real.on_all(["node1"], "printf 'ssh-ed25519 AAAAwhoever of somebody' >> ~/.ssh/authorized_keys")
    assert real.up("node[1-3]", config)[0] == 0
    allowed = ("sed", "-n", f"s/ weft-{real.name}$//p", ".ssh/authorized_keys")
    before = real.virtual.on("node1", *allowed).out.splitlines()
    real.on_all(["node2"], f"rm -r ~/.ssh/weft-{real.name}")
    code, said = real.up("node[1-2]", config)
    assert code == 0, said
    after = real.virtual.on("node1", *allowed).out.splitlines()
    anew = real.virtual.on("node2", "cat", f".ssh/weft-{real.name}/id_ed25519.pub").out
    assert (len(before), len(after)) == (3, 2)
    assert " ".join(anew.split()[:2]) in after
    assert not {*after} & {*before[1:]}
    assert "of somebody\n" in real.virtual.on("node1", "cat", ".ssh/authorized_keys").out
    code, said = real.down()
    assert code == 0, said
    assert said["hosts"] == dict.fromkeys(NODES, "")
    assert not real.virtual.on("node3", "test", "-e", f".ssh/weft-{real.name}").ok


def test_who_takes_no_part_in_a_launch_is_looked_for_and_named(
    real: Real, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hello, "HELLO_S", 20.0)
    config = real.config()
    code, said = real.up("node[1-3]", config)
    assert code == 0, said
    kernel = said["agreed"]["kernel"]
    real.on_all(["node2"], f"printf '#!/bin/sh\\nexit 7\\n' > {kernel}")
    code, said = real.up("node[1-3]", config)
    assert code == 1
    assert said["good"] == ["node1", "node3"]
    assert said["hosts"]["node2"]["hello"]["state"] == "failed"
    assert "--interface" in said["hosts"]["node2"]["hello"]["remedy"]


def test_another_port_a_jump_host_and_names_that_hosts_do_not_know(real: Real) -> None:
    real.second_sshd(NODES)
    known = real.virtual.folder / "known_hosts"
    keys = [line.split(" ", 1)[1] for line in known.read_text().splitlines()]
    (real.folder / "known").write_text(
        "".join(f"[10.77.0.{i}]:{SECOND_PORT} {key}\n" for i, key in enumerate(keys, 1))
    )
    through = ["Host beta\n  HostName 10.77.0.2\n  ProxyJump node1\n"]
    through += ["Host gamma\n  HostName 10.77.0.3\n  ProxyJump node1\n"]
    shared = (
        f"Host beta gamma\n  Port {SECOND_PORT}\n  UserKnownHostsFile {real.folder}/known\n"
        f"  IdentityFile {real.virtual.folder}/id_ed25519\n  IdentitiesOnly yes\n"
        "  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n"
    )
    config = real.config([*through, shared])
    code, said = real.up("beta,gamma", config)
    assert code == 0, said
    assert said["good"] == ["beta", "gamma"]
    assert states(said, "beta")["names"] == "doubtful"
    assert "does not know beta, gamma" in said["hosts"]["beta"]["names"]["note"]
    assert states(said, "gamma")["logins"] == "right"
    where = ("--cluster", real.name, "--dir", str(real.folder / "run"))
    code, table = real.virtual.weft("bench", "latency", *where, "--sizes", "8")
    assert code == 0, table
    assert real.down()[0] == 0


def test_a_plain_user_gets_a_copied_mpi_that_launches(real: Real) -> None:
    real.on_all(NODES, f"{USER_ANN}\nmount -t tmpfs none {sys.prefix}")
    config = real.config(["Host node1 node2\n  User ann\n"])
    code, said = real.up("node[1-2]", config)
    assert code == 0, said
    assert said["agreed"]["user"] == "ann"
    assert said["agreed"]["mpicc"].startswith("/tmp/ann/.local/share/weft/mpi/mpich-")
    assert states(said, "node2")["mpi"] == "mended"
    where = ("--cluster", real.name, "--dir", str(real.folder / "run"))
    code, table = real.virtual.weft("bench", "bandwidth", *where, "--sizes", "64K")
    assert code == 0, table
    assert real.down()[0] == 0
    left = real.virtual.on("node2", "find", "/tmp/ann")
    assert left.out.split() == ["/tmp/ann", "/tmp/ann/.ssh", "/tmp/ann/.ssh/authorized_keys"]


def test_another_user_or_home_is_named_and_the_others_go_on(real: Real) -> None:
    real.on_all(["node2"], USER_ANN)
    code, said = real.up("node[1-3]", real.config(["Host node2\n  User ann\n"]))
    assert code == 1
    assert said["good"] == ["node1", "node3"]
    account = said["hosts"]["node2"]["account"]
    assert account["state"] == "failed"
    assert "its user is ann, elsewhere it is root" in account["note"]
    assert f"its home is /tmp/ann, elsewhere it is {Path.home()}" in account["note"]
    assert states(said, "node2")["keys"] == "not tried"
    assert real.virtual.on("node2", "ls", "-A", "/tmp/ann").out == ".ssh\n"


def test_a_host_with_another_key_is_refused_and_named(real: Real) -> None:
    known = real.virtual.folder / "known_hosts"
    lines = known.read_text().splitlines()
    swapped = f"{lines[1].split()[0]} {lines[2].split(' ', 1)[1]}"
    (real.folder / "known").write_text("\n".join((lines[0], swapped, lines[2])) + "\n")
    config = real.config(**{str(known): str(real.folder / "known")})
    code, said = real.up("node[1-3]", config)
    assert code == 1
    assert said["good"] == ["node1", "node3"]
    reach = said["hosts"]["node2"]["reach"]
    assert (reach["state"], "another one" in reach["note"]) == ("failed", True)
    assert "ssh-keygen -R node2" in reach["remedy"]
    (real.folder / "known").write_text(f"{lines[0]}\n")
    code, said = real.up("node[1-2]", config)
    assert said["hosts"]["node2"]["reach"]["note"].endswith("or known_hosts has none")


def test_logins_that_a_busy_sshd_turns_away_are_tried_again(real: Real) -> None:
    """It takes one at a time, and turns all others away."""
    sshd = shutil.which("sshd", path="/usr/sbin:/usr/bin:/sbin:/bin")
    log = "/run/weft/busy.log"
    one = "sed -i 's/^MaxStartups.*/MaxStartups 1:100:1/' /run/weft/sshd_config"
    started = f"{sshd} -f /run/weft/sshd_config -E {log}"
    config = real.config(["Host way*\n  HostName node1\n"])
    config.write_text(config.read_text().replace("Host node1 ", "Host node1 way* "))
    real.on_all(["node1"], f"{one}; pkill -o sshd; sleep 0.2; {started}")
    ssh, ways = Ssh(config), [f"way{i}" for i in range(5)]
    said = each(ways, lambda way: ssh.run(way, ["true"], timeout_s=60))
    assert all(one.ok for one in said.values()), said
    assert "MaxStartups throttling" in ssh.run("node1", ["cat", log], timeout_s=60).out


def test_no_private_key_leaves_its_host(real: Real) -> None:
    code, said = real.up("node[1-3]", real.config())
    assert code == 0, said
    key = f"{Path.home()}/.ssh/weft-{real.name}/id_ed25519"
    assert real.virtual.on("node1", "stat", "-c", "%a", key).out == "600\n"
    secret = {host: real.virtual.on(host, "cat", key).out.splitlines()[3] for host in NODES}
    assert len({*secret.values()}) == len(NODES)
    state = real.virtual.folder.parent
    for host in NODES:
        others = [line for other, line in secret.items() if other != host]
        # The host's own sysfs, which holds no files of anybody's, lies in /run.
        search = ["grep", "-rlF", "--exclude-dir=sys"]
        search += [word for line in others for word in ("-e", line)]
        places = ("/tmp", "/run", f"{Path.home()}/.ssh", f"{Path.home()}/.local")
        found = real.virtual.on(host, *search, *places)
        assert (found.code, found.out) == (1, ""), found
        here = subprocess.run(["grep", "-rlF", "-e", secret[host], state], check=False)
        assert here.returncode == 1


def test_a_clock_that_is_off_and_login_scripts_that_talk(real: Real) -> None:
    date = str(Path(shutil.which("date") or "").resolve())
    late = "#!/bin/sh\nexec /run/weft/date -d '-1 hour' \"$@\"\n"
    put = f"cp {date} /run/weft/date; printf %s {shlex.quote(late)} > /run/weft/late"
    real.on_all(["node2"], f"{put}; chmod 755 /run/weft/late; mount --bind /run/weft/late {date}")
    talk = "echo weft changed; printf '\\033]0;title\\007key x\\n'; yes | head -n 50\n"
    real.on_all(NODES, f"printf %s {shlex.quote(talk)} | tee ~/.bashrc > ~/.profile")
    config = real.config()
    code, said = real.up("node[1-3]", config)
    assert code == 0, said
    assert said["hosts"]["node2"]["reach"]["state"] == "doubtful"
    off = re.fullmatch(r"its clock is (\d+) s behind", said["hosts"]["node2"]["reach"]["note"])
    assert off is not None
    # Less by what question and answer took.
    assert 3570 <= int(off[1]) <= 3600
    code, said = real.up("node[1-3]", config)
    assert {*states(said, "node3").values()} == {"right"}


def test_who_lets_the_others_not_in_is_named_and_who_is_gone_stays_on_record(real: Real) -> None:
    real.on_all(
        ["node2"],
        "echo 'AllowUsers *@10.77.255.254' >> /run/weft/sshd_config;"
        " pkill -o sshd; sleep 0.2; PATH=$PATH:/usr/sbin;"
        " $(command -v sshd) -f /run/weft/sshd_config",
    )
    code, said = real.up("node[1-3]", real.config())
    assert code == 1
    assert said["good"] == ["node1", "node3"], said["hosts"]
    logins = said["hosts"]["node2"]["logins"]
    assert logins["state"] == "failed"
    assert logins["note"].startswith("node1 cannot log in to it: ")
    real.virtual.on("node2", "pkill", "sshd")
    code, said = real.down()
    assert code == 1
    assert {host: bool(why) for host, why in said["hosts"].items()} == {
        "node1": False, "node2": True, "node3": False,
    }  # fmt: skip
    assert (real.virtual.folder.parent / real.name).exists()
    assert real.down("--forget")[0] == 0
    assert not (real.virtual.folder.parent / real.name).exists()


def test_the_fast_interface_is_chosen_and_used(real: Real) -> None:
    for i, host in enumerate(NODES[:2], 1):
        real.on_all(
            [host],
            "ip link add link eth0 name hsn0 type macvlan mode bridge;"
            f" ip address add 10.78.0.{i}/16 dev hsn0; ip link set hsn0 up",
        )
    config = real.config()
    code, said = real.up("node[1-2]", config)
    assert code == 0, said
    assert said["agreed"]["interface"] == "hsn0"
    sent = real.virtual.on("node1", "cat", "/sys/class/net/hsn0/statistics/tx_bytes")
    assert int(sent.out) > 10_000
    code, said = real.up("node[1-3]", config)
    assert code == 1
    interface = said["hosts"]["node3"]["interface"]
    assert interface["note"] == "it has no interface hsn0 that is up"
    assert "eth0" in interface["remedy"]
    code, said = real.up("node[1-3]", config, "--interface", "eth0")
    assert code == 0, said
