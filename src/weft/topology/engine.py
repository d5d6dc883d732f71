"""The compiled engine: how it is found, and its refusals as errors a user can act on."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from weft.core.errors import InputError, MissingError
from weft.core.work.progress import working

if TYPE_CHECKING:
    from weft._engine import (
        BisectionShares,
        ChannelCircle,
        HwlocDevice,
        HwlocHost,
        PathSurvey,
        PortLoads,
        ShiftLoads,
    )
    from weft._engine import Subnet as SubnetHandle

__all__ = [
    "COMPUTED_TABLES",
    "ENGINES",
    "BisectionShares",
    "ChannelCircle",
    "HwlocDevice",
    "HwlocHost",
    "PathSurvey",
    "PortLoads",
    "ShiftLoads",
    "SubnetHandle",
    "as_input_error",
    "engine_at_work",
    "engine_module",
    "refusals",
]

ENGINES = ("minhop", "updn", "ftree")
"""Engines of OpenSM that weft computes as OpenSM does."""
COMPUTED_TABLES = f"or let weft compute them: --engine {', '.join(ENGINES[:-1])} or {ENGINES[-1]}"
"""The hint where forwarding tables are missing."""
_EXPECTED = re.compile(r"\n {2}expected: (.*?)(?=\n {2}hint: |\Z)", re.DOTALL)
_HINT = re.compile(r"\n {2}hint: (.*)\Z", re.DOTALL)


def as_input_error(error: ValueError) -> InputError:
    """The engine's refusal as the error a user can act on."""
    text = str(error)
    where, colon, what = text.partition("\n")[0].partition(": ")
    expected, hint = _EXPECTED.search(text), _HINT.search(text)
    return InputError(
        what if colon else where,
        where=where if colon else None,
        expected=expected.group(1) if expected else None,
        hint=hint.group(1) if hint else None,
    )


@contextmanager
def refusals() -> Iterator[None]:
    """Refusals of the engine inside, or a number beyond its range, as InputError."""
    try:
        yield
    except ValueError as error:
        raise as_input_error(error) from error
    except OverflowError as error:
        raise InputError(str(error), expected="a number that the engine can hold") from error


@contextmanager
def engine_at_work(what: str, told_part: float = 1.0) -> Iterator[Any]:
    """The compiled module, while the engine tells how far its call is, or how far `told_part` of
    it. Raises MissingError."""
    engine = engine_module()
    with working(what, ask=lambda: told_part * (engine.share_done() or 0.0)):
        yield engine


def engine_module() -> Any:
    """The compiled module. Raises MissingError where it is not built."""
    try:
        from weft import _engine
    except ImportError as error:
        raise MissingError(
            "the simulation engine is not built",
            expected="weft._engine in the package's folder",
            hint="'make setup' builds it",
        ) from error
    return _engine
