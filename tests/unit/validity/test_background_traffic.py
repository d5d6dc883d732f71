"""Traffic before the test, errors during it, and jobs beside it."""

import pytest

from weft.core.finding import Severity
from weft.validity.validity import findings

from .conftest import launch, of


def moved(share, mb_s=1250.0, host="n1", counter="port_rcv_data"):
    return {
        "host": host, "device": "mlx5_0:1", "counter": counter, "mb_s": mb_s, "link_share": share,
    }  # fmt: skip


def quiet(*entries):
    return {"seconds": 0.3, "n_moved": len(entries), "moved": list(entries)}


def test_traffic_before_the_test_is_reported_with_host_device_and_share(judged):
    busy = [moved(0.19, 4750.0, "n17"), moved(0.08, 2000.0, "n3", "port_xmit_data"), moved(0.01)]
    finding = of(judged(quiet=quiet(*busy)), "not-quiet")
    assert finding.severity is Severity.WARNING
    assert finding.sentence == (
        "The network was not quiet before the test: mlx5_0:1 of n17 received 4,750 MB/s (19% of"
        " its link) while weft sent nothing."
    )
    assert finding.evidence[0] == "mlx5_0:1 of n3 sent 2,000 MB/s (8% of its link)"
    assert finding.facts.hosts == ("n17", "n3")
    assert "squeue -w n17" in finding.evidence[-1]


@pytest.mark.parametrize(
    "entries",
    [
        pytest.param((), id="nothing moved"),
        pytest.param((moved(0.049),), id="under a twentieth of the link"),
        pytest.param((moved(None, 99.0),), id="little on a link of unknown rate"),
    ],
)
def test_a_quiet_network_is_no_finding(judged, entries):
    assert judged(quiet=quiet(*entries)).warnings == ()


def test_one_host_needs_no_quiet_network(judged):
    assert judged(hosts=1, machines=1, quiet=quiet(moved(0.9))).findings == ()


def test_much_on_a_link_of_unknown_rate_is_traffic(judged):
    assert of(judged(quiet=quiet(moved(None, 100.0))), "not-quiet") is not None


def test_errors_that_grew_are_named_gravest_first_with_what_to_do(judged):
    errors = {
        "n3 mlx5_0:1 symbol_error": 40,
        "n9 mlx5_1:1 link_downed": 1,
        "n9 mlx5_1:1 port_xmit_wait": 90_000,
    }
    finding = of(judged(device_errors=errors), "errors")
    assert finding.sentence.startswith(
        "Errors were counted during the run: mlx5_1:1 of n9: link_downed +1, the link went down"
    )
    assert finding.evidence[0].startswith("mlx5_0:1 of n3: symbol_error +40")
    assert finding.evidence[-1] == (
        "to mend: mlx5_1:1 of n9: reseat or replace the cable of this port"
    )
    assert finding.facts.hosts == ("n9", "n3")


@pytest.mark.parametrize(
    "errors",
    [
        pytest.param({"n1 mlx5_0:1 port_xmit_wait": 10**9}, id="waiting for credit is no error"),
        pytest.param({"n1 mlx5_0:1 out_of_sequence": 500}, id="adaptive routing reorders"),
        pytest.param({"n1 mlx5_0:1 symbol_error": 9}, id="fewer than are told"),
    ],
)
def test_counters_that_are_no_errors_are_no_finding(judged, errors):
    assert judged(device_errors=errors).warnings == ()


def test_errors_of_several_launches_add_up():
    from dataclasses import replace

    first = launch(device_errors={"n1 mlx5_0:1 symbol_error": 6})
    again = [replace(one, repeat=2) for one in first]
    assert of(findings(first), "errors") is None
    assert "+12" in of(findings([*first, *again]), "errors").sentence


def job(**fields):
    return {"id": "77", "user": "ada", "nodes": [], "switches": []} | fields


def test_a_job_on_the_nodes_under_test_is_a_warning(judged):
    jobs = [job(nodes=["n1", "n2"]), job(id="78", switches=["leaf1"])]
    validity = judged(neighbours={"jobs": jobs, "n_jobs": 2})
    finding = of(validity, "neighbours")
    assert finding.sentence == (
        "1 job of others shared the nodes under test: job 77 of ada on n1, n2."
    )
    assert of(validity, "neighbours-on-switches").severity is Severity.NOTE
    assert "job 78 of ada behind leaf1" in validity.caveats[0]


def test_no_job_next_to_ours_is_no_finding(judged):
    assert judged(neighbours={"jobs": [], "n_jobs": 0}).warnings == ()


def test_a_scheduler_that_did_not_answer_is_a_caveat(judged):
    validity = judged(neighbours={"not_known": "squeue did not answer in 10 s"})
    assert validity.findings == ()
    assert validity.caveats == (
        "weft does not know whether other jobs ran during the test: squeue did not answer in 10 s",
    )
