"""Counters: totals warn, rates judge, cleared and full ones are said."""

import pytest
from tests.unit.audit.subnet_faults import FaultySubnet, ruling

from weft.audit.case import Interval
from weft.core.finding import Severity

HOUR = Interval(3600, "--seconds")


def test_no_counters_is_said() -> None:
    for rule in ("error-totals", "error-rates", "bit-errors"):
        found = ruling(rule, FaultySubnet())
        assert (found.judged, found.findings) == ("", ())
        assert found.missing


def test_a_total_beyond_the_threshold_warns_with_both_ends() -> None:
    subnet = FaultySubnet()
    subnet.read_counters("leaf-03", 5, SymbolErrorCounter=42, PortRcvErrors=9)
    (found,) = ruling("error-totals", subnet).findings
    assert found.severity is Severity.WARNING
    assert found.sentence == "SymbolErrorCounter of leaf-03 port 5 is at 42"
    assert "leaf-03 port 5" in found.evidence[0]
    assert "spine-01 port 5" in found.evidence[0]
    assert found.facts.ports[0].peer.node == "spine-01"


def test_ports_with_one_counter_are_one_finding_the_worst_first() -> None:
    subnet = FaultySubnet()
    subnet.read_counters("leaf-03", 5, PortXmitDiscards=100)
    subnet.read_counters("leaf-04", 5, PortXmitDiscards=7000)
    subnet.read_counters("leaf-05", 5, PortXmitDiscards=99)
    (found,) = ruling("error-totals", subnet).findings
    assert found.sentence == (
        "PortXmitDiscards of 2 ports is at 7,000 and less, the highest of leaf-04 port 5"
    )


def test_a_full_counter_is_called_full() -> None:
    subnet = FaultySubnet()
    subnet.read_counters("leaf-03", 5, LinkDownedCounter=255)
    (found,) = ruling("error-totals", subnet).findings
    assert "the counter is full: it stops at 255" in found.evidence[0]


def test_a_wide_counter_beyond_that_is_not_full() -> None:
    subnet = FaultySubnet()
    subnet.read_counters("leaf-03", 5, SymbolErrorCounter=70_000)
    (found,) = ruling("error-totals", subnet).findings
    assert "full" not in found.evidence[0]


def test_waiting_and_traffic_are_no_errors() -> None:
    subnet = FaultySubnet()
    subnet.read_counters("leaf-03", 5, PortXmitWait=4_000_000_000, PortXmitData=10**15)
    assert ruling("error-totals", subnet).findings == ()


@pytest.mark.parametrize(("more", "severity"), [(10, Severity.BAD), (9, Severity.WARNING)])
def test_two_readings_give_a_rate(more: int, severity: Severity) -> None:
    subnet = FaultySubnet()
    subnet.read_counters("leaf-03", 5, source=0, SymbolErrorCounter=100)
    subnet.read_counters("leaf-03", 5, source=1, SymbolErrorCounter=100 + more)
    (found,) = ruling("error-rates", subnet, interval=HOUR).findings
    assert found.severity is severity
    assert found.sentence == (
        f"leaf-03 port 5: SymbolErrorCounter grew by {more} in 60 min, {more} an hour"
    )
    # What was read twice is judged by its rate alone.
    assert ruling("error-totals", subnet).findings == ()


def test_two_readings_may_come_from_before() -> None:
    before, now = FaultySubnet(), FaultySubnet()
    before.read_counters("leaf-03", 5, SymbolErrorCounter=0)
    now.read_counters("leaf-03", 5, SymbolErrorCounter=30)
    # Half an hour: 60 an hour.
    half = Interval(1800, "--seconds")
    (found,) = ruling("error-rates", now, before=before, interval=half).findings
    assert found.sentence.endswith("grew by 30 in 30 min, 60 an hour")


def test_without_a_time_growth_only_warns() -> None:
    subnet = FaultySubnet()
    subnet.read_counters("leaf-03", 5, source=0, SymbolErrorCounter=0)
    subnet.read_counters("leaf-03", 5, source=1, SymbolErrorCounter=5000)
    (found,) = ruling("error-rates", subnet).findings
    assert found.severity is Severity.WARNING
    assert "--seconds" in found.sentence


def test_a_cleared_counter_is_said_and_never_negative() -> None:
    subnet = FaultySubnet()
    subnet.read_counters("leaf-03", 5, source=0, SymbolErrorCounter=900)
    subnet.read_counters("leaf-03", 5, source=1, SymbolErrorCounter=3)
    (found,) = ruling("error-rates", subnet, interval=HOUR).findings
    assert found.severity is Severity.NOTE
    assert found.sentence == "1 counter cleared between the readings: no rates"
    assert "leaf-03 port 5 SymbolErrorCounter" in found.evidence[0]


