"""Published figures that follow from others are computed again from the catalogue's own inputs.

Every figure of kind `derived` has a line in `DERIVED`, or a reason in `NOT_COMPUTED`. What was
printed is the expected value throughout, within half a unit of its last printed digit.
"""

import re
from collections.abc import Callable
from functools import partial
from itertools import product
from statistics import fmean

import pytest

from weft.catalog.document import SourceClass
from weft.catalog.load import facts, field_thresholds, platform, platform_names, published_figures
from weft.catalog.machine.platform import PublishedFigure, figures
from weft.expect.nccl.collectives import busbw_factor
from weft.expect.wire import PACKET_HEADER_BYTES

FIGURES = {figure.id: figure for own in published_figures().values() for figure in own}
FACTS = {fact.id: fact for fact in facts()}

GPUS = (8, 16, 32, 64, 128, 256, 512, 1024)
PRECISIONS = {"fp8": "af-t5", "bf16": "af-t6"}
PAIRS, ROWS, SIDES = range(8), (1, 2), ("cpu", "gpu")


def value(name: str) -> float:
    return FIGURES[name].value


def fact(topic: str, what: str) -> float:
    found = [row for row in FACTS.values() if (row.topic, row.what) == (topic, what)]
    assert len(found) == 1, (topic, what)
    assert found[0].value is not None
    return found[0].value


def half_a_digit(printed: float) -> float:
    """Half a unit of the last decimal a figure was printed with (1.2222 -> 0.00005)."""
    decimals = len(repr(printed).partition(".")[2].rstrip("0"))
    return 0.5 * 10.0**-decimals * 1.0001


def same_as_printed(computed: float, printed: float) -> bool:
    return abs(computed - printed) <= half_a_digit(printed)


# --- Training: Affaticati et al., tables 3, 5 and 6 -----------------------------------------------


def data_parallel(n: int) -> float:
    return n / (value(f"af-t3-{n}-tp") * value(f"af-t3-{n}-pp") * value(f"af-t3-{n}-cp"))


def accumulation(n: int) -> float:
    return value(f"af-t3-{n}-gbs") / (value(f"af-t3-{n}-mbs") * data_parallel(n))


def throughput(table: str, n: int) -> float:
    return value(f"af-t3-{n}-seqlen") * value(f"af-t3-{n}-gbs") / value(f"{table}-{n}-step")


def efficiency(table: str) -> float:
    """In %, from the printed throughputs."""
    return 100 * value(f"{table}-1024-tput") / value(f"{table}-512-tput") / 2


def fp8_gain(n: int) -> float:
    return value(f"af-t6-{n}-step") / value(f"af-t5-{n}-step")


# --- Pairs of NDv4 machines: Jose & Shainer -----------------------------------------------------


def row_of(side: str, pair: int, row: int) -> float:
    return value(f"js-ibw-{side}-p{pair}-r{row}-bw")


def rows_of(side: str) -> list[float]:
    return [row_of(side, pair, row) for pair, row in product(PAIRS, ROWS)]


def over_rows(how: Callable[[list[float]], float], side: str) -> float:
    return how(rows_of(side))


def linear_message(mib: int) -> float:
    """Bytes to each peer when every GPU of every machine takes part."""
    return mib * 2**20 / (value("js-tutel-nodes") * value("js-ndv4-gpus"))


def sum_of(side: str, row: int) -> float:
    return sum(row_of(side, pair, row) for pair in PAIRS)


# --- Links and headers --------------------------------------------------------------------------

# Bits of data a signalled bit carries. 8b/10b and 64b/66b by name; PAM4 links with FEC transcode
# 4 blocks of 66 bits to 257 and add RS(544,514) (IEEE 802.3 clauses 91 and 119).
CODES = {
    "8b/10b": 8 / 10,
    "64b/66b": 64 / 66,
    "64b/66b + FEC, PAM4": 256 / 257 * 514 / 544,
}
GENERATIONS = ("SDR", "DDR", "QDR", "FDR", "EDR", "HDR", "NDR")


def data_rate(generation: str, lanes: int) -> float:
    lane = fact("link generations", f"{generation} lane signalling rate")
    codes = [row.text for row in FACTS.values() if row.what == f"{generation} line code"]
    return lane * CODES[codes[0]] * lanes


def header_bytes() -> float:
    return sum(fact("packet headers", f"{name} size") for name in ("LRH", "BTH", "ICRC", "VCRC"))


def payload_share(mtu: int) -> float:
    """In %."""
    return 100 * mtu / (mtu + header_bytes())


# --- Frontera -------------------------------------------------------------------------------------


def oversubscription() -> float:
    down = value("cz-tor-nodes") * value("cz-node-rate")
    return down / (value("cz-tor-uplinks") * value("cz-uplink-rate"))


