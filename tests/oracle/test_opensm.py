"""What weft reads, traces, counts and routes, held to OpenSM, ibtracert and ibdmchk on ibsim."""

import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.oracle.ibsim import (
    Ibsim,
    Net,
    fat_tree,
    frontera_like,
    irregular,
    require_tools,
    torus,
    traced_by_ibtracert,
)
from tests.seeds import drawn

from weft.core.errors import InputError
from weft.topology.subnet.subnet import CableEnd, Subnet, paths_of_ports

Cables = set[frozenset[tuple[int, int]]]


@pytest.fixture(autouse=True)
def _tools() -> None:
    require_tools()


@pytest.fixture(scope="module")
def frontera(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Ibsim, Path]]:
    """The net of 8,008 hosts, routed by OpenSM's updn: made once."""
    with Ibsim(frontera_like(182).text()) as sim:
        dumps = sim.opensm("updn", limit_s=300)
        discovered = tmp_path_factory.mktemp("frontera") / "ibnetdiscover.out"
        discovered.write_text(sim.run("ibnetdiscover", limit_s=300))
        yield sim, discovered
        assert dumps.exists()


def read(*paths: Path) -> Subnet:
    """The subnet of some files, all of which must be understood."""
    subnet = Subnet.read([str(path) for path in paths])
    assert subnet.description["unread"] == []
    assert subnet.description["misfits"] == []
    return subnet


def dumped(dumps: Path) -> Subnet:
    """The subnet of OpenSM's dumps."""
    return read(dumps / "opensm-subnet.lst", dumps / "opensm-lfts.dump")


def saved(sim: Ibsim, name: str, *argv: str) -> Path:
    """What a tool prints, as a file."""
    path = sim.folder / name
    path.write_text(sim.run(*argv, limit_s=120))
    return path


def cables_of(subnet: Subnet) -> Cables:
    """Cables as pairs of GUID (an adapter's port's, which every tool knows) and port number."""
    ports = {(node, port): guid for node, port, _, guid in subnet.port_guids}

    def name(end: CableEnd) -> tuple[int, int]:
        return ports.get(end.key, subnet.nodes[end.node].guid), end.port

    return {frozenset(name(end) for end in cable.ends) for cable in subnet.cables}


def cables_of_net(net: Net) -> Cables:
    """The cables that the net file says."""

    def name_of(name: str, port: int) -> tuple[int, int]:
        kind, _, guid = net.nodes[name]
        # ibsim counts an adapter's port GUIDs up from its node's.
        return (guid if kind == "Switch" else guid + port), port

    return {
        frozenset([name_of(name, port), name_of(peer, peer_port)])
        for name, sockets in net.cables.items()
        for port, (peer, peer_port, _) in sockets.items()
    }


def check_path(sim: Ibsim, subnet: Subnet, src: int, dst: int) -> None:
    """Our path between two end ports is ibtracert's."""
    a, b = subnet.endports[src], subnet.endports[dst]
    hops, _, _ = subnet.trace(a.node, a.port, b.lid)
    ours = [
        tuple(value for node, port in hop for value in (subnet.nodes[node].guid, port))
        for hop in hops
    ]
    theirs = traced_by_ibtracert(sim.run("ibtracert", str(a.lid), str(b.lid)))
    # ibtracert names the last adapter by its port's GUID.
    ports = {guid: subnet.nodes[node].guid for node, _, _, guid in subnet.port_guids}
    assert ours == [(ports.get(a, a), out, ports.get(b, b), into) for a, out, b, into in theirs], (
        f"LID {a.lid} to {b.lid}"
    )


def histogram(text: str, title: str) -> dict[int, int]:
    """A table of ibdmchk: two columns of numbers below a title."""
    _, _, rest = text.partition(title)
    rows = re.search(r"^[A-Z-]+ NUM-[A-Z-]+\n((?: +\d+ +\d+\n)+)", rest, re.MULTILINE)
    assert rows is not None, rest[:500]
    pairs = (line.split() for line in rows.group(1).splitlines())
    return {int(key): int(value) for key, value in pairs}


def ibdmchk(sim: Ibsim, *more: str) -> str:
    """Its whole text: it dies after printing that, so its exit code says nothing."""
    argv = ("-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m", "opensm.mcfdbs", *more)
    text = sim.run("ibdmchk", *argv, limit_s=300)
    assert "credit loops" in text, text[-500:]
    return text


def check_against_ibdmchk(sim: Ibsim, subnet: Subnet, *more: str) -> None:
    """Lengths of paths, destinations a port, and the verdict on credit loops."""
    text = ibdmchk(sim, *more)
    hops = subnet.survey()["hops"]
    assert hops == histogram(text, "LFT ROUTE HOP")
    lids = Counter(subnet.loads()["n_lids"].tolist())
    assert dict(lids) == histogram(text, "SWITCH OUT PORT - NUM DLIDS")
    loop = subnet.credit_loop(0)
    assert (loop is None) == ("no credit loops found" in text)


