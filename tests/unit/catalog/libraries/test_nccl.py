"""NCCL's constants by version."""

import pytest

from weft.catalog.document import parse_document
from weft.catalog.libraries.nccl import (
    ALGORITHMS,
    NcclConstants,
    has_alternating_rings,
    nccl_constants,
    nccl_hardware,
)
from weft.core.errors import InputError


def test_a_version_takes_the_constants_of_its_range() -> None:
    assert nccl_constants("2.26.5").nvls_rule == "half_of_network"
    assert nccl_constants("2.22.3").version == "2.18"
    assert nccl_constants("2.23.4") == nccl_constants("2.27.7")
    assert nccl_constants("2.28.3").nvls_rule == "per_channel_cap"
    assert nccl_constants("2.30.7+cuda13.0") == nccl_constants("") == nccl_constants("v2.28")


@pytest.mark.parametrize("version", ["2.18.1", "2.26.5", "2.28.3"])
def test_every_algorithm_has_latencies_and_a_source(version: str) -> None:
    constants = nccl_constants(version)
    assert set(constants.base_latency_us) == set(ALGORITHMS)
    assert "NVIDIA/nccl" in constants.source


@pytest.mark.parametrize(
    ("version", "has"), [("2.19.3", False), ("2.20.3", True), ("2.26.5", True), ("", True)]
)
def test_rings_alternate_adapters_from_2_20(version: str, has: bool) -> None:
    assert has_alternating_rings(version) is has


@pytest.mark.parametrize(
    ("version", "message"),
    [("2.3.5", "no constants of NCCL 2.3.5"), ("newest", "'newest' is not a version of NCCL")],
)
def test_an_unknown_version_is_an_input_error(version: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        nccl_constants(version)
    assert raised.value.what == message
    assert raised.value.expected


def test_a_table_without_an_algorithm_is_refused() -> None:
    from weft.catalog.document import to_toml

    whole = nccl_constants()
    base = {name: row for name, row in whole.base_latency_us.items() if name != "ring"}
    text = to_toml(whole.model_copy(update={"base_latency_us": base}))
    with pytest.raises(InputError, match="ring has none"):
        parse_document(NcclConstants, text, "mine.toml", "NCCL table")


def test_nvlink_adds_up_to_what_data_sheets_say() -> None:
    raw = nccl_hardware().nvlink_link_raw_gb_s
    # Both directions of all links: V100 300, A100 600, H100 900, GB300 1800, MI300X 896 GB/s.
    links = {"volta": (6, 300), "ampere": (12, 600), "hopper": (18, 900), "blackwell": (18, 1800)}
    links["cdna3"] = (7, 896)
    sums = {name: 2 * links[name][0] * rate for name, rate in raw.items()}
    assert sums == {name: total for name, (_, total) in links.items()}


def test_nccl_counts_less_than_the_links_carry() -> None:
    hardware = nccl_hardware()
    for name, counted in hardware.nvlink_link_gb_s.items():
        assert counted < hardware.nvlink_link_raw_gb_s[name]
