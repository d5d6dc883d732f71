"""The launches of nccl-tests: command lines, rounds, samples."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.nccl_simulation import GIB, MPI, Planted, SimulatedNccl

from weft.bench.live.launch_site import LocalSite
from weft.bench.model import Launch, State
from weft.bench.nccl.backend import ADAPTERS, NcclBackend, rounds_of
from weft.bench.nccl.program import NcclTests, passed_on
from weft.check.nccl.trials import nccl_launches
from weft.core.errors import InputError, MissingError
from weft.launch.launchers.container import RankContainer

NODES = ("n001", "n002", "n003", "n004")
TESTS = NcclTests("nccl", "/opt/all_reduce_perf", 8)
ROUNDS = [[(0, 1), (2, 3)], [(0, 2), (1, 3)]]


def launches(**more: object) -> tuple[Launch, ...]:
    options = {"tasks_per_node": 1, "sizes_bytes": (GIB,), "rounds": ROUNDS, "limit_s": 60.0}
    return nccl_launches(NODES, **{**options, **more})  # type: ignore[arg-type]


def survey_of(planned: tuple[Launch, ...]) -> Launch:
    return next(one for one in planned if one.trial.id == "t001-survey")


def recipe(kind: str, launcher: str, container: RankContainer | None = None) -> str:
    mpi = replace(MPI, launcher=Path(launcher), launcher_kind=kind, pmi="pmix")
    site = LocalSite()
    site.as_root = False
    backend = NcclBackend(mpi, NODES, TESTS, site=site, container=container)
    return backend.recipe(survey_of(launches()))


def test_mpirun_gets_both_hosts_with_a_rank_a_gpu() -> None:
    text = recipe("openmpi", "/opt/bin/mpirun")
    assert "'n001 slots=8' 'n002 slots=8' > " in text
    assert "/opt/bin/mpirun --hostfile " in text
    assert " -n 16 --map-by slot --bind-to none -x NCCL_DEBUG=INFO /opt/all_reduce_perf" in text
    assert text.splitlines()[2].endswith(f" -b {GIB} -e {GIB} -g 1 -n 20 -w 5 -c 1")
    assert "# the first of 4 launches in 2 rounds" in text


def test_srun_gets_a_step_on_both_hosts() -> None:
    text = recipe("srun", "/usr/bin/srun")
    words = "--nodes=2 --ntasks=16 --ntasks-per-node=8 --nodelist=n001,n002"
    env = "env NCCL_DEBUG=INFO SLURM_JOB_NODELIST=n001,n002"
    assert f"{env} /usr/bin/srun --mpi=pmix {words}" in text
    assert "--overcommit" not in text


def test_pyxis_is_words_of_srun_before_the_program_of_the_image() -> None:
    container = RankContainer("pyxis", "nvcr#job:1", ("/a:/b:ro",))
    text = recipe("srun", "/usr/bin/srun", container)
    mounted = "--container-mounts=/a:/b:ro --container-env=NCCL_DEBUG"
    own = "--no-container-mount-home /opt/all_reduce_perf"
    assert re.search(f"-image='?nvcr#job:1'? {mounted}.* {own} -b ", text)


def test_podman_needs_the_launcher_of_mpich() -> None:
    with pytest.raises(InputError, match="--container podman does not work with ranks of srun"):
        recipe("srun", "/usr/bin/srun", RankContainer("podman", "job:1"))


def test_a_pair_of_adapters_is_one_gpu_and_one_adapter_of_each_host() -> None:
    names = ("mlx5_0:1", "mlx5_1:1")
    planned = launches(tasks_per_node=2, rounds=[[(0, 2), (1, 3)]])
    (groups,) = rounds_of(survey_of(planned).trial, names)
    second = groups[1]
    assert second.hosts == ("n001", "n002")
    assert second.ends == ("n001:1", "n002:3")
    env = TESTS.env(second, is_logged=False)
    assert env == {"NCCL_DEBUG": "WARN", "NCCL_IB_HCA": "=mlx5_1:1", "NCCL_TESTS_DEVICE": "1"}
    assert TESTS.tasks_per_node(second) == 1


def test_adapters_are_tested_one_a_round() -> None:
    trial = survey_of(launches()).trial
    trial = replace(trial, options={**trial.options, ADAPTERS: ["mlx5_0:1", "mlx5_1:1"]})
    rounds = rounds_of(trial, ())
    assert [{group.adapter for group in groups} for groups in rounds] == [
        {"mlx5_0:1"},
        {"mlx5_1:1"},
    ]


def test_two_sizes_are_one_sweep_and_need_a_factor() -> None:
    words = TESTS.argv((1 << 20, 1 << 24))
    assert words[words.index("-f") + 1] == "16"
    with pytest.raises(InputError, match="no sizes of one sweep"):
        TESTS.argv((3, 8))


def test_open_mpi_gets_the_variables_that_ranks_need() -> None:
    found = passed_on({"NCCL_SOCKET_IFNAME": "eth0", "HOME": "/root", "PATH": "/bin"})
    assert found == {"NCCL_SOCKET_IFNAME": "eth0", "PATH": "/bin"}


def test_a_host_that_failed_twice_is_left_out_and_later_tested_again() -> None:
    backend = SimulatedNccl(NODES, Planted(crashes=("n003",)))
    rounds = [[(0, 1), (2, 3)], [(0, 2), (1, 3)], [(1, 2), (0, 3)], [(0, 1), (2, 3)]]
    planned = launches(rounds=rounds)
    samples = list(backend.measure(survey_of(planned)))
    of = [one for one in samples if one.pair and "n003" in (one.pair.a, one.pair.b)]
    assert [one.note.startswith("was not started: n003") for one in of if one.note] == [
        *[False] * 2,
        *[True] * 2,
    ]
    assert all(one.state is State.FAILED for one in of)
    again = survey_of(planned)
    plain = {k: v for k, v in again.trial.options.items() if k != "surveys"}
    again = replace(again, trial=replace(again.trial, options={**plain, "rounds": [[(2, 3)]]}))
    (one,) = backend.measure(again)
    assert "signal 11" in (one.note or "")


def test_where_no_host_has_the_program_the_error_says_what_to_do() -> None:
    backend = SimulatedNccl(NODES, Planted(without_program=NODES))
    with pytest.raises(MissingError, match="is missing or cannot be executed in every launch") as e:
        list(backend.measure(launches()[0]))
    assert e.value.hint is not None
    assert "--tests PATH" in e.value.hint
