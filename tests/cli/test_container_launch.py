"""`--container` of measurements: the launch is the one of `weft recipe`, as `weft doctor container`
reads both, and is refused where its image cannot measure."""

import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.needs import need_mpi
from tests.unit.doctor.container.container_cases import need_gcc
from tests.unit.doctor.container.container_trees import (
    LIBRARY_FOLDER,
    NCCL_SOURCE,
    build_measuring_image,
    compile_library,
)

from weft.bench.live.backend import LiveBackend
from weft.bench.live.launch_site import LocalSite
from weft.bench.model import Launch, Trial
from weft.catalog.load import launch_recipe, recipe_machines
from weft.cli import run
from weft.cli.backend.choice import BackendChoice
from weft.cli.recipe.command import CONTAINERS
from weft.cli.recipe.container_launch import container_remarks, rank_container
from weft.core.errors import InputError
from weft.core.host import this_host
from weft.doctor.container.launch.environment import environment
from weft.doctor.container.launch.plan import ContainerPlan, plans_of
from weft.doctor.job import JobKind
from weft.doctor.readers.file import read_job
from weft.launch.kernel import build_kernel
from weft.launch.launchers.container import edf_text, program_folders
from weft.launch.mpi import Mpi, find_mpi

HYDRA = Mpi("mpich", Path("/m/bin/mpicc"), Path("/m/bin/mpiexec"), "hydra", "MPICH 4.0.2", "-lmpi")
SRUN = replace(HYDRA, launcher=Path("/usr/bin/srun"), launcher_kind="srun", pmi="pmi2")
OURS = (f"{sys.prefix}/var/weft/kernels", "/m")
TRIAL = Trial("t000", "latency", (8,), ("n1", "n2"), 1)


def choice(**changes: Any) -> BackendChoice:
    fields = dict.fromkeys(("twin", "nodes", "hosts", "hostfile", "cluster", "mpi"))
    fixed = {"rails": None, "fabric": (), "plant": (), "seed": 1, "mock": False}
    return BackendChoice(**{**fields, **fixed, "image": "i", **changes})


def backend_of(asked: BackendChoice, nodes: tuple[str, ...] = ("n1", "n2")) -> LiveBackend:
    by_srun = asked.container in ("pyxis", "ce")
    site = LocalSite(replace(this_host(), n_cores=8, all_cpus_allowed=True, cpus=tuple(range(8))))
    mpi = SRUN if by_srun else HYDRA
    return LiveBackend(mpi, nodes, site=site, container=rank_container(asked, len(nodes)))


def plan_of(text: str, *, is_edf: bool) -> ContainerPlan:
    job = read_job("a launch", text, JobKind.EDF if is_edf else JobKind.SCRIPT)
    (plan,) = plans_of(job)
    return plan


def values_of(plan: ContainerPlan) -> Mapping[str, str]:
    """But for the forms that apptainer takes away: the variables that they set are there, too."""
    found = environment(plan.runtime, (), plan.layers).values()
    return {one.name: one.value for one in found if not one.name.startswith("APPTAINERENV_")}


def mounts_of(plan: ContainerPlan) -> set[tuple[str, str]]:
    return {(one.source, one.target) for one in plan.mounts}


