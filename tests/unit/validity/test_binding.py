"""Ranks that share a CPU, and ranks far from their device."""

from dataclasses import replace

from weft.core.finding import Severity
from weft.validity.validity import findings

from .conftest import launch, of

CROWDED = {
    "n_ranks": 8, "n_hosts": 2, "host": "n1", "cpus": "0", "n_cpus": 1, "n_sharing_cpus": 4,
    "n_machine_cpus": 64,
}  # fmt: skip
FAR = {
    "n_ranks": 2, "n_hosts": 2, "host": "n1", "rail": None, "cpus": "0-15",
    "cpu_numa_nodes": [0], "device_numa_nodes": [1],
}  # fmt: skip


def test_ranks_that_take_turns_on_a_cpu_support_no_verdict():
    flagged = [replace(one, flags=("oversubscribed",)) for one in launch(crowded_cpus=CROWDED)]
    refusal = findings(flagged).refusal
    assert refusal.sentence.startswith("8 ranks on 2 hosts took turns on too few CPUs")
    assert refusal.evidence[0] == "n1: 4 ranks may use no CPU but 0, of 64 that the machine has"
    assert refusal.evidence[-1].startswith("to mend: unbind")


def test_ranks_that_share_a_cpu_and_were_measured_in_turns_do_no_harm(judged):
    validity = judged(crowded_cpus=CROWDED)
    assert (validity.refusal, validity.warnings) == (None, ())


def test_more_ranks_than_cpus_support_no_verdict():
    flagged = [replace(one, flags=("oversubscribed",)) for one in launch()]
    refusal = findings(flagged).refusal
    assert refusal.facts.validity == "oversubscribed"
    assert refusal.evidence[-1].startswith("to mend: ")


def test_ranks_far_from_their_device_are_a_warning(judged):
    finding = of(judged(far_ranks=FAR), "far-ranks")
    assert finding.severity is Severity.WARNING
    assert finding.evidence[0] == (
        "n1: a rank on CPUs 0-15 (NUMA node 0), the device that carried its bytes on node 1"
    )
    assert finding.evidence[-1] == ("to mend: --rails mlx5_0:1 binds each rank next to its device")


def test_on_one_host_no_device_is_far(judged):
    assert judged(hosts=1, machines=1, far_ranks=FAR).findings == ()


def test_with_rails_it_is_the_cpus_that_are_missing(judged):
    finding = of(judged(far_ranks=FAR | {"rail": "mlx5_1:1"}), "far-ranks")
    assert "mlx5_1:1 on node 1" in finding.evidence[0]
    assert "allow weft the CPUs of NUMA node 1" in finding.evidence[-1]
