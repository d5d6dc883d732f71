"""The environment of a run: run.toml as recorded, redacted when it was written."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from weft.bench.model import Sample
from weft.core.nodeset import fold
from weft.core.shell_line import shell_line
from weft.launch.secret_text import mask_text, mask_words
from weft.report.model import FactTable, Section
from weft.study.run.metadata import VERDICT

_STUDY = "study"
_LISTS: Mapping[str, Callable[[list[str]], str]] = {
    "argv": lambda words: shell_line(mask_words(words)),
    "nodes": fold,
}
"""Lists with a shorter spelling than commas."""


def section(meta: Mapping[str, Any], samples: Sequence[Sample]) -> Section:
    """All of run.toml but the verdict, which heads the page: one fact a line; the study itself
    verbatim."""
    plain, tables, verbatim = [], [], []
    for name, value in meta.items():
        if name == VERDICT:
            continue
        if isinstance(value, Mapping):
            rows = tuple(_flat(value))
            if rows:
                tables.append(FactTable(name.replace("_", " "), rows))
        elif name == _STUDY or (isinstance(value, str) and "\n" in value):
            shown, _ = mask_text(str(value))
            verbatim.append((f"{name.replace('_', ' ')}, verbatim", shown))
        elif value not in ("", [], None):
            plain.append((name, _LISTS[name](value) if name in _LISTS else _text(value)))
    first = (FactTable("transport", carriers(samples)), FactTable("This run", tuple(plain)))
    facts = [*(table for table in first if table.rows), *tables]
    return Section("Environment", facts=tuple(facts), verbatim=tuple(verbatim))


def carriers(samples: Sequence[Sample]) -> tuple[tuple[str, str], ...]:
    """Libraries, transports and rails that any launch names, and bytes by device over launches."""
    by_launch = {(sample.trial, sample.repeat): sample.evidence for sample in samples}
    reported: dict[str, dict[str, None]] = {}
    n_bytes: Counter[str] = Counter()
    for evidence in by_launch.values():
        for name, value in evidence.items():
            if name == "device_bytes" and isinstance(value, Mapping):
                n_bytes.update({str(device): int(count) for device, count in value.items()})
            else:
                reported.setdefault(name, {})[_text(value)] = None
    rows = [(name, "; ".join(values)) for name, values in reported.items()]
    rows += [(f"bytes over {device}", f"{count:,}") for device, count in sorted(n_bytes.items())]
    return tuple(rows)


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        elif value not in ("", [], None):
            yield f"{before}{name}", _text(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return " ".join(f"{name} {_text(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_text(item) for item in value)
    return mask_text(str(value))[0]
