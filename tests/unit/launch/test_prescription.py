"""Recipes as commands: what each kind of run is given, and that a linter has nothing to say."""

import shlex
from itertools import product

import pytest

from weft.catalog.load import launch_recipe, launch_recipe_names, variable_lists
from weft.core.errors import InputError
from weft.doctor.case import Case
from weft.doctor.compare import compare
from weft.doctor.lint import lint
from weft.doctor.read.shell import read_script
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
AF = {
    "single": {
        "OMPI_MCA_coll_hcoll_enable": "0",
        "UCX_TLS": "tcp",
        "UCX_NET_DEVICES": "eth0",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "NCCL_SOCKET_IFNAME": "eth0",
        "NCCL_DEBUG": "WARN",
        "NCCL_NVLS_ENABLE": "1",
    },
    "multi": {
        "OMPI_MCA_coll_hcoll_enable": "0",
        "UCX_TLS": "rc",
        "UCX_NET_DEVICES": "mlx5_ib0:1",
        "NCCL_IB_HCA": "^mlx5_an0:1",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "NCCL_SOCKET_IFNAME": "eth0",
        "NCCL_DEBUG": "WARN",
        "NCCL_MIN_NCHANNELS": "32",
        "NCCL_NET_GDR_LEVEL": "5",
        "NCCL_TOPO_FILE": "/opt/microsoft/ndv5-topo.xml",
        "NCCL_NVLS_ENABLE": "1",
    },
}
"""Command lines of Affaticati et al., Azure HPC blog, as printed."""
AF["loopback"] = {
    **AF["single"],
    "NCCL_SHM_DISABLE": "1",
    "NCCL_P2P_DISABLE": "1",
    "NCCL_NVLS_ENABLE": "0",
}
AF["sharp"] = {
    **AF["multi"],
    "NCCL_COLLNET_ENABLE": "1",
    "NCCL_ALGO": "CollnetDirect,CollnetChain,NVLS",
    "SHARP_COLL_ENABLE_SAT": "1",
    "SHARP_COLL_LOG_LEVEL": "3",
    "SHARP_COLL_ENABLE_PCI_RELAXED_ORDERING": "1",
}
GROK = {
    "NCCL_TOPO_FILE": "/opt/microsoft/ndv5-topo.xml",
    "NCCL_P2P_NET_CHUNKSIZE": "2097152",
    "NCCL_MIN_NCHANNELS": "32",
    "NCCL_IB_QPS_PER_CONNECTION": "4",
    "NCCL_PXN_DISABLE": "1",
    "NCCL_IGNORE_CPU_AFFINITY": "1",
}
MADONNA = {
    "CXI_FORK_SAFE": "1",
    "CXI_FORK_SAFE_HP": "1",
    "NCCL_NET_GDR_LEVEL": "PHB",
    "NCCL_CROSS_NIC": "1",
    "FI_CXI_DISABLE_CQ_HUGETLB": "1",
    "FI_CXI_DISABLE_HOST_REGISTER": "1",
    "FI_MR_CACHE_MONITOR": "userfaultfd",
}
"""Madonna, CANOPIE-HPC at SC23."""


