"""The link under a fit: named, told by the rows, or left open."""

from pathlib import Path

import pytest

from weft.catalog.document import SourceClass
from weft.cli.platform.fitted_link import named_link, told_link
from weft.core.errors import InputError

OSU = Path(__file__).resolve().parents[3] / "fixtures" / "results" / "osu"


def test_a_named_link_is_a_rate_with_its_source() -> None:
    rate = named_link("edr")
    assert (rate.value, rate.unit, rate.class_) == (100, "Gb/s", SourceClass.SOURCED)
    assert rate.source.startswith("--link edr: ")
    with pytest.raises(InputError, match="no link 'edrr'"):
        named_link("edrr")


def test_a_plateau_that_fits_one_rate_tells_the_link() -> None:
    names = ("alps_7.5_latency_host.txt", "alps_7.5_bw_host.txt")
    rate, remark = told_link([OSU / name for name in names])
    assert rate is not None
    assert rate.value == 200
    assert remark == "link: 96 % of 200 Gb/s, told by the rows (else --link)"


def test_rows_without_a_plateau_leave_the_link_open(tmp_path: Path) -> None:
    small = tmp_path / "small.txt"
    rows = "\n".join(f"{2**k}  {1 + 2**k / 1e4:.2f}" for k in range(9))
    small.write_text(f"# OSU MPI Latency Test v7.5\n# Size Latency (us)\n{rows}\n")
    rate, remark = told_link([small])
    assert rate is None
    assert "without --link no row is called impossible" in remark
