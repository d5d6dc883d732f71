"""The first sentence about a file: its counts, and both ends of a test of message rate."""

import re

import pytest

from weft.core.finding import Finding, FindingKind
from weft.judge.judge import judge_results
from weft.results.result_file import read_results_text

LATENCY = "# OSU MPI Latency Test v7.0\n# Size          Latency (us)\n"
RATE = (
    "# OSU MPI Multiple Bandwidth / Message Rate Test v7.0\n"
    "# [ pairs: 16 ] [ window size: 64 ]\n"
    "# Size                  MB/s        Messages/s\n"
)
NORMAL_RATES = {8: 40e6, 1024: 19.5e6, 65536: 366e3, 4 << 20: 5745.0}


def verdict_of(text: str, platform: str, **given: object) -> Finding:
    results = read_results_text(text.encode(), "result.txt")
    return judge_results(results, platform=platform, **given).findings[0]


def latency(*rows: tuple[int, float]) -> Finding:
    text = LATENCY + "".join(f"{size:<18}{us:>12.2f}\n" for size, us in rows)
    return verdict_of(text, "azure-hbv3")


def message_rate(changed: dict[int, float]) -> Finding:
    rates = {**NORMAL_RATES, **changed}
    rows = (f"{n:<20}{n * rate / 1e6:>10.2f}{rate:>20.2f}\n" for n, rate in rates.items())
    return verdict_of(RATE + "".join(rows), "azure-hbv3", tasks_per_node=16)


def test_the_count_says_how_many_rows_are_like_the_verdict() -> None:
    normal, low = (8, 1.63), (16, 16.0)
    assert latency(normal, (16, 1.64), (32, 1.65)).sentence.endswith("; all 3 rows are normal")
    assert latency(normal, (16, 16.0), (32, 1.65)).sentence.count(" rows") == 1
    some = latency(normal, low, (32, 17.0))
    assert some.kind is FindingKind.BELOW_EXPECTED
    assert some.sentence.endswith("; 2 of 3 rows are low")
    assert "rows" not in latency(normal).sentence


def test_a_message_rate_is_told_by_its_smallest_and_its_largest_size() -> None:
    sentence = message_rate({}).sentence
    found = re.fullmatch(
        r"NORMAL: osu_mbw_mr: message rate 40\.00 million/s at 8 B, expected (\S+) to (\S+);"
        r" bandwidth 24\.10 GB/s at 4 MiB, expected (\S+) to (\S+);"
        r" limited by .* at 8 B; all 4 rows are normal",
        sentence,
    )
    assert found is not None, sentence
    least, most, low, high = (float(one) for one in found.groups())
    assert least < 40 < most
    # A link of 200 Gb/s carries less than 25 GB/s.
    assert low < 24.1 < high < 25


@pytest.mark.parametrize(
    ("slow", "first", "second"),
    [
        (8, "message rate 2.000 million/s at 8 B", "bandwidth 24.10 GB/s at 4 MiB"),
        (4 << 20, "bandwidth 8.389 GB/s at 4 MiB", "message rate 40.00 million/s at 8 B"),
        (65536, "bandwidth 6.554 GB/s at 64 KiB", "message rate 40.00 million/s at 8 B"),
    ],
)
def test_the_worst_size_comes_first(slow: int, first: str, second: str) -> None:
    rate = 2e6 if slow == 8 else 2000.0 if slow > 1 << 20 else 1e5
    verdict = message_rate({slow: rate})
    if verdict.kind is not FindingKind.BELOW_EXPECTED:
        pytest.fail(verdict.sentence)
    assert verdict.sentence.startswith(f"LOW: osu_mbw_mr: {first}, expected ")
    assert f"; {second}, expected " in verdict.sentence
    assert verdict.sentence.endswith("; 1 of 4 rows is low")


@pytest.mark.parametrize(
    ("name", "platform", "following"),
    [
        ("latency.txt", "azure-hbv3", "weft import latency.txt"),
        # Standard input is spent: a command that reads it again would wait for ever.
        ("-", "azure-hbv3", "weft platform show azure-hbv3"),
        ("-", None, "weft platform list"),
    ],
)
def test_the_next_command_can_be_pasted(name: str, platform: str | None, following: str) -> None:
    text = LATENCY + "".join(f"{size:<18}{1.63:>12.2f}\n" for size in (1, 2, 4, 8, 16))
    results = read_results_text(text.encode(), name)
    assert judge_results(results, platform=platform).next_command == following
