"""Link events of logs: their forms, their times, their places."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from weft.check.external_evidence.event_marks import CheckSpan, EventPlaces, marks_of_logs
from weft.check.external_evidence.link_events import (
    EventKind,
    event_kinds,
    log_of,
    read_events,
)
from weft.core.errors import InputError
from weft.core.finding import Severity

NOON = datetime(2026, 3, 2, 12, 0, 0).astimezone()
SPAN = CheckSpan(NOON.timestamp(), NOON.timestamp() + 60)
DOWN = "mlx5_core 0000:02:00.0 ib0: Link down"
FORMS = {
    "journalctl": f"Mar 02 12:00:07 n003 kernel: {DOWN}",
    "journalctl -o short-precise": f"Mar 02 12:00:07.123456 n003 kernel: {DOWN}",
    "journalctl -o short-iso": f"{NOON:%Y-%m-%dT12:00:07%z} n003 kernel: {DOWN}",
    "rsyslog": f"{NOON.astimezone(UTC):%Y-%m-%dT%H:00:07.1+00:00} n003 kernel: [ 88.123456] {DOWN}",
    "syslog": f"Mar  2 12:00:07 n003 kernel: [   88.123456] {DOWN}",
    "pdsh dmesg -T": f"n003: [Mon Mar  2 12:00:07 2026] {DOWN}",
}
"""As each tool prints one line at 12:00:07."""


def log(tmp_path: Path, *lines: str, name: str = "kernel.log") -> Path:
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("kind", event_kinds(), ids=lambda kind: kind.name)
def test_each_kind_is_read_from_its_example(kind: EventKind, tmp_path: Path) -> None:
    prefix = "Mar 02 12:00:07 n003 kernel: " if kind.log == "kernel" else ""
    path = log(tmp_path, prefix + kind.example)
    assert log_of(path) == kind.log
    (event,) = read_events(path, kind.log, SPAN.first)
    assert event.kind == kind
    assert event.at is not None
    assert event.host or event.ports


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_the_time_and_the_host_of_each_form(form: str, tmp_path: Path) -> None:
    path = log(tmp_path, FORMS[form])
    assert log_of(path) == "kernel"
    (event,) = read_events(path, "kernel", SPAN.first)
    assert event.at == SPAN.first + 7
    assert event.host == "n003"
    assert event.adapter == "mlx5_core 0000:02:00.0 ib0"


def test_a_date_without_a_year_is_the_nearest_one(tmp_path: Path) -> None:
    january = datetime(2026, 1, 1, 0, 30).astimezone().timestamp()
    path = log(tmp_path, f"Dec 31 23:30:00 n003 kernel: {DOWN}")
    (event,) = read_events(path, "kernel", january)
    assert event.at == january - 3600


@pytest.mark.parametrize(
    "line",
    [
        "mlx5_core 0000:02:00.0 ib0: Link up",
        "mlx5_core 0000:02:00.0: Port module event: module 0, Cable plugged",
        "mlx5_core 0000:02:00.0: firmware version: 20.28.4000",
    ],
)
def test_lines_of_sound_links_are_no_events(line: str, tmp_path: Path) -> None:
    path = log(tmp_path, f"Mar 02 12:00:07 n003 kernel: {line}")
    assert read_events(path, "kernel", SPAN.first) == []


@pytest.mark.parametrize("text", ["", "buy milk", "# Port counters: Lid 9 port 1", "8  1.51"])
def test_other_files_are_no_logs(text: str, tmp_path: Path) -> None:
    assert log_of(log(tmp_path, text)) is None


def document(*hcas: str) -> dict:
    """One node with these adapters at a switch."""
    return {
        "nodes": [{"name": "n003", "hcas": [f"n003/{hca}" for hca in hcas]}],
        "switches": [{"name": "leaf-01"}],
        "links": [
            {"a": f"n003/{hca}[1]", "b": f"leaf-01[{i}]"} for i, hca in enumerate(hcas, start=1)
        ],
    }


def marks(tmp_path: Path, places: EventPlaces, *lines: str, name: str = "kernel.log") -> list:
    path = log(tmp_path, *lines, name=name)
    return list(marks_of_logs({str(path): "kernel"}, SPAN, places).marks)


@pytest.mark.parametrize(
    ("time", "severity", "when"),
    [
        ("11:59:00", Severity.NOTE, "before the check"),
        ("12:00:00", Severity.BAD, "during the check"),
        ("12:00:59", Severity.BAD, "during the check"),
        ("12:02:00", Severity.NOTE, "after the check"),
    ],
)
def test_only_a_link_that_went_down_during_the_check_is_damage(
    tmp_path: Path, time: str, severity: Severity, when: str
) -> None:
    places = EventPlaces(["n003"], document("mlx5_0"))
    (mark,) = marks(tmp_path, places, f"Mar 02 {time} n003 kernel: {DOWN}")
    assert mark.thing == ("cable", ("leaf-01[1]", "n003/mlx5_0[1]"))
    assert mark.severity is severity
    assert when in mark.says
    assert mark.growing == mark.damage == (severity is Severity.BAD)


@pytest.mark.parametrize(
    ("hcas", "line"),
    [
        (("mlx5_0", "mlx5_1"), DOWN),
        (("mlx5_0",), "mlx5_core 0000:02:00.0 ens2f0np0: Link down"),
        ((), DOWN),
    ],
)
def test_an_adapter_that_may_be_another_one_is_no_damage(
    tmp_path: Path, hcas: tuple[str, ...], line: str
) -> None:
    """A host has Ethernet ports, too, and no line says which adapter MPI used."""
    places = EventPlaces(["n003"], document(*hcas) if hcas else None)
    (mark,) = marks(tmp_path, places, f"Mar 02 12:00:07 n003 kernel: {line}")
    assert mark.thing == ("node", ("n003",))
    assert mark.severity is Severity.WARNING
    assert not mark.damage
    assert "it may be another adapter" in mark.says


def test_the_time_since_boot_alone_accuses_nothing(tmp_path: Path) -> None:
    places = EventPlaces(["n003"], document("mlx5_0"))
    (mark,) = marks(tmp_path, places, f"[    8.951695] {DOWN}", name="n003.dmesg")
    assert mark.severity is Severity.NOTE
    assert "at an unknown time" in mark.says


def test_a_log_of_other_hosts_is_refused_and_some_of_them_are_said(tmp_path: Path) -> None:
    places = EventPlaces(["n003.site.example"], document("mlx5_0"))
    strange, own = (f"Mar 02 12:00:07 {host} kernel: {DOWN}" for host in ("zz9", "n003"))
    with pytest.raises(InputError, match="no link event in this log is of this check: host zz9"):
        marks(tmp_path, places, strange)
    path = log(tmp_path, strange, own)
    found = marks_of_logs({str(path): "kernel"}, SPAN, places)
    assert len(found.marks) == 1
    (doubt,) = found.doubts
    assert doubt.startswith("1 of 2 link events in ")
    assert "host zz9" in doubt