@pytest.mark.parametrize(
    "sources", [range(0, 16, 4), pytest.param(range(16), marks=pytest.mark.slow)]
)
def test_every_pair_of_a_small_tree_takes_the_path_that_ibtracert_prints(sources: range) -> None:
    """In `make test` from a host of each leaf."""
    with Ibsim(fat_tree(4, 4, 2, 2).text()) as sim:
        subnet = dumped(sim.opensm("minhop"))
        n = len(subnet.endports)
        assert n == 16
        for src in sources:
            for dst in range(n):
                if src != dst:
                    check_path(sim, subnet, src, dst)


@pytest.mark.parametrize("engine", ["minhop", "updn", "ftree"])
def test_a_small_tree_is_what_ibdmchk_counts(engine: str) -> None:
    with Ibsim(fat_tree(6, 5, 3, 2).text()) as sim:
        check_against_ibdmchk(sim, dumped(sim.opensm(engine)))


@pytest.mark.parametrize(("engine", "more"), [("minhop", False), ("dor", False), ("lash", True)])
def test_a_torus_is_what_ibdmchk_counts(engine: str, more: bool) -> None:
    with Ibsim(torus([4, 4, 3]).text()) as sim:
        dumps = sim.opensm(engine, *(["-Q"] if more else []))
        names = ["opensm-subnet.lst", "opensm-lfts.dump", *(["opensm-sl2vl.dump"] if more else [])]
        subnet = read(*(dumps / name for name in names))
        check_against_ibdmchk(sim, subnet, *(["-d", "opensm-sl2vl.dump"] if more else []))


def test_minhop_on_a_torus_has_a_credit_loop() -> None:
    with Ibsim(torus([4, 4, 3]).text()) as sim:
        loop = dumped(sim.opensm("minhop")).credit_loop(0)
        assert len(loop["channels"]) >= 3


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("engine", ["minhop", "updn"])
def test_2024_hosts_of_frontera_are_what_ibdmchk_counts(engine: str) -> None:
    with Ibsim(frontera_like(46, total=2024).text()) as sim:
        subnet = dumped(sim.opensm(engine))
        check_against_ibdmchk(sim, subnet)
        hops = subnet.survey()["hops"]
        assert hops == {2: 87032, 4: 600160, 6: 3407360}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_thousand_pairs_of_8008_hosts_take_the_path_that_ibtracert_prints(
    frontera: tuple[Ibsim, Path],
) -> None:
    sim, discovered = frontera
    subnet = read(discovered, sim.dumps / "opensm-lfts.dump")
    assert len(subnet.endports) == 8008
    draw = random.Random(5)
    for _ in range(1000):
        check_path(sim, subnet, *draw.sample(range(8008), 2))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_all_accounts_of_8008_hosts_are_one(frontera: tuple[Ibsim, Path]) -> None:
    sim, discovered = frontera
    subnets = [
        read(discovered),
        read(sim.dumps / "opensm-subnet.lst"),
        read(saved(sim, "iblinkinfo", "iblinkinfo", "-l")),
    ]
    cables = [cables_of(subnet) for subnet in subnets]
    assert len(cables[0]) == 8008 + 182 * 18 + 6 * 28 * 20
    assert cables[0] == cables[1] == cables[2]


@pytest.mark.parametrize("seed", drawn(range(30), 10))
def test_an_irregular_net_is_read_without_loss(seed: int) -> None:
    net = irregular(seed)
    with Ibsim(net.text()) as sim:
        discovered = read(saved(sim, "ibnetdiscover", "ibnetdiscover"))
        accepted = cables_of(discovered)
        assert accepted == cables_of_net(net)
        rates = {node.guid: node for node in discovered.nodes}
        assert {node.description for node in rates.values()} == set(net.nodes)
        for cable in discovered.cables:
            ends = [(discovered.name(end.node), end.port) for end in cable.ends]
            said = net.cables[ends[0][0]][ends[0][1]][2]
            assert cable.a.rate == cable.b.rate == said
        dumps = sim.opensm("minhop")
        assert cables_of(read(dumps / "opensm-subnet.lst")) == accepted
        for name, argv in {
            "linkinfo": ("iblinkinfo", "-l"),
            "linkinfo-short": ("iblinkinfo",),
            "ports": ("ibnetdiscover", "-p"),
        }.items():
            assert cables_of(read(saved(sim, name, *argv))) == accepted, name


def test_after_a_cut_cable_what_is_read_is_what_opensm_rerouted() -> None:
    net = fat_tree(4, 4, 2, 2)
    with Ibsim(net.text()) as sim:
        log = sim.start_opensm()
        host = net.id("c102-001 HCA-1")
        before = dumped(sim.dumps)
        leaf = net.id("MF0;leaf000:MQM8700/U1")
        sim.console(f'Unlink "{leaf}"[5]')
        sim.wait_for(log, "SUBNET UP", 20, times=2)
        discovered = sim.folder / "after"
        discovered.write_text(sim.run("ibnetdiscover", host=host))
        after = read(discovered, sim.dumps / "opensm-lfts.dump")
        gone = cables_of(before) - cables_of(after)
        assert {port for cable in gone for _, port in cable} == {5, 1}
        assert len(gone) == 1
        survey = after.survey()
        assert (survey["n_unreachable"], survey["hops"]) == (0, {2: 48, 4: 192})
        for dst in range(4, 16):
            check_path(sim, after, 0, dst)