def test_a_counter_that_is_full_twice_says_nothing() -> None:
    subnet = FaultySubnet()
    for source in (0, 1):
        subnet.read_counters("leaf-03", 5, source=source, SymbolErrorCounter=65535)
    (found,) = ruling("error-rates", subnet, interval=HOUR).findings
    assert found.severity is Severity.NOTE
    assert "full in both readings" in found.sentence


def test_a_quiet_pair_of_readings_is_good() -> None:
    subnet = FaultySubnet()
    for source in (0, 1):
        subnet.read_counters("leaf-03", 5, source=source, SymbolErrorCounter=50, PortXmitData=1)
    found = ruling("error-rates", subnet, interval=HOUR)
    assert found.findings == ()
    assert found.judged == "1 port over 60 min (--seconds)"


def test_waiting_a_fifth_of_the_time_is_a_note_on_congestion() -> None:
    # 200 Gb/s send 4 octets in 0.16 ns: 720 s of an hour are 4.5e12 ticks.
    subnet = FaultySubnet()
    subnet.read_counters("leaf-03", 5, source=0, PortXmitWait=0)
    subnet.read_counters("leaf-03", 5, source=1, PortXmitWait=4_500_000_000_000)
    (found,) = ruling("error-rates", subnet, interval=HOUR).findings
    assert found.severity is Severity.NOTE
    assert "for 20 % of the time" in found.sentence


@pytest.mark.parametrize(
    ("ratio", "value", "severity"),
    [
        ("symbol_ber", 1e-12, Severity.BAD),
        ("effective_ber", 3e-9, Severity.BAD),
        ("Effective BER", 1e-14, Severity.WARNING),
        ("symbol_ber", 1.5e-254, None),
        ("raw_ber", 1e-5, None),
    ],
)
def test_bit_error_rates_after_correction(
    ratio: str, value: float, severity: Severity | None
) -> None:
    subnet = FaultySubnet()
    subnet.read_ratios("leaf-03", 5, **{ratio: value})
    found = ruling("bit-errors", subnet).findings
    assert [finding.severity for finding in found] == ([severity] if severity else [])
    if severity:
        assert "spine-01 port 5" in found[0].evidence[0]


def test_two_errors_in_a_minute_are_no_rate() -> None:
    subnet = FaultySubnet()
    subnet.read_counters("leaf-03", 5, source=0, SymbolErrorCounter=0)
    subnet.read_counters("leaf-03", 5, source=1, SymbolErrorCounter=2)
    (found,) = ruling("error-rates", subnet, interval=Interval(60, "--seconds")).findings
    assert found.severity is Severity.WARNING


def test_two_parts_of_one_file_are_one_reading() -> None:
    subnet = FaultySubnet()
    subnet.read_counters("leaf-03", 5, source=0, SymbolErrorCounter=42)
    subnet.read_counters("leaf-03", 5, source=0, PortXmitData=7)
    assert ruling("error-rates", subnet).judged == ""
    assert len(ruling("error-totals", subnet).findings) == 1


def test_two_files_of_one_time_still_have_totals() -> None:
    subnet = FaultySubnet()
    for source in (0, 1):
        subnet.read_counters("leaf-03", 5, source=source, SymbolErrorCounter=42)
    (found,) = ruling("error-totals", subnet).findings
    assert found.severity is Severity.WARNING
    assert ruling("error-totals", subnet, interval=HOUR).findings == ()


def test_a_counter_cleared_between_three_readings_has_no_rate() -> None:
    subnet = FaultySubnet()
    for source, value in enumerate((100, 5, 200)):
        subnet.read_counters("leaf-03", 5, source=source, SymbolErrorCounter=value)
    (found,) = ruling("error-rates", subnet, interval=HOUR).findings
    assert found.severity is Severity.NOTE
    assert "cleared" in found.sentence


def test_a_port_with_two_rates_is_one_finding_at_its_worst() -> None:
    subnet = FaultySubnet()
    ratios = {"Raw BER": 1e-6, "Effective BER": 3e-11, "Symbol BER": 4e-13}
    subnet.read_ratios("leaf-03", 5, **ratios)
    subnet.read_ratios("leaf-04", 5, **{**ratios, "Effective BER": 1e-254})
    bad, warning = ruling("bit-errors", subnet).findings
    assert (bad.severity, warning.severity) == (Severity.BAD, Severity.WARNING)
    assert bad.sentence == "Effective BER of leaf-03 port 5 is 3.0e-11"
    assert bad.evidence[0].endswith(": Effective BER 3.0e-11, Symbol BER 4.0e-13")
    assert warning.sentence == "Symbol BER of leaf-04 port 5 is 4.0e-13"
