"""Why adaptive routing helps one table and hurts another: where packets wait for credits."""

from functools import cache
from typing import Any

from weft.bench.model import Launch, Trial
from weft.bench.twin.backend import TwinBackend, simulate
from weft.catalog.load import platform


@cache
def twin() -> TwinBackend:
    """Six leaves of Frontera's."""
    return TwinBackend(platform("frontera"), 264)


def waited(adaptive: str, **options: Any) -> tuple[float, dict[str, float]]:
    """The time of an alltoall of 32 KiB on 220 packed nodes, and the waiting of ports on the way up
    and down, all in microseconds."""
    nodes = twin().nodes[:220]
    options = {"iterations": 1, "warmup": 0, "adaptive_routing": adaptive, **options}
    trial = Trial("t", "alltoall", (32768,), nodes, 1, options=options)
    outcome = simulate(twin().scenario(Launch(trial, 0, 0)))
    between = [
        (link["a"], link["b"])
        for link in twin().fabric_document["links"]
        if "/" not in link["a"] + link["b"]
    ]
    side = {a: "up" for a, _ in between} | {b: "down" for _, b in between}
    waits = {"up": 0.0, "down": 0.0}
    for name, wait_ps in zip(outcome["port_name"], outcome["xmit_wait_ps"], strict=True):
        if name in side:
            waits[side[name]] += int(wait_ps) / 1e6
    return int(outcome["duration_ps"][0]) / 1e6, waits


def test_static_routes_that_collide_on_the_way_up_are_what_it_removes() -> None:
    off_us, off = waited("off", routing="opensm-minhop")
    on_us, on = waited("on", routing="opensm-minhop")
    assert on_us < 0.8 * off_us
    assert off["up"] > 3 * on["up"]


def test_it_does_not_see_the_way_down_where_even_routes_had_no_collision() -> None:
    off_us, off = waited("off")
    on_us, on = waited("on")
    assert on_us > off_us
    assert on["down"] > 1.5 * off["down"]
    assert on["up"] < 2 * off["up"]
