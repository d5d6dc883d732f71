"""Each rule of containers finds its fault, alone, in a launch that is right without it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.doctor.container.container_cases import MOUNTS, PATH, judged, verdict_of
from tests.unit.doctor.container.container_trees import (
    LIBRARY_FOLDER,
    PLAIN_LIBFABRIC_SOURCE,
    PLUGIN_SOURCE,
    PROVIDER_SOURCE,
    SlingshotNode,
    compile_library,
)

from weft.catalog.libraries.setting_rules import container_rules
from weft.core.finding import Severity

JOB = """#SBATCH -N 2
#SBATCH --ntasks-per-node=4
{exports}
srun --container-image=nvcr.io#nvidia/pytorch:22.12 --container-mounts={mounts} {options} ./a
"""
Plant = Callable[[SlingshotNode, dict[str, str], list[str]], None]
"""Changes the node, the variables and the mounts."""


def job(path: Path, variables: dict[str, str], mounts: list[str], options: str = "") -> Path:
    exports = "\n".join(f"export {name}='{value}'" for name, value in variables.items())
    text = JOB.format(exports=exports, mounts=",".join(mounts), options=options)
    path.write_text(text)
    return path


def musl(node: SlingshotNode, _: dict[str, str], __: list[str]) -> None:
    (node.image / "lib64/ld-linux-x86-64.so.2").unlink()
    SlingshotNode.add_file(node.image / "usr/lib/ld-musl-x86_64.so.1")


def mount_source(node: SlingshotNode, _: dict[str, str], mounts: list[str]) -> None:
    mounts.append("/opt/none:/opt/none")


def mount_point(node: SlingshotNode, _: dict[str, str], mounts: list[str]) -> None:
    (node.image / "srv").mkdir()
    mounts.append("/opt/ofi/libnccl-net-ofi.so:/srv")


def plugin_absent(node: SlingshotNode, _: dict[str, str], mounts: list[str]) -> None:
    del mounts[0]


def plugin_off_path(node: SlingshotNode, env: dict[str, str], mounts: list[str]) -> None:
    env["LD_LIBRARY_PATH"] = "/opt/libfabric"


def plugin_unselected(node: SlingshotNode, env: dict[str, str], mounts: list[str]) -> None:
    del env["NCCL_NET_PLUGIN"]


def network(node: SlingshotNode, env: dict[str, str], mounts: list[str]) -> None:
    env["NCCL_NET"] = "Socket"


def interface(node: SlingshotNode, env: dict[str, str], mounts: list[str]) -> None:
    fabric = node.host / "opt/libfabric/libfabric.so.1"
    compile_library(node.host / "opt/ofi/libnccl-net-ofi.so", PLUGIN_SOURCE % 9, needs=[fabric])


def fabric_absent(node: SlingshotNode, env: dict[str, str], mounts: list[str]) -> None:
    del mounts[1]


def fabric_off_path(node: SlingshotNode, env: dict[str, str], mounts: list[str]) -> None:
    env["LD_LIBRARY_PATH"] = "/opt/ofi"


def dependency(node: SlingshotNode, env: dict[str, str], mounts: list[str]) -> None:
    (node.host / "opt/libfabric/libcxi.so.1").unlink()


def broken(node: SlingshotNode, env: dict[str, str], mounts: list[str]) -> None:
    (node.host / "opt/libfabric/libcxi.so.1").write_bytes(b"version https://git-lfs\n" * 9)


def version(node: SlingshotNode, env: dict[str, str], mounts: list[str]) -> None:
    """A host library of a newer glibc: the version is that of a stand-in libc at its making."""
    stand_in = node.folder / "new/libc.so.6"
    compile_library(stand_in, "int newer(void) { return 1; }", versions="GLIBC_2.99 { newer; };")
    compile_library(
        node.host / "opt/libfabric/libcxi.so.1",
        "int newer(void); int cxil_open(void) { return newer(); }",
        needs=[stand_in],
    )


def provider(node: SlingshotNode, env: dict[str, str], mounts: list[str]) -> None:
    compile_library(node.host / "opt/libfabric/libfabric.so.1", PLAIN_LIBFABRIC_SOURCE)


def excluded(node: SlingshotNode, env: dict[str, str], mounts: list[str]) -> None:
    env["FI_PROVIDER"] = "^cxi"


def device(node: SlingshotNode, env: dict[str, str], mounts: list[str]) -> None:
    shutil.rmtree(node.host / "dev")


PLANTS: dict[str, Plant] = {
    "no-glibc": musl,
    "mount-source-absent": mount_source,
    "mount-point-unfit": mount_point,
    "plugin-not-mounted": plugin_absent,
    "plugin-not-on-path": plugin_off_path,
    "plugin-not-selected": plugin_unselected,
    "other-network-demanded": network,
    "plugin-interface": interface,
    "libfabric-absent": fabric_absent,
    "libfabric-not-on-path": fabric_off_path,
    "dependency-missing": dependency,
    "library-broken": broken,
    "version-missing": version,
    "provider-missing": provider,
    "provider-excluded": excluded,
    "device-missing": device,
}
OF_VERBS = {"verbs-disabled", "verbs-absent", "driver-missing"}
"""Their cases: test_verbs.py."""
OF_ISOLATION = {
    *("shared-memory-small", "own-network", "own-namespaces", "locked-memory-limited"),
}
"""Their cases: test_isolation.py and test_verbs.py."""
OF_MPI_IF_USED = {"pmi-unfit-if-used", "mpi-host-unused", "mpi-does-not-load"}
OF_MPI = {
    *("mpi-other-abi", "mpi-hook-refuses", "pmi-unfit"),
    *OF_MPI_IF_USED,
}
"""Their cases: test_mpi.py and test_mpi_hook.py."""
OF_GDRCOPY = {
    *("gdrcopy-library-missing", "gdrcopy-device-missing", "gdrcopy-too-old"),
    "gpu-memory-unregistered",
}
"""Their cases: test_gdrcopy.py and test_registration.py."""


def test_every_rule_has_a_case() -> None:
    rules = container_rules()
    assert set(PLANTS) | OF_VERBS | OF_ISOLATION | OF_MPI | OF_GDRCOPY == set(rules)
    warnings = {one.id for one in rules.values() if one.severity == "warning"}
    assert warnings == OF_ISOLATION | OF_GDRCOPY | OF_MPI_IF_USED


@pytest.mark.parametrize("rule", PLANTS)
def test_a_planted_fault_is_found_alone(node: SlingshotNode, rule: str) -> None:
    variables = {"NCCL_NET_PLUGIN": "ofi", "LD_LIBRARY_PATH": PATH, "FI_CXI_X": "1"}
    mounts = list(MOUNTS)
    script = node.folder / "job.sh"
    right = verdict_of(node.image, node.host, script=job(script, variables, mounts))
    assert right == (Severity.GOOD, set())
    PLANTS[rule](node, variables, mounts)
    found = verdict_of(node.image, node.host, script=job(script, variables, mounts))
    assert found == (Severity.BAD, {rule})


def test_the_versions_of_both_are_named(node: SlingshotNode) -> None:
    variables = {"NCCL_NET_PLUGIN": "ofi", "LD_LIBRARY_PATH": PATH}
    version(node, variables, [])
    script = job(node.folder / "job.sh", variables, list(MOUNTS))
    _, chain = judged(node.image, node.host, script=script)
    (fault,) = chain.faults
    assert "/opt/libfabric/libcxi.so.1 needs GLIBC_2.99" in fault.happens
    assert "libc.so.6 of the container has GLIBC_2.36 at most" in fault.happens


def test_a_provider_as_a_file_is_found_by_its_path(node: SlingshotNode) -> None:
    folder = node.host / "opt/libfabric"
    provider(node, {}, [])
    file = folder / "prov/libcxi-fi.so"
    compile_library(file, PROVIDER_SOURCE, needs=[folder / "libcxi.so.1"])
    variables = {"NCCL_NET_PLUGIN": "ofi", "LD_LIBRARY_PATH": PATH}
    script = job(node.folder / "job.sh", variables, list(MOUNTS))
    assert verdict_of(node.image, node.host, script=script)[1] == {"provider-missing"}
    variables["FI_PROVIDER_PATH"] = "/opt/libfabric/prov"
    script = job(node.folder / "job.sh", variables, list(MOUNTS))
    assert verdict_of(node.image, node.host, script=script) == (Severity.GOOD, set())
    compile_library(file, "int other;")
    assert verdict_of(node.image, node.host, script=script)[1] == {"provider-missing"}


def test_a_provider_as_a_file_is_found_by_its_name(node: SlingshotNode) -> None:
    """Only a libfabric that knows the name looks for it, and only without FI_PROVIDER_PATH."""
    folder = node.host / "opt/libfabric"
    compile_library(folder / "libcxi-fi.so", PROVIDER_SOURCE, needs=[folder / "libcxi.so.1"])
    variables = {"NCCL_NET_PLUGIN": "ofi", "LD_LIBRARY_PATH": PATH}
    script = job(node.folder / "job.sh", variables, list(MOUNTS))
    for knows, path in ((True, ""), (False, ""), (True, "/opt/ofi")):
        source = PLAIN_LIBFABRIC_SOURCE + (' const char *name = "cxi";' if knows else "")
        compile_library(folder / "libfabric.so.1", source)
        script = job(node.folder / "job.sh", {**variables, "FI_PROVIDER_PATH": path}, list(MOUNTS))
        _, rules = verdict_of(node.image, node.host, script=script)
        assert rules == (set() if knows and not path else {"provider-missing"})


def test_a_provider_for_another_architecture_is_a_fault(node: SlingshotNode) -> None:
    folder = node.host / "opt/libfabric"
    provider(node, {}, [])
    file = compile_library(folder / "prov/libcxi-fi.so", PROVIDER_SOURCE)
    content = bytearray(file.read_bytes())
    content[18:20] = (183).to_bytes(2, "little")  # e_machine: aarch64
    file.write_bytes(content)
    variables = {"NCCL_NET_PLUGIN": "ofi", "LD_LIBRARY_PATH": PATH}
    variables["FI_PROVIDER_PATH"] = "/opt/libfabric/prov"
    script = job(node.folder / "job.sh", variables, list(MOUNTS))
    _, chain = judged(node.image, node.host, script=script)
    (fault,) = chain.faults
    assert "libcxi-fi.so is for another architecture" in fault.happens


def test_providers_in_folders_that_only_the_job_knows(node: SlingshotNode) -> None:
    provider(node, {}, [])
    variables = {"NCCL_NET_PLUGIN": "ofi", "LD_LIBRARY_PATH": PATH}
    script = job(node.folder / "job.sh", variables, list(MOUNTS))
    text = script.read_text()
    script.write_text(text.replace("srun", "export FI_PROVIDER_PATH=$SITE_PROVIDERS\nsrun", 1))
    assert verdict_of(node.image, node.host, script=script) == (Severity.UNKNOWN, set())
    script.write_text(text.replace("srun", "export FI_PROVIDER_PATH=:\nsrun", 1))
    assert verdict_of(node.image, node.host, script=script)[1] == {"provider-missing"}


def test_an_empty_list_of_providers_leaves_all_out(node: SlingshotNode) -> None:
    variables = {"NCCL_NET_PLUGIN": "ofi", "LD_LIBRARY_PATH": PATH, "FI_PROVIDER": ""}
    script = job(node.folder / "job.sh", variables, list(MOUNTS))
    _, chain = judged(node.image, node.host, script=script)
    (fault,) = chain.faults
    assert fault.happens.startswith("FI_PROVIDER='' (")
    for value, is_fault in (("^", False), ("CXI", False), ("^CXI", True), ("tcp", True)):
        variables["FI_PROVIDER"] = value
        script = job(node.folder / "job.sh", variables, list(MOUNTS))
        wanted = {"provider-excluded"} if is_fault else set()
        assert verdict_of(node.image, node.host, script=script)[1] == wanted, value


def test_a_program_whose_mpi_is_nowhere_does_not_start(node: SlingshotNode) -> None:
    needed = compile_library(node.folder / "built/libmpi.so.40", "int MPI_Init(void) {return 0;}")
    compile_library(node.image / "opt/app", "int MPI_Init(void);", needs=[needed])
    variables = {"NCCL_NET_PLUGIN": "ofi", "LD_LIBRARY_PATH": PATH}
    script = job(node.folder / "job.sh", variables, list(MOUNTS))
    script.write_text(script.read_text().replace("./a", "/opt/app"))
    assert "/opt/app" in script.read_text()
    _, chain = judged(node.image, node.host, script=script)
    (fault,) = chain.faults
    assert fault.happens.endswith("/opt/app needs it; the container has no MPI library"), (
        fault.happens
    )
    assert chain.network == "not start"


def test_a_real_libfabric_without_cxi_is_found_out(node: SlingshotNode) -> None:
    """Debian's libfabric 1.17 stands in the image, with libraries that it needs or without."""
    real = Path("/") / LIBRARY_FOLDER / "libfabric.so.1"
    if not real.exists():
        pytest.skip("needs libfabric.so.1 (Debian: libfabric1)")
    shutil.copy(real, node.image / LIBRARY_FOLDER / "libfabric.so.1")
    variables = {"NCCL_NET_PLUGIN": "ofi", "LD_LIBRARY_PATH": "/opt/ofi"}
    script = job(node.folder / "job.sh", variables, list(MOUNTS))
    assert "provider-missing" in verdict_of(node.image, node.host, script=script)[1]


