"""What is said about a run before any chart."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from tests.mock_backend import MockBackend

from weft.bench.model import Launch, Sample, State
from weft.core.finding import Severity
from weft.report.page import page_of
from weft.report.verdict import judge
from weft.study.run.run_findings import figures_finding
from weft.study.run.store import read_run

Measure = Callable[..., Path]


class Changed(MockBackend):
    """The mock, with every sample changed."""

    def __init__(self, change: Callable[[Sample], Sample], name: str = "live") -> None:
        super().__init__()
        self.name = name
        self._change = change

    def measure(self, launch: Launch) -> Iterator[Sample]:
        return (self._change(sample) for sample in super().measure(launch))


def test_oversubscribed_ranks_support_no_verdict_and_it_is_said_in_words(
    tmp_path: Path, measure: Measure
) -> None:
    backend = Changed(lambda sample: replace(sample, flags=("oversubscribed",)))
    judged = judge(read_run(measure(tmp_path / "run", backend=backend)))
    assert judged.findings[0].severity is Severity.WARNING
    assert "more ranks than CPUs" in judged.findings[0].sentence
    assert any("More ranks than CPUs" in caveat for caveat in judged.caveats)


def test_hosts_of_one_machine_measured_no_network_and_the_verdict_says_so(
    tmp_path: Path, measure: Measure
) -> None:
    of_one = {"hosts": 4, "machines": 1}
    backend = Changed(lambda sample: replace(sample, evidence=of_one))
    run = read_run(measure(tmp_path / "run", backend=backend))
    said = figures_finding(run, ["latency 20.3 us at 8 B"]).sentence
    assert said == "Measured between hosts of one machine: latency 20.3 us at 8 B."
    judged = judge(run)
    assert any("The 4 hosts are one machine" in caveat for caveat in judged.caveats)
    real = Changed(lambda sample: replace(sample, evidence={"hosts": 4, "machines": 4}))
    judged = judge(read_run(measure(tmp_path / "real", backend=real)))
    assert not any("one machine" in text for text in judged.caveats)


def test_a_flag_no_one_foresaw_is_still_said(tmp_path: Path, measure: Measure) -> None:
    backend = Changed(lambda sample: replace(sample, flags=("new_flag",)))
    judged = judge(read_run(measure(tmp_path / "run", backend=backend)))
    assert "Samples carry the flag 'new_flag'." in judged.caveats


def test_ranks_on_one_host_say_nothing_about_a_network(tmp_path: Path, measure: Measure) -> None:
    backend = Changed(lambda sample: replace(sample, evidence={"hosts": 1}))
    judged = judge(read_run(measure(tmp_path / "run", backend=backend)))
    assert any("nothing about a network" in caveat for caveat in judged.caveats)


def test_ranks_on_two_hosts_are_not_called_one(tmp_path: Path, measure: Measure) -> None:
    backend = Changed(lambda sample: replace(sample, evidence={"hosts": 2}))
    judged = judge(read_run(measure(tmp_path / "run", backend=backend)))
    assert not any("network" in caveat for caveat in judged.caveats)


def test_launches_far_apart_are_worth_a_caveat_that_says_where(
    tmp_path: Path, measure: Measure
) -> None:
    def disturbed(sample: Sample) -> Sample:
        if sample.benchmark != "latency" or sample.size_bytes != 64 or sample.repeat != 3:
            return sample
        return replace(sample, metrics={**sample.metrics, "latency_us_p50": 15.0})

    judged = judge(read_run(measure(tmp_path / "run", backend=Changed(disturbed))))
    (caveat,) = [text for text in judged.caveats if text.startswith("Launches")]
    assert "in 1 of 25 rows" in caveat
    assert "in latency at 64 B" in caveat
    quiet = judge(read_run(measure(tmp_path / "quiet")))
    assert not [text for text in quiet.caveats if text.startswith("Launches")]


def test_samples_that_missed_the_fabric_support_no_verdict_and_say_why(
    tmp_path: Path, measure: Measure
) -> None:
    def off_fabric(sample: Sample) -> Sample:
        return replace(sample, state=State.NOT_ON_FABRIC, note="the bytes went over eth0")

    judged = judge(read_run(measure(tmp_path / "run", backend=Changed(off_fabric))))
    assert judged.findings[0].severity is Severity.WARNING
    assert "not over the fast network" in judged.findings[0].sentence
    assert "the bytes went over eth0" in judged.findings[0].evidence


def test_samples_with_wrong_data_are_left_out_counted_and_listed(
    tmp_path: Path, measure: Measure
) -> None:
    def corrupt(sample: Sample) -> Sample:
        return replace(sample, flags=("invalid_data",)) if sample.benchmark == "barrier" else sample

    run = read_run(measure(tmp_path / "run", backend=Changed(corrupt)))
    judged = judge(run)
    assert [one.benchmark.name for one in judged.measured] == ["latency", "bandwidth"]
    assert f"8 of {len(run.samples)} samples are left out (see below)." in judged.caveats
    page = page_of(run, "run1")
    left_out = next(s for s in page.sections if s.heading.startswith("Failed"))
    assert [row for table in left_out.tables for row in table.rows] == [("invalid data", "8")]


def test_a_study_without_arms_or_pairs_claims_nothing(tmp_path: Path, measure: Measure) -> None:
    judged = judge(read_run(measure(tmp_path / "run")))
    (finding,) = judged.findings
    assert finding.severity is Severity.NOTE
    assert finding.sentence.startswith("Measured: latency 1.5")
    assert any("No verdict: it needs a second arm" in line for line in finding.evidence)


def test_a_live_run_is_predicted_from_half_of_its_rows(tmp_path: Path, measure: Measure) -> None:
    backend = Changed(lambda sample: sample)
    page = page_of(read_run(measure(tmp_path / "run", backend=backend)), "run1")
    (figure,) = next(s for s in page.sections if s.heading.startswith("Held-out")).figures
    # The mock is one line, latency = a + b x size, with 1 % noise: two parameters tell all of it.
    assert "fitted to 11 rows predicts the other 10" in figure.title
    assert "1 line" in figure.how_to_read
    assert "2 parameters" in figure.how_to_read
    held_out = [row for row in figure.table.rows if row[-1] == "measured, held out"]
    assert len(held_out) == 10
    assert all(abs(float(row[3])) < 5 for row in held_out)


def test_a_row_out_of_all_proportion_is_neither_fitted_nor_held_out(
    tmp_path: Path, measure: Measure
) -> None:
    def spoil_the_last(sample: Sample) -> Sample:
        if sample.benchmark != "latency" or sample.size_bytes != 1 << 20:
            return sample
        return replace(sample, metrics={**sample.metrics, "latency_us_p50": 5_000.0})

    backend = Changed(spoil_the_last)
    page = page_of(read_run(measure(tmp_path / "run", backend=backend)), "run1")
    (figure,) = next(s for s in page.sections if s.heading.startswith("Held-out")).figures
    roles = {row[0]: row[-1] for row in figure.table.rows}
    assert roles["1 MiB"] == "measured, left out as an anomaly"
    assert "Left out, because they break the rise with size: 1 MiB" in figure.how_to_read
    fitted = [size for size, role in roles.items() if role == "measured, used for the fit"]
    assert f"fitted to {len(fitted)} rows" in figure.title


def test_a_twin_is_not_fitted_to_itself_and_is_called_simulated(
    tmp_path: Path, measure: Measure
) -> None:
    class Twin(MockBackend):
        name = "twin"

        def facts(self) -> dict[str, object]:
            return {"platform": "fat-tree", "faults": ["leaf-01[2] rate=0.5"]}

    page = page_of(read_run(measure(tmp_path / "run", backend=Twin())), "run1")
    assert not [s for s in page.sections if s.heading.startswith("Held-out")]
    assert page.caveats[0].startswith("Simulated: a twin of 'fat-tree', not a machine.")
    assert page.findings[0].sentence.startswith("Simulated: latency")
    assert page.sections[0].heading == "Simulated"
    assert any("leaf-01[2] rate=0.5" in caveat for caveat in page.caveats)


def test_notes_about_the_whole_run_are_caveats_not_the_verdict(
    tmp_path: Path, measure: Measure
) -> None:
    backend = MockBackend(effects={"sharp=on": 0.8})
    judged = judge(read_run(measure(tmp_path / "run", "arms", backend=backend)))
    assert "faster" in judged.findings[0].sentence
    assert any("names no evidence" in caveat for caveat in judged.caveats)
