"""A table of samples as a data frame of the package that is installed."""

import importlib
import importlib.util
import io
from collections.abc import Callable, Mapping
from typing import Any

from weft.core.errors import MissingError, unknown_name
from weft.study.sample_table import SampleTable

INSTALL = "one of them: pip install polars"


def _pandas(table: SampleTable) -> Any:
    return importlib.import_module("pandas").DataFrame(dict(table.columns))


def _polars(table: SampleTable) -> Any:
    polars = importlib.import_module("polars")
    return polars.DataFrame(
        {
            name: polars.Series(column.tolist(), dtype=polars.String)
            if column.dtype.kind == "O"
            else polars.Series(column, nan_to_null=True)
            for name, column in table.columns.items()
        }
    )


def _arrow(table: SampleTable) -> Any:
    arrow = importlib.import_module("pyarrow")
    # A column without a text would become one of nulls.
    return arrow.table(
        {
            name: arrow.array(
                column, type=arrow.string() if column.dtype.kind == "O" else None, from_pandas=True
            )
            for name, column in table.columns.items()
        }
    )


def _numpy(table: SampleTable) -> dict[str, Any]:
    return dict(table.columns)


def _rows(table: SampleTable) -> list[dict[str, Any]]:
    return list(table.rows())


PACKAGES: Mapping[str, tuple[str, Callable[[SampleTable], Any]]] = {
    "pandas": ("pandas", _pandas),
    "polars": ("polars", _polars),
    "arrow": ("pyarrow", _arrow),
}
"""By kind of frame its package and what makes it; without a wish the first that is installed."""
OWN: Mapping[str, Callable[[SampleTable], Any]] = {"numpy": _numpy, "rows": _rows}
"""Kinds that need no package: a dict of columns, and a list of dicts."""


def installed(kinds: Mapping[str, tuple[str, Any]] = PACKAGES) -> str | None:
    """The first kind whose package is installed; None without one."""
    found = (kind for kind, (package, _) in kinds.items() if importlib.util.find_spec(package))
    return next(found, None)


def frame_of(table: SampleTable, kind: str | None = None) -> Any:
    """The table as a frame of this kind. Raises MissingError where its package, or with None every
    package, is missing, and InputError for an unknown kind."""
    if kind is None:
        kind = installed()
        if kind is None:
            raise MissingError(
                "no data frames: pandas, polars and pyarrow are not installed",
                expected=INSTALL,
                hint="frame='numpy' gives a dict of columns, frame='rows' a list of dicts",
            )
    if kind in OWN:
        return OWN[kind](table)
    if kind not in PACKAGES:
        raise unknown_name(f"no data frame '{kind}'", kind, [*PACKAGES, *OWN])
    package, made = PACKAGES[kind]
    if importlib.util.find_spec(package) is None:
        raise MissingError(f"{package} is not installed", expected=f"pip install {package}")
    return made(table)


def parquet_bytes(table: SampleTable) -> bytes:
    """The table as one Parquet file. Raises MissingError without pyarrow and polars."""
    buffer = io.BytesIO()
    kind = installed({name: PACKAGES[name] for name in ("arrow", "polars")})
    if kind == "arrow":
        importlib.import_module("pyarrow.parquet").write_table(_arrow(table), buffer)
    elif kind == "polars":
        _polars(table).write_parquet(buffer)
    else:
        raise MissingError(
            "no writer of Parquet: pyarrow and polars are not installed",
            expected=INSTALL,
            hint="--to csv needs no package",
        )
    return buffer.getvalue()