def test_the_image_wins_over_the_script_unless_pyxis_is_told(node: SlingshotNode) -> None:
    SlingshotNode.add_file(
        node.image / "etc/environment", "LD_LIBRARY_PATH=/usr/local/nvidia/lib\n"
    )
    variables = {"NCCL_NET_PLUGIN": "ofi", "LD_LIBRARY_PATH": PATH}
    script = job(node.folder / "job.sh", variables, list(MOUNTS))
    _, chain = judged(node.image, node.host, script=script)
    assert {one.rule.id for one in chain.faults} == {"plugin-not-on-path", "libfabric-not-on-path"}
    assert "from the image's /etc/environment, which wins over" in chain.faults[0].happens
    options = "--container-env=LD_LIBRARY_PATH"
    script = job(node.folder / "job.sh", variables, list(MOUNTS), options)
    assert verdict_of(node.image, node.host, script=script) == (Severity.GOOD, set())


def test_apptainer_drops_the_path_of_the_host(node: SlingshotNode) -> None:
    script = node.folder / "job.sh"
    line = f"srun apptainer exec -B {','.join(MOUNTS)} i.sif ./a\n"
    script.write_text(f"export NCCL_NET_PLUGIN=ofi LD_LIBRARY_PATH={PATH}\n{line}")
    verdict, rules = verdict_of(node.image, node.host, script=script)
    assert (verdict, rules) == (Severity.BAD, {"plugin-not-on-path", "libfabric-not-on-path"})
    script.write_text(f"export NCCL_NET_PLUGIN=ofi APPTAINERENV_LD_LIBRARY_PATH={PATH}\n{line}")
    assert verdict_of(node.image, node.host, script=script) == (Severity.GOOD, set())


