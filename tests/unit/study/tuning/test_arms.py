"""Runs that hold no algorithms of the library are refused by name."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.mock_backend import MockBackend
from tests.unit.study.tuning.conftest import FACTOR, RunTruth, TrueBackend, study_of_algorithms

from weft.core.errors import InputError
from weft.study.run.store import StudyRun, read_run
from weft.study.tuning.algorithm import MPICH, NCCL, OPENMPI, TunedAlgorithm
from weft.study.tuning.arms import algorithm_arms
from weft.study.tuning.tuning import tune

OTHER = """
[[factors]]
name = "transport"
settings = [{ name = "usual" }, { name = "tcp", env = { UCX_TLS = "tcp" } }]
"""
ALGORITHMS = FACTOR.format(benchmark="allreduce", settings='"library", "ring"')


def refusal(run: StudyRun, form: str = "ompi-rules") -> str:
    with pytest.raises(InputError) as error:
        tune(run, form)
    assert error.value.exit_code == 2
    return error.value.describe()


def test_the_catalogues_factor_has_algorithms_of_two_libraries(run_truth: RunTruth) -> None:
    run = run_truth(TrueBackend({}), study_of_algorithms(repeats=1))
    (openmpi,) = algorithm_arms(run, OPENMPI)
    (mpich,) = algorithm_arms(run, MPICH)
    assert openmpi.default == mpich.default == "allreduce-algorithm=library"
    assert list(openmpi.algorithms.values()) == [
        TunedAlgorithm("3"),
        TunedAlgorithm("4"),
        TunedAlgorithm("6"),
    ]
    names = [one.name for one in mpich.algorithms.values()]
    assert names == ["recursive_doubling", "ring", "reduce_scatter_allgather"]
    with pytest.raises(InputError, match="no arm of this study is an algorithm of NCCL"):
        algorithm_arms(run, NCCL)


def test_arms_that_change_more_are_left_out_by_name(run_truth: RunTruth) -> None:
    text = study_of_algorithms(repeats=1, factors=ALGORITHMS + OTHER)
    (arms,) = algorithm_arms(run_truth(MockBackend(), text), OPENMPI)
    assert list(arms.algorithms) == ["allreduce-algorithm=ring,transport=usual"]
    assert arms.default == "allreduce-algorithm=library,transport=usual"
    assert arms.left_out == (
        "allreduce-algorithm=library,transport=tcp",
        "allreduce-algorithm=ring,transport=tcp",
    )


def test_a_study_of_other_factors(run_truth: RunTruth) -> None:
    run = run_truth(MockBackend(), study_of_algorithms(repeats=1, factors=OTHER))
    text = refusal(run)
    assert "no arm of this study is an algorithm of Open MPI; its factors: transport" in text
    assert "weft study factors" in text


def test_a_setting_that_changes_more_than_the_algorithm(run_truth: RunTruth) -> None:
    factor = """
[[factors]]
name = "own"

[[factors.settings]]
name = "usual"

[[factors.settings]]
name = "ring-tcp"

[factors.settings.env]
UCX_TLS = "tcp"
OMPI_MCA_coll_tuned_use_dynamic_rules = "1"
OMPI_MCA_coll_tuned_allreduce_algorithm = "4"
"""
    run = run_truth(MockBackend(), study_of_algorithms(repeats=1, factors=factor))
    assert "setting 'ring-tcp' of factor 'own' also changes UCX_TLS" in refusal(run)


def test_no_arm_leaves_the_choice_to_the_library(run_truth: RunTruth) -> None:
    text = study_of_algorithms(repeats=1, settings=("ring", "rabenseifner"))
    said = refusal(run_truth(TrueBackend({}), text))
    assert "no arm of allreduce leaves the choice to Open MPI" in said


def test_failed_launches_are_named(run_truth: RunTruth) -> None:
    class Failing(TrueBackend):
        def measure(self, launch):  # type: ignore[no-untyped-def]
            if launch.trial.arm["allreduce-algorithm"] == "ring":
                self._failing = frozenset([launch.name])
            return super().measure(launch)

    said = refusal(run_truth(Failing({}), study_of_algorithms(repeats=3)))
    assert "launches failed: allreduce with allreduce-algorithm=ring: 3 launches" in said


def test_a_run_that_is_not_complete(run_truth: RunTruth, tmp_path: Path) -> None:
    run_truth(TrueBackend({}), study_of_algorithms(repeats=3))
    (samples,) = (tmp_path / "run" / "samples").iterdir()
    lines = samples.read_text().splitlines(keepends=True)
    samples.write_text("".join(lines[: len(lines) // 2]))
    said = refusal(read_run(tmp_path / "run"))
    assert "of this run did not run yet" in said
    assert "--resume" in said


def test_a_run_with_another_library(run_truth: RunTruth) -> None:
    backend = TrueBackend({}, mpi="mpich", mpi_version="MPICH 5.0.2")
    run = run_truth(backend, study_of_algorithms(repeats=1))
    assert "this run measured MPICH 5.0.2, not Open MPI" in refusal(run)


def test_a_run_without_a_study(run_truth: RunTruth, tmp_path: Path) -> None:
    run = run_truth(TrueBackend({}), study_of_algorithms(repeats=1))
    assert "this run holds no study" in refusal(replace(run, meta={**run.meta, "study": ""}))


def test_mpich_needs_the_library_that_jobs_load(run_truth: RunTruth) -> None:
    truth = {(4, size, "ring"): 0.5 for size in (8, 4096, 65536, 1 << 20)}
    said = refusal(run_truth(TrueBackend(truth)), "mpich-json")
    assert "its library has to be read, and the run names none" in said
    assert "--library FILE" in said


@pytest.mark.parametrize(
    ("variables", "complaint"),
    [
        ({"NCCL_ALGO": "Ring"}, "NCCL_PROTO is ''"),
        ({"NCCL_ALGO": "allreduce:ring", "NCCL_PROTO": "LL"}, "NCCL_ALGO is 'allreduce:ring'"),
        (
            {"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL", "NCCL_MAX_NCHANNELS": "4"},
            "do not give one number",
        ),
    ],
)
def test_what_the_plug_ins_table_cannot_hold(variables: dict[str, str], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        NCCL.read(variables, "allreduce")


def test_nccls_names_become_the_plug_ins() -> None:
    channels = {"NCCL_MIN_NCHANNELS": "8", "NCCL_MAX_NCHANNELS": "8"}
    variables = {"NCCL_ALGO": "NVLSTree", "NCCL_PROTO": "Simple", **channels}
    assert NCCL.read(variables, "allreduce") == TunedAlgorithm(
        "nvls_tree/simple", (("channels", 8),)
    )


def test_open_mpi_ignores_algorithms_without_dynamic_rules() -> None:
    name = "OMPI_MCA_coll_tuned_allreduce_algorithm"
    assert OPENMPI.read({name: "4"}, "allreduce") is None
    on = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "true"}
    assert OPENMPI.read({name: "4", **on}, "allreduce") == TunedAlgorithm("4")
    assert OPENMPI.read({name: "0", **on}, "allreduce") is None
    with pytest.raises(InputError, match=f"{name} is 'ring'"):
        OPENMPI.read({name: "ring", **on}, "allreduce")
