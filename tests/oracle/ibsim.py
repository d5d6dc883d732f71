"""A network of ibsim for a test: real OpenSM, real diagnostics, nothing left behind."""

import os
import random
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.needs import need
from tests.oracle.processes import end

TOOLS = ("ibsim", "ibsim-run", "opensm", "ibnetdiscover", "ibtracert", "ibdmchk")
LIMITS = ("-N", "20000", "-S", "1024", "-P", "200000", "-L", "49152")
_PREFIX = {"Switch": "S", "Ca": "H"}


def require_tools() -> None:
    """Skip where one of the Debian packages is absent."""
    need(*TOOLS, package="opensm ibsim-utils infiniband-diags ibutils")


class Ibsim:
    """A running simulator of one net file; a context manager that ends what it started."""

    def __init__(self, net: str) -> None:
        require_tools()
        self.folder = Path(tempfile.mkdtemp(prefix="weft-ibsim-"))
        (self.folder / "net.txt").write_text(net)
        self.dumps = self.folder / "dumps"
        self.dumps.mkdir()
        name = f"weft_{os.getpid()}_{random.randrange(1 << 30)}"
        self.environment = {
            **os.environ,
            "IBSIM_SOCKNAME": name,
            "OSM_CACHE_DIR": str(self.dumps),
            "OSM_TMP_DIR": str(self.dumps),
        }
        self._started: list[subprocess.Popen[bytes]] = []
        self.simulator = self._start_simulator()

    def _start_simulator(self) -> "subprocess.Popen[bytes]":
        log = self.folder / "ibsim.log"
        with log.open("wb") as output:
            argv = ["ibsim", "-s", *LIMITS, str(self.folder / "net.txt")]
            simulator = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self.environment,
            )
        self._started.append(simulator)
        self.wait_for(log, "Network simulator ready", 60)
        return simulator

    def wait_for(self, log: Path, text: str, limit_s: float, times: int = 1) -> None:
        """Wait until a log says something so many times."""
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            if log.exists() and log.read_text(errors="replace").count(text) >= times:
                return
            time.sleep(0.02)
        raise AssertionError(f"{log.name} never said '{text}':\n{log.read_text()[-2000:]}")

    def run(self, *argv: str, limit_s: float = 60, host: str | None = None) -> str:
        """What a tool prints under the simulator; stderr is kept apart."""
        environment = {**self.environment, **({"SIM_HOST": host} if host else {})}
        done = subprocess.run(
            ["ibsim-run", *argv],
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit_s,
            cwd=self.dumps,
            check=False,
        )
        return done.stdout

    def opensm(self, engine: str, *more: str, limit_s: float = 120) -> Path:
        """Have OpenSM configure the net once; its folder of dumps."""
        log = self.folder / f"osm-{engine}.log"
        argv = ["opensm", "-o", "-e", "-D", "0x43", "-s", "0", "-f", str(log), *more]
        self.run(*argv, *([] if engine == "minhop" else ["-R", engine]), limit_s=limit_s)
        return self.dumps

    def start_opensm(
        self, sweep_s: int = 2, engine: str = "minhop", *, more: str = "", partitions: str = ""
    ) -> Path:
        """Start OpenSM as a daemon, with `more` options and these partitions; its log, once the
        subnet is up."""
        log = self.folder / "osm.log"
        # Its log would stay in a buffer.
        options = self.folder / "opensm.conf"
        options.write_text(f"force_log_flush TRUE\n{more}")
        argv = ["ibsim-run", "opensm", "-e", "-D", "0x43", "-s", str(sweep_s), "-f", str(log)]
        argv += ["-F", str(options), "-R", engine, *(["-Q"] if engine == "dfsssp" else [])]
        if partitions:
            (self.folder / "partitions.conf").write_text(partitions)
            argv += ["-P", str(self.folder / "partitions.conf")]
        daemon = subprocess.Popen(
            argv,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # It leaves a folder of device files where it runs.
            cwd=self.dumps,
        )
        self._started.append(daemon)
        self.wait_for(log, "SUBNET UP", 30)
        return log

    def kept(self, name: str) -> list[str]:
        """Copies of what OpenSM says now."""
        folder = self.folder / name
        folder.mkdir()
        dumps = ("opensm-subnet.lst", "opensm-lfts.dump")
        return [str(shutil.copy(self.dumps / dump, folder / dump)) for dump in dumps]

    def console(self, command: str) -> None:
        """Type a command into the simulator."""
        assert self.simulator.stdin is not None
        self.simulator.stdin.write(command.encode() + b"\n")
        self.simulator.stdin.flush()

    def __enter__(self) -> "Ibsim":
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._started):
            end(process, 5)
            if process.stdin is not None:
                process.stdin.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Net:
    """A net file in the making: nodes by name, cables between sockets."""

    def __init__(self) -> None:
        self.nodes: dict[str, tuple[str, int, int]] = {}
        self.cables: dict[str, dict[int, tuple[str, int, str]]] = {}

    def add(self, name: str, kind: str, n_ports: int) -> None:
        """A 'Switch' or 'Ca'."""
        base = 0x506B4B0300000000 if kind == "Switch" else 0x98039B0300000000
        self.nodes[name] = (kind, n_ports, base + 16 * (len(self.nodes) + 1))
        self.cables[name] = {}

    def link(self, a: tuple[str, int], b: tuple[str, int], rate: str = "4xHDR") -> None:
        """A cable between two free sockets."""
        for here, there in ((a, b), (b, a)):
            assert here[1] not in self.cables[here[0]], here
            self.cables[here[0]][here[1]] = (*there, rate)

    def id(self, name: str) -> str:
        """How the file names a node: 'S-...' or 'H-...'."""
        kind, _, guid = self.nodes[name]
        return f"{_PREFIX[kind]}-{guid:016x}"

    def text(self) -> str:
        """The whole file."""
        return "\n".join(self._entry(name) for name in self.nodes) + "\n"

    def _entry(self, name: str) -> str:
        kind, n_ports, guid = self.nodes[name]
        lines = ["", "vendid=0x2c9", "devid=0xd2f0", f"sysimgguid=0x{guid:x}"]
        if kind == "Switch":
            lines.append(f"switchguid=0x{guid:x}({guid:x})")
            tail = f'# "{name}" enhanced port 0 lid 0 lmc 0'
        else:
            lines.append(f"caguid=0x{guid:x}")
            tail = f'# "{name}"'
        lines.append(f'{kind}\t{n_ports} "{self.id(name)}"\t\t{tail}')
        for port, (peer, peer_port, rate) in sorted(self.cables[name].items()):
            own = "" if kind == "Switch" else f"({guid:x})"
            far = "" if self.nodes[peer][0] == "Switch" else f"({self.nodes[peer][2]:x})"
            lines.append(
                f'[{port}]{own}\t"{self.id(peer)}"[{peer_port}]{far}\t\t# "{peer}" lid 0 {rate}'
            )
        return "\n".join(lines)


