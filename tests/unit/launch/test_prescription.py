"""Recipes as commands: what each kind of run is given, and that a linter has nothing to say."""

import subprocess
from itertools import product
from pathlib import Path

import pytest
from tests.unit.doctor.recipe_errata import RECIPE_ERRATA
from tests.unit.launch.blog_lines import (
    GROK,
    LOOPBACK,
    MADONNA,
    MOUNTS,
    MULTI,
    NVLINK,
    SHARP,
)

from weft.catalog.load import launch_recipe, launch_recipe_names, variable_lists
from weft.core.errors import InputError
from weft.doctor.case import DoctorCase
from weft.doctor.compare import compare
from weft.doctor.job import HOLE, Job, number_of
from weft.doctor.lint import lint
from weft.doctor.readers.shell import read_script
from weft.launch import prescribed_text
from weft.launch.prescription import Prescription, Run, prescribe

RUNS = (
    {"nodes": 4},
    {"nodes": None},
    {"nodes": 1},
    {"nodes": 4, "sharp": True},
    {"nodes": 1, "loopback": True},
    {"nodes": 4, "training": True},
    {"nodes": 4, "image": "nvcr.io/nvidia/pytorch:25.01-py3"},
)
VERSIONS = ("2.18.3", "2.22.3", "2.26.5", "2.32.3")


def prescribed(name: str, **run: object) -> Prescription:
    recipe = launch_recipe(name)
    return prescribe(recipe, Run(tasks=recipe.gpus_per_node or 1, **run))  # type: ignore[arg-type]


HOPPER = {
    "NCCL_IGNORE_CPU_AFFINITY",
    "NCCL_PXN_DISABLE",
    "NCCL_P2P_NET_CHUNKSIZE",
    "NCCL_IB_QPS_PER_CONNECTION",
    "NCCL_IB_PCI_RELAXED_ORDERING",
}
"""What hopper.conf sets and the blog's multi-node command does not."""
LEVEL_AND_NVLS = {"NCCL_NET_GDR_LEVEL", "NCCL_NVLS_ENABLE"}
BLOG_RUNS = (
    ({"nodes": 1}, NVLINK, {"NCCL_NVLS_ENABLE"}, set()),
    ({"loopback": True, "nodes": 1}, LOOPBACK, set(), set()),
    ({"nodes": None}, MULTI, LEVEL_AND_NVLS, HOPPER),
    (
        {"nodes": None, "sharp": True},
        SHARP,
        {*LEVEL_AND_NVLS, "NCCL_ALGO"},
        {*HOPPER, "SHARP_SMX_UCX_INTERFACE"},
    ),
)


@pytest.mark.parametrize("name", ["azure-ndv4", "azure-ndv5"])
@pytest.mark.parametrize(("run", "printed", "dropped", "added"), BLOG_RUNS)
def test_the_command_lines_of_the_azure_blog(
    run: dict[str, object], printed: str, dropped: set[str], added: set[str], name: str
) -> None:
    """They are for both machines. What weft drops is an erratum; what it adds others publish."""
    found = prescribed(name, **run)
    blog = read_script("blog.sh", f"SKU={name.removeprefix('azure-')}\n{printed}")
    text = prescribed_text.as_mpirun(found, prescribed_text.program(found, "allreduce"))
    own = read_script("own.sh", text)
    if name == "azure-ndv4":
        added = added & {"NCCL_IB_PCI_RELAXED_ORDERING", "SHARP_SMX_UCX_INTERFACE"}
    theirs, ours = _values(blog), _values(own)
    assert theirs.keys() - ours.keys() == dropped
    assert ours.keys() - theirs.keys() == added
    for each in ours.keys() & theirs.keys():
        assert ours[each].upper() == theirs[each].upper()
    errata = " ".join(one.printed for one in found.recipe.errata)
    assert all(each in errata for each in dropped)
    others = ("hopper.conf", "azurehpc-health-checks")
    sources = {one.name: one.source for one in found.settings}
    assert all(any(other in sources[each] for other in others) for each in added)
    _same_command(blog, own)


