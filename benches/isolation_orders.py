"""Do the orders of isolation survive half and twice each assumed constant, and other buffers?

    isolation_orders.py [--sets N] [--programs [NAME ...]]

Of the tests of `isolation-gpcnet` the ring latency, with `--programs` those of `isolation-apps`
(20 steps): alone, beside the study's aggressors, and beside them with `rtt`. A row for each value:
the mean time over node sets, and whether alone <= with control < beside. Prints Markdown.
"""

import argparse
from collections.abc import Iterator
from statistics import fmean

from weft.bench.model import Launch, Trial
from weft.bench.twin.backend import TwinBackend
from weft.catalog.load import platform
from weft.catalog.machine.platform import Platform
from weft.catalog.machine.scaling import scaled, unsure_figures
from weft.study.plan.plan import choose_node_sets

PARTS = ("links.", "packets.", "switch.", "host.adapter_latency", "host.regimes[]")
"""Constants that one rank a node on static routes has; others change nothing here."""
GPCNET = ["alltoall:4K@20%", "fan_in:4K@20%", "put_incast:4K@20%", "get_broadcast:4K@20%"]
APPS = ["alltoall:64K@20%", "fan_in:64K@20%"]
ARMS = ("alone", "rtt", "beside")
TESTS = {"random_ring_latency": (512, 102, 8, GPCNET, {"iterations": 50, "rings": 5})}
PROGRAMS = {
    name: (128, 32, 0, APPS, {"steps": 20}) for name in ("halo", "transposes", "plane_waves")
}
"""Benchmark -> nodes of the twin, of the job, bytes, aggressors, options: those of the studies."""


def variants(model: Platform) -> Iterator[tuple[str, Platform]]:
    """The platform, and with other values of what nobody measured."""
    yield "as assumed", model
    yield "switch.buffer x 4", scaled(model, "switch.buffer", 4)
    for name, at in unsure_figures(model):
        if name.startswith(PARTS):
            for factor in (0.5, 2.0):
                yield f"{name} x {factor:g}", at(factor)


def mean_us(model: Platform, name: str, n_sets: int, *, programs: bool) -> dict[str, float]:
    """The mean time of an iteration, by arm."""
    n_nodes, n_job, size, aggressors, options = (PROGRAMS if programs else TESTS)[name]
    twin = TwinBackend(model, n_nodes)
    sets = choose_node_sets(twin.nodes, n_job, n_sets, seed=1)
    launches, arms = [], []
    for arm in ARMS:
        more = {} if arm == "beside" else {"congestion_control": "rtt"}
        load = {"aggressors": [] if arm == "alone" else aggressors}
        for number, nodes in enumerate(sets):
            own = {**options, **load, **(more if arm == "rtt" else {})}
            trial = Trial(f"{name}-{number}", name, (size,), nodes, 1, options=own)
            launches.append(Launch(trial, ARMS.index(arm), len(launches)))
            arms.append(arm)
    twin.ahead(launches)
    times: dict[str, list[float]] = {arm: [] for arm in ARMS}
    for arm, launch in zip(arms, launches, strict=True):
        for sample in twin.measure(launch):
            times[arm].append(fmean(sample.times_ns or ()) / 1e3)
    return {arm: fmean(own) for arm, own in times.items()}


def main() -> None:
    """Print a row for each test and value."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", type=int, default=6)
    parser.add_argument("--programs", nargs="*", choices=PROGRAMS)
    arguments = parser.parse_args()
    n_held = n_rows = 0
    print("| test | value | alone, us | with `rtt` | beside | alone <= with control < beside |")
    print("|---|---|---:|---:|---:|---|")
    programs = arguments.programs is not None
    for name in (arguments.programs or PROGRAMS) if programs else TESTS:
        for value, model in variants(platform("frontera")):
            found = mean_us(model, name, arguments.sets, programs=programs)
            holds = found["alone"] <= found["rtt"] < found["beside"]
            n_rows, n_held = n_rows + 1, n_held + holds
            cells = " | ".join(f"{found[arm]:.4g}" for arm in ARMS)
            print(f"| {name} | {value} | {cells} | {'yes' if holds else 'no'} |", flush=True)
    print(f"\n{n_held} of {n_rows} hold")


if __name__ == "__main__":
    main()
