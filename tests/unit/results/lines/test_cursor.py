import pytest

from weft.results.lines.cursor import Cursor, Line
from weft.results.model import MAX_UNREAD_KEPT


def lines(*texts: str) -> list[Line]:
    return [Line(number, text) for number, text in enumerate(texts, start=1)]


def opens(text: str) -> bool:
    return text.startswith("#")


def test_a_reader_takes_its_own_title_and_stops_at_the_next() -> None:
    cursor = Cursor(lines("# one", "row", "# two"), opens)
    assert cursor.peek() is None
    cursor.enter()
    assert cursor.peek() == Line(1, "# one")
    assert cursor.take().text == "# one"
    assert cursor.take().text == "row"
    assert cursor.peek() is None
    assert cursor.look() == Line(3, "# two")
    assert not cursor.at_end


def test_at_the_end_there_is_nothing_to_see_and_nothing_to_take() -> None:
    cursor = Cursor([])
    assert cursor.at_end
    assert cursor.peek() is None
    assert cursor.look() is None
    with pytest.raises(IndexError, match="no line is left"):
        cursor.take()


def test_refused_lines_keep_number_text_and_reason() -> None:
    cursor = Cursor(lines("x" * 1000))
    cursor.refuse("why")
    [unread] = cursor.unread
    assert (unread.line, unread.text, unread.reason) == (1, "x" * 160, "why")


def test_so_many_refused_lines_are_kept_and_all_are_counted() -> None:
    cursor = Cursor(lines(*["x"] * (MAX_UNREAD_KEPT + 5)))
    while not cursor.at_end:
        cursor.refuse("why")
    assert len(cursor.unread) == MAX_UNREAD_KEPT
    assert cursor.n_unread == MAX_UNREAD_KEPT + 5