def tables_of(subnet: Subnet) -> dict[str, list[int]]:
    """Ports by switch and adapter, as a fabric document has them."""
    tables: dict[str, list[int]] = subnet.fabric_document("tables", 1, 0)[0]["lfts"]
    return tables


TREES = {
    "two levels": fat_tree(4, 4, 2, 2),
    "spare ports": fat_tree(6, 5, 3, 1, leaf_ports=40),
    "wide": fat_tree(12, 8, 4, 3),
}
ODD_NETS = {
    "torus": torus([4, 4, 3]),
    "frontera": frontera_like(12, total=528),
    **{f"irregular {seed}": irregular(seed) for seed in range(10)},
}


DIRECTORS = pytest.param("frontera", marks=pytest.mark.slow)
FTREE_OF_DIRECTORS = pytest.param("ftree", "frontera", marks=pytest.mark.slow)


@pytest.mark.parametrize("engine", ["minhop", "updn", "ftree"])
@pytest.mark.parametrize("name", TREES)
def test_tables_of_a_regular_tree_are_opensms(name: str, engine: str) -> None:
    with Ibsim(TREES[name].text()) as sim:
        theirs = dumped(sim.opensm(engine))
        assert tables_of(theirs.route(engine)) == tables_of(theirs)


@pytest.mark.parametrize("name", [DIRECTORS, *sorted(ODD_NETS.keys() - {"frontera"})])
def test_minhop_is_opensms_on_any_net(name: str) -> None:
    with Ibsim(ODD_NETS[name].text()) as sim:
        theirs = dumped(sim.opensm("minhop"))
        assert tables_of(theirs.route("minhop")) == tables_of(theirs)


@pytest.mark.parametrize("seed", drawn(range(10), 5))
def test_updn_of_given_roots_is_opensms_on_any_net(seed: int) -> None:
    net = irregular(1000 + seed)
    cabled = [name for name, node in net.nodes.items() if node[0] == "Switch" and net.cables[name]]
    roots = random.Random(seed).sample(cabled, 1 + seed % min(2, len(cabled)))
    guids = [net.nodes[name][2] for name in roots]
    with Ibsim(net.text()) as sim:
        named = sim.folder / "roots"
        named.write_text("".join(f"0x{guid:016x}\n" for guid in guids))
        theirs = dumped(sim.opensm("updn", "-a", str(named)))
        log = (sim.folder / "osm-updn.log").read_text()
        assert "updn tables configured on all switches" in log
        assert tables_of(theirs.route("updn", guids)) == tables_of(theirs)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_updn_tables_of_8008_hosts_are_opensms(frontera: tuple[Ibsim, Path]) -> None:
    theirs = dumped(frontera[0].dumps)
    assert tables_of(theirs.route("updn")) == tables_of(theirs)


@pytest.mark.slow
def test_updn_has_the_lengths_the_loads_and_the_verdict_of_opensms() -> None:
    with Ibsim(ODD_NETS["frontera"].text()) as sim:
        theirs = dumped(sim.opensm("updn"))
        ours = theirs.route("updn")
        assert ours.survey() == theirs.survey()
        assert paths_of_ports(ours.loads()) == paths_of_ports(theirs.loads())
        assert ours.loads()["n_lids"].tolist() == theirs.loads()["n_lids"].tolist()
        loops = [net.credit_loop(0) for net in (ours, theirs)]
        assert loops == [None, None]


@pytest.mark.parametrize(
    ("engine", "name"), [("ftree", "torus"), FTREE_OF_DIRECTORS, ("updn", "torus")]
)
def test_an_engine_refuses_what_opensm_routes_with_minhop_in_silence(
    engine: str, name: str
) -> None:
    with Ibsim(ODD_NETS[name].text()) as sim:
        theirs = dumped(sim.opensm(engine))
        log = (sim.folder / f"osm-{engine}.log").read_text()
        assert "minhop tables configured on all switches" in log
        with pytest.raises(InputError, match=engine):
            theirs.route(engine)
        assert tables_of(theirs.route("minhop")) == tables_of(theirs)


def test_an_exported_fabric_is_one_that_opensm_routes(tmp_path: Path) -> None:
    spec = {"generate": "dragonfly", "groups": 4, "routers_per_group": 3, "nodes_per_router": 2}
    rates = {f"{part}_bits_per_s": 400_000_000_000 for part in ("host", "local", "global")}
    delays = {f"{part}_delay_ps": 0 for part in ("host", "local", "global")}
    made = Subnet.of_fabric({**spec, "global_ports": 1, **rates, **delays})
    text, changed = made.export("ibsim")
    # ibsim knows no NDR.
    assert any("HDR" in sentence for sentence in changed)
    with Ibsim(text) as sim:
        routed = dumped(sim.opensm("minhop"))
        assert cables_of(routed) == cables_of(made)
        assert routed.survey()["n_unreachable"] == 0
