"""TOML and JSON of a user: values, or an error that names the place."""

import time
from pathlib import Path

import pytest

from weft.core.documents.document_text import (
    MOST_DOCUMENT_BYTES,
    json_value,
    read_json_file,
    read_toml_file,
    toml_table,
)
from weft.core.errors import InputError

DEEP = 100_000


@pytest.mark.parametrize(
    "text",
    ["[" * DEEP, '{"a": ' * DEEP, "9" * 5000, '{"a": 1e999}', '{"a": NaN}', '{"a": [', "9" * 400],
)
def test_json_that_no_part_can_use_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        json_value(text, "a.json", "a fabric")
    assert caught.value.where == "a.json"


@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * DEEP, "a = " + "9" * 5000, "a = inf", "a = nan", "a = [1,", "a = " + "9" * 400],
)
def test_toml_that_no_part_can_use_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        toml_table(text, "a.toml", "a study")
    assert caught.value.where == "a.toml"


@pytest.mark.parametrize("part", ["a", '"a b"', "'.'", "a ", "1"])
def test_a_key_of_many_parts_is_refused_before_it_costs(part: str) -> None:
    begun = time.process_time()
    with pytest.raises(InputError, match="line 2 has a key of more than 64 parts"):
        toml_table("b = 1\n" + ".".join([part] * DEEP) + " = 1", "a.toml", "a study")
    assert time.process_time() - begun < 1


def test_keys_and_texts_with_dots_are_read() -> None:
    text = 'a.b."c.d" = "1.2.3.4 www.example.org"\n[x.y]\nz = 1.5\n'
    assert toml_table(text, "a.toml", "a study") == {
        "a": {"b": {"c.d": "1.2.3.4 www.example.org"}},
        "x": {"y": {"z": 1.5}},
    }


def test_files_are_read_up_to_their_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("a = 1")
    assert read_toml_file(path, "a study") == {"a": 1}
    path.write_text('{"a": 1}')
    assert read_json_file(path, "a fabric") == {"a": 1}
    path.write_bytes(b"#" * (MOST_DOCUMENT_BYTES + 1))
    with pytest.raises(InputError, match="larger than 8 MiB"):
        read_toml_file(path, "a study")