def fat_tree(
    leaves: int, hosts: int, spines: int, parallel: int = 1, *, leaf_ports: int = 0
) -> Net:
    """Two levels; every leaf has `parallel` cables to every spine."""
    net = Net()
    for leaf in range(leaves):
        for host in range(hosts):
            net.add(f"c{101 + leaf:03d}-{host + 1:03d} HCA-1", "Ca", 1)
    for leaf in range(leaves):
        net.add(f"MF0;leaf{leaf:03d}:MQM8700/U1", "Switch", leaf_ports or hosts + spines * parallel)
    for spine in range(spines):
        net.add(f"MF0;spine{spine:02d}:MQM8700/U1", "Switch", leaves * parallel)
    for leaf in range(leaves):
        name = f"MF0;leaf{leaf:03d}:MQM8700/U1"
        for host in range(hosts):
            net.link((name, host + 1), (f"c{101 + leaf:03d}-{host + 1:03d} HCA-1", 1), "2xHDR")
        for spine in range(spines):
            for cable in range(parallel):
                here = hosts + spine * parallel + cable + 1
                there = leaf * parallel + cable + 1
                net.link((name, here), (f"MF0;spine{spine:02d}:MQM8700/U1", there))
    return net


def torus(dimensions: Sequence[int]) -> Net:
    """A torus with one host a switch."""
    net = Net()
    places = [()]
    for size in dimensions:
        places = [(*place, at) for place in places for at in range(size)]
    for place in places:
        net.add("h" + ".".join(map(str, place)), "Ca", 1)
    for place in places:
        net.add("sw " + ".".join(map(str, place)), "Switch", 2 * len(dimensions) + 1)
    for place in places:
        name = "sw " + ".".join(map(str, place))
        net.link((name, 2 * len(dimensions) + 1), ("h" + ".".join(map(str, place)), 1))
        for axis, size in enumerate(dimensions):
            next_ = tuple((at + 1) % size if i == axis else at for i, at in enumerate(place))
            net.link((name, 2 * axis + 1), ("sw " + ".".join(map(str, next_)), 2 * axis + 2))
    return net


