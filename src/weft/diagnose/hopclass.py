"""Hop classes: readings are compared only with readings that crossed the same kind of path."""

from collections.abc import Sequence
from dataclasses import dataclass

from weft.diagnose.crossing import Crossings, Wiring, host_of
from weft.diagnose.readings import Reading


@dataclass(frozen=True, slots=True, order=True)
class HopClass:
    """`n_links` crossed (None without a fabric), and the lowest rate on the way."""

    n_links: int | None
    bits_per_s: int | None
    words: str

    def __str__(self) -> str:
        return self.words


def classify(
    readings: Sequence[Reading], crossings: Crossings, fabric: Wiring | None
) -> list[HopClass]:
    """The hop class of each reading."""
    if fabric is None:
        return [_by_host(reading) for reading in readings]
    rates = _rate_of_ports(fabric)
    several_rates = len(set(rates.values())) > 1
    return [
        _by_path(crossings.path(reading.a, reading.b), rates, several_rates) for reading in readings
    ]


def _by_host(reading: Reading) -> HopClass:
    same = host_of(reading.a) == host_of(reading.b)
    return HopClass(None, None, "on one host" if same else "between hosts")


def _by_path(path: tuple[str, ...], rates: dict[str, int], several_rates: bool) -> HopClass:
    n_links = len(path)
    lowest = min((rates[port] for port in path), default=0)
    words = f"{n_links} links apart"
    if several_rates:
        words += f" at {lowest / 1e9:g} Gb/s"
    return HopClass(n_links, lowest, words)


def _rate_of_ports(fabric: Wiring) -> dict[str, int]:
    rates: dict[str, int] = {}
    for link in fabric.document["links"]:
        rates[str(link["a"])] = rates[str(link["b"])] = int(link["bits_per_s"])
    return rates
