"""The whole: order, silence where there is nothing to say, and damaged evidence."""

from dataclasses import replace

import pytest

from weft.bench.model import State
from weft.core.errors import InputError
from weft.core.finding import Severity
from weft.validity.remedies import remedies
from weft.validity.validity import findings

from .conftest import launch


def test_without_samples_or_evidence_nothing_is_said():
    bare = [replace(one, evidence={}) for one in launch()]
    foreign = [replace(one, evidence={"transport": "mock"}) for one in launch()]
    for samples in ([], bare, foreign):
        validity = findings(samples)
        assert (validity.refusal, validity.warnings) == (None, ())


def test_bytes_elsewhere_weigh_more_than_crowded_ranks():
    samples = [
        replace(one, state=State.NOT_ON_FABRIC, flags=("oversubscribed",)) for one in launch()
    ]
    assert findings(samples).refusal.facts.validity == "not-on-fabric"
    bare = [replace(one, evidence={}) for one in samples]
    assert findings(bare).refusal.evidence == (
        "a fast device exists and its counters did not move",
    )


def test_warnings_come_before_notes(judged):
    clock = {"resolution_ns": 1, "cost_ns": 4000}
    validity = judged(hosts=1, machines=1, clock=clock)
    assert [one.severity for one in validity.warnings] == [Severity.WARNING, Severity.NOTE]
    assert len(validity.findings) == len(validity.caveats) == 1


def test_every_refusal_and_warning_says_how_to_mend_it():
    from .test_background_traffic import job, moved, quiet
    from .test_binding import CROWDED, FAR
    from .test_transport import OFF

    samples = launch(
        off_fabric=OFF, carried_bytes={"fabric": 0, "elsewhere": 0}, far_ranks=FAR,
        quiet=quiet(moved(0.5)), device_errors={"n1 mlx5_0:1 link_downed": 2},
        neighbours={"jobs": [job(nodes=["n1"])]}, clock={"resolution_ns": 4000, "cost_ns": 9},
        crowded_cpus=CROWDED,
    )  # fmt: skip
    validity = findings([replace(one, flags=("oversubscribed",)) for one in samples])
    assert len(validity.findings) == 7
    for finding in (validity.refusal, *validity.findings):
        assert finding.evidence[-1].startswith("to mend: "), finding


@pytest.mark.parametrize(
    "damage",
    [{"hosts": "many"}, {"quiet": 3}, {"crowded_cpus": {"n_ranks": 1}}, {"device_errors": ["x"]}],
)
def test_damaged_evidence_is_named_with_launch_and_key(judged, damage):
    with pytest.raises(InputError, match="evidence") as caught:
        judged(**damage)
    assert "sample of t1, repeat 1" in str(caught.value)
    assert next(iter(damage)) in str(caught.value)


def test_every_remedy_has_a_source():
    shipped = remedies()
    every = [*shipped.transport, *shipped.setting, *shipped.error]
    assert all(len(one.source) > 10 for one in every)
