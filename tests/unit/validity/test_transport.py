"""Whether the messages crossed the fabric: refused, unproved, or said to be no fabric at all."""

from dataclasses import replace

import pytest

from weft.bench.model import State
from weft.core.finding import Severity
from weft.validity.validity import findings

from .conftest import MB, infiniband, launch, of

PAST = {
    "device_bytes": {"eth0": 500 * MB, "lo": 900 * MB, "mlx5_0:1": 4000},
    "carried_bytes": {"fabric": 4000, "elsewhere": 500 * MB},
    "fast_devices": [infiniband(n_bytes=4000)],
}


def refused(**evidence):
    samples = [replace(one, state=State.NOT_ON_FABRIC) for one in launch(**(PAST | evidence))]
    validity = findings(samples)
    assert validity.refusal is not None
    return validity.refusal


NAMED = {
    "devices": ["eth1"], "bytes": 2 * MB, "other": "eth0", "other_bytes": 300 * MB,
    "sent_bytes": 100 * MB, "n_missed": 1, "missed": ["n2"],
}  # fmt: skip


def test_a_run_past_the_interface_that_was_named_says_which_one_carried_it():
    said = refused(fast_devices=[], device_bytes={"eth0": 300 * MB}, named=NAMED)
    assert said.sentence.startswith("The messages did not cross eth1, which was named")
    assert said.evidence[0] == "eth0 carried 300 MB, eth1 2 MB; the ranks sent at least 100 MB"
    assert said.facts.rails == ("eth1",)


def test_a_fast_device_that_was_named_is_mended_as_any_fast_device():
    said = refused(named=NAMED | {"devices": ["mlx5_0:1"]})
    assert "fast network" in said.sentence


def test_hosts_past_the_interface_that_the_others_kept_to_are_named(judged):
    (finding,) = [one for one in judged(named=NAMED).warnings if "named" in one.sentence]
    assert finding.sentence == "1 host did not mostly use eth1, which was named: n2."
    assert finding.severity is Severity.WARNING


def test_a_run_on_the_fabric_is_refused_nothing(judged):
    validity = judged()
    assert validity.refusal is None
    assert validity.warnings == ()


def test_a_run_past_the_fabric_says_what_carried_it_and_what_should_have():
    said = " | ".join(refused().evidence)
    assert "eth0 carried 500 MB, mlx5_0:1 (InfiniBand, ACTIVE) 4 kB" in said
    assert "ch4:ucx" in said


def test_the_next_command_names_hosts_and_devices_that_are_up():
    fast = [infiniband("mlx5_0:1", "DOWN", n_bytes=0), infiniband("mlx5_1:1", n_bytes=0)]
    refusal = refused(fast_devices=fast)
    assert refusal.next_command == "weft check --hosts 'n[1-2]' --rails mlx5_1:1"
    assert (refusal.facts.hosts, refusal.facts.rails) == (("n1", "n2"), ("mlx5_1:1",))
    down = [infiniband("mlx5_0:1", "DOWN", n_bytes=0)]
    assert refused(fast_devices=down).next_command is None


@pytest.mark.parametrize(
    ("library", "selected", "device", "layer", "words"),
    [
        ("MPICH Version: 5.0.2", "ch4:ucx", "mlx5_0:1", "InfiniBand", "UCX_NET_DEVICES=mlx5_0:1,"),
        ("Open MPI v4.1.4", "pml/ob1 btl/tcp", "mlx5_0:1", "InfiniBand", "OMPI_MCA_pml=ucx"),
        ("Open MPI v4.1.4", "pml/ob1 btl/tcp", "cxi0", "Slingshot", "FI_CXI_DEVICE_NAME=cxi0"),
        ("MVAPICH2 Version: 2.3.7", "", "mlx5_0:1", "InfiniBand", "MV2_IBA_HCA=mlx5_0;"),
        ("CRAY MPICH version 8.1", "ch4:ofi", "cxi0", "Slingshot", "FI_PROVIDER=cxi"),
        ("an MPI nobody knows", "", "mlx5_0:1", "InfiniBand", "UCX_NET_DEVICES=mlx5_0:1"),
    ],
)
def test_the_way_to_mend_it_is_that_of_library_and_fabric(library, selected, device, layer, words):
    fast = infiniband(device, n_bytes=4000) | {"link_layer": layer}
    finding = refused(mpi_library=library, mpi_selected=[selected], fast_devices=[fast])
    mend = finding.evidence[-1]
    assert mend.startswith(f"to mend: --rails {device} (or ")
    assert words in mend.replace(")", ";")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"UCX_TLS": ["tcp,self"]}, "UCX_TLS=tcp,self leaves out every transport of an adapter"),
        ({"FI_PROVIDER": ["tcp"]}, "FI_PROVIDER=tcp is no provider of a fast network"),
        ({"OMPI_MCA_pml": ["ob1"]}, "OMPI_MCA_pml=ob1 leaves out UCX and libfabric"),
    ],
)
def test_a_setting_in_the_way_is_named(settings, words):
    assert words in refused(rail_settings=settings).evidence