def _values(job: Job) -> dict[str, str]:
    """What a command sets; the value of LD_LIBRARY_PATH is the shell's."""
    given = [one for one in job.settings if one.launch is not None]
    assert "LD_LIBRARY_PATH" in [one.name for one in given]
    return {one.name: one.known for one in given if one.known is not None}


def _same_command(blog: Job, own: Job) -> None:
    """Ranks, hosts, binding and program are the blog's; sizes go to 16G, as its tables do."""
    (theirs,), (ours,) = blog.launches, own.launches
    for option in ("n", "bind-to", "map-by", "hostfile"):
        assert (option in theirs.options) == (option in ours.options)
        if option in theirs.options:
            assert ours.options[option].text == theirs.options[option].text
    assert "LD_LIBRARY_PATH" in ours.passes
    options = [word.text for word in ours.program[1:]]
    assert options == ["-b", "1K", "-e", "16G", "-f", "2", "-g", "1"]
    program = theirs.program[0].text
    assert program in (ours.program[0].text, HOLE)


def test_every_difference_from_the_blog_is_explained() -> None:
    for run, printed, dropped, added in BLOG_RUNS:
        found = prescribed("azure-ndv5", **run)
        blog = read_script("blog.sh", f"SKU=ndv5\n{printed}")
        differences = list(compare(blog, found))
        assert {one.name for one in differences} == dropped | added
        remarks = {one.remark for one in found.recipe.errata}
        reasons = {f"the recipe sets it: {one.reason}" for one in found.settings}
        assert {one.why for one in differences} <= remarks | reasons


def test_the_srun_line_of_the_training_job() -> None:
    found = prescribed("azure-ndv5", training=True, image="$IMAGE", mounts=MOUNTS)
    program = 'bash -c "source /gsw/configure.sh && launch"'
    own = read_script("own.sh", prescribed_text.as_srun(found, [program]))
    blog = read_script("launch.sh", GROK)
    (ours,), (theirs,) = own.launches, blog.launches
    values = {one.name: one.value for one in own.settings}
    assert values.items() >= {(one.name, one.value) for one in blog.settings}
    assert ours.container is not None
    assert theirs.container is not None
    assert {*(theirs.container.passes or ())} <= {*(ours.container.passes or ())}
    assert {*(ours.container.passes or ())} == {*found.values} - {"LD_LIBRARY_PATH"}
    topology, *mounts = [word.text for word in ours.container.mounts]
    assert topology == "/opt/microsoft/ndv5-topo.xml:/opt/microsoft/ndv5-topo.xml:ro"
    assert mounts == [word.text for word in theirs.container.mounts][1:]
    assert [word.text for word in ours.program] == [word.text for word in theirs.program]
    same = {"cpu-bind", "container-image", "container-writable", "no-container-mount-home"}
    assert {*theirs.options} == same | {"container-env"}
    for option in same:
        assert ours.options[option].text == theirs.options[option].text
    sources = {one.name: one.source for one in found.settings}
    printed = {one.name for one in blog.settings}
    assert all(BLOG in sources[each] or HOPPER_CONF in sources[each] for each in sources)
    assert all(BLOG in sources[each] for each in printed)


BLOG = "Affaticati et al., Azure HPC blog"
HOPPER_CONF = "Azure/ai-infrastructure-on-azure a01b073, hopper.conf"


