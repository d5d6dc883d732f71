"""What perftest prints in front of its rows: parameters, addresses, devices."""

import re
from dataclasses import dataclass, field
from itertools import pairwise

from weft.results.lines.launch_line import shown

_PARAMETER = re.compile(r"([A-Za-z][A-Za-z_*. -]{1,20}?)\s{0,12}:\s{0,4}([^\s:]{1,64})(?=\s|$)")
_NAMES = {
    "Dual-port": "dual_port",
    "Device": "device",
    "Number of qps": "queue_pairs",
    "Transport type": "transport",
    "Connection type": "connection",
    "Using SRQ": "shared_receive_queue",
    "PCIe relax order": "pcie_relaxed_ordering",
    "ibv_wr* API": "ibv_wr_api",
    "TX depth": "tx_depth",
    "RX depth": "rx_depth",
    "Post List": "post_list",
    "CQ Moderation": "cq_moderation",
    "CQE Poll Batch": "cqe_poll_batch",
    "Mtu": "mtu",
    "Link type": "link_type",
    "GID index": "gid_index",
    "Max inline data": "max_inline",
    "rdma_cm QPs": "rdma_cm",
    "Data ex. method": "data_exchange",
    "Outstand reads": "outstanding_reads",
    "Use ROCm memory": "rocm_memory",
    "Lock-free": "lock_free",
    "Using DDP": "data_direct",
    "Using Enhanced Reorder": "enhanced_reorder",
    "CPU freq": "cpu_frequency",
    "Buffer size": "buffer_size",
    "GID index2": "gid_index_2",
    "TOS": "tos",
}
CONDITION_OF_PARAMETER = {
    "".join(letter for letter in name.lower() if letter.isalnum()): condition
    for name, condition in _NAMES.items()
}
"""Conditions by the parameter's name in lower case without blanks and marks, as JSON has it."""
OPERATIONS = {"Send": "send", "RDMA_Write": "write", "RDMA_Read": "read", "Atomic": "atomic"}
SCRIPT = re.compile(r"\S{1,80}@\S{1,200}[$#] (\S{0,80}_ib\S{0,80})((?: [\w.-]{1,64}){1,8})$")
"""A script typed at a prompt, its name about InfiniBand, with plain words behind it."""
_DIGITS = re.compile(r"\d+")
_MEMORY = {"cpu": "host", "host": "host", "gpu": "gpu", "cuda": "gpu"}
_ADDRESS = re.compile(r"(local|remote) address: LID\s+(\w{1,8})\b")
_GID = re.compile(r"GID:\s*([0-9a-fA-F:]{2,80})")
_GPU_NAME = re.compile(r"device name = \[(.{1,80}?)\]")
_SAYS_GPU = ("CUDA", "cuMem", "GPU", "ROCm", "device name = [")
_VERSION = "Perftest v"
_PROSE = (
    "local address",
    "remote address",
    "GID:",
    "*",
    "WARNING",
    "Requested mtu",
    "Changing to active mtu",
    "making it the current",
    "creating CUDA",
    "Picking ",
    "allocated ",
    "deallocating ",
    "destroying ",
    "Test Complete",
    "Please press",
    "Force Link layer",
    "Waiting for client",
    "Please run the same command",
    "Disabling dynamic polling",
    "Using sampled CPU speed",
    "Conflicting CPU frequency",
    "Connected: ",
    "Completed: ",
    "Total run time",
    _VERSION,
)
_BEGINNING = re.compile(
    r"(?:Dual-port|Number of qps|Connection type|PCIe relax order|ibv_wr\* API|TX depth|RX depth"
    r"|CQ Moderation|CQE Poll Batch|Mtu|Link type|GID index|Max inline data|rdma_cm QPs"
    r"|Data ex\. method)\s{0,20}: [^\s:]"
)
_OPTIONS = {
    "-q": "queue_pairs",
    "--qp": "queue_pairs",
    "-x": "gid_index",
    "--gid-index": "gid_index",
}
_DEVICES = ("-d", "--ib-dev")
_THIS_HOST = ("localhost", "127.0.0.1", "::1")
_WORD = re.compile(r"[\w.-]{1,64}(?::\d{1,3})?$")
SIDES = {"Local results": "local", "Remote results": "remote"}


def is_parameter(text: str) -> bool:
    """Whether a line is one of the list of parameters, whose title may be lost."""
    return _BEGINNING.match(text) is not None


_ANSWERED = ("read", "atomic")


