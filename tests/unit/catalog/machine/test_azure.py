"""Azure's sizes: agree with their own names, with the platforms and with other people's lists."""

import re

import pytest

from weft.catalog.load import field_thresholds, platform
from weft.catalog.machine.azure import azure, azure_size
from weft.core.errors import InputError

NAME = re.compile(r"Standard_(H[BCX]|ND)(\d+)(?:-(\d+))?([a-z]*)(?:_\w+)?")


def test_names_say_the_cores_and_rdma() -> None:
    for series in azure().series:
        for name, cores in series.sizes.items():
            parts = NAME.fullmatch(name)
            assert parts is not None, name
            assert cores == int(parts[3] or parts[2]), name
            assert "r" in parts[4], name


def test_no_size_stands_twice() -> None:
    sizes = [size.lower() for series in azure().series for size in series.sizes]
    sizes += [size.lower() for refused in azure().refused for size in refused.sizes]
    assert len(sizes) == len(set(sizes))


def test_adapters_are_those_of_the_platform() -> None:
    for series in azure().series:
        if series.platform is not None:
            model = platform(series.platform)
            assert series.hcas == model.node["hcas"].value, series.name
            assert series.rate_gbps == model.links.host.rate.value, series.name


def test_sizes_that_azures_own_health_checks_know_are_there() -> None:
    """Of whole hosts and of constrained ones, for each series that both have."""
    systems = {
        row.system.removeprefix("Azure ")
        for row in field_thresholds()
        if row.system.startswith("Azure h")
    }
    assert "hb120-16rs_v3" in systems
    for system in systems:
        assert azure_size(system).name.lower() == f"standard_{system}"


@pytest.mark.parametrize("name", ["HB120rs_v3", "standard_hb120RS_V3", "Standard_HB120rs_v3"])
def test_a_size_is_found_however_it_is_written(name: str) -> None:
    size = azure_size(name)
    assert (size.name, size.cores, size.series.name) == ("Standard_HB120rs_v3", 120, "HBv3")


@pytest.mark.parametrize(
    ("name", "what", "hint"),
    [
        ("HB120rs_v33", "no size 'Standard_HB120rs_v33' with", "'Standard_HB120rs_v3'"),
        ("HB120-95rs_v3", "no size 'Standard_HB120-95rs_v3' with", "'Standard_HB120-96rs_v3'"),
        ("HB120s_v3", "Standard_HB120s_v3 has no RDMA", "'Standard_HB120rs_v3'"),
        ("D4s_v5", "Standard_D4s_v5 has no RDMA", None),
        ("NC24ads_A100_v4", "Standard_NC24ads_A100_v4 has no RDMA", None),
        ("HB60rs", "Standard_HB60rs: its series is being retired", None),
        ("A9", "Standard_A9: its InfiniBand is from before SR-IOV", None),
        ("ND128isr_GB300_v6", "Standard_ND128isr_GB300_v6: it has Arm processors", None),
    ],
)
def test_a_size_without_a_template_says_why(name: str, what: str, hint: str | None) -> None:
    with pytest.raises(InputError) as raised:
        azure_size(name)
    assert what in raised.value.what
    if hint is None:
        assert raised.value.hint is None
    else:
        assert hint in str(raised.value.hint)
