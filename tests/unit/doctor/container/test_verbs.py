"""The chain over InfiniBand: libibverbs, the driver of the same rdma-core, the device."""

import resource
import shutil
from pathlib import Path

import pytest
from tests.unit.doctor.container.container_cases import judged, need_gcc, verdict_of
from tests.unit.doctor.container.container_trees import (
    HPCX_SOURCE,
    LIBRARY_FOLDER,
    NCCL_SOURCE,
    SlingshotNode,
    compile_library,
)
from tests.unit.doctor.container.remedy.verbs_trees import VERSIONS, add_rdma_core, verbs_source

from weft.cli.doctor.images.text import verdict_lines
from weft.core.finding import Severity
from weft.doctor.container.launch.isolation import LockedMemory, locked_memory_of


@pytest.fixture
def node(tmp_path: Path) -> SlingshotNode:
    """An image with rdma-core 44, and a host with one adapter."""
    need_gcc()
    node = SlingshotNode(tmp_path)
    node.add_libc(node.image)
    own = node.image / LIBRARY_FOLDER
    compile_library(own / "libnccl.so.2", NCCL_SOURCE.replace("%s", "2.18.3"))
    add_rdma_core(node.image, LIBRARY_FOLDER, "34")
    SlingshotNode.add_file(node.host / "dev/infiniband/uverbs0")
    return node


def script(node: SlingshotNode, text: str = "") -> Path:
    path = node.folder / "job.sh"
    path.write_text(f"{text}srun --container-image=i ./a\n")
    return path


def test_a_whole_stack_is_good(node: SlingshotNode) -> None:
    case, chain = judged(node.image, node.host, script=script(node))
    assert (chain.verdict(), chain.fabric) == (Severity.GOOD, "infiniband")
    assert [one.name for one in chain.links][1:3] == ["libibverbs", "driver mlx5"]
    assert case.devices("/dev/infiniband/uverbs") == ("/dev/infiniband/uverbs0",)


FORM = r'const char *form = "\0NET/Plugin : Plugin load (%s) returned %d : %s";'
NO_PLUGIN = "NCCL INFO NET/Plugin : No plugin found, using internal implementation"


@pytest.mark.parametrize(
    ("files", "text", "network"),
    [
        ((), "", ("Using network IB",)),
        ((), "export NCCL_IB_DISABLE=1\n", ("Using network Socket",)),
        ((), "export NCCL_IB_DISABLE=0\n", ("Using network IB",)),
        ((), "export NCCL_NET=Socket\n", ("Using network Socket",)),
        ((), "export NCCL_NET=$NET\n", ()),
        (("sys/class/net/eth0",), "", ("Using network Socket",)),
        (("sys/class/infiniband/mlx5_0",), "", ()),
        (("dev/null",), "", ()),
    ],
)
def test_the_network_that_nccl_will_log(
    node: SlingshotNode, files: tuple[str, ...], text: str, network: tuple[str, ...]
) -> None:
    """`files` are those of a host without adapters; a host without /sys does not tell of them."""
    own = node.image / LIBRARY_FOLDER
    compile_library(own / "libnccl.so.2", NCCL_SOURCE.replace("%s", "2.18.3") + FORM)
    if files:
        shutil.rmtree(node.host / "dev/infiniband")
    for one in files:
        SlingshotNode.add_file(node.host / one)
    asking = script(node, f"export NCCL_IB_HCA=mlx5_0\n{text}")
    chain = judged(node.image, node.host, script=asking)[1]
    assert chain.log is not None
    assert chain.log[1:] == (NO_PLUGIN, *(f"NCCL INFO {one}" for one in network))


RUN = "podman run --ipc=host --network=host --device /dev/infiniband/uverbs0"
UNSEEN = "the limit of locked memory"


