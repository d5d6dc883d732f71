"""Messages as flows beside every packet: within 3 % where nothing blocks, and shown where not."""

import pytest

from benches import flow_error
from weft.bench.twin.backend import TwinBackend
from weft.catalog.load import platform
from weft.core.errors import MissingError


@pytest.fixture(autouse=True, scope="module")
def engine() -> None:
    try:
        TwinBackend(platform("fat-tree"), 2)
    except MissingError as error:
        pytest.skip(str(error))


def test_where_nothing_blocks_flows_are_within_three_hundredths_of_packets() -> None:
    rows = list(flow_error.where_nothing_blocks())
    assert len(rows) > 10
    for row in rows:
        for part in (row.error, row.least, row.most):
            assert abs(part) <= 0.03, row.what


def test_the_page_shows_victims_that_flows_do_not() -> None:
    rows = {row.what: row for row in flow_error.where_something_blocks()}
    # The feasibility kernel's claim: bystanders of an incast collapse with adaptive routing, and
    # packets alone show it.
    assert rows["W4 as is, adaptive"].least < -0.9
    assert rows["W4 as is, static"].least > -0.03
