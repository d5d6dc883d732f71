"""What single stages make of what hosts say."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.cluster.bringup.facts_of import facts_of

from weft.cluster.bringup.facts import Facts
from weft.cluster.bringup.model import Cluster, Outcome, StageState, unanswered
from weft.cluster.bringup.stages.account import agree_on_account
from weft.cluster.bringup.stages.logins import ALL_PAIRS_UP_TO, blamed, partners_of
from weft.cluster.bringup.stages.names import ARPHRD_INFINIBAND, agree_on_interface, fastest
from weft.cluster.bringup.stages.packages import commands, wrapper_of
from weft.cluster.hostfiles import hostfiles
from weft.cluster.remote import Ssh, SshResult


def cluster_of(facts: Mapping[str, Facts]) -> Cluster:
    return Cluster("t", Path("/nowhere"), Ssh(), tuple(facts), facts=dict(facts))


def test_an_older_c_library_than_the_first_host_has_is_doubtful() -> None:
    newer = facts_of(os="Ubuntu 24.04", libc="glibc 2.39")
    musl = facts_of(os="Alpine", libc="musl libc (x86_64)")
    facts = {"a": facts_of(), "b": newer, "c": facts_of(libc="glibc 2.28"), "d": musl}
    went = agree_on_account(cluster_of(facts), ("a", "b", "c", "d"))
    assert [went[host].state.value for host in "abcd"] == ["right", "right", "doubtful", "doubtful"]
    assert went["b"].note == "Ubuntu 24.04, glibc 2.39"
    assert "glibc 2.28" in went["c"].note
    assert "first host Debian GNU/Linux 12 (bookworm), glibc 2.36" in went["c"].note
    assert went["c"].remedy


def test_another_user_home_or_machine_is_named() -> None:
    facts = {"a": facts_of(), "b": facts_of(), "c": facts_of(user="bob", home="/home/bob")}
    went = agree_on_account(cluster_of(facts), ("a", "b", "c"))
    assert went["c"].state is StageState.FAILED
    assert went["c"].note == (
        "its user is bob, elsewhere it is ann; its home is /home/bob, elsewhere it is /home/ann"
    )


IB = {"ib0": ARPHRD_INFINIBAND, "hsn0": 1, "eth0": 1}
ADDRESSES = tuple((name, "10.1.0.1/16") for name in IB)


@pytest.mark.parametrize(
    ("links", "chosen"),
    [
        (IB, "ib0"),
        (IB | {"ib0": None}, "hsn0"),
        ({"eth0": 1}, None),
        (IB | {"ib0": 1}, "hsn0"),
        ({**IB, "ibs9": ARPHRD_INFINIBAND, "ib0": None}, "hsn0"),
    ],
)
def test_infiniband_before_slingshot_before_what_ssh_came_by(
    links: dict[str, int | None], chosen: str | None
) -> None:
    assert fastest([facts_of(links=links, addresses=ADDRESSES)] * 3) == chosen


def test_a_fast_interface_that_few_hosts_have_is_not_chosen() -> None:
    plain, fast = facts_of(), facts_of(links=IB, addresses=ADDRESSES)
    assert fastest([fast, plain]) is None
    assert fastest([fast, fast, plain]) == "ib0"
    facts = {"a": fast, "b": fast, "c": plain}
    went = agree_on_interface(cluster_of(facts), ("a", "b", "c"))
    assert went["c"].state is StageState.FAILED
    assert "no interface ib0" in went["c"].note
    assert "eth0" in went["c"].remedy
    went = agree_on_interface(cluster_of(facts), ("a", "b", "c"), asked="eth0")
    assert {one.state for one in went.values()} == {StageState.RIGHT}


def test_hosts_that_tell_no_interface_or_another_are_reported_what_mends_it() -> None:
    facts = {"a": facts_of(addresses=()), "b": facts_of(server="192.0.2.1")}
    went = agree_on_interface(cluster_of(facts), ("a", "b"))
    assert went["a"].note == "its list of interfaces is empty"
    assert "iproute2" in went["a"].remedy
    assert went["b"].note == "ssh came by none of its addresses"
    assert went["b"].remedy == "it has eth0, lo: name one with --interface"
    assert (
        agree_on_interface(cluster_of(facts), ("b",), asked="eth0")["b"].state is StageState.RIGHT
    )


@pytest.mark.parametrize("said", [("why", ""), ("", "what to do")])
def test_no_failure_is_without_cause_and_remedy(said: tuple[str, str]) -> None:
    with pytest.raises(AssertionError):
        Outcome(StageState.FAILED, *said)
    assert unanswered(SshResult(None, "", "late")).note == "late"
    assert unanswered(SshResult(1, "", "")).remedy


def test_a_few_hosts_log_in_to_all_others() -> None:
    hosts = [f"n{i}" for i in range(ALL_PAIRS_UP_TO)]
    assert all({*partners_of(hosts)[host], host} == {*hosts} for host in hosts)


@given(st.integers(ALL_PAIRS_UP_TO + 1, 300))
def test_many_hosts_log_in_round_a_ring_and_to_some_others(n: int) -> None:
    hosts = [f"n{i}" for i in range(n)]
    partners = partners_of(hosts)
    for i, host in enumerate(hosts):
        assert hosts[(i + 1) % n] in partners[host]
        assert host not in partners[host]
        assert len({*partners[host]}) == len(partners[host]) == 6


def test_one_host_is_blamed_for_all_of_its_bad_logins() -> None:
    bad = {("a", "c"): "x", ("b", "c"): "y", ("c", "a"): "z", ("d", "e"): "w"}
    assert blamed(bad) == {"c": ("a", "c"), "d": ("d", "e")}


APT = "apt-get -q -y -o DPkg::Lock::Timeout=120 --no-install-recommends install"
UPDATE = "apt-get -q -o DPkg::Lock::Timeout=120 update"


@pytest.mark.parametrize(
    ("os_id", "uid", "product", "said"),
    [
        (
            ("debian",), 1000, "openmpi",
            [f"sudo -n {UPDATE}", f"sudo -n {APT} openmpi-bin libopenmpi-dev gcc libc6-dev"],
        ),
        (("ubuntu", "debian"), 0, "mpich", [UPDATE, f"{APT} mpich libmpich-dev gcc libc6-dev"]),
        (
            ("rocky", "rhel", "centos", "fedora"), 1000, "openmpi",
            ["sudo -n dnf -q -y install openmpi openmpi-devel gcc"],
        ),
        (("rhel", "fedora"), 0, "mpich", ["dnf -q -y install mpich mpich-devel gcc"]),
    ],
)  # fmt: skip
def test_what_installs_an_mpi(
    os_id: tuple[str, ...], uid: int, product: str, said: list[str]
) -> None:
    facts = facts_of(os_id=os_id, uid=uid)
    assert [" ".join(command) for command in commands(facts, product)] == said
    assert wrapper_of(facts, product)


def test_of_other_distributions_no_packages_are_known() -> None:
    assert wrapper_of(facts_of(os_id=("arch",)), "openmpi") is None


def test_lists_of_hosts_for_other_tools() -> None:
    assert hostfiles({"a": 2, "b": 1}) == {
        "hosts": "a\nb\n",
        "openmpi.hostfile": "a slots=2\nb slots=1\n",
        "hydra.machinefile": "a:2\nb:1\n",
        "openmpi.rankfile": "rank 0=a slot=0\nrank 1=a slot=1\nrank 2=b slot=0\n",
    }
