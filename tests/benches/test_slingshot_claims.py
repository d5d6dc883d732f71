"""The figures that the study of NCCL's plug-in rests on: all of them are varied, from the data."""

import pytest
from benches.slingshot_claims import (
    Claim,
    Variation,
    claim_cells,
    measured,
    scaled,
    variations,
    with_practice,
)
from pydantic import ValidationError

from benches import slingshot, slingshot_claims
from weft.catalog.document import SourceClass
from weft.catalog.libraries.training_model import synthetic_benchmarks
from weft.catalog.load import platform
from weft.catalog.machine.platform import Platform, figures
from weft.catalog.machine.practice import practice

MACHINE = platform("alps-a100")
MIB = 1 << 20


@pytest.fixture
def small_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    """One allreduce stands for all claims."""

    def one(machine: Platform) -> dict[str, Claim]:
        rate = measured(machine, "allreduce", MIB, (2, 1), "sockets")["busbw_gb_s"]
        return {"one": Claim(holds=rate > 0, rates=(rate,))}

    monkeypatch.setattr(slingshot_claims, "claims", one)


@pytest.mark.usefixtures("small_claims")
def test_every_assumed_figure_of_machine_host_and_training_is_varied() -> None:
    names = [varied.name for varied in variations(MACHINE)]
    assert len(names) == len(set(names))
    unsure = (SourceClass.ASSUMED, SourceClass.UNVERIFIED)
    for path, figure in figures(MACHINE):
        assert (path in names) == (figure.class_ in unsure), path
    for path, figure in figures(synthetic_benchmarks()):
        assert (f"training: {path}" in names) == (figure.class_ in unsure), path
    assert "host.regimes[].gap_ns_per_byte" in names
    # A run over sockets reads these.
    assert {"practice: tcp-stream", "practice: tcp-latency"} <= set(names)


def test_a_figure_is_scaled_where_it_stands_and_nowhere_else() -> None:
    half = scaled(MACHINE, "fabric.group_cables", 0.5)
    values = dict(figures(MACHINE))
    changed = {path for path, figure in figures(half) if figure != values[path]}
    assert changed == {"fabric.group_cables"}
    table = scaled(synthetic_benchmarks(), "models[1].images_per_s.ampere", 2)
    assert table.models[1].images_per_s["ampere"].value == 2 * 492
    with pytest.raises(ValidationError):
        scaled(MACHINE, "fabric.groups", 0.0)


def test_a_figure_that_no_machine_can_have_claims_nothing() -> None:
    varied = Variation("groups", lambda factor: scaled(MACHINE, "fabric.groups", factor))
    # 55 x 10 cables for 32 switches: 65 of 64 ports.
    assert varied.claims(2.0) is None


def test_a_figure_of_practice_holds_inside_its_variation_only() -> None:
    before = practice("tcp-stream").value
    with with_practice("tcp-stream", 0.5):
        assert practice("tcp-stream").value == before / 2
        slow = measured(MACHINE, "allreduce", 4 * MIB, (2, 1), "sockets")
    assert practice("tcp-stream").value == before
    fast = measured(MACHINE, "allreduce", 4 * MIB, (2, 1), "sockets")
    assert fast["busbw_gb_s"] > 1.5 * slow["busbw_gb_s"]


@pytest.mark.usefixtures("small_claims")
def test_a_figure_that_changes_no_rate_has_no_effect() -> None:
    """Two nodes share a switch: no cable between groups is in use. The TCP stream is."""
    base = slingshot_claims.claims(MACHINE)
    varied = {one.name: one for one in variations(MACHINE)}
    words = {
        name: list(claim_cells(base, [varied[name].claims(factor) for factor in (0.5, 2.0)]))
        for name in ("fabric.group_cables", "fabric.groups", "practice: tcp-stream")
    }
    assert words["fabric.group_cables"] == ["no effect"]
    # 55 x 10 cables for 32 switches: 65 of 64 ports.
    assert words["fabric.groups"] == ["half: no effect, twice: none"]
    assert words["practice: tcp-stream"] == ["holds"]


def test_a_claim_that_fails_says_so_even_where_the_figure_changes_nothing() -> None:
    base = {"a": Claim(holds=False, rates=(1.0,))}
    assert list(claim_cells(base, [base, {"a": Claim(holds=True, rates=(2.0,))}])) == [
        "half: **fails**, twice: holds"
    ]


def test_rising_means_every_value_above_the_one_before() -> None:
    assert slingshot.rises([1.0, 1.001, 1.1])
    assert not slingshot.rises([1.0, 1.2, 1.2])
    assert not slingshot.rises([1.0, 1.2, 1.19, 1.5])
