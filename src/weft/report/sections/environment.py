"""Where and with what it was measured: run.toml as recorded, redacted when it was written."""

from collections.abc import Iterator, Mapping
from typing import Any

from weft.report.model import Facts, Section

_STUDY = "study"


def section(meta: Mapping[str, Any]) -> Section:
    """Everything run.toml says, one fact a line; the study itself as it was given."""
    plain = tuple((name, _said(value)) for name, value in meta.items() if _is_plain(name, value))
    facts = [Facts("This run", plain)] if plain else []
    verbatim = []
    for name, value in meta.items():
        if isinstance(value, Mapping):
            rows = tuple(_flat(value))
            if rows:
                facts.append(Facts(name.replace("_", " "), rows))
        elif name == _STUDY or (isinstance(value, str) and "\n" in value):
            verbatim.append((f"{name.replace('_', ' ')}, verbatim", str(value)))
    return Section("Where and with what", facts=tuple(facts), verbatim=tuple(verbatim))


def _is_plain(name: str, value: Any) -> bool:
    return (
        not isinstance(value, Mapping)
        and value not in ("", [], None)
        and name != _STUDY
        and "\n" not in str(value)
    )


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        elif value not in ("", [], None):
            yield f"{before}{name}", _said(value)


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(_said(item) for item in value)
    return str(value)
