"""Max-min fair rates of flows that share cables.

The engine's flow level runs scenarios with messages and times on generated fabrics; this is one set
of endless flows on the paths of a real fabric's tables, which no scenario describes.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def fair_rates_gbps(
    paths: Sequence[Sequence[int]], capacity_gbps: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The rate of each flow in Gb/s: that of the bottlenecks on its path, fullest first.

    `paths`: by flow the indices of the cable directions that it crosses; `capacity_gbps` of each.
    A flow over no cable has an infinite rate. SOURCE: Bertsekas and Gallager, Data Networks, 1992,
    6.5.2.
    """
    n_flows = len(paths)
    rates = np.full(n_flows, np.inf)
    flow = np.repeat(np.arange(n_flows), [len(path) for path in paths])
    cable = np.array([at for path in paths for at in path], dtype=np.int64)
    left = capacity_gbps.astype(np.float64)
    is_open = np.ones(n_flows, dtype=bool)
    is_open[[at for at, path in enumerate(paths) if not path]] = False
    while is_open.any():
        # INVARIANT: each turn fixes all flows of the fullest cable, so there are at most as many
        # turns as cables.
        of_open = is_open[flow]
        n_open = np.bincount(cable[of_open], minlength=len(left))
        share = np.full(len(left), np.inf)
        np.divide(left, n_open, out=share, where=n_open > 0)
        least = share.min()
        full = np.isclose(share, least, rtol=1e-12, atol=0.0)
        fixed = np.unique(flow[of_open & full[cable]])
        rates[fixed] = least
        is_open[fixed] = False
        taken = np.bincount(cable[np.isin(flow, fixed)], minlength=len(left))
        left = np.maximum(left - taken * least, 0.0)
    return rates
