"""Ways that share a load, held against others of their kind.

Under adaptive routing messages get into each other's way, and more so where a schedule happens to
send them closer together: a leaf's cables may deliver a few percent less than another's, again and
again, with nothing broken. Such an accusation stands only where it stands out of its kind.
"""

import numpy as np

from weft.diagnose.check.measured.components import PARTS, Part
from weft.diagnose.check.measured.readings import Bools, Floats, Metric
from weft.diagnose.check.suspects.crowded import LEAST_PEERS
from weft.diagnose.check.suspects.explain import Suspect
from weft.diagnose.check.suspects.survey import Survey
from weft.diagnose.check.thresholds import Thresholds
from weft.stats.spread import robust_sigma


def shares_load(survey: Survey, suspect: Suspect) -> bool:
    """Whether the accused are ways among which adaptive routing chooses."""
    parts = {PARTS[part] for c in suspect.candidates for part, _ in survey.candidates.members[c]}
    inner = parts <= {Part.CABLE, Part.DIRECTION, Part.SWITCH}
    return survey.crossings.adaptive and inner


def stands_out(survey: Survey, suspect: Suspect, limits: Thresholds) -> bool:
    """Whether a suspect is slower than its peers by more than these differ among themselves."""
    together = np.ones(len(survey.readings), np.bool_)
    together[survey.alone] = False
    for metric in suspect.slower:
        judged = together & (survey.normed.norm >= 0)
        judged &= survey.readings.metric == metric.code
        peers = _middles(survey, suspect.best, judged)
        own = _middle(survey, suspect.best, judged)
        if own is None or peers.size < LEAST_PEERS:
            continue
        spread = max(robust_sigma(peers), limits.scale_floor)
        if own - float(np.median(peers)) >= limits.peer_sigma * spread:
            return True
        if metric is not Metric.LATENCY:
            return False
    return True


def _middles(survey: Survey, best: int, judged: Bools) -> Floats:
    """Middles of the other candidates of the same kind that hold as many components."""
    members = survey.candidates.members
    part, size = members[best][0][0], len(members[best])
    found = [
        _middle(survey, candidate, judged)
        for candidate, of in enumerate(members)
        if candidate != best and of[0][0] == part and 2 * len(of) > size and len(of) < 2 * size
    ]
    return np.array([middle for middle in found if middle is not None])


def _middle(survey: Survey, candidate: int, judged: Bools) -> float | None:
    rows = survey.candidates.rows(candidate)
    rows = rows[judged[rows]]
    return float(np.median(survey.normed.slower[rows])) if rows.size else None
