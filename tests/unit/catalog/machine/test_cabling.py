"""How a platform's nodes are cabled."""

import json
import re
from importlib import resources
from typing import get_args

import pytest
from tests.unit.test_engine import FABRIC

from weft import _engine as engine
from weft.catalog.document import parse_document, to_toml
from weft.catalog.load import platform
from weft.catalog.machine.cabling import RoutingEngine
from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError


def test_every_routing_engine_of_a_platform_is_one_of_the_compiled_engine() -> None:
    with pytest.raises(ValueError, match="none") as raised:
        engine.build_fabric(json.dumps({**FABRIC, "routing": {"engine": "none"}}))
    expected = str(raised.value).partition("expected: ")[2]
    assert set(get_args(RoutingEngine)) <= set(re.findall(r"\w+", expected))
    for name in get_args(RoutingEngine):
        engine.build_fabric(json.dumps({**FABRIC, "routing": {"engine": name}}))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[fabric.groups]", "[fabric.group]", "unknown key 'fabric.group'"),
        ("[fabric.groups]", "[fabric.group]", "did you mean 'groups'"),
        ('detours = "ugal"', 'detours = "always"', "key 'fabric.adaptive.detours' is wrong"),
        ('unit = "groups"', 'unit = "nodes"', "a figure in groups, not in nodes"),
        ("value = 28\n", "value = 2\n", "three groups or more"),
        ("value = 28\n", "value = 1\n", "a figure above 1 groups, not 1"),
        (
            "[fabric.switches_per_group]\nvalue = 32",
            "[fabric.switches_per_group]\nvalue = 30",
            "cha",
        ),
        (
            "[fabric.nodes_per_group]\nvalue = 128",
            "[fabric.nodes_per_group]\nvalue = 100",
            "as many",
        ),
        (
            "[fabric.nodes]\nvalue = 144",
            "[fabric.nodes]\nvalue = 9000",
            "no more nodes than groups",
        ),
        ("[fabric.group_cables]\nvalue = 10", "[fabric.group_cables]\nvalue = 60", "of 98 ports"),
        ("[fabric.chassis_switches]\nvalue = 4", "[fabric.chassis_switches]\nvalue = 8", "evenly"),
    ],
)
def test_a_dragonfly_that_cannot_be_is_refused(old: str, new: str, message: str) -> None:
    folder = resources.files("weft.catalog").joinpath("platforms")
    text = folder.joinpath("alps-a100.toml").read_text("utf-8")
    assert old in text
    with pytest.raises(InputError, match=message):
        parse_document(Platform, text.replace(old, new), "alps.toml", "platform")


def test_a_dragonfly_is_written_as_it_is_read() -> None:
    known = platform("frontier")
    assert parse_document(Platform, to_toml(known), "frontier.toml", "platform") == known