@pytest.mark.parametrize("runtime", CONTAINERS)
@pytest.mark.parametrize("name", recipe_machines())
def test_the_launch_is_the_one_of_the_recipe(
    capsys: pytest.CaptureFixture[str], name: str, runtime: str
) -> None:
    recipe = launch_recipe(name)
    words = ["recipe", name, "--nodes", "2", "--container", runtime, "--image", "i"]
    words += ["--mount", "/scratch:/data:ro"]
    asked = choice(container=runtime, recipe=name, mount=("/scratch:/data:ro",))
    if run(words) != 0:
        said = capsys.readouterr().err
        with pytest.raises(InputError) as error:
            backend_of(asked)
        assert error.value.what in said
        return
    is_edf = runtime == "ce"
    wanted = plan_of(capsys.readouterr().out, is_edf=is_edf)
    backend = backend_of(asked)
    launch = Launch(TRIAL, 0, 0)
    around = backend.container_of(launch)
    text = backend.recipe(launch)
    found = plan_of(edf_text(around, around.variables) if is_edf else text, is_edf=is_edf)
    assert mounts_of(found) == mounts_of(wanted) | {(one, one) for one in OURS}
    assert values_of(found) == values_of(wanted)
    for part in ("runtime", "devices", "hooks", "cdi_devices", "isolation", "doubts"):
        assert getattr(found, part) == getattr(wanted, part), part
    if runtime == "pyxis":
        assert found.layers.passes == wanted.layers.passes
    if is_edf:
        assert f"--environment=recipes/{launch.name}.toml" in text
        assert "printf '%s\\n' 'image = " in text
    if runtime == "podman":
        assert f" --timeout={TRIAL.timeout_s:.0f} " in text
    if recipe.network and runtime in ("pyxis", "ce"):
        assert f"--network={recipe.network}" in text


REFUSED = [
    (["--image", "i"], "--image goes with --container"),
    (["--mount", "/a:/b"], "--mount goes with --container"),
    (["--recipe", "azure-ndv5"], "--recipe goes with --container"),
    (["--container", "podman"], "--container goes with --image"),
    (["--container", "podman", "--image", "-v"], "'-v' is no name of an image"),
    (["--container", "podman", "--image", "i", "--mount", "a:/b"], "'a:/b' is no mount"),
    (["--container", "podman", "--image", "i", "--mount", "/a,b:/b"], "no mount of a launch"),
    (["--container", "podman", "--image", "i", "--recipe", "none"], "none"),
    (["--container", "podman", "--image", "i", "--launcher", "srun"], "needs a Slurm job"),
    (["--container", "pyxis", "--image", "i"], "needs a Slurm job"),
    (["--container", "podman", "--image", "i", "--twin", "alps-a100"], "contradict each other"),
    (["--container", "podman", "--image", "i", "--cluster", "c"], "contradict each other"),
    (["--container", "podman", "--image", "i", "--mpi", "mpicc.openmpi"], "does not work with"),
]


