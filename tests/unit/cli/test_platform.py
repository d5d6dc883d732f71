"""`weft platform`: what a reader sees on the terminal and in files."""

import csv
import io
import json

import pytest

from weft.catalog.load import platform, platform_names
from weft.catalog.platform import figures
from weft.cli import run


def test_list_names_every_platform_and_whether_it_has_a_twin(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["platform", "list"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()[1:]}
    assert set(lines) == set(platform_names())
    assert lines["this-machine"].split()[1] == "no"
    assert lines["azure-a9"].split()[1] == "yes"


@pytest.mark.parametrize("name", platform_names())
def test_show_prints_every_figure_with_its_source(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["platform", "show", name]) == 0
    out = capsys.readouterr().out
    for key, figure in figures(platform(name)):
        line = next(line for line in out.splitlines() if line.startswith(f"{key} "))
        assert figure.class_.value in line
        assert figure.source.removeprefix("assumed: ") in line


def test_show_prints_published_tables_with_their_errata(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(["platform", "show", "azure-a9"])
    out = capsys.readouterr().out
    assert "PUBLISHED LATENCY: Kaneshiro" in out
    assert "1098.55" in out
    assert "erratum: 8192 B stands at half of its neighbours, as printed" in out


def test_json_is_the_whole_document(capsys: pytest.CaptureFixture[str]) -> None:
    run(["platform", "show", "frontera", "--format", "json"])
    record = json.loads(capsys.readouterr().out)
    assert record["links"]["switch"]["rate"]["value"] == 200
    assert record["links"]["switch"]["rate"]["class"] == "sourced"


def test_csv_has_one_row_a_figure_and_a_published_value(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(["platform", "show", "azure-a9", "--format", "csv"])
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    by_key = {row["key"]: row for row in rows}
    assert float(by_key["published.latency[4194304]"]["value"]) == 1098.55
    assert by_key["host.regimes[0].send_overhead_ns"]["class"] == "fitted"
    assert all(row["source"] for row in rows)


def test_an_unknown_platform_is_exit_2_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["platform", "show", "azure-a8"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "did you mean 'azure-a9'?" in captured.err