@pytest.mark.parametrize(
    ("begin", "path"),
    [
        ("source site.sh\n", ""),
        ("", "$SITE_FOLDERS"),
    ],
)
def test_what_only_the_job_knows_leaves_the_question_open(
    node: SlingshotNode, begin: str, path: str
) -> None:
    """The plug-in is mounted, and a folder or a file that is not known may lead there."""
    script = node.folder / "job.sh"
    script.write_text(
        f"{begin}export NCCL_NET_PLUGIN=ofi\nexport LD_LIBRARY_PATH=/opt/libfabric:{path}\n"
        f"srun --container-image=i --container-mounts={','.join(MOUNTS)} ./a\n"
    )
    assert verdict_of(node.image, node.host, script=script)[0] is Severity.UNKNOWN


def test_a_machine_that_lacks_the_sources_gives_no_verdict(node: SlingshotNode) -> None:
    """A laptop: without --host, a path that it lacks may be on the compute node."""
    variables = {"NCCL_NET_PLUGIN": "ofi", "LD_LIBRARY_PATH": PATH, "FI_CXI_X": "1"}
    mounts = ["/no/such/ofi:/opt/ofi", "/no/such/libfabric:/opt/libfabric"]
    script = job(node.folder / "job.sh", variables, mounts)
    assert verdict_of(node.image, None, script=script) == (Severity.UNKNOWN, set())


