"""Names in the order in which a person counts them."""

import pytest

from weft.core.natural import natural_key


@pytest.mark.parametrize(
    "in_order",
    [
        ["core", "leaf9", "leaf9b", "leaf10"],
        ["ib", "mlx5_2", "mlx5_10", "mlx5_ib0"],
        ["1", "02", "10", "a"],
        ["", "x\u00b2", "\u0663"],
    ],
)
def test_figures_in_names_sort_by_value(in_order: list[str]) -> None:
    as_text = sorted(in_order)
    assert sorted(as_text, key=natural_key) == in_order
