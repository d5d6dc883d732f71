"""From what share on a rail is good: as Azure's own checks demand of the same tool."""

import pytest

from weft.bench.rdma.devices import HostDevices, Rail
from weft.bench.rdma.measure import Reading
from weft.bench.rdma.pairing import RailPair
from weft.bench.rdma.plan import Memory, RailPath
from weft.bench.rdma.verdict import RailState, least_share, state_of, sums_gbps
from weft.catalog.load import field_thresholds, platform

MEMORIES: tuple[tuple[Memory, int], ...] = (("host", 1 << 20), ("gpu", 8 << 20))


@pytest.mark.parametrize(("memory", "size_bytes"), MEMORIES)
def test_shares_are_the_lowest_that_are_demanded(memory: Memory, size_bytes: int) -> None:
    shares = {
        row.printed_value / platform(row.platforms[0]).links.host.rate.value
        for row in field_thresholds()
        if row.tool_test == "ib_write_bw"
        and row.memory == memory
        and row.size_bytes == (size_bytes, size_bytes)
        and row.platforms
        and row.printed_unit == "Gb/s"
    }
    assert shares
    assert least_share(memory) == pytest.approx(min(shares))


def reading(gbps: float | None, rate: float | None = 200.0, state: str = "ACTIVE") -> Reading:
    rail = Rail("mlx5_0", 1, "InfiniBand", state, rate, 0, ())
    a, b = (HostDevices(name, "", {}, (rail,), ()) for name in "ab")
    return Reading(RailPath(RailPair(rail, rail), 0, a, b, rail, rail, 18515), gbps)


@pytest.mark.parametrize(
    ("one", "memory", "state"),
    [
        (reading(190.0), "host", RailState.GOOD),
        (reading(189.9), "host", RailState.LOW),
        (reading(189.9), "gpu", RailState.GOOD),
        (reading(179.9), "gpu", RailState.LOW),
        (reading(200.1), "host", RailState.IMPOSSIBLE),
        (reading(None), "host", RailState.FAILED),
        (reading(190.0, rate=None), "host", RailState.NO_RATE),
        (reading(None, state="DOWN"), "host", RailState.DOWN),
    ],
)
def test_states(one: Reading, memory: Memory, state: RailState) -> None:
    assert state_of(one, memory) is state


def test_what_was_not_measured_adds_nothing() -> None:
    assert sums_gbps([reading(100.0), reading(None), reading(50.0)]) == {("a", "b"): 150.0}
