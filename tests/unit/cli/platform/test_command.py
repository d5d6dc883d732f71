"""`weft platform`: what a reader sees on the terminal and in files."""

import csv
import io
import json
import re

import pytest

from weft.catalog.document import SourceClass
from weft.catalog.load import field_thresholds, platform, platform_names
from weft.catalog.machine.platform import figures
from weft.cli import run


def test_list_names_every_platform_and_whether_it_has_a_twin(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["platform", "list"]) == 0
    table = capsys.readouterr().out.partition("\n\n")[0]
    lines = {line.split()[0]: line for line in table.splitlines()[1:]}
    assert set(lines) == set(platform_names())
    assert lines["this-machine"].split()[1] == "no"
    assert lines["azure-a9"].split()[1] == "yes"


@pytest.mark.parametrize("name", platform_names())
def test_show_prints_every_figure_with_its_source(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["platform", "show", name]) == 0
    lines = capsys.readouterr().out.splitlines()
    for key, figure in figures(platform(name)):
        line = next(line for line in lines if line.startswith(f"{key} "))
        assert figure.class_.value in line
        if figure.class_ is SourceClass.ASSUMED:
            assert figure.source.removeprefix("assumed: ") in line
        else:
            number = re.search(r"  (\[\d+\])", line)
            assert number is not None, line
            assert f"{number.group(1)} {figure.source.removeprefix('fitted ')}" in lines


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


def test_list_says_what_a_node_has_and_how_much_was_published(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["platform", "list", "--format", "json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["platforms"]}
    assert rows["azure-ndv4"]["network"] == "8 x 200 Gb/s"
    assert rows["azure-ndv4"]["gpus"].startswith("8 x A100")
    assert rows["azure-ndv4"]["published"] == len(platform("azure-ndv4").figures) > 130
    assert rows["azure-ndv4"]["thresholds"] == 16
    assert rows["this-machine"]["network"] == ""


def test_show_counts_published_figures_and_lists_them_when_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(["platform", "show", "azure-ndv4"])
    short = capsys.readouterr().out
    assert "PUBLISHED FIGURES: 139" in short
    assert "[js-ibw-cpu-p0-r1-bw]" not in short
    assert short.endswith("next: weft platform show azure-ndv4 --figures\n")
    run(["platform", "show", "azure-ndv4", "--figures"])
    long = capsys.readouterr().out
    for figure in platform("azure-ndv4").figures:
        line = next(line for line in long.splitlines() if line.endswith(f"[{figure.id}]"))
        assert figure.unit in line
        assert figure.kind in line
        assert figure.erratum in line


def test_show_lists_thresholds_with_their_sources_when_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(["platform", "show", "azure-ndv5", "--thresholds"])
    out = capsys.readouterr().out
    for row in field_thresholds():
        if "azure-ndv5" in row.platforms:
            assert row.text in out
            assert f"  {row.source}" in out.splitlines()
    assert "erratum: unit as printed; 769 GFlop/s would be a thousandth of an H100" in out


def test_a_source_narrows_everything_to_what_rests_on_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["platform", "show", "frontera", "--source", "CAZES", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len([row for row in rows if row["key"].startswith("figures.cz-")]) == 65
    assert all("Cazes" in row["source"] for row in rows)
    run(["platform", "show", "frontera", "--source", "ramesh"])
    out = capsys.readouterr().out
    assert "[fact-sharp-on-frontera-barrier-improvement-up-to]" in out
    assert "MPI library: MVAPICH2-X" in out
    assert "HOST COSTS" not in out


def test_a_source_no_one_has_is_exit_2_and_names_those_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["platform", "show", "azure-hc", "--source", "nobody"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "no source of platform 'azure-hc' contains 'nobody'" in captured.err
    assert "part of one of: Jose & Shainer; Azure/azurehpc-health-checks; Microsoft" in captured.err


@pytest.mark.parametrize("name", ["azure-ndv4", "frontera", "alps-gh200", "this-machine"])
def test_json_and_csv_hold_all_there_is(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = platform(name)
    n_thresholds = sum(name in row.platforms for row in field_thresholds())
    run(["platform", "show", name, "--format", "json"])
    record = json.loads(capsys.readouterr().out)
    assert len(record["figures"]) == len(document.figures)
    assert len(record["field_thresholds"]) == n_thresholds
    run(["platform", "show", name, "--format", "csv"])
    keys = [row["key"] for row in csv.DictReader(io.StringIO(capsys.readouterr().out))]
    assert sum(key.startswith("figures.") for key in keys) == len(document.figures)
    assert sum(key.startswith("thresholds[") for key in keys) == n_thresholds
    n_published = sum(len(table.rows) for table in document.published)
    assert sum(key.startswith("published.") for key in keys) == n_published


def test_show_says_how_well_a_fitted_host_predicts_what_it_had_not_seen(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(["platform", "show", "azure-hbv3"])
    out = capsys.readouterr().out
    assert "fit: 18 parameters, 47 rows, good for 0 B to 4 MiB" in out
    assert out.count("  held-out rows of latency (rows ") == 2
    assert out.count("  held-out rows of bandwidth (rows ") == 2
