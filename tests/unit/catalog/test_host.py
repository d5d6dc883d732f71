"""Facts about this host, and what happens where they cannot be read."""

from pathlib import Path

from weft.catalog import host
from weft.catalog.document import SourceClass
from weft.catalog.load import platform


def test_memory_is_read_in_gb_of_1e9_bytes(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemFree: 5 kB\nMemTotal:       1000000 kB\n")
    assert host._memory_gb(meminfo) == 1.0


def test_what_cannot_be_read_is_left_out_or_none(tmp_path: Path) -> None:
    assert host._memory_gb(tmp_path / "nowhere") is None
    (tmp_path / "empty").write_text("nothing of use\n")
    assert host._memory_gb(tmp_path / "empty") is None
    assert host._n_entries(tmp_path / "nowhere") == 0


def test_every_fact_says_that_this_host_told_it() -> None:
    for figure in platform("this-machine").node.values():
        assert figure.class_ is SourceClass.SOURCED
        assert "this host" in figure.source
