import time

import pytest

from weft.results.lines.json_documents import JsonDocument, documents_in


def found(text: str) -> list[JsonDocument]:
    content = text.encode()
    documents = list(documents_in(content))
    for document in documents:
        assert content[document.start : document.end].decode() == document.text
    return documents


def test_a_document_between_log_lines_ends_where_json_ends() -> None:
    [document] = found('log\n{\n "a": {"b": 1}\n}\nlog }\n')
    assert document.text == '{\n "a": {"b": 1}\n}\n'
    assert (document.first_line, document.n_lines) == (2, 3)


def test_lines_that_are_a_document_each_are_one_piece() -> None:
    [document] = found('{"a": 1}\n{"a": 2}\nlog\n')
    assert (document.first_line, document.n_lines) == (1, 2)


def test_an_array_of_documents_may_begin_the_file() -> None:
    [document] = found(' [\n {"a": 1},\n {"a": 2}]\n')
    assert document.text.strip() == '[\n {"a": 1},\n {"a": 2}]'


def test_time_stamps_in_brackets_begin_no_document() -> None:
    assert found("[2024-05-01 12:00:00] x\n[1] y\n") == []


def test_one_that_is_not_valid_ends_with_the_bracket_of_its_first() -> None:
    text = '{\n"a": {\n"sl": x3,\n},\n"b": {"c}": 1}\n}\n'
    [document] = found(text + "log }\n")
    assert document.text == text


def test_one_that_was_cut_reaches_to_the_end() -> None:
    [document] = found('log\n{\n "a": [1, 2')
    assert document.text == '{\n "a": [1, 2'


def test_depth_is_no_way_to_bring_it_down() -> None:
    [document] = found('{"a":' + "[" * 200_000)
    assert document.first_line == 1


@pytest.mark.parametrize("text", ["{\n", "{\n}\n", "{a\n}\nlog\n", '{"\n'])
def test_many_of_them_take_no_time(text: str) -> None:
    started = time.process_time()
    found(text * (2_000_000 // len(text)))
    assert time.process_time() - started < 2