def latency_of(op: str) -> str:
    """What perftest calls latency: half of the round trip, but all of it where the operation itself
    brings an answer. SOURCE: perftest, src/perftest_parameters.c, print_report_lat."""
    return "the round trip" if op in _ANSWERED else "half the round trip"


@dataclass(slots=True)
class Context:
    """What the lines around the rows say of the run."""

    op: str = ""
    version: str = ""
    memory: str = ""
    has_title: bool = False
    hosts: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    conditions: dict[str, str] = field(default_factory=dict)
    is_local: bool = False
    _lids: dict[str, str] = field(default_factory=dict)
    _gids: list[str] = field(default_factory=list)

    @property
    def has_begun(self) -> bool:
        """Whether a title was seen, or a GPU being set up, after which one comes."""
        return self.has_title or self.memory == "gpu"

    @property
    def n_nodes(self) -> int | None:
        """Two where both ends have addresses of their own, one where they share one."""
        if self.is_local:
            return 1
        if self.hosts:
            return len(set(self.hosts))
        gids = self._gids[:2]
        lids = list(self._lids.values())
        if len(gids) == 2:
            return len(set(gids))
        if len(lids) == 2 and any(int(lid, 16) for lid in lids):
            return len(set(lids))
        return None

    def read(self, text: str, title: re.Match[str] | None, program: re.Match[str] | None) -> bool:
        """Take what a line says; False where it says nothing that perftest would."""
        if title is not None:
            self.has_title = True
            self._name(OPERATIONS[title[1]], "Bidirectional" in text)
            return True
        if program is not None:
            self._launch(text, program)
            return True
        if (script := SCRIPT.match(text)) is not None:
            self._script(text, script[2].split())
            return True
        if text.startswith(_PROSE) or any(mark in text for mark in _SAYS_GPU):
            self._prose(text)
            return True
        return self._parameters(text)

    def _name(self, op: str, two_ways: bool) -> None:
        self.op = op
        self.conditions["op"] = op
        self.conditions["latency_is"] = latency_of(op)
        self.conditions["directions"] = "2" if two_ways else self.conditions.get("directions", "1")

    def _launch(self, text: str, program: re.Match[str]) -> None:
        words = text[program.end() :].split()
        self._name(program[1], program[2] == "bw" and ("-b" in words or "--bidirectional" in words))
        self.conditions["launch"] = shown(text)
        gpu = any(word.startswith(("--use_cuda", "--use_rocm", "--use-cuda")) for word in words)
        self.memory = "gpu" if gpu else self.memory or "host"
        if words[-1:] and words[-1] in _THIS_HOST:
            self.is_local = True
        for option, value in pairwise(words):
            if option in _DEVICES and _WORD.match(value):
                self.devices = (value.partition(":")[0],)
            elif option in _OPTIONS and value.isascii() and value.isdigit():
                self.conditions[_OPTIONS[option]] = value[:9]

    def _script(self, text: str, words: list[str]) -> None:
        """Two names that differ only in their numbers are the two nodes; a last word may say where
        the data lies."""
        self.conditions["launch"] = shown(text)
        self.memory = _MEMORY.get(words[-1].lower(), self.memory)
        alike = len(words) >= 2 and _DIGITS.sub("", words[0]) == _DIGITS.sub("", words[1])
        if alike and any(map(str.isdigit, words[0])):
            self.hosts = (words[0], words[1])

    def _prose(self, text: str) -> None:
        if text.startswith(_VERSION):
            self.version = text.removeprefix(_VERSION)[:16]
        address = _ADDRESS.match(text)
        if address is not None and _is_hex(address[2]):
            self._lids[address[1]] = address[2]
        elif (gid := _GID.match(text)) is not None:
            self._gids.append(gid[1])
        elif (name := _GPU_NAME.search(text)) is not None:
            self.conditions["gpu"] = name[1]
            self.memory = "gpu"
        elif any(mark in text for mark in ("CUDA", "cuMem", "ROCm")):
            self.memory = "gpu"

    def _parameters(self, text: str) -> bool:
        known = False
        for name, value in _PARAMETER.findall(text[:400]):
            key = _NAMES.get(name.strip())
            if key is None:
                continue
            known = True
            if key == "device":
                self.devices = (value,)
            elif key == "rocm_memory":
                self.memory = "gpu" if value == "ON" else self.memory
            else:
                self.conditions[key] = value.removesuffix("[B]").removesuffix("[MHz]")
        return known


def _is_hex(text: str) -> bool:
    try:
        int(text, 16)
    except ValueError:
        return False
    return True
