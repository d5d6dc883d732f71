"""A corrected file has none of the mistakes that could be corrected, and no new ones."""

import json
from typing import Any

import pytest
from tests.unit.doctor.breach import Breach
from tests.unit.doctor.cases import CASES
from tests.unit.doctor.test_rules import complaints

from weft.doctor.edits import fixed, mended
from weft.doctor.sarif import sarif


@pytest.mark.parametrize("wrong", CASES, ids=lambda one: f"{one.rule}-{one.text[-30:]}")
def test_fixing_mends_and_brings_nothing_worse(wrong: Breach) -> None:
    before = complaints(wrong, wrong.text)
    text, number = fixed(wrong.text, before)
    after = complaints(wrong, text)
    can = [one for one in before if one.found.edits and one.rule.severity != "note"]
    assert bool(number) == bool(can)
    if not can:
        assert text == wrong.text
    bad = [one.rule.id for one in after if one.rule.severity == "bad"]
    assert len(bad) <= sum(one.rule.severity == "bad" for one in before)
    assert not {one.rule.id for one in can if one.rule.severity == "bad"} & {*bad} - _again(before)


def _again(before: list[Any]) -> set[str]:
    """Rules that also have findings which cannot be mended."""
    return {one.rule.id for one in before if not one.found.edits}


def test_a_whole_script() -> None:
    text = (
        "export NCCL_MIN_CHANNELS=32 NCCL_BUFFSIZE=8M\nNCCL_IB_DISABLE=true\n"
        "srun --container-image=i --container-env=NCCL_MIN_NCHANNELS ./a\n"
    )
    wrong = Breach("", text)
    better, number, left = mended(text, lambda one: complaints(wrong, one))
    assert better == (
        "export NCCL_MIN_NCHANNELS=32 NCCL_BUFFSIZE=8388608\nexport NCCL_IB_DISABLE=1\n"
        "srun --container-image=i --container-env=NCCL_MIN_NCHANNELS ./a\n"
    )
    assert number == 4
    # TCP may be meant, and the image may set none of them.
    assert [one.rule.id for one in left] == ["infiniband-off", "image-wins"]


def test_sarif_names_files_as_uris() -> None:
    wrong = next(one for one in CASES if one.rule == "debug-level")
    (run,) = sarif([("a b#c.sh", complaints(wrong, wrong.text))], "0")["runs"]
    location = run["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "a%20b%23c.sh"


def test_sarif_has_what_its_readers_need() -> None:
    text = "export NCCL_MIN_CHANNELS=32\nexport NCCL_BUFFSIZE=8M\n"
    found = complaints(Breach("", text), text)
    log = json.loads(json.dumps(sarif([("job.sh", found)], "1.0")))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["unknown-name", "suffix-on-number"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] == "error"
        (place,) = result["locations"]
        region = place["physicalLocation"]["region"]
        (change,) = result["fixes"][0]["artifactChanges"]
        (edit,) = change["replacements"]
        deleted = edit["deletedRegion"]
        start = region["charOffset"]
        assert start <= deleted["charOffset"] < start + region["charLength"]
    assert run["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] == 1
