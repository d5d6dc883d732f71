"""`weft cluster up HOSTS`: other ports, jump hosts, hosts that do not know one another's names."""

from pathlib import Path

import pytest
from tests.oracle.real import SECOND_PORT, Real, bare
from tests.oracle.virtual import Virtual, states

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
