"""NCCL's devices in the fabric: by name, by GUID, or refused; never by a guess."""

from pathlib import Path

import pytest
from tests.oracle.ibsim import Net

from weft.audit.channels.adapters import adapters_of, nic_names
from weft.audit.channels.job import NcclHop, NcclJob
from weft.core.errors import InputError
from weft.topology.subnet.subnet import Subnet


def subnet_of(folder: Path, *adapters: str, n_ports: int = 1) -> Subnet:
    """Adapters of these descriptions on one switch, with LIDs from 10 in their order."""
    net = Net()
    for name in adapters:
        net.add(name, "Ca", n_ports)
    net.add("leaf", "Switch", 40)
    sockets = [(name, port + 1) for name in adapters for port in range(n_ports)]
    for number, socket in enumerate(sockets, start=1):
        net.link(("leaf", number), socket)
    text = net.text()
    for number, (name, port) in enumerate(sockets, start=10):
        guid = net.nodes[name][2]
        here, there = f"[{port}]({guid:x})\t", '# "leaf" lid 0'
        at = text.index(here, text.index(f'"{net.id(name)}"\t'))
        text = text[:at] + text[at:].replace(there, f'# lid {number} lmc 0 "leaf" lid 1', 1)
    path = folder / "net"
    path.write_text(text)
    return Subnet.read([str(path)])


def job(*hosts: str, devices: dict[int, str], net: int = 0) -> NcclJob:
    """One channel through all hosts, by one device of each."""
    n = len(hosts)
    hops = tuple(NcclHop(0, at, net, (at + 1) % n, net) for at in range(n))
    return NcclJob("log", "ring", n, 1, hosts, (devices,) * n, hops)


def names(subnet: Subnet, hosts: NcclJob, *nics: str) -> list[str]:
    found, _ = adapters_of(subnet, hosts, nic_names(nics))
    return [f"{subnet.name(one.node)}/{one.port}" for one in found.values()]


def test_a_device_is_that_of_its_name(tmp_path: Path) -> None:
    subnet = subnet_of(tmp_path, "a mlx5_0", "a mlx5_1", "b mlx5_1", "b mlx5_0")
    two = {0: "mlx5_0:1", 1: "mlx5_1:1"}
    assert names(subnet, job("a", "b", devices=two)) == ["a mlx5_0/1", "b mlx5_0/1"]
    assert names(subnet, job("a", "b", devices=two, net=1)) == ["a mlx5_1/1", "b mlx5_1/1"]


def test_the_only_device_of_a_host_with_one_adapter_is_that_and_it_says_so(tmp_path: Path) -> None:
    subnet = subnet_of(tmp_path, "a HCA-1", "b HCA-1")
    one = job("a", "b", devices={0: "mlx5_0:1"})
    assert names(subnet, one) == ["a HCA-1/1", "b HCA-1/1"]
    _, assumed = adapters_of(subnet, one, ())
    assert assumed == ("the only device of a, b is its only adapter here (--nic tells otherwise)",)


@pytest.mark.parametrize(
    ("adapters", "devices", "says"),
    [
        (["a HCA-1", "a HCA-2", "b HCA-1"], {0: "mlx5_0:1"}, "NET/0 of a is 'mlx5_0:1'"),
        (["a HCA-1", "b HCA-1"], {0: "mlx5_0:1", 1: "mlx5_1:1"}, "NET/0 of a is 'mlx5_0:1'"),
        (["a HCA-1", "b HCA-1"], {}, "no line tells which device NET/0 of a is"),
        (["a mlx5_0", "b mlx5_0"], {0: "mlx5_0:2", 1: "x"}, "NET/0 of a is 'mlx5_0:2'"),
    ],
)
def test_what_is_not_certain_is_refused_and_the_option_told(
    adapters: list[str], devices: dict[int, str], says: str, tmp_path: Path
) -> None:
    subnet = subnet_of(tmp_path, *adapters)
    with pytest.raises(InputError, match=says) as refused:
        adapters_of(subnet, job("a", "b", devices=devices), ())
    assert "--nic" in (refused.value.hint or "")
    assert names(subnet, job("a", "b", devices=devices), f"0={adapters[0][2:]}")


def test_an_option_for_some_hosts_goes_before_one_for_all(tmp_path: Path) -> None:
    subnet = subnet_of(tmp_path, "a HCA-1", "a HCA-2", "b HCA-1", "b HCA-2")
    found = names(subnet, job("a", "b", devices={}), "b:0=HCA-2", "0=HCA-1")
    assert found == ["a HCA-1/1", "b HCA-2/1"]


def test_a_guid_needs_no_name(tmp_path: Path) -> None:
    subnet = subnet_of(tmp_path, "x HCA-1", "b mlx5_0")
    guid = next(node.guid for node in subnet.nodes if node.description == "x HCA-1")
    found = names(subnet, job("pod-1", "b", devices={0: "mlx5_0:1"}), f"pod-1:0={guid:#x}")
    assert found == ["x HCA-1/1", "b mlx5_0/1"]


def test_ports_of_one_adapter_are_told_apart(tmp_path: Path) -> None:
    subnet = subnet_of(tmp_path, "a mlx4_0", "b mlx4_0", n_ports=2)
    found = names(subnet, job("a", "b", devices={0: "mlx4_0:2"}))
    assert found == ["a mlx4_0/2", "b mlx4_0/2"]
    with pytest.raises(InputError, match="which the fabric does not name"):
        names(subnet, job("a", "b", devices={}), "0=mlx4_0")


def test_full_and_short_names_are_one_host_where_only_one_has_them(tmp_path: Path) -> None:
    subnet = subnet_of(tmp_path, "a.x.org mlx5_0", "b mlx5_0", "c.x.org mlx5_0", "c.y.org mlx5_0")
    one = {0: "mlx5_0:1"}
    assert names(subnet, job("a", "b.x.org", devices=one)) == ["a.x.org mlx5_0/1", "b mlx5_0/1"]
    for host in ("c", "a.z.org"):
        with pytest.raises(InputError, match=f"host '{host}' of the job is not in the fabric"):
            names(subnet, job(host, "b", devices=one))


def test_two_devices_are_not_one_port(tmp_path: Path) -> None:
    subnet = subnet_of(tmp_path, "a mlx5_0", "b mlx5_0")
    guid = next(node.guid for node in subnet.nodes if node.description == "a mlx5_0")
    with pytest.raises(InputError, match="NET/0 of a and NET/0 of b are one port"):
        names(subnet, job("a", "b", devices={0: "mlx5_0:1"}), f"b:0={guid:#x}")