def frontera(what: str) -> float:
    return fact("Frontera topology", what)


def guide_oversubscription() -> float:
    down = frontera("nodes per leaf switch") * frontera("node link rate")
    return down / (frontera("uplinks of a leaf switch") * frontera("switch link rate"))


MTUS = (256, 512, 1024, 2048, 4096)
EFFICIENCY = "fact-efficiency-payload-share-of-an-rc-packet-without-reth-mtu-{}-b"
FRONTERA = "fact-frontera-topology-"

DERIVED: dict[str, Callable[[], float]] = {
    **{f"af-t3-{n}-dp-true": partial(data_parallel, n) for n in GPUS},
    **{f"af-t3-{n}-ga-true": partial(accumulation, n) for n in GPUS},
    **{f"af-fp8gain-{n}": partial(fp8_gain, n) for n in GPUS},
    **{f"af-eff-{name}": partial(efficiency, table) for name, table in PRECISIONS.items()},
    **{f"js-gdr-{s}-sum-row{r}": partial(sum_of, s, r) for s in SIDES for r in ROWS},
    **{f"js-gdr-{s}-min": partial(over_rows, min, s) for s in SIDES},
    **{f"js-gdr-{s}-max": partial(over_rows, max, s) for s in SIDES},
    **{f"js-gdr-{s}-mean": partial(over_rows, fmean, s) for s in SIDES},
    **{f"js-tutel-linear-msg-{mib}m": partial(linear_message, mib) for mib in (256, 512)},
    **{EFFICIENCY.format(mtu): partial(payload_share, mtu) for mtu in MTUS},
    "fact-efficiency-hdr-payload-ceiling-at-mtu-4096": lambda: (
        data_rate("HDR", 4) * payload_share(4096) / 100
    ),
    "fact-hbv2-osu-mbw-mr-bandwidth-converted": lambda: fact("HBv2", "osu_mbw_mr bandwidth") * 8e-3,
    "kn-lat-bw": lambda: 4194304 / value("kn-lat-4194304"),
    "cz-cores-node": lambda: value("cz-cpus") * value("cz-cores-socket"),
    "cz-oversub": oversubscription,
    "cz-tor-ports": lambda: value("cz-tor-nodes") / 2 + value("cz-tor-uplinks"),
    FRONTERA + "oversubscription-as-a-number": guide_oversubscription,
    FRONTERA + "leaf-switches-in-all": lambda: (
        frontera("racks of compute nodes") * frontera("leaf switches per rack")
    ),
    FRONTERA + "uplinks-of-a-leaf-to-each-core-switch": lambda: (
        frontera("uplinks of a leaf switch") / frontera("core switches")
    ),
    FRONTERA + "leaf-out-traffic-as-a-share-of-injection-all-44-nodes-sending": lambda: (
        100 / guide_oversubscription()
    ),
}

NOT_COMPUTED: dict[str, str] = {}
"""Derived figures that cannot be computed from the catalogue, and why. None at present."""


def derived() -> list[str]:
    return sorted(name for name, figure in FIGURES.items() if figure.kind == "derived")


def test_no_derived_figure_is_passed_over() -> None:
    assert set(DERIVED) | set(NOT_COMPUTED) == set(derived())
    assert not set(DERIVED) & set(NOT_COMPUTED)


@pytest.mark.parametrize("name", sorted(DERIVED))
def test_a_derived_figure_follows_from_its_inputs(name: str) -> None:
    computed = DERIVED[name]()
    assert same_as_printed(computed, value(name)), f"{computed} computed, {value(name)} printed"


@pytest.mark.parametrize(("precision", "n"), list(product(PRECISIONS, GPUS)))
def test_sixteen_training_throughputs_are_sequence_x_batch_over_step(
    precision: str, n: int
) -> None:
    table = PRECISIONS[precision]
    assert same_as_printed(throughput(table, n), value(f"{table}-{n}-tput"))


def test_scaling_efficiencies_are_those_stated() -> None:
    assert round(efficiency("af-t5"), 2) == 97.28
    assert round(efficiency("af-t6"), 2) == 98.21
    assert min(efficiency("af-t5"), efficiency("af-t6")) > value("af-eff-stated")


def test_printed_data_parallelism_is_the_true_one_over_expert_parallelism() -> None:
    for n in GPUS:
        printed = value(f"af-t3-{n}-dp")
        assert printed == data_parallel(n) / value(f"af-t3-{n}-ep"), n


def test_printed_gradient_accumulation_is_wrong_in_two_rows_and_only_there() -> None:
    wrong = {n for n in GPUS if value(f"af-t3-{n}-ga") != accumulation(n)}
    assert wrong == {8, 16}
    assert all(FIGURES[f"af-t3-{n}-ga"].erratum for n in wrong)
    assert not any(FIGURES[f"af-t3-{n}-ga"].erratum for n in set(GPUS) - wrong)


