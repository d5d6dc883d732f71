"""Which machine a file is of: what you say, what it says itself, and never a silent guess."""

import pytest

from weft.catalog.load import platform
from weft.core.errors import InputError
from weft.judge.expectation.platform_choice import is_link_class, link_classes, place_of
from weft.results.model import ResultFile, Row, Table

H100 = "NVIDIA H100 80GB HBM3"
GH200 = "NVIDIA GH200 120GB"


def file(
    devices: tuple[str, ...] = (), hosts: tuple[str, ...] = (), n_nodes: int | None = None
) -> ResultFile:
    rows = (Row(1, 8, {"busbw_gb_s": 1.0}),)
    table = Table(
        "nccl-tests", "t", "allreduce", rows, 1, hosts=hosts, devices=devices, n_nodes=n_nodes
    )
    return ResultFile("f", (table,))


def test_what_you_say_goes_before_what_the_file_says() -> None:
    place = place_of(file((H100,) * 8, ("a",) * 8), "generic-hdr")
    assert place.platform is not None
    assert place.platform.name == "generic-hdr"
    assert place.because == "--platform generic-hdr"
    assert place.is_link_class


def test_an_unknown_platform_is_an_error() -> None:
    with pytest.raises(InputError, match="no platform 'azure-ndv55'"):
        place_of(file(), "azure-ndv55")


def test_gpus_name_the_inside_of_a_node() -> None:
    place = place_of(file((H100,) * 8, ("a",) * 8, n_nodes=1), None)
    assert place.platform is not None
    assert place.platform.name == "azure-ndv5"
    assert f"8 {H100} a node" in place.because
    assert "--platform" in place.because


def test_gpus_alone_do_not_name_the_network_between_nodes() -> None:
    place = place_of(file((H100,) * 16, ("a",) * 8 + ("b",) * 8, n_nodes=2), None)
    assert place.platform is None
    assert "does not say which network is between nodes" in place.because
    assert place.candidates == ("azure-ndv5",)


def test_gpus_and_host_names_together_do() -> None:
    hosts = ("nid005471",) * 4 + ("nid005487",) * 4
    place = place_of(file((GH200,) * 8, hosts, n_nodes=2), None)
    assert place.platform is not None
    assert place.platform.name == "alps-gh200"
    assert "host nid005471" in place.because


def test_more_gpus_on_a_host_than_the_machine_has_are_another_machine() -> None:
    place = place_of(file((GH200,) * 8, ("x1",) * 8, n_nodes=1), None)
    assert place.platform is None


def test_a_device_name_that_several_machines_share_names_none_of_them() -> None:
    place = place_of(file(("mlx5_ib0",)), None)
    assert place.platform is None
    assert "azure-hbv3" in place.candidates
    assert "azure-hc" in place.candidates


def test_a_file_that_names_nothing_is_of_no_machine() -> None:
    place = place_of(file(), None)
    assert place.platform is None
    assert place.because == "the file names no machine of the catalogue"


def test_generations_of_links_are_listed_slowest_first() -> None:
    rates = [p.links.host.rate.value for p in link_classes() if p.links is not None]
    assert rates == sorted(rates)
    assert len(rates) >= 4
    assert is_link_class("generic-ndr")
    assert not is_link_class("azure-hc")


def test_a_fit_on_a_generation_of_links_is_a_machine() -> None:
    fitted = platform("generic-hdr").model_copy(update={"fit": platform("azure-a9").fit})
    assert fitted.fit is not None
    assert not place_of(file(), fitted).is_link_class
