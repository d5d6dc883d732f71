"""Machines as trees for the comfort tests, and the forms in which evidence is not there."""

import os
import random
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.unit.doctor.machine_trees import Tree

OPTIONAL = ("fw_ver", "board_id", "counters", "gids", "numa_node", "local_cpulist")
"""Names of files and folders that no verdict needs."""
Faults = Mapping[str, tuple[Mapping[str, object], tuple[str, ...]]]
"""By rule: what plants it, and the names of files each of which it takes to show it."""


def cluster_node(root: Path, draw: random.Random, **hca: object) -> Tree:
    """A host with one to four adapters; `locked` limits its locked memory to 64 KiB."""
    locked = "65536" if hca.pop("locked", False) else "unlimited"
    tree = Tree(root).machine(locked=locked, locked_hard=locked)
    for number in range(draw.randint(1, 4)):
        rate = draw.choice(["HDR", "NDR"])
        tree.hca(number, n_keys=2, rate=rate, **hca)  # type: ignore[arg-type]
    return tree


def never_shown(path: Path) -> None:
    """No file: never mounted, or not copied with the tree."""


def empty(path: Path) -> None:
    path.write_bytes(b"")


def no_value(path: Path) -> None:
    path.write_text("N/A\n")


def no_file(path: Path) -> None:
    """A folder of that name, which reading refuses as it refuses a file without rights."""
    path.mkdir()


def no_rights(path: Path) -> None:
    path.write_text("0\n")
    path.chmod(0)


def endless_link(path: Path) -> None:
    path.symlink_to(path.name)


FORMS: tuple[Callable[[Path], None], ...] = (never_shown, empty, no_value, no_file, endless_link)
if os.geteuid() != 0:
    FORMS = (*FORMS, no_rights)


def hide(root: Path, name: str, form: Callable[[Path], None] = never_shown) -> int:
    """Take the evidence from every file or folder whose path ends so, in this form."""
    found = [path for path in sorted(root.rglob("*")) if str(path).endswith(f"/{name}")]
    for path in found:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.exists() or path.is_symlink():
            path.unlink()
        form(path)
    return len(found)


def hide_some(root: Path, draw: random.Random, most: int) -> None:
    """Take away some files that no verdict needs."""
    for name in draw.sample(OPTIONAL, draw.randint(0, most)):
        hide(root, name)


def ill_machine(root: Path, draw: random.Random, faults: Faults) -> tuple[str, tuple[str, ...]]:
    """A host with one of these faults: the rule, and what would show it."""
    rule = draw.choice(list(faults))
    planted, shown_by = faults[rule]
    cluster_node(root, draw, **planted)
    return rule, shown_by


def odd_bytes(root: Path, draw: random.Random, ends: list[bytes]) -> None:
    """Some files end in a way that no kernel writes and every reader must bear."""
    for path in sorted(root.rglob("*")):
        if path.is_file() and not path.is_symlink() and draw.random() < 0.1:
            path.write_bytes(path.read_bytes() + draw.choice(ends))
