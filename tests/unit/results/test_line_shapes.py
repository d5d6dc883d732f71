"""Which tool opens a table does not depend on the digits of a line that begins with a letter."""

from pathlib import Path

import pytest

from weft.results.registry import LINE_READERS
from weft.results.result_file import tool_that_opens

SAMPLES = Path(__file__).resolve().parents[2] / "fixtures" / "results"


def lines_that_begin_with_a_letter() -> set[str]:
    texts = (p.read_text(errors="replace") for p in SAMPLES.glob("*/*") if p.suffix != ".md")
    return {line for text in texts for line in text.splitlines() if line[:1].isalpha()}


def asked_of_every_reader(line: str) -> str | None:
    return next((tool for tool, reader in LINE_READERS.items() if reader.opens(line)), None)


def test_the_samples_open_the_same_tables_line_by_line() -> None:
    lines = lines_that_begin_with_a_letter()
    openers = {line: asked_of_every_reader(line[:200]) for line in lines}
    assert {line: tool_that_opens(line[:200]) for line in lines} == openers
    assert len({tool for tool in openers.values() if tool}) >= 4, "not only lines of no tool"


@pytest.mark.parametrize("digits", ["1", "7", "1234567", "0"])
def test_any_digits_do(digits: str) -> None:
    assert tool_that_opens(f"Network Tests v{digits[:1]}.3") == "gpcnet"
    assert tool_that_opens(f"Rank: 0 {digits}") == "clusterkit"
    assert tool_that_opens(f"AvgPingPongLatency_usec={digits}") == "hpcc"
