"""Two leaves of two nodes under two spines, and readings between the nodes."""
# mypy: disable-error-code="no-untyped-def"

from benches.check_kinds import Planted, cable

from weft.bench.model import Pair, Sample
from weft.check.readings.crossing import Crossings
from weft.check.readings.network import Network
from weft.check.readings.readings import readings_of

UP = cable("leaf-1[3]", "spine-1[1]")
OTHER = cable("leaf-1[4]", "spine-2[1]")
UPLINK = Planted("uplink-slow", "leaf-1[3] rate=0.5", frozenset({UP}))
NODE = Planted("node-slow", "n1 slow=2", frozenset({("node", ("n1",))}), node="n1")


class Wiring:
    """Two leaves of two nodes, two spines; a message takes the spine of its target's number."""

    nodes = ("n1", "n2", "n3", "n4")

    def __init__(self, hcas=1) -> None:
        ports = [(f"n{i}/h{h}", f"leaf-{(i + 1) // 2}") for i in range(1, 5) for h in range(hcas)]
        links, used = [], {"leaf-1": 0, "leaf-2": 0}
        for hca, leaf in ports:
            used[leaf] += 1
            links.append((f"{hca}[1]", f"{leaf}[{used[leaf]}]"))
        for leaf in (1, 2):
            for spine in (1, 2):
                links.append((f"leaf-{leaf}[{2 * hcas + spine}]", f"spine-{spine}[{leaf}]"))
        names = [f"leaf-{i}" for i in (1, 2)] + [f"spine-{i}" for i in (1, 2)]
        self.hcas = hcas
        self.links = dict(links) | {b: a for a, b in links}
        self.document = {
            "nodes": [{"name": n, "hcas": [f"{n}/h{h}" for h in range(hcas)]} for n in self.nodes],
            "switches": [{"name": name} for name in names],
            "links": [{"a": a, "b": b, "bits_per_s": 10**11, "delay_ps": 0} for a, b in links],
        }

    def paths(self, pairs):
        return [self._path(a, b) for a, b in pairs]

    engines = ()

    def _path(self, a, b):
        first, last = f"{a}[1]", self.links[f"{b}[1]"]
        here, there = self.links[first].partition("[")[0], last.partition("[")[0]
        if here == there:
            return (first, last)
        spine = int(b[1]) % 2 + 1
        return (first, f"{here}[{2 * self.hcas + spine}]", f"spine-{spine}[{there[-1]}]", last)


def measured(pairs, latency_us=1.0, bandwidth_mb_s=1000.0, together=False):
    """A sample of each size for each pair, one after the other or in one round."""
    both = {"bandwidth_ab_mb_s": bandwidth_mb_s, "bandwidth_ba_mb_s": bandwidth_mb_s}
    large = {**both, "bandwidth_mb_s": bandwidth_mb_s}
    return [
        Sample(
            "t001-survey",
            1,
            "pairs",
            size,
            metrics,
            1,
            0.0,
            pair=Pair(a, b, 0 if together else number, 1),
        )
        for number, (a, b) in enumerate(pairs)
        for size, metrics in ((8, {"latency_us": latency_us}), (1024, large))
    ]


def crossed(pairs, hcas=1, together=False):
    samples = measured(pairs, together=together)
    return Crossings(readings_of(samples), Network(Wiring(hcas)), adaptive=False)
