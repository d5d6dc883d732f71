"""MPI of a container: the library that the program loads, its ABI, and srun's PMI.

The libraries are stand-ins with the SONAMEs, needs and texts of the real ones; tests/oracle has the
same verdicts on the real ones, started by Slurm."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.doctor.container.container_cases import MOUNTS, PATH, judged, run_doctor
from tests.unit.doctor.container.container_trees import (
    LIBRARY_FOLDER,
    SlingshotNode,
    compile_library,
)
from tests.unit.doctor.container.mpi_node import (
    INTEL,
    MPICH,
    MPICH_WITH_PMIX,
    OPEN_MPI_5,
    OSU,
    MpiNode,
)

from weft.core.finding import Severity
from weft.doctor.container.chain.report import Chain


def faults(chain: Chain) -> set[str]:
    return {one.rule.id for one in chain.faults}


def warnings(chain: Chain) -> set[str]:
    return {one.rule.id for one in chain.warnings}


def links(chain: Chain, name: str) -> Iterator[str]:
    return (f"{one.file} {one.detail}" for one in chain.links if one.name == name)


@pytest.mark.parametrize("plugin", ["pmi2", "pmix", "none", "cray_shasta"])
def test_an_image_without_an_mpi_is_judged_as_before(mpi: MpiNode, plugin: str) -> None:
    ranks, chain = mpi.judged("/usr/bin/a", f"--mpi={plugin}")
    assert chain.verdict() is Severity.GOOD
    assert ranks == "4 of 4 ranks will use NET/OFI over cxi"
    assert not chain.warnings
    assert not [*links(chain, "MPI"), *links(chain, "PMI")]
    assert not any("MPI" in one for one in chain.would_show)


@pytest.mark.parametrize(
    ("kind", "plugin", "effect"),
    [
        ("open_mpi_5", "pmi2", "each be alone in an MPI world of size 1"),
        ("open_mpi_5", "none", "each be alone in an MPI world of size 1"),
        ("open_mpi_5", "pmix", ""),
        ("open_mpi_5", "pmix_v4", ""),
        ("open_mpi_5", "site_own", ""),
        ("open_mpi_4", "pmi2", "end in MPI_Init"),
        ("open_mpi_4", "pmix", ""),
        ("mpich", "pmix", "not find each other"),
        ("mpich", "none", "not find each other"),
        ("mpich", "pmi2", ""),
    ],
)
def test_a_plugin_of_srun_against_the_mpi_of_the_program(
    mpi: MpiNode, kind: str, plugin: str, effect: str
) -> None:
    program = mpi.program(getattr(mpi, kind)())
    ranks, chain = mpi.judged(program, f"--mpi={plugin}")
    if not effect:
        assert chain.verdict() is Severity.GOOD
        return
    assert faults(chain) == {"pmi-unfit"}
    assert ranks == f"4 of 4 ranks will {effect}"
    (fault,) = chain.faults
    assert fault.happens.startswith(f"srun --mpi={plugin} of ")
    assert fault.fix.startswith("srun --mpi=pmi2" if kind == "mpich" else "srun --mpi=pmix")
    assert not chain.warnings


def test_the_same_without_a_known_program_is_a_warning(mpi: MpiNode) -> None:
    """Programs of NCCL begin without MPI: python train.py, with an MPI in the image."""
    mpi.open_mpi_5()
    for program in ("python train.py", "bash -c 'python train.py'"):
        _, chain = mpi.judged(program, "--mpi=pmi2")
        assert chain.verdict() is Severity.GOOD
        assert warnings(chain) == {"pmi-unfit-if-used"}
        assert "if the program uses this MPI, each rank is alone" in chain.warnings[0].happens
    _, chain = mpi.judged("python train.py", "--mpi=none")
    assert not chain.warnings


@pytest.mark.parametrize(
    ("before", "options", "is_bad"),
    [
        ("export SLURM_MPI_TYPE=pmi2", "", True),
        ("SLURM_MPI_TYPE=pmi2", "", False),
        ("SLURM_MPI_TYPE=pmi2 \\", "", True),
        ("export SLURM_MPI_TYPE=pmi2", "--mpi=pmix", False),
        ("export SLURM_MPI_TYPE=pmix", "--mpi=pmi2", True),
        ("export SLURM_MPI_TYPE=pmix", "--mpi pmi2", True),
        ("export SLURM_MPI_TYPE=$SITE", "", False),
        ("", "--mpi=$SITE", False),
        ("", "--mpi=pmi2 --export=NCCL_NET_PLUGIN,FI_CXI_X,LD_LIBRARY_PATH", True),
        ("", "--mpi=pmi2 --ntasks=1", False),
        ("", "", False),
    ],
)
def test_who_names_the_plugin(mpi: MpiNode, before: str, options: str, is_bad: bool) -> None:
    program = mpi.program(mpi.open_mpi_5())
    _, chain = mpi.judged(program, options, before=before)
    assert faults(chain) == ({"pmi-unfit"} if is_bad else set())


@pytest.mark.parametrize(
    ("conf", "is_open"),
    [
        ("MpiDefault=pmi2\n", True),
        ("mpidefault = PMI2\n", True),
        ("#MpiDefault=pmi2\n", False),
        ("MpiDefault=pmix\n", False),
        ("MpiDefault=pmi2\nInclude site.conf\n", False),
        ("", False),
    ],
)
def test_the_site_s_default_leaves_it_open(mpi: MpiNode, conf: str, is_open: bool) -> None:
    """SLURM_MPI_TYPE of the shell that submits the job wins over it."""
    SlingshotNode.add_file(mpi.node.host / "etc/slurm/slurm.conf", conf)
    program = mpi.program(mpi.open_mpi_5())
    _, chain = mpi.judged(program)
    assert chain.verdict() is (Severity.UNKNOWN if is_open else Severity.GOOD)
    assert [one.unknown.startswith("which MPI plug-in srun") for one in chain.gaps] == (
        [True] if is_open else []
    )
    assert mpi.judged(program, "--mpi=pmix")[1].verdict() is Severity.GOOD


def test_mpirun_above_the_container_is_not_judged(mpi: MpiNode, tmp_path: Path) -> None:
    program = mpi.program(mpi.open_mpi_5())
    script = tmp_path / "job.sh"
    binds = ",".join(MOUNTS)
    begin = f"export NCCL_NET_PLUGIN=ofi APPTAINERENV_LD_LIBRARY_PATH={PATH}\n"
    line = f"{{}} apptainer exec -B {binds} i.sif {program}\n"
    for above, expected in (("mpirun -n 4", set()), ("srun -n 4 --mpi=pmi2", {"pmi-unfit"})):
        script.write_text(begin + line.format(above))
        _, chain = judged(mpi.node.image, mpi.node.host, script=script)
        assert faults(chain) == expected


@pytest.mark.parametrize(
    "program",
    [
        "mpirun -n 4 /opt/osu/osu_bw",
        "/usr/bin/mpiexec.hydra -n 4 /opt/osu/osu_bw",
        "bash -c 'mpiexec ./a'",
        "bash -c 'cd /a && if true; then exec mpirun ./a; fi'",
        "env A=b numactl -m 0 mpirun ./a",
        "torchrun --nnodes 2 a.py",
    ],
)
def test_a_launcher_in_the_container_starts_its_own_ranks(mpi: MpiNode, program: str) -> None:
    mpi.program(mpi.open_mpi_5())
    _, chain = mpi.judged(program, "--mpi=pmi2")
    assert chain.verdict() is Severity.GOOD
    assert not chain.warnings


@pytest.mark.parametrize(
    ("path", "words"), [(OSU, " --launcher mpirun"), (OSU, " 'a; mpirun'"), ("opt/mpirun/app", "")]
)
def test_the_word_mpirun_elsewhere_is_no_launcher(mpi: MpiNode, path: str, words: str) -> None:
    program = mpi.program(mpi.open_mpi_5(), path=path)
    assert faults(mpi.judged(f"{program}{words}", "--mpi=pmi2")[1]) == {"pmi-unfit"}
    _, chain = mpi.judged(f"bash -c '{program} --launcher mpirun'", "--mpi=pmi2")
    assert warnings(chain) == {"pmi-unfit-if-used"}


def test_parts_of_open_mpi_4_that_speak_pmi2_are_seen(mpi: MpiNode) -> None:
    program = mpi.program(mpi.open_mpi_4())
    assert faults(mpi.judged(program, "--mpi=pmi2")[1]) == {"pmi-unfit"}
    compile_library(mpi.folder / "openmpi/mca_pmix_s2.so", "int mca_pmix_s2_component;")
    assert not faults(mpi.judged(program, "--mpi=pmi2")[1])


def test_mpich_that_another_pmi_or_pmix_serves_is_not_accused(mpi: MpiNode) -> None:
    program = mpi.program(mpi.mpich(MPICH_WITH_PMIX))
    assert not faults(mpi.judged(program, "--mpi=pmix")[1])
    pmi = compile_library(mpi.folder / "libpmi2.so.0", "int PMI2_Init(void) { return 0; }")
    source = f"int PMI2_Init(void); {MPICH} int pmi(void) {{ return PMI2_Init(); }}"
    program = mpi.program(compile_library(mpi.folder / "libmpi.so.12", source, needs=[pmi]))
    assert not faults(mpi.judged(program, "--mpi=none")[1])


def test_intel_mpi_opens_the_pmi_library_of_a_variable_or_a_libpmix(mpi: MpiNode) -> None:
    program = mpi.program(mpi.mpich(INTEL))
    for plugin in ("none", "pmix"):
        assert faults(mpi.judged(program, f"--mpi={plugin}")[1]) == {"pmi-unfit"}
    compile_library(mpi.folder / "libpmix.so", "int PMIx_Init(void) { return 0; }")
    assert faults(mpi.judged(program, "--mpi=none")[1]) == {"pmi-unfit"}
    assert not faults(mpi.judged(program, "--mpi=pmix")[1])
    env = ("I_MPI_PMI_LIBRARY=/usr/lib/libpmi2.so",)
    assert not faults(mpi.judged(program, "--mpi=none", env=env)[1])


def test_a_program_without_an_mpi_of_its_abi(mpi: MpiNode) -> None:
    """The image has Open MPI, the program was built with MPICH, and the host has MPICH."""
    mpi.open_mpi_5()
    own = compile_library(mpi.node.host / "opt/cray/libmpi.so.12", MPICH)
    program = mpi.program(own)
    ranks, chain = mpi.judged(program)
    assert faults(chain) == {"mpi-other-abi"}
    assert ranks == "4 of 4 ranks will not start"
    assert f"{program} needs libmpi.so.12 (MPICH ABI)" in chain.faults[0].happens
    assert "libmpi.so.40 (Open MPI ABI)" in chain.faults[0].happens
    _, chain = mpi.judged(program, mounts=("/opt/cray:/opt/cray",))
    assert faults(chain) == {"dependency-missing"}
    assert "/opt/cray/libmpi.so.12, and no path leads there" in chain.faults[0].happens
    _, chain = mpi.judged(program, mounts=("/opt/cray:/opt/cray",), path=f"{PATH}:/opt/cray")
    assert chain.verdict() is Severity.GOOD
    (link,) = links(chain, "MPI")
    assert link.startswith("/opt/cray/libmpi.so.12 /opt/cray of the host; LD_LIBRARY_PATH; MPICH")


def test_a_file_that_the_host_mounts_over_the_image_s_wins(mpi: MpiNode) -> None:
    """Its own needs count then: libcxi is not in the image."""
    program = mpi.program(mpi.mpich())
    needed = compile_library(mpi.node.host / "opt/pals/libpals.so.0", "int pals(void) {return 0;}")
    source = f"int pals(void); {MPICH} int use(void) {{ return pals(); }}"
    compile_library(mpi.node.host / "opt/cray/libmpi.so.12", source, needs=[needed])
    over = f"/opt/cray/libmpi.so.12:/{LIBRARY_FOLDER}/libmpi.so.12"
    ranks, chain = mpi.judged(program, "--mpi=none", mounts=(over,))
    assert faults(chain) == {"dependency-missing"}
    assert ranks == "4 of 4 ranks will not start"
    assert "libpals.so.0 is not found" in chain.faults[0].happens
    mounts = (over, f"/opt/pals/libpals.so.0:/{LIBRARY_FOLDER}/libpals.so.0")
    _, chain = mpi.judged(program, "--mpi=none", mounts=mounts)
    # It speaks by libpals now, of which weft knows nothing.
    assert chain.verdict() is Severity.GOOD


def test_a_library_is_found_by_its_file_s_name_whatever_its_soname_is(mpi: MpiNode) -> None:
    program = mpi.program(mpi.mpich())
    own = mpi.node.host / "opt/cray/libmpi.so.12"
    compile_library(own, MPICH, soname="libmpich_gnu_71.so.3")
    mounts, path = ("/opt/cray:/opt/cray",), f"/opt/cray:{PATH}"
    _, chain = mpi.judged(program, "--mpi=pmix", mounts=mounts, path=path)
    assert faults(chain) == {"pmi-unfit"}
    (link,) = links(chain, "MPI")
    assert link.startswith("/opt/cray/libmpi.so.12 /opt/cray of the host; LD_LIBRARY_PATH; MPICH")


def test_a_mounted_mpi_that_the_program_does_not_load_is_warned_of(mpi: MpiNode) -> None:
    program = mpi.program(mpi.mpich())
    compile_library(mpi.node.host / "opt/other/libmpi.so.40", OPEN_MPI_5)
    _, chain = mpi.judged(program, mounts=("/opt/other:/opt/other",), path=f"{PATH}:/opt/other")
    assert (faults(chain), warnings(chain)) == (set(), {"mpi-host-unused"})
    assert "needs libmpi.so.12 (MPICH ABI)" in chain.warnings[0].happens
    compile_library(mpi.node.host / "opt/same/libmpi.so.12", MPICH)
    _, chain = mpi.judged(program, mounts=("/opt/same:/opt/same",))
    assert warnings(chain) == {"mpi-host-unused"}
    assert chain.warnings[0].fix.startswith("put /opt/same first into LD_LIBRARY_PATH")
    _, chain = mpi.judged(program, mounts=("/opt/same:/opt/same",), path=f"/opt/same:{PATH}")
    assert not chain.warnings


def test_an_mpi_that_no_program_is_known_to_use_only_warns(mpi: MpiNode) -> None:
    mpi.open_mpi_5()
    (mpi.folder / "libpmix.so.2").unlink()
    _, chain = mpi.judged("python train.py")
    assert chain.verdict() is Severity.GOOD
    assert warnings(chain) == {"mpi-does-not-load"}
    assert "libpmix.so.2 is not found" in chain.warnings[0].happens
    program = mpi.program(mpi.folder / "libmpi.so.40")
    assert faults(mpi.judged(program)[1]) == {"dependency-missing"}


def test_what_only_the_job_knows_leaves_the_mpi_open(mpi: MpiNode) -> None:
    program = mpi.program(mpi.open_mpi_5())
    _, chain = mpi.judged(program, "--mpi=pmi2", before="source site.sh")
    assert chain.verdict() is Severity.UNKNOWN
    assert any("MPI world of size 1, unless site.sh" in one.unknown for one in chain.gaps)
    _, chain = mpi.judged("python train.py", "--mpi=pmi2", before="source site.sh")
    assert not chain.warnings


def test_a_script_of_the_image_hides_the_program(mpi: MpiNode) -> None:
    program = mpi.program(mpi.open_mpi_5())
    _, chain = mpi.judged(program, "--mpi=pmi2 --container-entrypoint")
    assert (faults(chain), warnings(chain)) == (set(), {"pmi-unfit-if-used"})


def test_a_name_is_looked_for_in_the_path_of_the_container(mpi: MpiNode) -> None:
    mpi.program(mpi.open_mpi_5(), path="usr/bin/osu_bw")
    for value, expected in (("/bin:/usr/bin", {"pmi-unfit"}), ("/bin", set()), ("$HOME", set())):
        _, chain = mpi.judged("osu_bw -d", "--mpi=pmi2", before=f"export PATH={value}")
        assert faults(chain) == expected


def test_a_fault_of_mpi_comes_before_those_of_the_network(mpi: MpiNode) -> None:
    program = mpi.program(mpi.open_mpi_5())
    ranks, chain = mpi.judged(program, "--mpi=pmi2", path="/opt/ofi")
    assert [one.rule.id for one in chain.faults] == ["pmi-unfit", "libfabric-not-on-path"]
    assert ranks == "4 of 4 ranks will each be alone in an MPI world of size 1"


def test_mpi_is_judged_where_the_network_is_not_known(mpi: MpiNode, tmp_path: Path) -> None:
    program = mpi.program(mpi.open_mpi_5())
    host = tmp_path / "bare"
    host.mkdir()
    script = tmp_path / "job.sh"
    for plugin, verdict in (("pmi2", Severity.BAD), ("pmix", Severity.UNKNOWN)):
        script.write_text(f"srun -N 2 --mpi={plugin} --container-image=i {program}\n")
        _, chain = judged(mpi.node.image, host, script=script)
        assert chain.verdict() is verdict


def test_the_report_shows_mpi_as_a_tree_of_its_own(
    mpi: MpiNode, capsys: pytest.CaptureFixture[str]
) -> None:
    program = mpi.program(mpi.open_mpi_5())
    mpi.judged(program, "--mpi=pmi2")
    assert run_doctor(mpi.node, "--script", mpi.node.folder / "job.sh") == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("BAD  4 of 4 ranks will each be alone in an MPI world of size 1: ")
    at = next(n for n, one in enumerate(lines) if one.startswith("MPI: "))
    assert lines[at].endswith(f"(the image; default; Open MPI ABI; {program} needs it)")
    assert lines[at + 1].startswith("└─ !! PMI: srun --mpi=pmi2 of ")
    assert lines[at + 1].endswith("PMI-1 and PMI-2; Open MPI 5 takes PMIx only")
