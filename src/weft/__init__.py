"""weft: measure a fabric, predict it on a twin, name what is wrong, prescribe settings.

The functions of a notebook: `weft.load(RUN...)`, `weft.judge(FILE)`, `weft.expect(PLATFORM)` and
`weft.check_run(RUN)`; `help(weft.api.load.load)` and so on describe them.
"""

import importlib
import sys
from types import ModuleType
from typing import Any

__version__ = "0.1.0"
__all__ = [
    "IncompleteRunWarning",
    "InputError",
    "MissingError",
    "WeftError",
    "check_run",
    "expect",
    "judge",
    "load",
]

# Their types are in __init__.pyi: an import here, of a type alone too, would reach up from the
# lowest room.
_MODULES = {
    "IncompleteRunWarning": "weft.api.load",
    "InputError": "weft.core.errors",
    "MissingError": "weft.core.errors",
    "WeftError": "weft.core.errors",
    "check_run": "weft.api.checked_run",
    "expect": "weft.api.expectation",
    "judge": "weft.api.judging",
    "load": "weft.api.load",
}
_ROOMS = ("judge", "expect")
"""Functions with the name of a package, which can be called for that reason."""


def _of_api(name: str) -> Any:
    return getattr(importlib.import_module(_MODULES[name]), name)


class _CallableRoom(ModuleType):
    """A package of weft that is a function of the API as well."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function of the API."""
        return self.__wrapped__(*arguments, **options)

    @property
    def __wrapped__(self) -> Any:
        """The function: where `inspect` and notebooks find its parameters and its text."""
        return _of_api(self.__name__.rpartition(".")[2])


class _Weft(ModuleType):
    """This package. Python binds a package below it here when it is imported first."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _ROOMS and isinstance(value, ModuleType):
            value.__class__ = _CallableRoom
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Weft


def __getattr__(name: str) -> Any:
    """The functions of the API, imported when they are first asked for."""
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _MODULES:
        return _of_api(name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
