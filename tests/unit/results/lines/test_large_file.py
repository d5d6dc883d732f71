"""A large file gives the same bytes as `bytes` would, and says when somebody shortens it."""

from pathlib import Path
from tempfile import TemporaryFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.core.errors import InputError
from weft.results.lines import large_file
from weft.results.lines.large_file import LargeFile

TEXTS = st.text("ab\n", max_size=120).map(str.encode)
PLACES = st.integers(0, 130)


@given(TEXTS, st.sampled_from([b"\n", b"ab", b"\nab", b"aaaa"]), st.lists(PLACES, max_size=8))
def test_it_finds_and_cuts_as_bytes_do(content: bytes, mark: bytes, places: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patched, TemporaryFile() as file:
        patched.setattr(large_file, "_WINDOW_BYTES", 16)
        file.write(content)
        file.flush()
        large = LargeFile(file, "large.log")
        assert len(large) == len(content)
        assert large[:] == content
        for start in places:
            assert large.find(mark, start) == content.find(mark, start)
            for stop in places:
                assert large.find(mark, start, stop) == content.find(mark, start, stop)
                assert large.rfind(mark, start, stop) == content.rfind(mark, start, stop)
                assert large[start:stop] == content[start:stop]


def test_a_file_that_somebody_shortens_is_named(tmp_path: Path) -> None:
    path = tmp_path / "large.log"
    path.write_bytes(b"line\n" * 1000)
    with path.open("rb") as file:
        large = LargeFile(file, str(path))
        path.write_bytes(b"line\n")
        with pytest.raises(InputError, match="became shorter while it was read"):
            large.find(b"nowhere")