@pytest.mark.parametrize(
    ("options", "is_seen", "limit"),
    [
        ("", False, ""),
        ("--ulimit memlock=-1", True, ""),
        ("--ulimit memlock=-1:-1 --ulimit nofile=1024", True, ""),
        ("--ulimit nofile=1024", False, ""),
        ("--ulimit memlock=65536", True, "64 KiB"),
        ("--ulimit=memlock=65536:-1 --ulimit nofile=1024", True, "64 KiB"),
        ("--ulimit memlock=-1 --ulimit memlock=8388608:8388608", True, "8 MiB"),
        ("--ulimit memlock=$LIMIT", False, ""),
        ("--ulimit host", False, ""),
        # As much as the host has holds nothing back.
        (f"--ulimit memlock={64 << 30}", True, ""),
        # CAP_IPC_LOCK holds only where the container has it on the host, too.
        ("--privileged --ulimit memlock=65536", False, ""),
        ("--cap-add SYS_PTRACE --cap-add IPC_LOCK --ulimit memlock=65536", False, ""),
        ("--cap-add=sys_ptrace,cap_ipc_lock --ulimit memlock=65536", False, ""),
        ("--cap-add SYS_PTRACE --ulimit memlock=65536", True, "64 KiB"),
    ],
)
def test_a_limit_of_locked_memory_that_the_launch_sets_is_warned_of(
    node: SlingshotNode, options: str, is_seen: bool, limit: str
) -> None:
    """SOURCE: docker run(1): --ulimit; capabilities(7): CAP_IPC_LOCK."""
    path = node.folder / "job.sh"
    path.write_text(f"{RUN} {options} i ./a\n")
    SlingshotNode.add_file(node.host / "proc/meminfo", "MemTotal:       67108864 kB\n")
    case, chain = judged(node.image, node.host, script=path)
    assert chain.verdict() is Severity.GOOD
    assert [one.rule.id for one in chain.warnings] == ["locked-memory-limited"] * bool(limit)
    assert all(f"may lock {limit} (--ulimit memlock=" in one.happens for one in chain.warnings)
    assert (UNSEEN in "\n".join(verdict_lines(case, chain))) != is_seen


@pytest.mark.parametrize(
    ("limits", "status", "expected"),
    [
        ("Max locked memory         65536                65536                bytes     \n",
         "CapEff:\t00000000a80425fb\n", 65536),
        ("Max locked memory         unlimited            unlimited            bytes     \n",
         "CapEff:\t00000000a80425fb\n", None),
    ],
)  # fmt: skip
def test_a_running_container_tells_its_limit(
    tmp_path: Path, limits: str, status: str, expected: int | None
) -> None:
    """Lines as Linux 6.1 prints them, capabilities as docker gives them to root."""
    (tmp_path / "limits").write_text(f"Limit  Soft Limit  Hard Limit  Units\n{limits}")
    (tmp_path / "status").write_text(f"Name:\ta\n{status}")
    assert locked_memory_of(tmp_path) == LockedMemory(expected, f"{tmp_path}/limits")


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        ("Max locked memory  65536  65536  bytes\n", "CapEff:\t000001ffffffffff\n"),
        ("Max locked memory  65536  65536  bytes\n", "State:\tS\n"),
        ("Max open files  1024  1024  files\n", "CapEff:\t0000000000000000\n"),
        ("\xff" * 99, "\xff" * 99),
        (None, None),
    ],
)
def test_a_limit_that_may_not_hold_is_not_seen(
    tmp_path: Path, limits: str | None, status: str | None
) -> None:
    if limits is not None and status is not None:
        (tmp_path / "limits").write_text(limits)
        (tmp_path / "status").write_text(status)
    assert locked_memory_of(tmp_path) == LockedMemory()


def test_this_process_has_the_limit_that_its_own_call_tells() -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    found = locked_memory_of(Path("/proc/self"))
    if soft == resource.RLIM_INFINITY:
        assert found == LockedMemory(None, "/proc/self/limits")
    else:
        assert found in (LockedMemory(soft, "/proc/self/limits"), LockedMemory())


@pytest.mark.parametrize(
    ("line", "rules"),
    [
        ("export NCCL_IB_DISABLE=1\n", {"verbs-disabled"}),
        ("export NCCL_NET=Socket\n", {"other-network-demanded"}),
        ("export NCCL_IB_DISABLE=0 NCCL_NET=IB\n", set()),
        # NCCL takes the first digits, and refuses what has none.
        *((f"export NCCL_IB_DISABLE={on}\n", {"verbs-disabled"}) for on in ("-1", "1x", "0x1")),
        *((f"export NCCL_IB_DISABLE={off}\n", set()) for off in ("false", "00", "0x0", "")),
    ],
)
def test_a_network_that_is_switched_off(node: SlingshotNode, line: str, rules: set[str]) -> None:
    found = verdict_of(node.image, node.host, script=script(node, line))
    assert found == (Severity.BAD if rules else Severity.GOOD, rules)


