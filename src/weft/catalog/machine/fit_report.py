"""The report of a fitted platform about its fit: tables, rows, errors on rows not seen, range."""

from typing import Literal

from pydantic import Field

from weft.catalog.document import Document, Slug, Text


class HeldOut(Document):
    """How rows the fit had not seen were predicted. Errors are |predicted / measured - 1|."""

    fitted_on: Text
    n_rows: int = Field(ge=1)
    median_error: float = Field(ge=0)
    worst_error: float = Field(ge=0)
    worst_bytes: int = Field(ge=0)


class LeftOut(Document):
    """A row that no rising lines give: named, not fitted.

    `held_out_error` is how far off it is predicted by the half that has not seen it; it is counted
    in no `HeldOut`.
    """

    size_bytes: int = Field(ge=0)
    value: float
    reason: Text
    held_out_error: float | None = Field(default=None, ge=0)


class FittedTable(Document):
    """A table behind a fit: where it comes from, the rows used, and how well rows were predicted.

    `source` is the file or the run, `sha256` of its bytes. `sizes_bytes` are the rows used in the
    final fit.
    """

    benchmark: Slug
    metric: Text
    source: Text
    sha256: str = ""
    tool: str = ""
    conditions: str = ""
    window: int | None = Field(default=None, ge=1)
    sizes_bytes: tuple[int, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    held_out: tuple[HeldOut, ...] = Field(min_length=1)

    @property
    def unseen(self) -> HeldOut:
        """Of both halves the larger median, and the worst row."""
        worst = max(self.held_out, key=lambda half: half.worst_error)
        return HeldOut(
            fitted_on="either half",
            n_rows=sum(half.n_rows for half in self.held_out),
            median_error=max(half.median_error for half in self.held_out),
            worst_error=worst.worst_error,
            worst_bytes=worst.worst_bytes,
        )


class HealthyBand(Document):
    """What healthy runs of one benchmark scatter, up to `max_bytes` (None: all larger sizes).

    `rows` are (size in bytes, least, greatest value of the runs). A further healthy run may lie
    beyond both by `factor`. `library` is "verbs" for perftest, else "mpi".
    """

    benchmark: Slug
    metric: Text
    library: Literal["mpi", "verbs"] = "mpi"
    max_bytes: int | None = Field(default=None, ge=0)
    n_runs: int = Field(ge=2)
    factor: float = Field(ge=1, allow_inf_nan=False)
    rows: tuple[tuple[int, float, float], ...] = Field(min_length=1)
    source: Text


class Fit(Document):
    """How the host costs of a platform came about, and for which sizes they stand."""

    method: Text
    n_parameters: int = Field(ge=1)
    n_rows: int = Field(ge=1)
    min_bytes: int = Field(ge=0)
    max_bytes: int = Field(ge=0)
    tables: tuple[FittedTable, ...] = Field(min_length=1)
    assumptions: tuple[Text, ...] = ()
    bands: tuple[HealthyBand, ...] = ()

    def covers(self, size_bytes: int) -> bool:
        """Whether a size lies within the rows of the fit."""
        return self.min_bytes <= size_bytes <= self.max_bytes
