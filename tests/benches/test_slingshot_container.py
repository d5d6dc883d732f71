"""The orders of the source about a container, from what weft says of stub libraries."""

from dataclasses import replace

import pytest
from benches.slingshot_container import Launched, container_orders, launched
from tests.needs import need
from tests.unit.doctor.container.container_cases import need_gcc
from tests.unit.doctor.container.container_trees import SlingshotNode

from benches import slingshot_container
from weft.core.finding import Severity

ROWS = ("libfabric", "plugin", "selection", "no-libfabric")


@pytest.fixture(autouse=True)
def _tools() -> None:
    need_gcc()
    need("ldconfig", package="libc-bin", path="/usr/sbin:/sbin")


def found() -> dict[str, bool]:
    return {row: is_so for row, is_so, _ in container_orders()}


def test_weft_says_what_the_source_says_of_each_launch() -> None:
    assert found() == {f"ord-md-{row}": True for row in ROWS}


@pytest.mark.parametrize(
    ("rule", "rows"),
    [
        ("libfabric-not-on-path", {"libfabric"}),
        ("plugin-not-on-path", {"plugin"}),
        ("plugin-not-selected", {"selection"}),
        ("libfabric-absent", {"no-libfabric"}),
    ],
)
def test_a_rule_that_weft_misses_is_an_order_not_reproduced(
    monkeypatch: pytest.MonkeyPatch, rule: str, rows: set[str]
) -> None:
    def blind(node: SlingshotNode, *variables: str, has_mounts: bool = True) -> Launched:
        one = launched(node, *variables, has_mounts=has_mounts)
        return replace(one, rules=one.rules - {rule})

    monkeypatch.setattr(slingshot_container, "launched", blind)
    assert found() == {f"ord-md-{row}": row not in rows for row in ROWS}


def test_a_launch_that_is_never_good_reproduces_no_order_of_a_mount(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def strict(node: SlingshotNode, *variables: str, has_mounts: bool = True) -> Launched:
        one = launched(node, *variables, has_mounts=has_mounts)
        return replace(one, verdict=Severity.BAD)

    monkeypatch.setattr(slingshot_container, "launched", strict)
    lost = {"libfabric", "plugin"}
    assert found() == {f"ord-md-{row}": row not in lost for row in ROWS}
