"""How a platform's nodes are cabled."""

import json
import re
from typing import get_args

import pytest
from tests.unit.test_engine import FABRIC

from weft import _engine as engine
from weft.catalog.machine.cabling import RoutingEngine


def test_every_routing_engine_of_a_platform_is_one_of_the_compiled_engine() -> None:
    with pytest.raises(ValueError, match="none") as raised:
        engine.build_fabric(json.dumps({**FABRIC, "routing": {"engine": "none"}}))
    expected = str(raised.value).partition("expected: ")[2]
    assert set(get_args(RoutingEngine)) <= set(re.findall(r"\w+", expected))
    for name in get_args(RoutingEngine):
        engine.build_fabric(json.dumps({**FABRIC, "routing": {"engine": name}}))
