"""CPU masks of a topology file: groups of eight hexadecimal digits, the highest first."""

import re
from collections.abc import Iterable
from itertools import pairwise

MOST_GROUPS = 32
"""1,024 CPUs: a cpu_set_t holds no more. SOURCE: NVIDIA/nccl v2.30.7, src/include/cpuset.h"""
_HEX = re.compile(r"\s*[+-]?(?:0[xX])?([0-9a-fA-F]+)")


def mask_of(text: str) -> int:
    """The CPUs as bits, read as NCCL reads them: a group that is no number is 0, of one that is too
    long only the last eight digits count, and an empty one is no group."""
    groups = [group for group in text.split(",") if group][:MOST_GROUPS]
    mask = 0
    for group in groups:
        found = _HEX.match(group)
        mask = mask << 32 | (int(found[1], 16) & 0xFFFFFFFF if found else 0)
    return mask


def misread_form(text: str) -> str | None:
    """NCCL's reading of a mask in another form than it expects; None for one in that form."""
    groups = text.split(",")
    if any(not re.fullmatch(r"[0-9a-fA-F]*", group) for group in groups):
        return "a character that is no digit ends a group, or makes it 0"
    if any(len(group) > 8 for group in groups):
        return "of a longer group the last eight digits count"
    if any(len(group) < 8 for group in groups[1:]):
        return (
            "a shorter group behind the first counts as 32 CPUs all the same, an empty one as none"
        )
    if len(groups) > MOST_GROUPS:
        return f"groups behind the first {MOST_GROUPS} are dropped"
    return None


def mask_of_cpus(cpus: Iterable[int]) -> int:
    """CPUs as bits."""
    return sum(1 << cpu for cpu in cpus)


def mask_text(mask: int, n_cpus: int = 1) -> str:
    """The mask as the kernel and NCCL write it, in groups of eight digits, for so many CPUs."""
    n_groups = -(-max(n_cpus, mask.bit_length()) // 32)
    groups = [f"{mask >> 32 * i & 0xFFFFFFFF:08x}" for i in reversed(range(n_groups))]
    return ",".join(groups)


def cpu_list(mask: int) -> str:
    """The CPUs as ranges: 0-23,48-71."""
    cpus = [i for i in range(mask.bit_length()) if mask >> i & 1]
    starts = [0, *(i + 1 for i, (a, b) in enumerate(pairwise(cpus)) if b != a + 1), len(cpus)]
    runs = [cpus[a:b] for a, b in pairwise(starts) if a < b]
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