def prescribed(name: str, **run: object) -> Prescription:
    recipe = launch_recipe(name)
    return prescribe(recipe, Run(tasks=recipe.gpus_per_node or 1, **run))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("run", "seed", "dropped", "added"),
    [
        ({"nodes": 1}, "single", {"NCCL_NVLS_ENABLE"}, set()),
        ({"loopback": True, "nodes": 1}, "loopback", set(), set()),
        (
            {"nodes": 4},
            "multi",
            {"NCCL_NET_GDR_LEVEL", "NCCL_NVLS_ENABLE"},
            {
                "NCCL_IGNORE_CPU_AFFINITY",
                "NCCL_PXN_DISABLE",
                "NCCL_P2P_NET_CHUNKSIZE",
                "NCCL_IB_QPS_PER_CONNECTION",
                "NCCL_IB_PCI_RELAXED_ORDERING",
            },
        ),
        (
            {"nodes": 4, "sharp": True},
            "sharp",
            {"NCCL_NET_GDR_LEVEL", "NCCL_NVLS_ENABLE", "NCCL_ALGO"},
            {
                "NCCL_IGNORE_CPU_AFFINITY",
                "NCCL_PXN_DISABLE",
                "NCCL_P2P_NET_CHUNKSIZE",
                "NCCL_IB_QPS_PER_CONNECTION",
                "NCCL_IB_PCI_RELAXED_ORDERING",
                "SHARP_SMX_UCX_INTERFACE",
            },
        ),
    ],
)
def test_the_command_lines_of_the_azure_blog(
    run: dict[str, object], seed: str, dropped: set[str], added: set[str]
) -> None:
    """Every difference is deliberate: dropped ones are errata, added ones have another source."""
    found = prescribed("azure-ndv5", **run)
    own = {name: value for name, value in found.values.items() if name != "LD_LIBRARY_PATH"}
    printed = AF[seed]
    assert printed.keys() - own.keys() == dropped
    assert own.keys() - printed.keys() == added
    assert {name: own[name] for name in own.keys() & printed.keys()} == {
        name: printed[name] for name in own.keys() & printed.keys()
    }
    told = " ".join(one.printed for one in found.recipe.errata)
    assert all(name in told for name in dropped)
    hopper = "hopper.conf"
    assert all(hopper in one.source for one in found.settings if one.name in added)


def test_the_srun_line_of_the_training_job() -> None:
    found = prescribed("azure-ndv5", nodes=4, training=True, image="$IMAGE")
    text = prescribed_text.as_srun(found, ['bash -c "source /gsw/configure.sh && launch"'])
    job = read_script("launch.sh", text)
    (launch,) = job.launches
    assert launch.container is not None
    values = {one.name: one.value for one in job.settings}
    assert values.items() >= GROK.items()
    assert {*GROK} <= {*(launch.container.passes or ())}
    assert "/opt/microsoft/ndv5-topo.xml" in launch.container.mounts[0].text
    assert launch.options["cpu-bind"].text == (
        "mask_cpu:fff,fff000,fff000000,fff000000000,fff000000000000,fff000000000000000,"
        "fff000000000000000000,fff000000000000000000000"
    )
    assert {"container-writable", "no-container-mount-home"} <= launch.options.keys()


def test_the_variables_for_slingshot() -> None:
    found = prescribed("alps-a100", nodes=8)
    told = " ".join(one.printed for one in found.recipe.errata)
    for name, value in MADONNA.items():
        if name in found.values:
            assert found.values[name] == value
        else:
            assert name in told


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
        case = Case(job, variable_lists(), found.recipe, version, n_nodes=found.run.nodes)
        noted = " ".join(one.printed for one in found.recipe.errata)
        said = [one for one in lint(case) if one.rule.severity != "note"]
        blamed = [
            one for one in said if not one.found.setting or one.found.setting.name not in noted
        ]
        assert not blamed, [one.happens for one in blamed]


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
    import subprocess

    recipe = launch_recipe("generic-ndr")
    first = recipe.settings[0].model_copy(update={"name": "NCCL_NET", "value": value})
    own = recipe.model_copy(update={"settings": (first,)})
    text = prescribed_text.as_exports(prescribe(own, Run(nodes=2)))
    said = subprocess.run(
        ["bash", "-c", f'{text}\nprintf %s "$NCCL_NET"'], capture_output=True, text=True, check=True
    )
    assert said.stdout == value
    command = prescribed_text.as_mpirun(prescribe(own, Run(nodes=2)), ["true"])
    words = shlex.split(command.replace("\\\n", " "))
    assert f"NCCL_NET={value}" in words
