"""Every rule finds what it is for, and is silent about what only looks like it."""

import time

import pytest
from tests.unit.doctor.breach import Breach
from tests.unit.doctor.cases import CASES

from weft.catalog.libraries.setting_rules import setting_rules
from weft.catalog.load import launch_recipe, variable_lists
from weft.doctor.case import DoctorCase
from weft.doctor.lint import Complaint, lint
from weft.doctor.readers.file import read_job


def complaints(wrong: Breach, text: str) -> list[Complaint]:
    recipe = launch_recipe(wrong.platform) if wrong.platform else None
    job = read_job(wrong.name, text)
    return lint(DoctorCase(job, variable_lists(), recipe, wrong.nccl, n_nodes=wrong.nodes))


def _id(wrong: Breach) -> str:
    return f"{wrong.rule}-{wrong.text.splitlines()[-1][:40]}"


@pytest.mark.parametrize("wrong", CASES, ids=_id)
def test_the_mistake_is_found_and_its_sentence_is_whole(wrong: Breach) -> None:
    found = [one for one in complaints(wrong, wrong.text) if one.rule.id == wrong.rule]
    assert len(found) == 1, [one.rule.id for one in complaints(wrong, wrong.text)]
    (one,) = found
    for sentence in (one.happens, one.fix, one.source):
        assert "{" not in sentence
        assert "\0" not in sentence
    at = one.found.at
    assert 0 <= at.start <= at.end <= len(wrong.text)
    assert wrong.text[: at.start].count("\n") + 1 == at.line


@pytest.mark.parametrize("wrong", [one for one in CASES if one.right], ids=_id)
def test_what_is_right_is_not_blamed(wrong: Breach) -> None:
    assert wrong.rule not in [one.rule.id for one in complaints(wrong, wrong.right)]


def test_every_rule_has_a_case_and_most_have_a_counterexample() -> None:
    tried = {one.rule for one in CASES}
    # Those need more files than the script's: tests of the verb.
    assert set(setting_rules()) - tried == {"hidden-by-environment", "masks-far"}
    assert tried <= set(setting_rules())
    without = {one.rule for one in CASES} - {one.rule for one in CASES if one.right}
    assert len(without) <= 8, sorted(without)


@pytest.mark.parametrize(
    "launch",
    [
        "srun --export=$NAMES ./a",
        "srun --container-image=i --container-env=$NAMES ./a",
        "srun --cpu-bind=mask_cpu:$MASKS ./a",
        "mpirun -hostfile h -x $NAME ./a",
        "mpirun -hostfile h $ARGS ./a",
        "docker run --env-file names image ./a",
        "docker run -e $NAME image ./a",
    ],
)
def test_what_only_the_running_job_knows_is_not_judged(launch: str) -> None:
    found = complaints(Breach("", ""), f"export NCCL_DEBUG=WARN\n{launch}\n")
    assert not [one.rule.id for one in found if one.rule.severity != "note"]


@pytest.mark.parametrize(
    ("platform", "loses"),
    [("", True), ("azure-ndv5", True), ("azure-ndv4", False), ("frontier", False)],
)
def test_nvlink_sharp_is_missed_only_where_it_is(platform: str, loses: bool) -> None:
    """The NVSwitches of H100 reduce, those of A100 do not."""
    found = complaints(Breach("", "", platform=platform), "export NCCL_NVLS_ENABLE=0\n")
    assert ("nvls-off" in [one.rule.id for one in found]) == loses


@pytest.mark.parametrize(
    ("value", "rules"),
    [
        ("mlx5_1", {"no-such-device"}),
        ("^mlx5", {"excludes-everything"}),
        ("mlx5_an0", {"excludes-everything"}),
        ("^mlx5_an0", set()),
    ],
)
def test_adapters_that_are_left(value: str, rules: set[str]) -> None:
    found = complaints(Breach("", "", platform="azure-ndv5"), f"export NCCL_IB_HCA={value}\n")
    assert {one.rule.id for one in found if one.rule.severity != "note"} == rules


@pytest.mark.parametrize("mask", ["-f", "1_0", " f", "0x", ""])
def test_masks_are_hexadecimal_digits(mask: str) -> None:
    text = f"srun '--cpu-bind=mask_cpu:f,{mask}' ./a\n"
    assert "masks" in [one.rule.id for one in complaints(Breach("", ""), text)]


def test_thousands_of_unknown_names_take_seconds() -> None:
    names = "".join(f"export NCCL_FOO_{number:05d}=1\n" for number in range(2000))
    started = time.process_time()
    complaints = lint(DoctorCase(read_job("x", "srun ./a\n" * 2000 + names), variable_lists()))
    assert time.process_time() - started < 15
    assert len({one.found.at.line for one in complaints}) >= 2000