@pytest.mark.parametrize(("words", "said"), REFUSED)
@pytest.mark.parametrize("verb", [("bench", "latency"), ("check",), ("study", "run", "smoke")])
def test_options_that_do_not_fit_are_refused(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    verb: tuple[str, ...],
    words: list[str],
    said: str,
) -> None:
    if "mpicc.openmpi" in words:
        need_mpi("mpicc.openmpi")
    for name in ("SLURM_JOB_ID", "SLURM_JOB_NODELIST"):
        monkeypatch.delenv(name, raising=False)
    assert run([*verb, *words, "--dry-run"]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("runtime", ["pyxis", "ce", "apptainer"])
def test_a_path_of_an_image_is_the_same_in_the_run_directory(
    runtime: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "job.sqsh"
    file.touch()

    def image_of(text: str) -> str:
        found = rank_container(choice(container=runtime, image=text), 1)
        assert found is not None
        return found.image

    assert image_of("job.sqsh") == image_of("./job.sqsh") == image_of(str(file)) == str(file)
    for name in ("docker://job:1", "localhost/job:1", "none.sqsh"):
        assert image_of(name) == name


@pytest.mark.parametrize("name", ["file.tar", "folder", "./folder"])
def test_podman_takes_no_path(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.tar").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=f"podman runs images by name, and '{name}' is a path"):
        rank_container(choice(container="podman", image=name), 1)


@pytest.mark.parametrize(("runtime", "mpi"), [("podman", SRUN), ("pyxis", HYDRA), ("ce", HYDRA)])
def test_ranks_that_would_not_meet_are_refused(runtime: str, mpi: Mpi) -> None:
    container = rank_container(choice(container=runtime), 2)
    with pytest.raises(InputError, match=f"--container {runtime} does not work with ranks of"):
        LiveBackend(mpi, ("n1",), container=container)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_gcc()
    return build_measuring_image(tmp_path_factory.mktemp("image"))


def remarks_of(image: Path, **changes: Any) -> tuple[str, ...]:
    """Of a run of one launch of two ranks of the embedded MPI here."""
    asked = choice(container="apptainer", image=str(image), **changes)
    backend = LiveBackend(find_mpi(), ("n1",), container=rank_container(asked, 1))
    trial = replace(TRIAL, nodes=("n1",), tasks_per_node=2)
    return container_remarks(backend, [Launch(trial, 0, 0)], Path("run"))


def test_an_image_whose_network_is_not_known_is_measured_with_a_remark(image: Path) -> None:
    (remark,) = remarks_of(image)
    assert "unknown: which network the nodes have" in remark


def test_an_image_that_weft_cannot_open_is_measured_with_a_remark(tmp_path: Path) -> None:
    (remark,) = remarks_of(tmp_path / "none")
    assert remark.startswith("container: whether ")


def broken(root: Path, image: Path) -> Path:
    """A copy of the image, whose libm is another one."""
    shutil.copytree(image, root, symlinks=True)
    return root / LIBRARY_FOLDER / "libm.so.6"


def test_an_image_without_a_library_of_the_program_is_refused(tmp_path: Path, image: Path) -> None:
    broken(tmp_path / "image", image).unlink()
    said = r"measuring program: libm\.so\.6, which \S+ needs, is not in it"
    with pytest.raises(InputError, match=said):
        remarks_of(tmp_path / "image")


@pytest.mark.parametrize("verb", [("bench", "latency"), ("check", "--no-report")])
def test_it_is_refused_before_anything_is_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, image: Path, verb: tuple[str, ...]
) -> None:
    broken(tmp_path / "image", image).unlink()
    words = ["--container", "apptainer", "--image", str(tmp_path / "image")]
    assert run([*verb, *words, "--tasks-per-node", "2", "--dir", str(tmp_path / "run")]) == 2
    assert "measuring program: libm.so.6, which " in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_run_directory_that_cannot_be_mounted_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, image: Path
) -> None:
    words = ["--container", "apptainer", "--image", str(image), "--tasks-per-node", "2"]
    where = tmp_path / "my run,1"
    assert run(["check", *words, "--no-report", "--dir", str(where)]) == 2
    said = capsys.readouterr().err
    assert f"weft cannot mount '{where}/recipes' in containers" in said
    assert "choose another --dir" in said
    assert not where.exists()


def test_an_image_whose_files_a_mount_of_weft_hides_is_refused(tmp_path: Path, image: Path) -> None:
    shutil.copytree(image, tmp_path / "image", symlinks=True)
    ours = program_folders(build_kernel(find_mpi()), find_mpi().mpicc)[0]
    inside = Path(f"{tmp_path}/image{ours}")
    inside.mkdir(parents=True)
    (remark,) = remarks_of(tmp_path / "image")
    (inside / "site-tool").touch()
    with pytest.raises(InputError, match=f"own mount of {ours} hides .* image: site-tool"):
        remarks_of(tmp_path / "image")
    # The user's own mount of the same folder says that the image does not need its files.
    assert remarks_of(tmp_path / "image", mount=(f"{ours}:{ours}:ro",)) == (remark,)


def test_a_mount_that_is_not_here_may_bring_the_library(tmp_path: Path, image: Path) -> None:
    broken(tmp_path / "image", image).unlink()
    remarks = remarks_of(tmp_path / "image", mount=(f"{tmp_path}/none:/usr/local/lib:ro",))
    said = f"unless the mount of {tmp_path}/none mends it: libm.so.6, which "
    assert said in remarks[0]


def test_an_image_with_an_older_library_is_refused(tmp_path: Path, image: Path) -> None:
    libm = broken(tmp_path / "image", image)
    libm.unlink()
    compile_library(libm, "int own;", versions="GLIBC_2.0 { own; };")
    with pytest.raises(
        InputError, match=r"/libm\.so\.6 has no GLIBC_\S+, which \S+ needs"
    ) as error:
        remarks_of(tmp_path / "image")
    assert "its newest is GLIBC_2.0" in error.value.what


def test_an_image_without_glibc_is_refused(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "usr").mkdir()
    with pytest.raises(InputError, match="it has no dynamic loader of glibc"):
        remarks_of(tmp_path)


def test_an_image_whose_nccl_misses_the_network_is_refused(tmp_path: Path) -> None:
    need_gcc()
    build_measuring_image(tmp_path)
    assert any("no NCCL" in one for one in remarks_of(tmp_path, recipe="azure-ndv5"))
    compile_library(tmp_path / LIBRARY_FOLDER / "libnccl.so.2", NCCL_SOURCE)
    with pytest.raises(InputError, match=r"2 of 2 ranks will use NET/Socket"):
        remarks_of(tmp_path, recipe="azure-ndv5")


def remarks_of_arms(
    image: Path, runtime: str, arms: Mapping[str, Mapping[str, str]]
) -> tuple[str, ...]:
    """Of a run of two launches of each arm."""
    mpi = find_mpi()
    if runtime == "ce":
        mpi = replace(mpi, launcher=Path("/usr/bin/srun"), launcher_kind="srun", pmi="pmi2")
    asked = choice(container=runtime, image=str(image))
    backend = LiveBackend(mpi, ("n1",), container=rank_container(asked, 1))
    trials = [
        replace(TRIAL, id=name, nodes=("n1",), tasks_per_node=2, arm={"net": name}, env=env)
        for name, env in arms.items()
    ]
    launches = [Launch(one, repeat, 0) for repeat in range(2) for one in trials]
    return container_remarks(backend, launches, Path("run"))


CXI = {"FI_PROVIDER": "cxi"}


@pytest.mark.parametrize("runtime", ["apptainer", "ce"])
def test_each_arm_of_a_study_is_judged_with_its_variables(tmp_path: Path, runtime: str) -> None:
    need_gcc()
    build_measuring_image(tmp_path)
    compile_library(tmp_path / LIBRARY_FOLDER / "libnccl.so.2", NCCL_SOURCE)
    unknown = "unknown: which network the nodes have"
    remarks = remarks_of_arms(tmp_path, runtime, {"site": {}, "sockets": CXI})
    assert len(remarks) == 2
    assert remarks[0].startswith("container: arm net=site: whether")
    assert unknown in remarks[0]
    assert remarks[1].startswith("container: arm net=sockets: 2 of 2 ranks will use NET/Socket: ")
    # The same for both arms is said once.
    (remark,) = remarks_of_arms(tmp_path, runtime, {"a": {}, "b": {"NCCL_ALGO": "Ring"}})
    assert remark.startswith("container: whether")
    with pytest.raises(InputError, match=r"arm net=a: 2 of 2 ranks will use NET/Socket"):
        remarks_of_arms(tmp_path, runtime, {"a": CXI, "b": {**CXI, "NCCL_ALGO": "Ring"}})


@pytest.mark.parametrize("runtime", ["apptainer", "ce"])
def test_an_arm_that_cannot_run_the_program_is_refused(
    tmp_path: Path, image: Path, runtime: str
) -> None:
    shutil.copytree(image, tmp_path / "image", symlinks=True)
    options = {"versions": "GLIBC_2.0 { own; };"}
    compile_library(tmp_path / "image/opt/old/libm.so.6", "int own;", **options)
    arms = {"site": {}, "old": {"LD_LIBRARY_PATH": "/opt/old"}}
    with pytest.raises(InputError, match=r"arm net=old: .* /opt/old/libm\.so\.6 has no GLIBC_"):
        remarks_of_arms(tmp_path / "image", runtime, arms)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mpiexec.openmpi", "which network the nodes have"),
        ("mpiexec.of-the-site", "does not read launches"),
    ],
)
def test_the_names_of_launchers(tmp_path: Path, image: Path, name: str, said: str) -> None:
    mpi = replace(find_mpi(), launcher=tmp_path / name, launcher_kind="openmpi")
    asked = choice(container="apptainer", image=str(image))
    backend = LiveBackend(mpi, ("n1", "n2"), container=rank_container(asked, 2))
    (remark,) = container_remarks(backend, [Launch(TRIAL, 0, 0)], tmp_path / "run")
    assert said in remark
