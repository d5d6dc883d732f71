"""The payload of a packet in force at an RDMA adapter."""

import re

from weft.doctor.machine.adapters import INFINIBAND
from weft.doctor.machine.detection.commands import CommandOutput, source_of
from weft.doctor.machine.sysroot import Sysroot, whole_number

ROCE_HEADER_BYTES = 40 + 8 + 12 + 4 + 28 + 4
"""GRH, UDP, BTH, XRC and atomic extensions, ICRC. SOURCE: torvalds/linux, include/rdma/ib_addr.h:
iboe_get_mtu."""
_STEPS = (4096, 2048, 1024, 512, 256)
_MOST = 65536
_ACTIVE = re.compile(r"^\s*active_mtu:\s*(\d{3,5})\b", re.MULTILINE)


def rdma_mtu(
    root: Sysroot, commands: CommandOutput, name: str, family: str
) -> tuple[int | None, str]:
    """(bytes of payload, source); None where nothing tells it: /sys has no MTU of an InfiniBand
    port."""
    if family == "roce":
        folder = f"{INFINIBAND}/{name}/device/net"
        for interface in root.names(folder):
            mtu = whole_number(root.line(f"{folder}/{interface}/mtu")) or 0
            fitting = [step for step in _STEPS if step + ROCE_HEADER_BYTES <= mtu]
            if fitting:
                source = f"{folder}/{interface}/mtu: {mtu}, less RoCE's headers"
                return fitting[0], source
    if family == "slingshot":
        return None, ""
    return _of_devinfo(commands, name)


def _of_devinfo(commands: CommandOutput, name: str) -> tuple[int | None, str]:
    for block in re.split(r"^hca_id:\s*", commands.text("ibv_devinfo"), flags=re.MULTILINE):
        words = block.split(maxsplit=1)
        found = _ACTIVE.search(block) if words and words[0] == name else None
        if found is not None and 256 <= int(found[1]) <= _MOST:
            return int(found[1]), f"{source_of('ibv_devinfo')}: active_mtu of {name}"
    return None, ""
