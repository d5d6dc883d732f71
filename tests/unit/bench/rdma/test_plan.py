"""Exact commands; and what perftest itself, where it is installed, makes of them."""

import subprocess

import pytest
from tests.needs import need

from weft.bench.rdma.devices import Gpu, HostDevices, Rail
from weft.bench.rdma.failure import cause_of
from weft.bench.rdma.pairing import pair_rails
from weft.bench.rdma.plan import PerftestOptions, RailPath, rail_paths
from weft.core.errors import MissingError

TOOLS = {"ib_write_bw": "/opt/perftest/bin/ib_write_bw", "numactl": "/usr/bin/numactl"}


def host(name: str, address: str, numa: int | None, tools: dict[str, str] = TOOLS) -> HostDevices:
    rails = tuple(Rail(f"mlx5_{i}", 1, "InfiniBand", "ACTIVE", 200.0, numa, ()) for i in range(2))
    return HostDevices(name, address, tools, rails, ())


def paths(
    options: PerftestOptions, numa: int | None = 3, tools: dict[str, str] = TOOLS
) -> tuple[tuple[RailPath, ...], tuple[RailPath, ...]]:
    a, b = host("a", "10.0.0.1", numa, tools), host("b", "10.0.0.2", numa, tools)
    gpus = {}
    if options.memory == "gpu":
        gpus = {
            "a": {f"mlx5_{i}:1": Gpu(4 + i, "", 0, ()) for i in range(2)},
            "b": {f"mlx5_{i}:1": Gpu(6 + i, "", 0, ()) for i in range(2)},
        }
    return rail_paths(a, b, pair_rails(a, b, ()), gpus, options)


def test_server_and_client() -> None:
    options = PerftestOptions("host", 8 << 20, 10, 18515)
    there, back = paths(options)
    assert " ".join(there[1].server(options)) == (
        "/usr/bin/numactl --cpunodebind=3 --membind=3 /opt/perftest/bin/ib_write_bw -d mlx5_1 "
        "-i 1 -p 18516 -s 8388608 -D 10 -F --report_gbits"
    )
    assert there[1].client(options) == (*there[1].server(options), "10.0.0.2")
    assert (back[0].source.host, back[0].client(options)[-1]) == ("b", "10.0.0.1")
    assert [path.port for path in (*there, *back)] == [18515, 18516, 18517, 18518]
    assert there[0].env == {}


def test_gpus_are_those_of_each_end() -> None:
    options = PerftestOptions("gpu", 8 << 20, 10, 18515)
    there, back = paths(options)
    assert there[0].client(options)[-2:] == ("--use_cuda=4", "10.0.0.2")
    assert there[0].server(options)[-1] == "--use_cuda=6"
    assert back[1].client(options)[-2] == "--use_cuda=7"
    assert there[0].env == {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def test_numactl_is_wanted_only_where_there_is_something_to_bind_to() -> None:
    options = PerftestOptions("host", 65536, 10, 18515)
    bare = {"ib_write_bw": "/usr/bin/ib_write_bw"}
    there, _ = paths(options, numa=None, tools=bare)
    assert there[0].server(options)[0] == "/usr/bin/ib_write_bw"
    with pytest.raises(MissingError) as raised:
        paths(options, numa=0, tools=bare)
    assert raised.value.where == "a"


def said_by_perftest(command: tuple[str, ...]) -> str:
    need("ib_write_bw", package="perftest")
    argv = ["ib_write_bw", *command[1:]]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=20)
    return done.stdout + done.stderr


def test_perftest_understands_the_commands_and_misses_the_device() -> None:
    """Of a device that no machine has: it comes to look for it, so it took every option."""
    options = PerftestOptions("host", 8 << 20, 10, 18515)
    a = HostDevices("a", "10.0.0.1", {"ib_write_bw": "ib_write_bw"}, (), ())
    none = Rail("weft_none", 1, "InfiniBand", "ACTIVE", 200.0, None, ())
    (path,), _ = rail_paths(
        a, a, pair_rails(*(HostDevices("a", "", a.tools, (none,), ()),) * 2, ()), {}, options
    )
    text = said_by_perftest(path.server(options))
    assert "Usage" not in text
    assert "unrecognized" not in text
    cause = cause_of(path, text, side="server")
    assert cause is not None
    assert cause.what == "perftest does not find the device"


def test_a_real_perftest_without_cuda_is_known_by_its_words() -> None:
    options = PerftestOptions("gpu", 8 << 20, 10, 18515)
    there, _ = paths(options, numa=None)
    text = said_by_perftest(there[0].server(options))
    if "unrecognized option" not in text:
        pytest.skip("this perftest has CUDA")
    cause = cause_of(there[0], text)
    assert cause is not None
    assert cause.what == "ib_write_bw is built without CUDA"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Couldn't connect to 10.0.0.2:18515\n", "nothing answered on b:18515"),
        ("Failed to modify QP 296 to RTR\n", "the queue pair cannot reach the other port"),
        ("Couldn't allocate MR with error=93\n", "its memory cannot be registered"),
        (" IB device mlx5_9 not found\n", "perftest does not find the device"),
        ("well\npermission denied by 7\n", "its client reported: permission denied by 7"),
        ("Unable to do\x1b[31m it\n", "its client reported: Unable to do[31m it"),
        ("all went well\n", None),
    ],
)
def test_causes_by_their_words(text: str, what: str | None) -> None:
    (path, *_), _ = paths(PerftestOptions("host", 65536, 10, 18515))
    cause = cause_of(path, text)
    assert (None if cause is None else cause.what) == what
