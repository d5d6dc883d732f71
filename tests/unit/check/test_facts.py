"""The values of a check's findings as the JSON that scripts read."""

import json

from tests.unit.check.accusations import facts_of, suspect

from weft.check.external_evidence.corroboration import FileStatements
from weft.check.facts import DisturbedReadings, PairFacts, SuspectComponent
from weft.check.readings.components import Component, Part
from weft.check.readings.readings import Metric
from weft.check.suspects.drift import MetricDrift, SlowStretch
from weft.check.verdict.earlier_check import MovedNorm, MovedNorms
from weft.check.verdict.intermittent import IntermittentFacts, StallPlaceFacts
from weft.check.verdict.lost_hosts import LostHostFacts

OWNERS = {"n007/hca0": "n007"}
RAIL = (Component(Part.RAIL, ("2",)),)


def json_of(facts):
    return json.loads(json.dumps(facts.to_record()))


def test_an_accusation_has_its_suspects_its_worst_count_and_all_counts():
    facts = facts_of(suspect("cable", "a[1]", "b[2]"), suspect("node", "n7", node="n7"))
    kind = "4 links apart at 200 Gb/s"
    count = {"metric": "bandwidth_mb_s", "hop_class": kind, "measured": 12_000.0}
    count |= {"expected": 24_750.0, "n": 41, "n_slow": 41, "n_others": 5599, "n_others_slow": 0}
    cable = {"part": "cable", "ends": ["a[1]", "b[2]"], "name": "cable a[1] - b[2]", "node": None}
    node = {"part": "node", "ends": ["n7"], "name": "node n7", "node": "n7"}
    found = json_of(facts)
    assert found == {
        "suspects": [cable, node],
        "tie": True,
        "standing": "confirmed",
        "metrics": ["bandwidth_mb_s"],
        "measured": 12_000.0,
        "expected": 24_750.0,
        "unit": "MB/s",
        "evidence": 20.0,
        "n_slow": 41,
        "n_crossing": 41,
        "pairs": [],
        "counts": [count],
    }
    assert list(found) == list(facts.to_record())


def test_a_suspect_belongs_to_the_node_that_it_is_or_that_holds_an_end_of_it():
    for part, ends, node in (
        (Part.NODE, ("n007",), "n007"),
        (Part.RANK, ("n007:3",), "n007"),
        (Part.HCA, ("n007/hca0",), "n007"),
        (Part.CABLE, ("leaf-02[3]", "n007/hca0[1]"), "n007"),
        (Part.CABLE, ("leaf-02[9]", "spine-01[2]"), None),
        (Part.SWITCH, ("leaf-02",), None),
    ):
        assert SuspectComponent.of(Component(part, ends), OWNERS).node == node


def test_the_other_facts_are_their_fields():
    for facts, record in (
        (PairFacts((("a", "b"),)), {"pairs": [["a", "b"]]}),
        (DisturbedReadings(3), {"disturbed": 3}),
        (
            FileStatements("error-rates", (("cable", ("a[1]", "b[1]")),)),
            {"rule": "error-rates", "things": [["cable", ["a[1]", "b[1]"]]]},
        ),
        (
            LostHostFacts("n1", "no route", "", surveyed=True),
            {"node": "n1", "cause": "no route", "remedy": "", "surveyed": True},
        ),
        (
            IntermittentFacts(RAIL, Metric.LATENCY, 3, 9, 12.5),
            {"ends": [["2"]], "metric": "latency_us", "n_slow": 3, "n_crossing": 9}
            | {"evidence": 12.5},
        ),
        (
            StallPlaceFacts(RAIL, 3, 9, 40, 12.5),
            {"ends": [["2"]], "n_pairs": 3, "n_crossing": 9, "n_readings": 40, "evidence": 12.5},
        ),
        (
            SlowStretch((2, 5), {Metric.LATENCY: 0.25}, 40.0),
            {"rounds": [2, 5], "slower": {"latency_us": 0.25}, "evidence": 40.0},
        ),
        (
            MetricDrift(Metric.LATENCY, 0.1, 1e-9),
            {"metric": "latency_us", "change": 0.1, "p": 1e-9},
        ),
        (
            MovedNorms((MovedNorm(Metric.LATENCY, "between hosts", 1.0, 2.0, 0.6931),)),
            {
                "moved": [
                    {"metric": "latency_us", "hop_class": "between hosts", "before": 1.0}
                    | {"now": 2.0, "slower": 0.6931}
                ]
            },
        ),
    ):
        assert json.dumps(facts.to_record()) == json.dumps(record)