def frontera_like(leaves: int, hosts: int = 44, cores: int = 6, total: int = 8008) -> Net:
    """Leaves with 18 cables to six directors of line and spine boards (their inside is a guess)."""
    net = Net()
    names = []
    for leaf in range(leaves):
        for host in range(hosts):
            if len(names) < total:
                names.append((leaf, host, f"c{101 + leaf:03d}-{host + 1:03d} HCA-1"))
    for _, _, name in names:
        net.add(name, "Ca", 1)
    for leaf in range(leaves):
        net.add(f"MF0;leaf{leaf:03d}:MQM8790/U1", "Switch", 80)
    per_core, boards = 18 // cores, -(-leaves * 18 // cores // 20)
    for core in range(cores):
        for board in range(boards):
            net.add(f"MF0;core{core}:CS8500/L{board + 1:02d}/U1", "Switch", 40)
        for board in range(20):
            net.add(f"MF0;core{core}:CS8500/S{board + 1:02d}/U1", "Switch", 40)
        for board in range(boards):
            line = f"MF0;core{core}:CS8500/L{board + 1:02d}/U1"
            for spine in range(20):
                net.link(
                    (line, 21 + spine), (f"MF0;core{core}:CS8500/S{spine + 1:02d}/U1", board + 1)
                )
    for leaf, host, name in names:
        net.link((f"MF0;leaf{leaf:03d}:MQM8790/U1", host + 1), (name, 1), "2xHDR")
    for leaf in range(leaves):
        for core in range(cores):
            for cable in range(per_core):
                at = leaf * per_core + cable
                here = (f"MF0;leaf{leaf:03d}:MQM8790/U1", 61 + core * per_core + cable)
                line = f"MF0;core{core}:CS8500/L{at // 20 + 1:02d}/U1"
                net.link(here, (line, at % 20 + 1))
    return net


def irregular(seed: int) -> Net:
    """Random switches of random sizes, hosts and spare cables anywhere, any width and speed."""
    draw = random.Random(seed)
    net = Net()
    n_switches, n_hosts = draw.randint(1, 9), draw.randint(1, 12)
    odd = ["a;b:c/d", "node 1", "x", "(paren)", "tail HCA-2", "under_score", "#hash", "a=b,c"]
    switches = [f"sw{i} {draw.choice(odd)}" for i in range(n_switches)]
    hosts = [f"h{i} {draw.choice(odd)}" for i in range(n_hosts)]
    for name in hosts:
        # The tools start from port 1 of the first host.
        net.add(name, "Ca", 1 if name == hosts[0] else draw.choice([1, 1, 2]))
    for name in switches:
        net.add(name, "Switch", draw.choice([8, 24, 36, 41, 65]))
    free = {name: list(range(1, net.nodes[name][1] + 1)) for name in net.nodes}
    for numbers in free.values():
        draw.shuffle(numbers)

    def join(a: str, b: str) -> None:
        if a != b and free[a] and free[b]:
            rate = draw.choice(["1x", "4x", "8x", "12x", "2x"]) + draw.choice(
                ["SDR", "DDR", "QDR", "EDR", "HDR"]
            )
            net.link((a, free[a].pop()), (b, free[b].pop()), rate)

    for at, name in enumerate(switches[1:], start=1):
        join(name, switches[draw.randrange(at)])
    for name in hosts:
        join(name, draw.choice(switches))
    for _ in range(draw.randint(0, 12)):
        join(draw.choice(switches), draw.choice(switches + hosts))
    return net


def traced_by_ibtracert(text: str) -> list[tuple[int, int, int, int]]:
    """The cables of an ibtracert: GUID and port out, GUID and port in."""
    hops = []
    start = re.search(r"^From \w+ \{0x([0-9a-f]+)\} portnum", text, re.MULTILINE)
    assert start is not None, text
    at = int(start.group(1), 16)
    for out, guid, into in re.findall(
        r"^\[(\d+)\] -> \w+ port \{0x([0-9a-f]+)\}\[(\d+)\]", text, re.MULTILINE
    ):
        hops.append((at, int(out), int(guid, 16), int(into)))
        at = int(guid, 16)
    return hops
