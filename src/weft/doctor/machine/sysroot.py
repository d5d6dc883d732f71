"""Reading /sys, /proc and /dev below one folder: bounded, without rights, and never out of it."""

import errno
import math
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from weft.core.errors import InputError

MOST_BYTES = 1 << 16
MOST_NAMES = 4096
"""Of one folder, in the order of names: a node with all virtual functions of its adapters has more
than a thousand PCI devices."""
MOST_READS = 300_000
"""Of a tree, files and folders: a thousand virtual functions with 128 P_Keys each have fewer."""
MOST_NUMBERS = 8192
"""Of one list of processors or memory nodes: Linux has as many processors."""
_NOT_THERE = {errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ENXIO, errno.ELOOP}
"""Reasons that mean that the kernel does not offer it."""


class Sysroot:
    """A tree like that of `/`. An absent file is empty, never an error; `unread` maps each path
    that is there and could not be read to the reason."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise InputError(
                "no such directory",
                where=str(root),
                expected="a directory that holds sys, proc and dev",
            )
        self._root = os.path.realpath(root)
        self._real: dict[str, str | None] = {}
        self._n_reads = 0
        self.unread: dict[str, str] = {}

    def text(self, path: str) -> str:
        """The beginning of a regular file without white space around it, "" where there is none.

        Characters that would steer a terminal are question marks.
        """
        content = self.content(path, MOST_BYTES).decode("utf-8", "replace").strip()
        return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in content)

    def line(self, path: str) -> str:
        """The first line of the text."""
        return self.text(path).partition("\n")[0].replace("\t", " ")

    def content(self, path: str, most_bytes: int) -> bytes:
        """The first bytes of a regular file."""
        real = self._readable(path)
        if real is None:
            return b""
        try:
            # A pipe without a writer would hold up an open that may wait.
            number = os.open(self._root + real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            self._remember(path, error)
            return b""
        try:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                self.unread[path] = "it is no file"
                return b""
            return b"".join(_pieces(number, most_bytes))
        except OSError as error:
            self._remember(path, error)
            return b""
        finally:
            os.close(number)

    def names(self, folder: str) -> tuple[str, ...]:
        """Names in a folder, sorted; the first MOST_NAMES that a terminal can show."""
        real = self._readable(folder)
        if real is None:
            return ()
        try:
            found = sorted(os.listdir(self._root + real))
        except OSError as error:
            self._remember(folder, error)
            return ()
        if len(found) > MOST_NAMES:
            self.unread[folder] = f"{len(found)} names, of which {MOST_NAMES} are read"
        return tuple(name for name in found[:MOST_NAMES] if name.isprintable())

    def exists(self, path: str) -> bool:
        """Whether something is there."""
        real = self.real(path)
        return real is not None and os.path.lexists(self._root + real)

    def may_open(self, path: str) -> bool:
        """Whether this process may open it for reading and writing."""
        real = self.real(path)
        return real is not None and os.access(self._root + real, os.R_OK | os.W_OK)

    def _readable(self, path: str) -> str | None:
        """The real path, None where links lead out, and after so many reads that no machine has."""
        if self._n_reads >= MOST_READS:
            self.unread["/"] = f"more than {MOST_READS} files"
            return None
        self._n_reads += 1
        return self.real(path)

    def real(self, path: str) -> str | None:
        """The path below the root without links; None where links lead out of it."""
        folder, _, name = path.rpartition("/")
        if folder and name:
            above = self._real_folder(folder)
            if above is None:
                return None
            whole = f"{self._root.rstrip('/')}{above}/{name}"
            if not os.path.islink(whole):
                return f"{above}/{name}"
        return self._real_folder(path)

    def _real_folder(self, path: str) -> str | None:
        if path not in self._real:
            try:
                real = os.path.realpath(f"{self._root}/{path.lstrip('/')}")
            except (OSError, ValueError):
                real = ""
            top = self._root.rstrip("/")
            inside = real == self._root or real.startswith(top + "/")
            if not inside:
                self.unread[path] = "it leads out of the tree"
            self._real[path] = real[len(top) :] if inside else None
        return self._real[path]

    def _remember(self, path: str, error: OSError | ValueError) -> None:
        if getattr(error, "errno", None) not in _NOT_THERE:
            self.unread[path] = (getattr(error, "strerror", None) or str(error)).lower()


def _pieces(number: int, most_bytes: int) -> Iterator[bytes]:
    """Files of /proc come in pieces; sysfs in one."""
    left = most_bytes
    while left > 0:
        piece = os.read(number, left)
        if not piece:
            return
        left -= len(piece)
        yield piece


def whole_number(text: str) -> int | None:
    """A decimal or 0x number that begins a text, None where there is none."""
    word = text.split(maxsplit=1)[0] if text.strip() else ""
    try:
        return int(word, 16 if word.lower().startswith("0x") else 10)
    except ValueError:
        return None


def leading_number(text: str) -> float:
    """The number that a text begins with, 0 where it is none, not finite, or below 0."""
    try:
        value = float(text.split(maxsplit=1)[0]) if text.strip() else 0
    except ValueError:
        return 0
    return value if 0 <= value < math.inf else 0


def numbers_of_list(text: str) -> frozenset[int]:
    """The numbers of a list like '0-3,8', as CPUs and memory nodes are written; not too many."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if first.isdecimal() and (last or first).isdecimal() and len(first) + len(last) < 16:
            start, left = int(first), MOST_NUMBERS - len(found)
            found.update(range(start, min(int(last or first) + 1, start + left)))
    return frozenset(found)
