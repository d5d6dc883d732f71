"""The engine's refusals of a small scenario that is wrong in one way."""

from collections.abc import Callable
from typing import Any

import pytest

from weft.bench.model import Launch, Trial
from weft.bench.twin.backend import TwinBackend, simulate
from weft.catalog.load import platform
from weft.core.errors import InputError

Document = dict[str, Any]


def engine_refusal(change: Callable[[Document], Document]) -> str:
    """The text by which the engine refuses a changed scenario of two nodes."""
    twin = TwinBackend(platform("frontera"), 2)
    launch = Launch(Trial("t", "latency", (8,), twin.nodes, 1), 0, order=0)
    with pytest.raises(InputError) as refused:
        simulate(change(twin.scenario(launch)))
    return str(refused.value)
