"""Irregular fabrics drawn at random, with cables taken away: what was drawn is what is true.

Service nodes hang at spines and cores, leaves are half full or empty, nodes have adapters on
rails, some networks have two planes; switches have aggregation engines.
"""

import copy
import random
from dataclasses import dataclass, field

from tests.oracle.ibsim import Net

Socket = tuple[str, int]
Cable = frozenset[Socket]
N_PORTS = 40


@dataclass
class DrawnFabric:
    """`whole` is the net as it was cabled, `net` the one without the `cut` cables. `groups` are
    those of switches whose up-links are alike."""

    seed: int
    net: Net = field(default_factory=Net)
    whole: Net = field(default_factory=Net)
    cut: set[Cable] = field(default_factory=set)
    groups: list[list[str]] = field(default_factory=list)
    levels: dict[str, int] = field(default_factory=dict)
    ups: dict[str, list[Cable]] = field(default_factory=dict)

    def is_stump(self, switch: str) -> bool:
        """Whether its level is unknown: it has no hosts, and lost half of its up-links or more; or
        it is a core with hosts, as a leaf is, and lost half of its cables to spines or more."""
        peers = [peer for peer, _, _ in self.net.cables[switch].values()]
        has_host = any(self.net.nodes[peer][0] == "Ca" for peer in peers)
        ups, every = self.ups[switch], (cable for own in self.ups.values() for cable in own)
        below = {cable for cable in every if cable not in ups and switch in dict(cable)}
        own = below if has_host and not ups else set(ups)
        is_core_or_bare = not has_host or not ups
        return is_core_or_bare and len(self.cut & own) * 2 >= len(own)

    def can_be_known(self, cable: Cable) -> bool:
        """Whether three in five of the siblings below it, and two of them, lost none."""
        for group in self.groups:
            own = [switch for switch in group if cable in self.ups[switch]]
            if own:
                n_whole = sum(not self.cut & set(self.ups[switch]) for switch in group)
                # Half of all up-links, evenly, is how some switches are built.
                is_half = len(self.cut & set(self.ups[own[0]])) * 2 >= len(self.ups[own[0]])
                return n_whole >= 2 and n_whole >= 0.6 * len(group) and not is_half
        return False


