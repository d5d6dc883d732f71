"""Lines of rows as columns, against Python's own `split` and `float`."""

import random

import numpy as np
import pytest

from weft.results.excerpt.row_lines import row_lines


def test_rows_are_told_from_headings_and_logs() -> None:
    piece = (
        b"# OSU MPI Latency Test v7.4\n# Size   Latency (us)\n0    1.25\n\n  8\t 1.5\r\n"
        b"[1,0]<stdout>:16  2.00\n0: 32  2.50\nnode1: 64 3\n10 nodes\n2024-01-01 12:00\n8 x\n1.5 2"
    )
    found = row_lines(piece)
    assert found.lines.tolist() == [2, 4, 5, 6, 7]
    assert found.sizes.tolist() == [0, 8, 16, 32, 64]
    assert [values.values[:, 1].tolist() for values in found.layouts] == [[1.25, 1.5, 2, 2.5, 3]]


@pytest.mark.parametrize("piece", [b"", b"\n", b"\n\n \n", b"8", b"8 ", b"8 1", b"x\n8 1.", b"."])
def test_pieces_without_much_in_them(piece: bytes) -> None:
    assert row_lines(piece).sizes.tolist() == ([8.0] if piece == b"8 1" else [])


def test_rows_of_one_shape_have_the_same_words_and_numbers_in_the_same_columns() -> None:
    piece = (
        b"8 2 float sum -1 5.1\n16 4 float sum -1 6.1\n16 4 half sum -1 6.1\n16 4 N/A sum -1 x\n"
    )
    shapes = row_lines(piece).shapes.tolist()
    assert shapes[0] == shapes[1]
    assert len(set(shapes)) == 3


def test_figures_are_those_that_float_reads() -> None:
    rng = random.Random(7)
    lines, values = [], []
    for _ in range(3000):
        n = rng.randrange(2, 9)
        tokens = [str(rng.randrange(10 ** rng.randrange(1, 16)))]
        for _ in range(n):
            digits = rng.randrange(0, 7)
            tokens.append(f"{rng.uniform(0, 10 ** rng.randrange(0, 9)):.{digits}f}")
        lines.append(rng.choice(("  ", "\t", "   ")).join(tokens))
        values.append([float(token) for token in tokens])
    found = row_lines("\n".join(lines).encode())
    assert len(found.lines) == len(lines)
    for layout in found.layouts:
        for row, figures in zip(layout.rows.tolist(), layout.values.tolist(), strict=True):
            assert figures == values[row]


def test_a_number_that_is_none_is_a_word() -> None:
    piece = b"8 1.5 1.2.3\n8 1.5 nan\n8 1.5 1e3\n8 1.5 -2\n8 1.5 5.\n8 1.5 " + b"9" * 30 + b"\n"
    [layout] = row_lines(piece).layouts
    assert np.isnan(layout.values[:, 2]).all()