@pytest.mark.parametrize(("side", "pair", "row"), list(product(SIDES, PAIRS, ROWS)))
def test_a_pairs_bandwidth_is_its_message_rate_times_its_size(
    side: str, pair: int, row: int
) -> None:
    name = f"js-ibw-{side}-p{pair}-r{row}"
    computed = value(f"{name}-msgrate") * 1e6 * value("js-ibw-size") * 8 / 1e9
    # The rate has four significant digits: half a unit of its last one is 0.034 Gb/s.
    assert abs(computed - value(f"{name}-bw")) <= 0.034 + 0.005
    agrees = round(value(f"{name}-msgrate") * 1e6) == value(f"{name}-iters")
    assert agrees == (not FIGURES[f"{name}-iters"].erratum)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_link_carries_lanes_times_rate_times_code(generation: str) -> None:
    printed = fact("link generations", f"{generation} 4x data rate")
    assert same_as_printed(data_rate(generation, 4), printed)
    in_bytes = fact("link generations", f"{generation} 4x data rate in bytes")
    assert same_as_printed(data_rate(generation, 4) / 8, in_bytes)


def test_hdr100_is_two_lanes_of_hdr() -> None:
    what = "HDR100 (2x HDR) data rate"
    assert same_as_printed(data_rate("HDR", 2), fact("link generations", what))
    assert same_as_printed(data_rate("HDR", 2) / 8, fact("link generations", f"{what} in bytes"))


def test_our_packets_carry_the_headers_of_the_standard() -> None:
    assert header_bytes() == PACKET_HEADER_BYTES


def test_frontera_is_as_large_as_its_parts() -> None:
    leaves = frontera("racks of compute nodes") * frontera("leaf switches per rack")
    assert leaves * frontera("nodes per leaf switch") == frontera("compute nodes") == 8008
    downs = frontera("downlinks of a leaf switch (HDR200 ports split into HDR100 pairs)")
    assert 2 * downs == frontera("nodes per leaf switch")
    assert downs + frontera("uplinks of a leaf switch") == frontera("ports of a leaf switch")
    assert fact("Frontera node", "cores per compute node") == value("cz-cores-node")
    assert oversubscription() == pytest.approx(value("cz-oversub-down") / value("cz-oversub-up"))


# SOURCE: NVIDIA/nccl-tests src/*.cu and doc/PERFORMANCE.md.
@pytest.mark.parametrize(
    ("benchmark", "factor"),
    [
        ("allreduce", lambda n: 2 * (n - 1) / n),
        ("allgather", lambda n: (n - 1) / n),
        ("reduce_scatter", lambda n: (n - 1) / n),
        ("alltoall", lambda n: (n - 1) / n),
        ("broadcast", lambda n: 1.0),
        ("reduce", lambda n: 1.0),
        ("sendrecv", lambda n: 1.0),
    ],
)
@pytest.mark.parametrize("n_ranks", [2, 3, 8, 16, 1024])
def test_bus_bandwidth_factors_are_nccl_tests_own(
    benchmark: str, factor: Callable[[int], float], n_ranks: int
) -> None:
    assert busbw_factor(benchmark, n_ranks) == pytest.approx(factor(n_ranks))


def test_two_ndv4_machines_have_the_bus_factor_the_talk_leaves_open() -> None:
    assert busbw_factor("allreduce", 2 * 8) == 1.875
    assert "1.875" in FIGURES["js-allpair-bound"].notes


PRODUCTS = [
    ("af-netmax", ("af-hcas", "af-cx7")),
    ("af-mlperf-gpus", ("af-mlperf-vms", "af-gpus-node")),
    ("md-gpus", ("md-nodes", "md-gpus-node")),
    ("cz-nvdimm-cores", ("cz-nvdimm-cpus", "cz-nvdimm-cores-socket")),
]


@pytest.mark.parametrize(("whole", "parts"), PRODUCTS)
def test_a_total_is_the_product_of_its_parts(whole: str, parts: tuple[str, str]) -> None:
    assert value(whole) == value(parts[0]) * value(parts[1])


def test_totals_of_two() -> None:
    assert value("js-ndv4-cores") == 2 * value("js-ndv4-cores-socket")
    assert value("af-nvlink-bi") == 2 * value("af-nvlink-uni")
    combined_tbps = value("js-ndv4-hcas") * value("js-ndv4-hca-rate") / 1e3
    assert value("js-gdr-combined") == combined_tbps
    for cores in (96, 64, 32, 16):
        assert value(f"js-hbv3-size-{cores}") / value(f"js-hbv3-ccd-{cores}") == 16


