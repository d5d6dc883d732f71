"""Counters of another fabric are refused or said, and accuse nothing."""

from pathlib import Path

import pytest

from weft.check.external_evidence.counter_places import doubts_of
from weft.core.errors import InputError
from weft.topology.subnet.subnet import Subnet

pytest.importorskip("weft._engine", reason="the engine is not built")

REAL = Path(__file__).parents[3] / "fixtures" / "fabric"
CABLES = REAL / "small" / "ibnetdiscover.out"
ERRORS = REAL / "counters" / "ibqueryerrors.out"


def doubts(*counters: Path) -> tuple[str, ...]:
    own = frozenset(node.guid for node in Subnet.read((str(CABLES),)).nodes)
    files = tuple(map(str, counters))
    return doubts_of(Subnet.read((str(CABLES), *files)), own, files)


def foreign(source: Path, path: Path) -> Path:
    """The same with the GUIDs of another fabric, and the same names."""
    text = (
        source.read_text().replace("0x506b4b03", "0x506b4bff").replace("0x98039b03", "0x98039bff")
    )
    path.write_text(text)
    return path


def perfquery(path: Path, *lids: int) -> Path:
    path.write_text(
        "".join(
            f"# Port counters: Lid {lid} port 1 (CapMask: 0x1300)\n"
            "PortSelect:......................1\n"
            "CounterSelect:...................0x0000\n"
            "SymbolErrorCounter:..............42\n"
            for lid in lids
        )
    )
    return path


def test_counters_of_the_fabric_leave_no_doubt(tmp_path: Path) -> None:
    assert doubts(ERRORS) == ()
    assert doubts(perfquery(tmp_path / "pq.out", 9)) == ()
    assert doubts(REAL / "small" / "iblinkinfo.out") == ()


@pytest.mark.parametrize(
    "source", [ERRORS, REAL / "small" / "iblinkinfo.out"], ids=lambda p: p.stem
)
def test_a_file_of_another_fabric_is_refused(source: Path, tmp_path: Path) -> None:
    path = foreign(source, tmp_path / "foreign.out")
    with pytest.raises(InputError, match=r"with counters or cables (is|are) not in this fabric"):
        doubts(path)


def test_a_file_with_some_nodes_of_another_fabric_is_doubted(tmp_path: Path) -> None:
    path = tmp_path / "mixed.out"
    path.write_text(foreign(ERRORS, tmp_path / "foreign.out").read_text() + ERRORS.read_text())
    (doubt,) = doubts(path)
    assert doubt.startswith("1 of 2 nodes with counters in ")


@pytest.mark.parametrize("lids", [(900,), (9, 900)])
def test_lids_that_the_fabric_lacks_refuse_the_file(tmp_path: Path, lids: tuple[int, ...]) -> None:
    """Of another fabric LID 9 is of another port."""
    with pytest.raises(InputError, match="not in this fabric: LID 900") as refused:
        doubts(perfquery(tmp_path / "pq.out", *lids))
    assert "ibqueryerrors states GUIDs" in str(refused.value.hint)
