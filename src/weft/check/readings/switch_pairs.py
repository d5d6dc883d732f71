"""Latencies between the HCAs of two switches, as one candidate."""

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_matrix

from weft.check.readings.candidates import Family
from weft.check.readings.components import PARTS, Part
from weft.check.readings.readings import Ints, Metric

if TYPE_CHECKING:
    from weft.check.readings.crossing import Crossings


def switch_pair_family(crossings: "Crossings") -> Family:
    """Latencies between two switches: where these are cabled otherwise than known, all of them are
    higher. At either switch `switch_pair_hcas` HCAs must have been measured with the other one:
    between two nodes and two others, slow nodes look alike."""
    readings, network = crossings.readings, crossings.fabric
    switch = crossings.switch
    hcas = np.stack([crossings.hca_number[readings.a], crossings.hca_number[readings.b]])
    ends = np.stack([switch[readings.a], switch[readings.b]])
    order = np.argsort(ends, axis=0)
    hcas, ends = (np.take_along_axis(of, order, axis=0) for of in (hcas, ends))
    between = (ends[0] >= 0) & (ends[0] < ends[1]) & (ends[1] < network.n_switches)
    rows = np.flatnonzero(between & (readings.metric == Metric.LATENCY.code))
    pairs, column = np.unique(
        ends[0, rows] * network.n_switches + ends[1, rows], return_inverse=True
    )
    column = column.reshape(-1)
    fewest = np.min([_distinct(column, of[rows], pairs.size) for of in hcas], axis=0)
    kept = fewest[column] >= crossings.limits.switch_pair_hcas
    shape = (len(readings), pairs.size)
    crossed = coo_matrix((np.ones(int(kept.sum())), (rows[kept], column[kept])), shape=shape)
    number = PARTS.index(Part.SWITCH_PAIR)
    return (crossed.tocsc(), [[(number, pair)] for pair in pairs.tolist()])


def _distinct(group: Ints, values: Ints, n_groups: int) -> Ints:
    """By group how many distinct values it has."""
    found = np.unique(np.stack([group, values]), axis=1)
    return np.bincount(found[0], minlength=n_groups)
