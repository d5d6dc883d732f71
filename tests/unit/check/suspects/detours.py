"""Messages of a healthy survey, taken for such as went around a cable."""
# mypy: disable-error-code="no-untyped-def"

import numpy as np
from tests.unit.check.conftest import Fabric, Tree
from tests.unit.check.documents import fabric_document

from weft.check.readings.components import Part
from weft.check.readings.readings import Metric
from weft.check.schedule.rounds.matchings import reflections
from weft.check.suspects.out_of_use.detour import Detour
from weft.check.suspects.out_of_use.unused_cables import Settled
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.trials import SURVEY, TOGETHER


class TwoCables(Tree):
    """Leaf 1 has two cables to spine 1; messages to the second half of the nodes take the other."""

    other = ("leaf-01[21]", "spine-01[21]")

    def __init__(self, *shape):
        super().__init__(*shape)
        self.links.append(self.other)
        switches = [switch["name"] for switch in self.document["switches"]]
        self.document = fabric_document(self.nodes, switches, self.links)

    def _path(self, a, b):
        path = super()._path(a, b)
        far = 2 * b >= len(self.nodes)
        return tuple(self.other[0] if far and port == "leaf-01[5]" else port for port in path)


def surveyed_twice():
    """A healthy survey of which each round came again once."""
    fabric = Fabric(TwoCables(4, 4, 4), noise=0.01)
    samples = fabric.all_pairs()
    rounds = [pairs.tolist() for pairs in reflections(16)]
    return survey_of([*samples, *fabric.measure(rounds, TOGETHER)], fabric.tree, thresholds())


def direction(survey, port):
    """The candidate of the messages that leave by a port."""
    number = survey.crossings.network.port_id[port]
    return survey.candidates.of_part(Part.DIRECTION)[number]


def detour(survey, port, *, n=4, again=4, evidence=100.0):
    """Messages that should leave by a port go around: `n` of the survey, and so many of the rounds
    that came again."""
    rows = survey.candidates.rows(direction(survey, port))
    rows = rows[survey.readings.metric[rows] == Metric.BANDWIDTH.code]
    seen = np.intersect1d(rows, survey.readings.of_trial(SURVEY))[:n]
    later = np.intersect1d(rows, survey.readings.of_trial(TOGETHER))[:again]
    cable = survey.crossings.network.port_id[port] // 2
    none = np.zeros(0, np.int64)
    slow = np.concatenate([seen, later])
    return Detour((cable,), slow, none, slow, 0.7, evidence)


def dead(*around):
    """The cables of detours as surely out of use."""
    return Settled(around, (), tuple(one.cables[0] for one in around))
