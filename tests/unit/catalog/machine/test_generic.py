"""A platform of nothing but its hardware: a given figure may limit, an assumed one may not."""

import pytest

from weft.catalog import load
from weft.catalog.document import SourceClass
from weft.catalog.machine.generic import Hardware, generic_platform
from weft.catalog.machine.platform import Platform
from weft.expect.model import Conditions
from weft.expect.prediction import predict

PAIR = Conditions("bandwidth", 1 << 22)


def built(**hardware: object) -> Platform:
    return generic_platform(Hardware(**hardware), load.platform)  # type: ignore[arg-type]


def test_a_named_slot_is_stated_and_the_usual_one_is_assumed() -> None:
    given, usual = (built(link="edr", pcie=pcie).node["hca_pcie"] for pcie in ("3x8", ""))
    assert (given.value, given.class_) == (pytest.approx(7.877, abs=1e-3), SourceClass.SOURCED)
    assert usual.class_ is SourceClass.ASSUMED


@pytest.mark.parametrize(
    ("hardware", "limit_mb_s"),
    [
        ({"link": "edr"}, 12_421),
        ({"link": "edr", "pcie": "3x8"}, 7_877),
        ({"link": "edr", "rails": 2}, 24_842),
        ({"link": "100gbe"}, 12_500),
        ({"pcie": "3x8"}, 7_877),
        ({"gpu": "h100-sxm"}, None),
        ({"rails": 4}, None),
    ],
)
def test_the_limit_is_of_what_was_named(
    hardware: dict[str, object], limit_mb_s: float | None
) -> None:
    limit = predict(built(**hardware), PAIR).limit
    assert limit == (None if limit_mb_s is None else pytest.approx(limit_mb_s, rel=1e-3))


def test_adapters_whose_number_is_assumed_limit_no_collective_of_gpus() -> None:
    case = Conditions("allreduce", 1 << 30, 2, 8, memory="gpu", library="nccl")
    assert predict(built(gpu="h100-sxm", link="ndr"), case).limit is None
    assert predict(built(gpu="h100-sxm", link="ndr", rails=8), case).limit is not None