def test_mounts_reach_their_shell_with_their_variables_and_nothing_else(tmp_path: Path) -> None:
    mounts = ("$A/cfg:/cfg", "${A}:/b c", "$(touch x)`id`:/d", "it's$A", "$1$", 'a"b\\c')
    found = prescribed("azure-ndv5", image="i", mounts=mounts)
    text = prescribed_text.as_srun(found, ["true"])
    command = text[text.index("srun ") :].replace("srun ", "printf '%s\\n' ", 1)
    said = subprocess.run(
        ["bash", "-c", f"A='1 2'\n{command}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    expected = "1 2/cfg:/cfg,1 2:/b c,$(touch x)`id`:/d,it's1 2,$1$,a\"b\\c"
    (line,) = [one for one in said.stdout.splitlines() if one.startswith("--container-mounts")]
    assert line.partition(":ro,")[2] == expected
    assert not list(tmp_path.iterdir())


def test_the_variables_for_slingshot() -> None:
    """Those that are kept have the talk's value, the others are errata."""
    found = prescribed("alps-a100", nodes=8, image="nvcr.io/nvidia/pytorch:22.12-py3")
    printed = {one.name: one.value for one in read_script("talk.sh", MADONNA).settings}
    kept = printed.keys() & found.values.keys()
    assert {name: found.values[name] for name in kept} == {name: printed[name] for name in kept}
    dropped = {"CXI_FORK_SAFE", "CXI_FORK_SAFE_HP", "FI_CXI_DISABLE_CQ_HUGETLB"}
    assert printed.keys() - kept == dropped
    errata = [one for one in found.recipe.errata if "Madonna" in one.where]
    assert all(any(name in one.printed for one in errata) for name in dropped)


def test_mvapich_is_started_by_hydra() -> None:
    """Open MPI's -x would hand nothing to it."""
    found = prescribed("frontera", nodes=4, sharp=True)
    text = prescribed_text.as_mpirun(found, ["osu_allreduce"])
    (launch,) = read_script("own.sh", text).launches
    assert launch.launcher == "mpiexec"
    assert number_of(launch.options, "n") == 4
    assert launch.options["hostfile"].text == HOLE
    given = {one.name: one.value for one in read_script("own.sh", text).settings}
    assert given["MV2_ENABLE_SHARP"] == "1"
    assert "-x" not in text.split()


def every_recipe() -> list[tuple[str, int, str]]:
    """Those runs for which a machine has a recipe."""
    every = []
    for name, run in product(launch_recipe_names(), range(len(RUNS))):
        offered = {when for one in launch_recipe(name).settings for when in one.when}
        wanted = {kind for kind in ("sharp", "loopback") if RUNS[run].get(kind)}
        if wanted <= offered:
            every += [(name, run, version) for version in VERSIONS]
    return every


@pytest.mark.parametrize(("name", "run", "version"), every_recipe())
def test_no_recipe_is_flagged_but_for_its_noted_errata(name: str, run: int, version: str) -> None:
    found = prescribed(name, nccl=version, **RUNS[run])
    forms = [prescribed_text.as_srun, prescribed_text.as_sbatch]
    if "image" not in RUNS[run]:
        forms.append(prescribed_text.as_mpirun)
    for form in forms:
        job = read_script("job.sh", form(found, ["./train"]))
        assert not job.unread
        case = DoctorCase(job, variable_lists(), found.recipe, version, n_nodes=found.run.nodes)
        for one in lint(case):
            setting = one.found.setting.name if one.found.setting is not None else ""
            is_noted = RECIPE_ERRATA.get((name, one.rule.id)) == setting
            assert is_noted or one.rule.severity == "note", one.happens


@pytest.mark.parametrize("name", launch_recipe_names())
def test_a_recipe_does_not_differ_from_itself(name: str) -> None:
    found = prescribed(name, nodes=4)
    job = read_script("job.sh", prescribed_text.as_sbatch(found, ["./train"]))
    assert not list(compare(job, found))


def test_a_script_that_differs() -> None:
    found = prescribed("azure-ndv5", nodes=4)
    text = prescribed_text.as_exports(found).replace("=32", "=16") + "\nexport NCCL_ALGO=Ring\n"
    differences = {
        one.name: (one.script, one.recipe) for one in compare(read_script("j", text), found)
    }
    assert differences == {"NCCL_MIN_NCHANNELS": ("16", "32"), "NCCL_ALGO": ("Ring", None)}


@pytest.mark.parametrize(
    ("value", "is_same"),
    [("mlx5_ib", True), ("^=mlx5_an0", True), ("mlx5", False), ("=mlx5_ib0", False)],
)
def test_lists_that_take_the_same_adapters_are_the_same(value: str, is_same: bool) -> None:
    found = prescribed("azure-ndv5", nodes=4)
    text = prescribed_text.as_srun(found, ["./train"])
    differing = compare(read_script("j", text.replace("'^mlx5_an0:1'", f"'{value}'")), found)
    assert (not list(differing)) == is_same


def test_options_of_srun_that_differ() -> None:
    found = prescribed("azure-ndv5", nodes=4)
    text = prescribed_text.as_srun(found, ["./train"])
    (one,) = compare(read_script("j", text.replace("fff,fff000,", "fff000,fff,")), found)
    assert one.name == "--cpu-bind"
    assert (one.script or "").startswith("mask_cpu:fff000,fff,")
    (one,) = compare(read_script("j", text.replace("--cpu-bind=mask", "--other=mask")), found)
    assert (one.name, one.script, one.recipe) == ("--cpu-bind", None, found.cpu_bind)
    slingshot = prescribed("generic-slingshot11", nodes=4)
    text = prescribed_text.as_srun(slingshot, ["./train"]).replace("--network=", "--other=")
    (one,) = compare(read_script("j", text), slingshot)
    assert (one.name, one.script, one.recipe) == ("--network", None, "disable_rdzv_get")
    assert not list(
        compare(read_script("j", f"#SBATCH --network=disable_rdzv_get\n{text}"), slingshot)
    )


def test_versions_that_do_not_know_a_setting() -> None:
    old = prescribed("alps-gh200", nodes=4, nccl="2.26.5")
    new = prescribed("alps-gh200", nodes=4, nccl="2.27.3")
    assert "NCCL_PROTO" not in old.values
    assert new.values["NCCL_PROTO"] == "^LL128"
    assert [one.setting.name for one in old.left] == ["NCCL_PROTO"]


@pytest.mark.parametrize(
    ("name", "run", "said"),
    [
        ("alps-gh200", {"sharp": True}, "has no SHARP"),
        ("azure-ndv5", {"sharp": True, "nodes": 1}, "two nodes"),
        ("azure-ndv5", {"loopback": True, "nodes": 2}, "one node"),
        ("frontera", {"loopback": True}, "no loopback"),
    ],
)
def test_runs_that_cannot_be(name: str, run: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        prescribed(name, **run)


@pytest.mark.parametrize("value", ["a b", "$(touch /tmp/x)", "`id`", "a'b", "a;b", "a\nb", "*"])
def test_hostile_values_never_reach_a_shell(value: str) -> None:
    """A value of a recipe of one's own comes out of a shell as it went in."""
    recipe = launch_recipe("generic-ndr")
    first = recipe.settings[0].model_copy(update={"name": "NCCL_NET", "value": value})
    own = recipe.model_copy(update={"settings": (first,)})
    text = prescribed_text.as_exports(prescribe(own, Run(nodes=2)))
    said = subprocess.run(
        ["bash", "-c", f'{text}\nprintf %s "$NCCL_NET"'], capture_output=True, text=True, check=True
    )
    assert said.stdout == value
    command = prescribed_text.as_mpirun(prescribe(own, Run(nodes=2)), ["true"])
    # A function in the place of mpirun prints its words, as the shell made them.
    said = subprocess.run(
        ["bash", "-c", f"mpirun() {{ printf '%s\\0' \"$@\"; }}; HOSTFILE=h\n{command}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"NCCL_NET={value}" in said.stdout.split("\0")
