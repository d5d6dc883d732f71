"""Numbers as C's strtoll reads them: held to the C library itself."""

import ctypes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.doctor.numbers import meant, strtoll

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.strtoll.restype = ctypes.c_longlong
TEXTS = st.text(alphabet="0123456789abcdefxXoO+- \t.kKMGBiytrue", max_size=24)


def by_c(text: str) -> tuple[int | None, str]:
    end = ctypes.c_char_p()
    content = ctypes.create_string_buffer(text.encode())
    ctypes.set_errno(0)
    value = LIBC.strtoll(content, ctypes.byref(end), 0)
    rest = end.value.decode() if end.value is not None else ""
    return (None if ctypes.get_errno() == 34 else value), rest


@given(TEXTS)
def test_as_the_c_library(text: str) -> None:
    assert strtoll(text) == by_c(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [("true", "1"), ("OFF", "0"), ("2M", "2097152"), ("4 MiB", "4194304"), ("8kb", "8192"),
     ("maybe", None), ("12", None), ("3x", None)],
)  # fmt: skip
def test_what_was_meant(text: str, number: str | None) -> None:
    assert meant(text) == number