@pytest.mark.parametrize(
    ("value", "verdict", "network"),
    [
        ("IBext", Severity.UNKNOWN, ""),
        ("IB", Severity.UNKNOWN, ""),
        ("Socket", Severity.BAD, "use NET/Socket"),
        ("", Severity.BAD, "end: network '' is not found"),
    ],
)
@pytest.mark.parametrize("has_plugin", [True, False])
def test_a_network_that_may_be_a_plug_in_s_own_is_not_called_absent(
    node: SlingshotNode, value: str, verdict: Severity, network: str, has_plugin: bool
) -> None:
    """libnccl 2.18.3, 2.26.5 and 2.32.3 tried: they take a plug-in named IBext."""
    own = node.image / LIBRARY_FOLDER
    if has_plugin:
        compile_library(own / "libnccl-net.so", HPCX_SOURCE, needs=[own / "libibverbs.so.1"])
    asking = script(node, f"export NCCL_NET={value}\n")
    chain = judged(node.image, node.host, script=asking)[1]
    if not has_plugin and value == "IBext":
        verdict, network = Severity.BAD, "end: network IBext is not found"
    if not has_plugin and value == "IB":
        verdict = Severity.GOOD
    assert chain.verdict() is verdict
    assert verdict is not Severity.BAD or chain.network == network
    named = [one.unknown for one in chain.gaps if "is the network of the plug-in" in one.unknown]
    assert bool(named) == (has_plugin and value == "IBext")


@pytest.mark.parametrize(
    "line", ["export LD_PRELOAD=/opt/other.so\n", "export LD_LIBRARY_PATH=$SITE:/opt/lib\n"]
)
def test_what_only_the_job_knows_is_not_good(node: SlingshotNode, line: str) -> None:
    found = verdict_of(node.image, node.host, script=script(node, line))
    assert found == (Severity.UNKNOWN, set())


def test_an_adapter_of_another_maker_is_not_judged_by_mlx5(node: SlingshotNode) -> None:
    SlingshotNode.add_file(node.host / "sys/class/infiniband/bnxt_re0")
    assert verdict_of(node.image, node.host, script=script(node)) == (Severity.UNKNOWN, set())


def test_a_driver_that_no_configuration_names_is_not_good(node: SlingshotNode) -> None:
    (node.image / "etc/libibverbs.d/mlx5.driver").unlink()
    assert verdict_of(node.image, node.host, script=script(node)) == (Severity.UNKNOWN, set())


def test_a_driver_that_is_no_library(node: SlingshotNode) -> None:
    path = node.image / LIBRARY_FOLDER / "libibverbs/libmlx5-rdmav34.so"
    path.write_text("no library")
    found = verdict_of(node.image, node.host, script=script(node))
    assert found == (Severity.BAD, {"library-broken"})


def test_a_nccl_that_does_not_load(node: SlingshotNode) -> None:
    own = node.image / LIBRARY_FOLDER
    lost = compile_library(own / "liblost.so", "int lost(void) { return 0; }")
    text = NCCL_SOURCE.replace("%s", "2.18.3") + "int lost(void); int use(void) { return lost(); }"
    compile_library(own / "libnccl.so.2", text, needs=[lost])
    lost.unlink()
    found = verdict_of(node.image, node.host, script=script(node))
    assert found == (Severity.BAD, {"dependency-missing"})


def test_a_device_that_the_host_lacks_is_in_no_container(node: SlingshotNode) -> None:
    """Neither an option nor a file that the image keeps below /dev makes an adapter."""
    (node.host / "dev/infiniband/uverbs0").unlink()
    SlingshotNode.add_file(node.image / "dev/infiniband/uverbs0")
    path = node.folder / "job.sh"
    option = "--device /dev/infiniband/uverbs0"
    path.write_text(f"export NCCL_IB_HCA=mlx5\npodman run -e NCCL_IB_HCA=mlx5 {option} i ./a\n")
    found = verdict_of(node.image, node.host, script=path)
    assert found == (Severity.BAD, {"device-missing"})


def test_no_libibverbs(node: SlingshotNode) -> None:
    (node.image / LIBRARY_FOLDER / "libibverbs.so.1").unlink()
    found = verdict_of(node.image, node.host, script=script(node))
    assert found == (Severity.BAD, {"verbs-absent"})


def test_a_driver_of_another_rdma_core(node: SlingshotNode) -> None:
    """Only half of the host's rdma-core was mounted: the driver says 59, libibverbs 34."""
    folder = node.image / LIBRARY_FOLDER / "libibverbs"
    (folder / "libmlx5-rdmav34.so").rename(folder / "libmlx5-rdmav59.so")
    _, chain = judged(node.image, node.host, script=script(node))
    (fault,) = chain.faults
    assert fault.rule.id == "driver-missing"
    assert "libmlx5-rdmav34.so" in fault.happens
    assert "(libmlx5-rdmav59.so is of another rdma-core)" in fault.happens


