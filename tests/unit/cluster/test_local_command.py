"""A command's words are heard to its end, and no longer or louder than anybody wants."""

import sys
import time

import pytest

from weft.cluster.local_command import CHUNK, End, hear

LIMIT = 1 << 20


def test_both_streams_and_the_code() -> None:
    heard = hear(["sh", "-c", "cat; echo no >&2; exit 3"], b"in", timeout_s=9, most_bytes=LIMIT)
    assert (heard.end, heard.code) == (End.EXITED, 3)
    assert (bytes(heard.out), bytes(heard.err)) == (b"in", b"no\n")


@pytest.mark.parametrize("stream", ["1", "2"])
def test_endless_words_are_cut_short(stream: str) -> None:
    heard = hear(["sh", "-c", f"yes >&{stream}"], b"", timeout_s=30, most_bytes=LIMIT)
    assert heard.end is End.TOO_LOUD
    assert max(len(heard.out), len(heard.err)) <= LIMIT + CHUNK


def test_who_says_nothing_is_given_up() -> None:
    started = time.monotonic()
    assert hear(["sleep", "60"], b"", timeout_s=0.2, most_bytes=LIMIT).end is End.TOO_LATE
    assert time.monotonic() - started < 20


def test_much_goes_in_while_much_comes_out() -> None:
    given = bytes(range(256)) * (1 << 14)
    heard = hear(["cat"], given, timeout_s=30, most_bytes=2 * len(given))
    assert bytes(heard.out) == given


def test_who_does_not_listen_is_no_error() -> None:
    heard = hear(["true"], b"x" * (1 << 20), timeout_s=9, most_bytes=LIMIT)
    assert (heard.end, heard.code) == (End.EXITED, 0)


def test_a_child_that_closes_its_ends_is_waited_for() -> None:
    words = "import os, time; os.close(0); os.close(1); os.close(2); time.sleep(0.2); os._exit(4)"
    assert hear([sys.executable, "-c", words], b"", timeout_s=9, most_bytes=LIMIT).code == 4