def test_sharp_gains_are_the_ratios_of_their_latencies() -> None:
    for size, with_sharp in (
        (8, "SHARP on Switch-IB 2"),
        (4096, "SHARP on Switch-IB 2 (pipelined)"),
    ):
        at = f"{size} B allreduce, 128 hosts"
        gain = fact("SHARP", f"{at}, without SHARP") / fact("SHARP", f"{at}, {with_sharp}")
        assert same_as_printed(gain, fact("SHARP", f"{at}, improvement"))
    trees = fact("SHARP resources", "of these low-latency trees")
    trees += fact("SHARP resources", "of these SAT trees")
    assert trees == fact("SHARP resources", "trees per Quantum switch")


def test_gpcnet_splits_64_nodes_as_its_source_says() -> None:
    share = fact("GPCNeT", "share of congestor nodes (CONGESTOR_NODE_FRAC)")
    congestors = fact("GPCNeT Slingshot", "load test, nodes running congestors")
    assert congestors == int(64 * share)
    assert 64 - congestors == fact("GPCNeT Slingshot", "load test, nodes running network tests")


# Percentages the notes give: "97.47 % of 1.6 Tb/s", "98.31 % of line rate", "93 % of 8 x 25 GB/s".
OF_A_RATE = re.compile(r"([\d.]+) % of (?:(?:(\d+) x )?([\d.]+) (GB/s|Gb/s|Tb/s)|line rate)")
IN_GBPS = {"GB/s": 8.0, "Gb/s": 1.0, "Tb/s": 1000.0}
HDR_GBPS = 200.0


def stated_shares() -> list[tuple[PublishedFigure, float, float]]:
    """(figure, printed %, computed %) of every share of a rate in the notes."""
    found = []
    for figure in FIGURES.values():
        for match in OF_A_RATE.finditer(figure.notes):
            share, times, rate, unit = match.groups()
            whole = float(rate) * float(times or 1) * IN_GBPS[unit] if rate else HDR_GBPS
            found.append((figure, float(share), 100 * figure.value * IN_GBPS[figure.unit] / whole))
    return found


def test_shares_of_a_rate_are_computed_right() -> None:
    shares = stated_shares()
    # 32 pair rows, 10 sums and extremes of them, 7 of tables 1 and 2, and the bound of all pairs.
    assert len(shares) == 32 + 10 + 7 + 1
    for figure, printed, computed in shares:
        assert same_as_printed(computed, printed), (figure.id, computed, printed)


TOLERANCE = re.compile(r"reference ((?:[+-]\d+% ?)+)")


def test_bounds_of_the_alps_checks_are_reference_and_tolerance() -> None:
    rows = [row for row in field_thresholds() if "cscs-reframe-tests" in row.source]
    bounds = {(r.system, r.text.partition(" (fail")[0], r.printed_value) for r in rows}
    n_checked = 0
    for row in rows:
        match = TOLERANCE.search(row.text)
        if match is None or "looked up under" in row.text:
            continue
        test = row.text[: match.start()].rstrip(", ")
        for percent in match.group(1).split():
            bound = row.printed_value * (1 + float(percent.rstrip("%")) / 100)
            near = [b for s, t, b in bounds if (s, t) == (row.system, test)]
            assert any(b == pytest.approx(bound, rel=1e-9) for b in near), (row.text, bound, near)
            n_checked += 1
    computed = [row for row in rows if "bound computed" in row.source]
    assert n_checked == len(computed) == 26


# Line codes of PCI Express 3 to 5: 128b/130b. SOURCE: PCI Express Base Specification 3.0 to 5.0.
SLOT = re.compile(r"(\d+) GT/s x (\d+) lanes x 128/130 / 8 = ([\d.]+) GB/s")


@pytest.mark.parametrize("name", [n for n in platform_names() if "hca_pcie" in platform(n).node])
def test_a_slot_carries_lanes_times_rate_times_code(name: str) -> None:
    slot = platform(name).node["hca_pcie"]
    match = SLOT.search(slot.conditions)
    assert match is not None, name
    speed, lanes, printed = (float(group) for group in match.groups())
    assert same_as_printed(speed * lanes * 128 / 130 / 8, printed)
    assert slot.value == printed


@pytest.mark.parametrize("name", platform_names())
def test_no_limit_rests_on_a_figure_that_could_not_be_read(name: str) -> None:
    document = platform(name)
    limits = [document.node[key] for key in ("hcas", "hca_pcie") if key in document.node]
    if document.links is not None:
        limits += [document.links.host.rate, document.links.switch.rate]
    assert all(figure.gates for figure in limits)
    for key, figure in figures(document):
        if figure.class_ is SourceClass.SOURCED:
            assert "assumed" not in figure.source, key
