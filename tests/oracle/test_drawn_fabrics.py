"""Two hundred drawn fabrics, as the real ibnetdiscover prints them of ibsim: nothing but the truth
is said of their cables."""

from pathlib import Path

import pytest
from tests.drawn_fabrics import drawn
from tests.oracle.ibsim import Ibsim, Net, require_tools
from tests.test_field_fabrics import judge_drawn

from weft.topology.subnet.subnet import Subnet

N_DRAWN = 200


@pytest.mark.slow
def test_two_hundred_drawn_fabrics_are_judged_as_they_were_drawn(tmp_path: Path) -> None:
    require_tools()
    n_cut = n_named = 0
    for seed in range(1000, 1000 + N_DRAWN):
        fabric = drawn(seed)
        subnets = [
            Subnet.read(discovered(net, tmp_path / f"{name}.out"))
            for name, net in (("now", fabric.net), ("before", fabric.whole))
        ]
        n_named += judge_drawn(fabric, *subnets)
        n_cut += len(fabric.cut)
    print(f"{N_DRAWN} fabrics, {n_cut} cables taken away, {n_named} named without --before")
    assert n_named >= 0.75 * n_cut


def discovered(net: Net, path: Path) -> list[str]:
    """Files of ibnetdiscover, one of each part: it sees no other from a host."""
    files = []
    seen: set[str] = set()
    with Ibsim(net.text()) as sim:
        for name in net.nodes:
            if net.nodes[name][0] != "Ca" or name in seen or "Aggregation" in name:
                continue
            seen |= part_of(net, name)
            file = path.with_suffix(f".{len(files)}")
            file.write_text(sim.run("ibnetdiscover", host=net.id(name)))
            files.append(str(file))
    return files


def part_of(net: Net, name: str) -> set[str]:
    """All nodes that cables join to this one."""
    part: set[str] = set()
    todo = [name]
    while todo:
        node = todo.pop()
        if node not in part:
            part.add(node)
            todo += [peer for peer, _, _ in net.cables[node].values()]
    return part
