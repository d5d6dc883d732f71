"""The form of run.toml: keys that weft reads have the types it wrote; others are free."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from weft.core.errors import InputError


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class _LostRecord(_Part):
    host: str
    cause: str
    remedy: str
    surveyed: bool


class _FactsPart(_Part):
    faults: list[Any] = []


class _BackendPart(_Part):
    name: str = ""
    facts: _FactsPart = _FactsPart()


class _HostPart(_Part):
    devices: list[dict[str, Any]] = []


class _RunRecord(_Part):
    seed: int = 0
    nodes: list[str] = []
    argv: list[str] = []
    remarks: list[str] = []
    study: str = ""
    started_unix_s: float = 0
    backend: _BackendPart = _BackendPart()
    host: _HostPart = _HostPart()
    environment: dict[str, str] = {}
    lost: list[_LostRecord] = []
    again: list[Annotated[list[str], Field(min_length=1)]] = []


def refuse_misshapen(meta: dict[str, Any], where: str, expected: str) -> None:
    """Raises InputError that names the first key whose value has another type."""
    try:
        _RunRecord.model_validate(meta)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise InputError(
            f"key '{key[:200]}' is wrong ({first['msg']})", where=where, expected=expected
        ) from error


def other_schema(found: Any, expected: str, where: str, version: object = None) -> InputError:
    """The error of a file in a format that this weft does not read; `version` wrote it."""
    writer = f"weft {version}" if version else "the weft that wrote it"
    return InputError(
        f"schema {found!r}",
        where=where,
        expected=f"schema {expected}",
        hint=f"read the run with {writer}",
    )
