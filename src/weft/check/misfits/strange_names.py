"""Hosts that go by another name when suspects are measured again than they did in the survey."""

from collections import defaultdict
from collections.abc import Sequence

from weft.bench.model import Sample
from weft.check.readings.readings import host_of
from weft.check.trials import ALONE, SURVEY, TOGETHER
from weft.core.words import counted


def with_known_names(samples: Sequence[Sample]) -> tuple[list[Sample], tuple[str, ...]]:
    """The samples without those of a later launch whose names are not the survey's, and a sentence
    if there are such: a name that the survey lacks, or that two hosts have."""
    known = {end for one in samples if one.trial == SURVEY for end in _ends(one)}
    strange: dict[str, set[str]] = defaultdict(set)
    for trial in (ALONE, TOGETHER) if known else ():
        of_trial = [one for one in samples if one.trial == trial]
        strange[trial] = ({end for one in of_trial for end in _ends(one)} - known) | _shared(
            of_trial
        )
    kept = [one for one in samples if not strange[one.trial].intersection(_ends(one))]
    n_left_out = len(samples) - len(kept)
    if not n_left_out:
        return kept, ()
    names = sorted({host_of(end) for ends in strange.values() for end in ends})
    return kept, (
        f"{counted(n_left_out, 'sample')} of suspects measured again are left out: the survey has"
        f" no host '{names[0]}', or two hosts have that name. Give each host one name (`hostname`)",
    )


def _ends(sample: Sample) -> tuple[str, ...]:
    return () if sample.pair is None else (sample.pair.a, sample.pair.b)


def _shared(samples: Sequence[Sample]) -> set[str]:
    """Endpoints that are in several pairs of one round at a time: one rank cannot be."""
    partners = defaultdict(set)
    for one in samples:
        if one.pair is not None:
            at = (one.repeat, one.pair.round)
            partners[*at, one.pair.a].add(one.pair.b)
            partners[*at, one.pair.b].add(one.pair.a)
    return {end for (*_, end), others in partners.items() if len(others) > 1 or end in others}
