"""A twin of planes that never meet: a twin of each, whose samples come together."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

from benches.check_kinds import parts_of

from weft.bench.model import Launch, Pair, Sample
from weft.bench.twin.backend import TwinBackend
from weft.bench.twin.fault import vertex_of

Document = Mapping[str, Any]


def plane_of(document: Document, plane: int) -> dict[str, Any]:
    """The switches and cables that adapter `plane` of each node reaches, and these adapters."""
    part = parts_of((link["a"], link["b"]) for link in document["links"])
    own = {part[node["hcas"][plane]] for node in document["nodes"]}
    reached = {name for name, of in part.items() if of in own}
    return {
        **document,
        "nodes": [{**node, "hcas": [node["hcas"][plane]]} for node in document["nodes"]],
        "switches": [one for one in document["switches"] if one["name"] in reached],
        "links": [link for link in document["links"] if vertex_of(link["a"]) in reached],
    }


@dataclass
class PlanesTwin:
    """`twin_of` makes the twin of a plane by its number."""

    twin_of: Callable[[int], TwinBackend]
    nodes: tuple[str, ...]
    n_planes: int
    name: str = "twin"
    faults: tuple[Any, ...] = ()
    _twins: dict[int, TwinBackend] = field(default_factory=dict)

    def measure(self, launch: Launch) -> Iterator[Sample]:
        """The samples of a launch whose pairs are each within a plane, by round."""
        found: list[tuple[int, Sample]] = []
        for plane in range(self.n_planes):
            if plane not in self._twins:
                self._twins[plane] = self.twin_of(plane)
            found += self._of_plane(launch, plane)
        return (sample for _, sample in sorted(found, key=itemgetter(0)))

    def _of_plane(self, launch: Launch, plane: int) -> Iterator[tuple[int, Sample]]:
        """Round and sample, with the names of the whole launch; in the plane its nodes are the
        ranks."""
        trial, n = launch.trial, self.n_planes
        whole = trial.options["rounds"]
        pairs = [[[a // n, b // n] for a, b in of if a % n == plane] for of in whole]
        here = [number for number, of in enumerate(pairs) if of]
        if not here:
            return
        options = {**trial.options, "rounds": [pairs[number] for number in here]}
        part = replace(launch, trial=replace(trial, tasks_per_node=1, options=options))
        rank = {node: i * n + plane for i, node in enumerate(trial.nodes)}
        for sample in self._twins[plane].measure(part):
            assert sample.pair is not None
            number = here[sample.pair.round]
            a, b = (trial.endpoint(rank[node]) for node in (sample.pair.a, sample.pair.b))
            yield number, replace(sample, pair=Pair(a, b, number, len(whole[number])))
