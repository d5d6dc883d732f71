import os
from pathlib import Path

import pytest

from weft.core.errors import InputError, StorageError
from weft.core.jsonl import LineWriter, read_lines


def test_what_was_appended_is_read_back(tmp_path: Path) -> None:
    writer = LineWriter(tmp_path / "a.jsonl")
    writer.append({"x": 1})
    writer.append({"y": [1.5, "two"]})
    writer.close()
    lines = read_lines(tmp_path / "a.jsonl")
    assert tuple(lines) == ({"x": 1}, {"y": [1.5, "two"]})
    assert not lines.truncated_tail


def test_a_record_is_in_the_file_before_append_returns(tmp_path: Path) -> None:
    writer = LineWriter(tmp_path / "a.jsonl")
    writer.append({"x": 1})
    assert (tmp_path / "a.jsonl").read_text() == '{"x":1}\n'
    writer.close()


def test_two_writers_never_share_a_file(tmp_path: Path) -> None:
    writer = LineWriter(tmp_path / "a.jsonl")
    with pytest.raises(FileExistsError):
        LineWriter(tmp_path / "a.jsonl")
    writer.close()


def test_a_half_written_last_line_is_recognised_at_every_cut(tmp_path: Path) -> None:
    whole = b'{"x":1}\n{"y":"\xc3\xbc"}\n'
    path = tmp_path / "a.jsonl"
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        lines = read_lines(path)
        assert len(tuple(lines)) == whole[:cut].count(b"\n")
        assert lines.truncated_tail == (cut > 0 and whole[cut - 1 : cut] != b"\n")


@pytest.mark.parametrize("broken", ["{", "[1]", "7", "{'x': 1}"])
def test_a_broken_line_in_the_middle_names_its_place(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"x":1}}\n{broken}\n{{"y":2}}\n')
    with pytest.raises(InputError) as error:
        _ = tuple(read_lines(path))
    assert str(error.value).startswith(f"{path}:2: ")


def test_a_value_json_cannot_hold_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    writer = LineWriter(tmp_path / "a.jsonl")
    with pytest.raises(ValueError, match="JSON"):
        writer.append({"x": float("nan")})
    writer.close()
    assert os.path.getsize(tmp_path / "a.jsonl") == 0


@pytest.mark.parametrize("ends", ["append", "close"])
def test_a_file_that_is_gone_takes_no_record(tmp_path: Path, ends: str) -> None:
    writer = LineWriter(tmp_path / "a.jsonl")
    writer.append({"x": 1})
    os.rename(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    (tmp_path / "a.jsonl").write_text("theirs\n")
    with pytest.raises(StorageError, match="removed, moved or replaced"):
        writer.append({"y": 2}) if ends == "append" else writer.close()
    assert (tmp_path / "a.jsonl").read_text() == "theirs\n"


def test_a_file_that_was_cut_is_noticed_at_the_end(tmp_path: Path) -> None:
    writer = LineWriter(tmp_path / "a.jsonl")
    writer.append({"x": 1})
    os.truncate(tmp_path / "a.jsonl", 3)
    with pytest.raises(StorageError, match="3 bytes are left of 8 written ones"):
        writer.close()


@pytest.mark.parametrize("chunk", [1, 7, 64, 1 << 24])
@pytest.mark.parametrize(
    "value", ["NaN", "-Infinity", "9" * 25, "1e400", "-2E+999", "[" * 70 + "]" * 70]
)
def test_an_unusable_value_is_found_wherever_a_part_of_the_file_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, value: str
) -> None:
    monkeypatch.setattr("weft.core.jsonl._CHUNK", chunk)
    path = tmp_path / "a.jsonl"
    good = '{"x":12.5,"y":[1e3,1e-300,123456789012345678]}\n'
    path.write_text(good * 3 + f'{{"x":{value}}}\n' + good)
    with pytest.raises(InputError) as error:
        _ = tuple(read_lines(path))
    assert error.value.where == f"{path}:4"
    path.write_text(good * 5)
    assert len(tuple(read_lines(path))) == 5
