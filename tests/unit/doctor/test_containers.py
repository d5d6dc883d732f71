"""Variables on their way into containers, and the parts of a script that are not in its text."""

import pytest

from weft.cli.doctor.env_linter import Linter
from weft.cli.doctor.env_report import EnvReport
from weft.core.finding import Severity
from weft.doctor.container.launch.plan import plans_of
from weft.doctor.job import Job
from weft.doctor.readers.file import read_job

LINTER = Linter(None, None, None, None, None, check_files=False)
PYXIS = "#SBATCH -N 2\nexport NCCL_IB_HCA=mlx5 UCX_TLS=rc\nsrun --container-image=i"


def report(text: str, name: str = "job.sh") -> EnvReport:
    return EnvReport.of(LINTER.case_of(read_job(name, text)))


def rules_of(text: str, name: str = "job.sh") -> dict[str, Severity]:
    return {one.rule.id: one.severity for one in report(text, name).complaints}


def values(job: Job) -> list[tuple[str, str | None]]:
    return [(one.name, one.value) for one in job.all_settings]


@pytest.mark.parametrize(
    "options",
    [
        "--container-env=NCCL_IB_HCA,UCX_TLS",
        "--container-env NCCL_IB_HCA --container-env UCX_TLS",
        "--container-env=UCX_TLS --container-env=NCCL_IB_HCA,HOME",
    ],
)
def test_names_for_pyxis_add_up(options: str) -> None:
    """SOURCE: NVIDIA/pyxis 0619349, args.c: each option adds to the list."""
    assert "image-wins" not in rules_of(f"{PYXIS} {options} ./a\n")


def test_a_value_for_pyxis_is_a_warning_and_leaves_no_good_verdict() -> None:
    """Pyxis keeps NAME=VALUE as one name, which no variable has."""
    text = f"{PYXIS} --container-env=NCCL_IB_HCA,NCCL_NVLS_ENABLE=0,NCCL_DEBUG=INFO ./a\n"
    one = report(text)
    found = {each.found.words["name"]: each for each in one.complaints if each.found.setting}
    assert found["NCCL_NVLS_ENABLE"].severity is Severity.WARNING
    assert found["NCCL_DEBUG"].severity is Severity.NOTE
    assert one.verdict is Severity.WARNING
    assert found["NCCL_NVLS_ENABLE"].found.at.line == 3
    assert report("srun --container-image=i --container-env=UCX_TLS=rc ./a").verdict is (
        Severity.UNKNOWN
    )


@pytest.mark.parametrize("prefix", ["APPTAINERENV_", "SINGULARITYENV_"])
def test_a_prefix_puts_a_variable_into_the_container(prefix: str) -> None:
    text = f"#SBATCH -N 2\nexport {prefix}NCCL_IB_DISABLE=1\nsrun apptainer exec -e i.sif ./a\n"
    assert rules_of(text) == {"infiniband-off": Severity.BAD}
    text = f"#SBATCH -N 2\nexport {prefix}NCCL_IB_TIMEOUT=300\nsrun apptainer exec i.sif ./a\n"
    assert rules_of(text) == {"out-of-range": Severity.BAD}


def test_a_prefixed_variable_is_not_asked_of_the_launcher() -> None:
    text = (
        "export APPTAINERENV_NCCL_IB_HCA=mlx5\n"
        "mpirun -hostfile h -x APPTAINERENV_NCCL_IB_HCA apptainer exec --cleanenv i.sif ./a\n"
    )
    assert "not-forwarded" not in rules_of(text)
    alone = "APPTAINERENV_NCCL_IB_HCA=mlx5\nsrun apptainer exec i.sif ./a\n"
    assert values(read_job("a.sh", alone)) == [("APPTAINERENV_NCCL_IB_HCA", "mlx5")]


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("--env NCCL_DEBUG=WARN,UCX_TLS=rc", [("NCCL_DEBUG", "WARN"), ("UCX_TLS", "rc")]),
        ("--env UCX_TLS=rc,sm", [("UCX_TLS", "rc,sm")]),
        (
            "--env NCCL_IB_HCA=mlx5_0,mlx5_1,NCCL_DEBUG=WARN",
            [("NCCL_IB_HCA", "mlx5_0,mlx5_1"), ("NCCL_DEBUG", "WARN")],
        ),
    ],
)
def test_lists_of_apptainer(option: str, expected: list[tuple[str, str]]) -> None:
    assert values(read_job("a.sh", f"apptainer exec {option} i.sif ./a\n")) == expected


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ('eval "$(site_env --print)"', "the commands that eval runs (line 2)"),
        ("export $(grep -v '^#' .env | xargs)", "the variables that line 2 exports"),
        ("source $SETUP/env.sh", "the file that line 2 sources"),
        (". ./env.sh", "files that it sources (./env.sh)"),
        ("module load nccl/2.20 cuda", "variables of 2 modules (nccl/2.20, cuda)"),
        ("docker run --env-file x.env i ./a", "the variables that --env-file names (x.env)"),
    ],
)
def test_parts_that_are_not_in_the_text_are_listed(line: str, shown: str) -> None:
    one = report(f"export NCCL_IB_HCA=mlx5\n{line}\n")
    assert shown in one.coverage.not_seen