@pytest.mark.parametrize("is_found", [False, True])
def test_a_driver_beside_libibverbs_is_found_by_a_path_only(
    node: SlingshotNode, is_found: bool
) -> None:
    """libibverbs looks in the folder that is compiled into it, then asks ld.so: the folder that it
    was opened in itself counts for nothing. The driver gets the libibverbs that opens it."""
    own = node.image / LIBRARY_FOLDER
    shutil.move(own / "libibverbs/libmlx5-rdmav34.so", own / "libmlx5-rdmav34.so")
    other = node.image / "opt/rdma"
    other.mkdir(parents=True)
    shutil.move(own / "libibverbs.so.1", other / "libibverbs.so.1")
    if not is_found:
        shutil.move(own / "libmlx5-rdmav34.so", other / "libmlx5-rdmav34.so")
    source = NCCL_SOURCE.replace("%s", "2.18.3")
    compile_library(own / "libnccl.so.2", source, options=["-Wl,-rpath,/opt/rdma"])
    found = verdict_of(node.image, node.host, script=script(node))
    assert found == ((Severity.GOOD, set()) if is_found else (Severity.BAD, {"driver-missing"}))


def test_a_libibverbs_without_a_folder_of_drivers_leaves_them_to_the_loader(
    node: SlingshotNode,
) -> None:
    own = node.image / LIBRARY_FOLDER
    text = verbs_source("34", LIBRARY_FOLDER).replace(f"/{LIBRARY_FOLDER}/libibverbs/", "")
    compile_library(own / "libibverbs.so.1", text, versions=VERSIONS % "34")
    found = verdict_of(node.image, node.host, script=script(node))
    assert found == (Severity.BAD, {"driver-missing"})
    shutil.move(own / "libibverbs/libmlx5-rdmav34.so", own / "libmlx5-rdmav34.so")
    assert verdict_of(node.image, node.host, script=script(node)) == (Severity.GOOD, set())


def test_a_libibverbs_that_names_no_driver_at_all_is_not_accused(node: SlingshotNode) -> None:
    own = node.image / LIBRARY_FOLDER
    text = "int ibv_get(void) { return 0; } int ibv_own(void) { return 0; }"
    compile_library(own / "libibverbs.so.1", text, versions=VERSIONS % "34")
    assert verdict_of(node.image, node.host, script=script(node)) == (Severity.UNKNOWN, set())


def test_a_container_without_the_device(node: SlingshotNode) -> None:
    path = node.folder / "job.sh"
    path.write_text("podman run i ./a\n")
    found = verdict_of(node.image, node.host, script=path)
    assert found == (Severity.BAD, {"device-missing"})
    path.write_text("podman run --device /dev/infiniband/uverbs0 i ./a\n")
    assert verdict_of(node.image, node.host, script=path) == (Severity.GOOD, set())


def test_debians_own_rdma_core_is_a_pair(node: SlingshotNode) -> None:
    """A real one: its libibverbs finds its own driver, and nothing else is missing below it."""
    real = Path("/") / LIBRARY_FOLDER
    if not list(real.glob("libibverbs/libmlx5-rdmav*.so")):
        pytest.skip("needs libibverbs1 and ibverbs-providers of Debian")
    own = node.image / LIBRARY_FOLDER
    shutil.rmtree(own / "libibverbs")
    for pattern in ("libibverbs.so.1", "libnl-3.so.200", "libnl-route-3.so.200", "libmlx5.so.1"):
        shutil.copy(real / pattern, own / pattern)
    shutil.copytree(real / "libibverbs", own / "libibverbs")
    shutil.rmtree(node.image / "etc/libibverbs.d")
    shutil.copytree("/etc/libibverbs.d", node.image / "etc/libibverbs.d")
    assert verdict_of(node.image, node.host, script=script(node)) == (Severity.GOOD, set())


@pytest.mark.parametrize(("launch", "sets"), [("podman run", False), ("enroot start", True)])
def test_podman_takes_no_variable_from_a_file_of_the_image(
    node: SlingshotNode, launch: str, sets: bool
) -> None:
    SlingshotNode.add_file(node.image / "etc/environment", "NCCL_IB_DISABLE=1\n")
    path = node.folder / "job.sh"
    path.write_text(f"{launch} --device /dev/infiniband/uverbs0 i ./a\n")
    case, _ = judged(node.image, node.host, script=path)
    assert case.value("NCCL_IB_DISABLE") == ("1" if sets else "")