def test_hooks_leave_the_question_open(node: SlingshotNode, tmp_path: Path) -> None:
    edf = tmp_path / "a.toml"
    edf.write_text('image = "i"\n[annotations]\ncom.hooks.aws_ofi_nccl.enabled = "true"\n')
    assert verdict_of(node.image, node.host, edf=edf) == (Severity.UNKNOWN, set())
    edf.write_text('image = "i"\n')
    assert verdict_of(node.image, node.host, edf=edf)[0] is Severity.BAD


def test_a_hook_of_cdi_puts_folders_into_the_cache(node: SlingshotNode, tmp_path: Path) -> None:
    """CDI replaces LD_LIBRARY_PATH and cannot add to it; ldconfig in a hook can."""
    cdi = tmp_path / "cxi.yaml"
    text = "cdiVersion: 0.6.0\nkind: hpe.com/cxi\ndevices:\n- name: all\n  containerEdits:\n"
    text += "    env: [NCCL_NET_PLUGIN=ofi]\n    deviceNodes: [{path: /dev/cxi0}]\n    mounts:\n"
    for one in ("ofi", "libfabric"):
        text += f"    - {{hostPath: /opt/{one}, containerPath: /opt/{one}}}\n"
    hook = "    hooks:\n    - hookName: createContainer\n      path: /usr/bin/nvidia-cdi-hook\n"
    hook += "      args: [nvidia-cdi-hook, update-ldcache, --folder, /opt/ofi,"
    hook += " --folder=/opt/libfabric]\n"
    cdi.write_text(text + hook)
    SlingshotNode.add_file(node.image / "etc/ld.so.cache")
    SlingshotNode.add_file(node.image / "etc/ld.so.conf", "include ld.so.conf.d/*.conf\n")
    # Its SONAME is another name than NCCL asks for, and the folder is the host's.
    assert verdict_of(node.image, node.host, cdi=cdi) == (Severity.UNKNOWN, set())
    fabric = node.host / "opt/libfabric/libfabric.so.1"
    plugin = node.host / "opt/ofi/libnccl-net-ofi.so"
    compile_library(plugin, PLUGIN_SOURCE % 6, needs=[fabric])
    assert verdict_of(node.image, node.host, cdi=cdi) == (Severity.GOOD, set())
    cdi.write_text(text)
    rules = verdict_of(node.image, node.host, cdi=cdi)[1]
    assert rules == {"plugin-not-on-path", "libfabric-not-on-path"}
