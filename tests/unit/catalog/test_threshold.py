"""Field thresholds: other people's limits, in our words where a row can be compared with them."""

from collections import Counter

import pytest

from weft.catalog.document import parse_document
from weft.catalog.load import field_thresholds, platform_names, readable_benchmark_names
from weft.catalog.threshold import FieldTests, FieldThreshold, thresholds_of
from weft.core.errors import InputError

# Rows of each source as published; a later edit cannot lose one silently.
ROWS = {
    "Azure/azurehpc-health-checks": 123,
    "eth-cscs/cscs-reframe-tests": 47,
    "Azure/ai-infrastructure-on-azure": 27,
    "eth-cscs/cscs-docs": 17,
    "GoogleCloudPlatform/cluster-health-scanner": 11,
    "oracle-quickstart/oci-hpc": 7,
    "Azure/azurehpc": 6,
    "Azure/azhpc-images": 4,
    "NVIDIA": 2,
    "microsoft/superbenchmark": 2,
    "NVIDIA/nccl-tests": 1,
}

ONE_TEST = """
schema = "weft.field-thresholds/1"
title = "mine"

[[tests]]
text = "ib_write_bw, 1 MiB"
unit = "Gb/s"
kind = "fail"
benchmark = "bandwidth"
metric = "bandwidth_mb_s"
direction = "at least"
rows = [{ system = "mine", value = 190, source = "my notes" }]
"""


def one(text: str = ONE_TEST) -> FieldThreshold:
    document = parse_document(FieldTests, text, "mine.toml", "list of field thresholds")
    (threshold,) = thresholds_of(document)
    return threshold


def test_each_source_has_all_its_rows() -> None:
    thresholds = field_thresholds()
    assert len(thresholds) == 247
    assert Counter(row.source.split(" ")[0].rstrip(",") for row in thresholds) == ROWS


def test_each_row_keeps_what_its_source_says() -> None:
    for row in field_thresholds():
        assert row.text, row
        assert len(row.source.split()) >= 2, row
        assert row.printed_unit, row


def test_comparable_rows_speak_of_benchmarks_and_platforms_of_the_catalogue() -> None:
    for row in field_thresholds():
        assert set(row.platforms) <= set(platform_names()), row
        assert row.benchmark in ("", *readable_benchmark_names()), row
        assert (row.metric == "") == (row.benchmark == ""), row


def test_a_rate_in_gigabits_becomes_megabytes() -> None:
    threshold = one()
    assert (threshold.value, threshold.unit) == (23750, "MB/s")
    assert (threshold.printed_value, threshold.printed_unit) == (190, "Gb/s")


@pytest.mark.parametrize(
    ("direction", "value", "passed"),
    [
        ("at least", 23749.0, False),
        ("at least", 23750.0, True),
        ("at most", 23750.0, True),
        ("at most", 23751.0, False),
    ],
)
def test_a_threshold_is_met_on_its_own_side(direction: str, value: float, passed: bool) -> None:
    assert one(ONE_TEST.replace("at least", direction)).passed(value) is passed


def test_ndv4_pairs_are_compared_with_azures_gpudirect_limit() -> None:
    limits = [
        row
        for row in field_thresholds()
        if "azure-ndv4" in row.platforms and row.tool_test == "ib_write_bw" and row.memory == "gpu"
    ]
    # Azure/azurehpc-health-checks conf/nd96asr_v4.conf and nd96amsr_a100_v4.conf: 180 Gb/s.
    assert {(row.value, row.size_bytes) for row in limits} == {(22500.0, (8388608, 8388608))}


def test_what_a_misconfigured_run_gives_is_no_threshold() -> None:
    faults = [row for row in field_thresholds() if row.rests_on == "fault"]
    assert {row.value for row in faults} == {5.43, 5.41, 3121.42, 1802.75, 1279.54}
    assert not any(row.comparable for row in faults)


def test_tests_of_other_things_are_kept_but_not_compared() -> None:
    kept = [
        row for row in field_thresholds() if row.text.startswith(("STREAM", "GEMM", "GPU copy"))
    ]
    assert len(kept) == 17 + 36 + 6
    assert not any(row.comparable for row in kept)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('unit = "Gb/s"', 'unit = "furlongs"', "a comparable test gives one of"),
        ('kind = "fail"', 'kind = "doom"', "kind"),
        ('direction = "at least"', "", "direction"),
        ('direction = "at least"', 'direction = "at least"\nsize_bytes = [8, 4]', "the first size"),
        ("value = 190", "value = nan", "value"),
        ("value = 190", "valu = 190", "unknown key"),
    ],
)
def test_a_broken_list_is_refused(old: str, new: str, message: str) -> None:
    assert old in ONE_TEST
    with pytest.raises(InputError, match=message):
        one(ONE_TEST.replace(old, new))