@pytest.mark.parametrize(
    "settings",
    [{"UCX_TLS": ["rc,self"]}, {"UCX_TLS": ["^tcp"]}, {"FI_PROVIDER": ["verbs;ofi_rxm"]}],
)
def test_a_setting_that_allows_the_fabric_is_not_blamed(settings):
    assert not [line for line in refused(rail_settings=settings).evidence if "=" in line[:15]]


def test_a_link_that_is_down_is_to_be_brought_up_first():
    down = infiniband("mlx5_0:1", "DOWN", n_bytes=0)
    assert "bring the link up, mlx5_0:1 is DOWN" in refused(fast_devices=[down]).evidence[-1]


def test_only_links_that_are_up_are_proposed():
    fast = [infiniband("mlx5_0:1", "DOWN", n_bytes=0), infiniband("mlx5_1:1", n_bytes=0)]
    assert "--rails mlx5_1:1 " in refused(fast_devices=fast).evidence[-1]


OFF = {
    "n_hosts": 3,
    "hosts": [
        {"host": "n7", "carried_by": "eth0", "fast": {"mlx5_0:1": "DOWN"}},
        {"host": "n9", "carried_by": "eth0", "fast": {}},
    ],
}


def test_hosts_past_the_fabric_that_the_others_used_are_named(judged):
    finding = of(judged(hosts=40, off_fabric=OFF), "off-fabric-hosts")
    assert finding.severity is Severity.WARNING
    assert finding.sentence == "3 hosts of 40 did not use the fast network: n7, n9 and 1 more."
    assert finding.evidence[:2] == (
        "n7: eth0 carried its bytes; mlx5_0:1 DOWN",
        "n9: eth0 carried its bytes; it shows no mlx5_0:1",
    )
    assert judged(hosts=40, off_fabric=OFF).refusal is None


def test_counters_that_count_less_than_was_sent_prove_nothing(judged):
    # 20 messages of 1 MB were sent: at least 20 MB must have left somewhere.
    carried = {"fabric": 3 * MB, "elsewhere": MB}
    finding = of(judged(carried_bytes=carried), "unproved")
    assert finding.severity is Severity.WARNING
    assert "counted 4 MB; the ranks sent at least 20 MB" in finding.evidence[0]
    assert judged(carried_bytes=carried).refusal is None


def test_an_adapter_held_open_whose_counters_cannot_be_read_is_said(judged):
    validity = judged(
        device_bytes={"eth0": 300 * MB},
        carried_bytes={"fabric": 0, "elsewhere": 300 * MB},
        fast_devices=[],
        open_devices=["/dev/infiniband/uverbs0"],
    )
    finding = of(validity, "unproved")
    assert any("/dev/infiniband/uverbs0 open" in line for line in finding.evidence)
    assert finding.evidence[-1].startswith("to mend: ")
    assert of(validity, "other-network") is None


def test_ports_that_carry_rdma_over_ethernet_are_counted(judged):
    validity = judged(
        device_bytes={"eth0": 9 * MB, "mlx5_0:1": 300 * MB},
        carried_bytes={"fabric": 0, "elsewhere": 309 * MB},
        fast_devices=[],
        open_devices=["/dev/infiniband/uverbs0"],
    )
    assert validity.findings == ()
    assert validity.caveats[0].startswith("mlx5_0:1 was measured")


def test_a_network_without_fast_devices_is_named_and_no_reproach(judged):
    validity = judged(
        device_bytes={"eth0": 300 * MB},
        carried_bytes={"fabric": 0, "elsewhere": 300 * MB},
        fast_devices=[],
    )
    assert validity.findings == ()
    assert validity.caveats[0].startswith("eth0 was measured")


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        ({"hosts": 1, "machines": 1}, "all ranks ran on one host: they measured its memory"),
        ({"hosts": 4, "machines": 1}, "the 4 hosts are one machine (containers)"),
    ],
)
def test_one_machine_proves_nothing_about_a_network(judged, evidence, words):
    nothing = {"carried_bytes": {"fabric": 0, "elsewhere": 0}, "fast_devices": []}
    validity = judged(**nothing, **evidence)
    assert validity.findings == ()
    (caveat,) = validity.caveats
    assert caveat.startswith(words)
    assert of(validity, "no-network").next_command == "weft check --hosts NODESET"


def test_hosts_whose_machines_are_not_reported_are_taken_for_several(judged):
    assert judged(machines=None).warnings == ()
