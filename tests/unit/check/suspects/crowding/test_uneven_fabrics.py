"""Paths of leaves that differ, and paths one behind the other."""
# mypy: disable-error-code="no-untyped-def"

import numpy as np
import pytest
from tests.unit.check.documents import fabric_document
from tests.unit.check.schedule.fields import field_of

from weft.bench.model import Pair, Sample
from weft.check.schedule.schedule import schedule_of
from weft.check.schedule.scheme import Scheme, SchemeKind
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds


def test_a_leaf_next_to_one_with_fewer_paths_is_named_by_all_of_its_own():
    """Eight leaves of six hosts and six spines, and a leaf of two hosts on two of the spines."""
    wiring = Uneven([6] * 8 + [2], [6] * 8 + [2])
    field = field_of(wiring, adaptive=True)
    rounds = schedule_of(Scheme(SchemeKind.FULL), field).rounds
    samples = [
        sample
        for number, pairs in enumerate(rounds)
        for a, b in pairs.tolist()
        for sample in slow_out_of(wiring, 1, number, a, b, pairs.tolist())
    ]
    survey = survey_of(samples, wiring, thresholds(), adaptive=True)
    (way,) = survey.crowded
    assert {f"leaf-01[{port}]" for port in range(101, 107)} <= ends_of(survey, way)


def ends_of(survey, path):
    return {
        end
        for candidate in path.suspect.candidates
        for member in survey.candidates.members[candidate]
        for end in survey.crossings.component(member).ends
    }


@pytest.mark.parametrize("both", [False, True])
def test_paths_one_behind_the_other_are_named_together(both):
    """A leaf, its own line board, and the spines behind it: what fills the one fills the other. A
    board between cables that are slow in both directions may be it, too."""
    wiring = Boards()
    rounds = schedule_of(Scheme(SchemeKind.FULL), field_of(wiring, adaptive=True)).rounds
    samples = [
        sample
        for number, pairs in enumerate(rounds)
        for a, b in pairs.tolist()
        for sample in slow_out_of(wiring, 1, number, a, b, pairs.tolist(), both=both)
    ]
    survey = survey_of(samples, wiring, thresholds(), adaptive=True)
    (way,) = survey.crowded
    ends = ends_of(survey, way)
    assert {f"leaf-01[{port}]" for port in range(101, 107)} <= ends
    assert {f"line-01[{port}]" for port in range(11, 17)} <= ends
    assert ("line-01" in ends) is both
    assert not any(end.startswith(("leaf-02", "line-02")) for end in ends)


class Uneven:
    """Hosts under leaves, each leaf with a cable to the first so many spines."""

    def __init__(self, hosts, ways):
        self.hosts, self.paths = hosts, ways
        self.under = [leaf for leaf, n in enumerate(hosts, 1) for _ in range(n)]
        self.nodes = tuple(f"n{i:03d}" for i in range(1, len(self.under) + 1))
        links = [
            (f"{node}/hca0[1]", f"leaf-{leaf:02d}[{i + 1}]")
            for i, (node, leaf) in enumerate(zip(self.nodes, self.under, strict=True))
        ]
        links += [
            (f"leaf-{leaf:02d}[{100 + spine}]", f"spine-{spine}[{leaf}]")
            for leaf, n in enumerate(ways, 1)
            for spine in range(1, n + 1)
        ]
        names = [f"leaf-{leaf:02d}" for leaf in range(1, len(hosts) + 1)]
        names += [f"spine-{spine}" for spine in range(1, max(ways) + 1)]
        self.document = fabric_document(self.nodes, names, links)

    def paths(self, pairs):
        raise AssertionError("no tables are asked for where switches choose")


class Boards(Uneven):
    """Eight leaves of six hosts, each with six cables to a board of its own, and these to six
    spines."""

    def __init__(self):
        super().__init__([6] * 8, [6] * 8)
        links = [(link["a"], link["b"]) for link in self.document["links"] if "hca" in link["a"]]
        numbers = [(leaf, way) for leaf in range(1, 9) for way in range(1, 7)]
        links += [(f"leaf-{leaf:02d}[{100 + i}]", f"line-{leaf:02d}[{i}]") for leaf, i in numbers]
        links += [(f"line-{leaf:02d}[{10 + i}]", f"spine-{i}[{leaf}]") for leaf, i in numbers]
        names = [f"{kind}-{leaf:02d}" for kind in ("leaf", "line") for leaf in range(1, 9)]
        names += [f"spine-{spine}" for spine in range(1, 7)]
        self.document = fabric_document(self.nodes, names, links)


def slow_out_of(wiring, leaf, number, a, b, pairs, *, both=False):
    """A pair's sample: what leaves a leaf whose six ways are all wanted is a fifth slower; with
    `both` what enters it, too."""
    noise = np.random.default_rng(number * 1000 + a)
    metrics = {}
    for name, one, other, flows in (
        ("bandwidth_ab_mb_s", a, b, pairs),
        ("bandwidth_ba_mb_s", b, a, [(y, x) for x, y in pairs]),
    ):
        out = [flow for flow in flows if wiring.under[flow[0]] == leaf != wiring.under[flow[1]]]
        into = [flow for flow in flows if wiring.under[flow[1]] == leaf != wiring.under[flow[0]]]
        full = [over for over in (out, into if both else []) if len(over) == 6]
        slow = any([one, other] == list(flow) for over in full for flow in over)
        metrics[name] = 24_000.0 * (0.8 if slow else 1.0) * float(np.exp(noise.normal(0, 0.01)))
    metrics["bandwidth_mb_s"] = min(metrics.values())
    pair = Pair(wiring.nodes[a], wiring.nodes[b], number, len(pairs))
    return [Sample("t001-survey", 1, "pairs", 2**20, metrics, 10, 0.0, pair=pair)]