MPI_JOB = """kind: MPIJob
spec:
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          containers:
          - image: tests
            command: [mpirun, -np, "16", -x, {0}, /opt/all_reduce_perf]
    Worker:
      replicas: {1}
"""


@pytest.mark.parametrize(
    ("setting", "workers", "expected"),
    [
        ("NCCL_IB_DISABLE=1", 2, {"infiniband-off": Severity.BAD}),
        ("NCCL_IB_TIMEOUT=300", 2, {"out-of-range": Severity.BAD}),
        ("NCCL_IB_HCA=mlx5", 2, {}),
    ],
)
def test_a_launcher_of_a_container_without_a_list_of_variables(
    setting: str, workers: int, expected: dict[str, Severity]
) -> None:
    assert rules_of(MPI_JOB.format(setting, workers), "job.yaml") == expected


@pytest.mark.parametrize("key", ["env_vars", "environment_variables", "envVars"])
def test_other_keys_of_lists(key: str) -> None:
    text = f"runtime_env:\n  {key}:\n    NCCL_IB_TIMEOUT: '300'\n"
    assert rules_of(text, "ray.yaml") == {"out-of-range": Severity.BAD}


@pytest.mark.parametrize("masks", ["fff,fff000,...", "fff,\u2026", "$MASKS"])
def test_masks_that_are_left_out_are_not_judged(masks: str) -> None:
    one = report(f"export NCCL_IB_HCA=mlx5\nsrun --cpu-bind=mask_cpu:{masks} ./a\n")
    assert "masks" not in {each.rule.id for each in one.complaints}
    assert not any("masks" in each for each in one.coverage.would_show)


def test_an_algorithm_without_ring_is_bad_only_of_a_version_that_fails() -> None:
    text = "export NCCL_ALGO=Tree\nsrun -N 2 ./a\n"
    assert rules_of(text)["algorithms-leave-none"] is Severity.WARNING
    newer = Linter(None, "2.27.3", None, None, None, check_files=False)
    (one,) = EnvReport.of(newer.case_of(read_job("a.sh", text))).complaints
    assert (one.rule.id, one.severity) == ("algorithms-leave-none", Severity.BAD)


@pytest.mark.parametrize(
    "options",
    [
        "-N2",
        "-n4",
        "-N2 -n 4 -c8",
        "-t 10 -c 8 -e err -o out",
        "-pdebug -wn1 -lu",
        "-lN2",
        "-K1 -l",
    ],
)
def test_short_options_of_slurm_end_before_the_container(options: str) -> None:
    """Slurm reads them with getopt: a value may stand in the same word, or be the next one."""
    job = read_job("job.sh", f"#!/bin/bash\nsrun {options} apptainer exec --bind /a:/b i.sif ./p\n")
    (plan,) = plans_of(job)
    assert plan.runtime.name == "apptainer"
    assert [(one.source, one.target) for one in plan.mounts] == [("/a", "/b")]


def test_wait_of_sbatch_takes_no_value() -> None:
    """Of srun and salloc it does."""
    job = read_job("job.sh", "#!/bin/bash\nsbatch -W --nodes=2 job.sh\nsrun -W 60 -N 4 ./a\n")
    assert [one.options["nodes"].text for one in job.launches] == ["2", "4"]


@pytest.mark.parametrize(
    ("line", "image"), [("--image=x ./a b", "x"), ("--image x ./a b", "x"), ("./a b", "")]
)
def test_shifter_takes_its_image_by_an_option_only(line: str, image: str) -> None:
    (launch,) = read_job("job.sh", f"shifter {line}\n").launches
    assert launch.container is not None
    assert launch.container.image == image
    assert [one.text for one in launch.program] == ["./a", "b"]


BOTH = "/opt/aws-ofi-nccl:/opt/aws-ofi-nccl,/opt/cray/libfabric:/opt/cray/libfabric"
OWN_LIBRARIES = "/usr/lib/x86_64-linux-gnu/libfabric.so.1,/usr/lib/x86_64-linux-gnu/libnccl-net.so"


@pytest.mark.parametrize(
    ("words", "is_told"),
    [
        (f"--container-mounts={BOTH} python a.py", True),
        (f"--container-mounts={OWN_LIBRARIES} python a.py", False),
        ("--container-mounts=/opt/amazon/ofi-nccl,/opt/amazon/libfabric python a.py", False),
        (f"--container-env=LD_LIBRARY_PATH --container-mounts={BOTH} python a.py", False),
        (f"--container-mounts={BOTH} bash /u/launch_job a", False),
        (f"--container-mounts={BOTH} /u/start.bash a", False),
        ("--container-mounts=/u/libfabric-bench:/b,/u/nccl-plugin-tests:/t python a.py", False),
    ],
)
def test_a_mounted_plugin_is_unselected_where_nothing_could_select_it(
    words: str, is_told: bool
) -> None:
    text = f"export NCCL_SOCKET_IFNAME=hsn0\nsrun --container-image=nvcr.io#nvidia/x:1 {words}\n"
    assert ("plugin-mounted-unselected" in rules_of(text)) is is_told