class _Drawing:
    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.fabric = DrawnFabric(seed)
        self.net = self.fabric.net
        self.next_port: dict[str, int] = {}
        self.n_service = 0

    def switch(self, name: str, level: int) -> str:
        full = f"MF0;{name}:MQM8700/U1"
        self.net.add(full, "Switch", N_PORTS + 1)
        self.fabric.levels[full] = level
        self.fabric.ups[full] = []
        self.next_port[full] = 1
        return full

    def free(self, switch: str) -> Socket:
        port = self.next_port[switch]
        self.next_port[switch] += 1
        return switch, port

    def join(self, lower: Socket, upper: Socket, rate: str = "4xHDR") -> None:
        self.net.link(lower, upper, rate)
        self.fabric.ups[lower[0]].append(frozenset((lower, upper)))

    def adapter(self, name: str, switch: str) -> None:
        self.net.add(name, "Ca", 1)
        self.net.link(self.free(switch), (name, 1), "4xHDR")

    def service(self, switch: str, most: int) -> None:
        """Service nodes and an aggregation engine at a switch above leaves."""
        for _ in range(self.draw.randint(0, most)):
            self.n_service += 1
            self.adapter(f"svc{self.n_service:02d} mlx5_0", switch)
        if self.draw.random() < 0.3:
            name = f"Mellanox Technologies Aggregation Node {len(self.net.nodes)}"
            self.net.add(name, "Ca", 1)
            self.net.link((switch, N_PORTS + 1), (name, 1))

    def tree(self, plane: str, leaves: int, spines: int, parallel: int, room: int) -> list[str]:
        """Leaves with `parallel` cables to each spine, from the first port behind `room` hosts."""
        below = [self.switch(f"{plane}leaf{i:02d}", 1) for i in range(leaves)]
        above = [self.switch(f"{plane}spine{i:02d}", 2) for i in range(spines)]
        for leaf in below:
            port = room
            for spine in above:
                for _ in range(parallel):
                    port += 1
                    self.join((leaf, port), self.free(spine))
        self.fabric.groups.append(below)
        self.fabric.groups.append(above)
        return below

    def pods(self, n_pods: int, leaves: int, spines: int, room: int) -> list[str]:
        """Pods of leaves and spines; the i-th spine of every pod is below two cores."""
        cores = [self.switch(f"core{i:02d}", 3) for i in range(2 * spines)]
        all_leaves, all_spines = [], []
        for pod in range(n_pods):
            above = [self.switch(f"p{pod}spine{i:02d}", 2) for i in range(spines)]
            below = [self.switch(f"p{pod}leaf{i:02d}", 1) for i in range(leaves)]
            for leaf in below:
                for i, spine in enumerate(above):
                    self.join((leaf, room + 1 + i), self.free(spine))
            for i, spine in enumerate(above):
                for core in (cores[2 * i], cores[2 * i + 1]):
                    self.join(self.free(spine), self.free(core))
            all_leaves += below
            all_spines += above
        self.fabric.groups += [all_leaves, all_spines]
        return all_leaves

    def hosts(self, leaves: list[str], room: int, first: int) -> None:
        """Nodes of one adapter; leaves are half full, empty, or full as the first of each pod."""
        for leaf in leaves:
            is_first = leaf in leaves[:2] or "leaf00" in leaf
            shape = 1.0 if is_first else self.draw.random()
            few = self.draw.randint(1, max(1, room // 2))
            n = few if shape < 0.25 else 0 if shape < 0.3 else room
            for _ in range(n):
                self.adapter(f"n{first:03d} mlx5_0", leaf)
                first += 1

    def rails(self, leaves: list[str], n_nodes: int) -> None:
        """Nodes with one adapter a leaf; login nodes have all of theirs on one."""
        for node in range(n_nodes):
            for rail, leaf in enumerate(leaves):
                self.adapter(f"gpu{node:02d} mlx5_{rail}", leaf)
        for node in range(self.draw.randint(0, 2)):
            leaf = self.draw.choice(leaves)
            for rail in range(min(2, len(leaves))):
                self.adapter(f"login{node} mlx5_{rail}", leaf)


def drawn(seed: int) -> DrawnFabric:
    """The fabric of a seed."""
    drawing = _Drawing(seed)
    draw, fabric = drawing.draw, drawing.fabric
    kind = draw.choice(["tree", "tree", "planes", "rails", "pods"])
    room = draw.randint(6, 12)
    if kind == "rails":
        leaves = drawing.tree("", draw.randint(4, 8), draw.randint(2, 4), draw.randint(1, 3), 12)
        drawing.rails(leaves, draw.randint(3, 8))
    elif kind == "pods":
        leaves = drawing.pods(draw.randint(3, 4), draw.randint(2, 4), draw.randint(2, 3), room)
        drawing.hosts(leaves, room, 1)
    elif kind == "planes":
        for i in range(2):
            leaves = drawing.tree(f"{'ab'[i]}-", draw.randint(4, 7), draw.randint(2, 4), 1, room)
            drawing.hosts(leaves, room, 1 + 500 * i)
    else:
        leaves = drawing.tree("", draw.randint(4, 12), draw.randint(2, 5), draw.randint(1, 3), room)
        drawing.hosts(leaves, room, 1)
    for switch, level in fabric.levels.items():
        if level > 1 and draw.random() < 0.6:
            drawing.service(switch, 3)
    fabric.whole = copy.deepcopy(fabric.net)
    every = sorted((cable for ups in fabric.ups.values() for cable in ups), key=sorted)
    for cable in draw.sample(every, draw.choice([0, 1, 1, 2, 3])):
        fabric.cut.add(cable)
        for name, port in cable:
            del fabric.net.cables[name][port]
    return fabric
