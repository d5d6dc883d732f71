"""The files of another host that detection reads, printed by one short script and kept in memory.

A line is `file` or `link`, the path, and a line of the file or the target, between tabs.
"""

import re
from collections.abc import Iterator

from weft.core.errors import InputError
from weft.doctor.machine.sysroot import MOST_BYTES, Sysroot

MOST_LINES = 200_000
MOST_LETTERS = 4000
_MOST_HOPS = 16
_PATH = re.compile(r"/(?:sys|proc|commands)(?:/[^/\t\0]{1,255}){0,40}")

SCRIPT = r"""
root=$(cd "$1" 2>/dev/null && pwd -P) || { echo "no folder $1" >&2; exit 66; }
root=${root%/}
PATH="$PATH:/usr/sbin:/sbin:/opt/rocm/bin"
tab=$(printf '\t')
put() {
    [ -f "$root$1" ] && [ -r "$root$1" ] || return 0
    n=0
    while IFS= read -r line || [ -n "$line" ]; do
        printf 'file\t%s\t%s\n' "$1" "$line"
        n=$((n + 1))
        [ "$n" -lt "${2:-40}" ] || break
    done < "$root$1"
}
real() { (cd "$root$1" 2>/dev/null && pwd -P); }
device() {
    folder=$(real "$1") || return 0
    [ -n "$folder" ] || return 0
    folder=${folder#"$root"}
    printf 'link\t%s\t%s\n' "$1" "$folder"
    for name in vendor device class numa_node local_cpulist current_link_speed \
        current_link_width max_link_speed max_link_width product_name; do
        put "$folder/$name" 1
    done
    [ -e "$root$folder/physfn" ] && printf 'file\t%s/physfn\t\n' "$folder"
    for interface in "$root$folder"/net/*; do
        for name in operstate speed mtu type; do put "${interface#"$root"}/$name" 1; done
    done
}
run() {
    name=$1
    shift
    if [ -n "$root" ]; then put "/commands/$name" 4000; return 0; fi
    command -v "$1" >/dev/null 2>&1 || return 0
    limit=
    command -v timeout >/dev/null 2>&1 && limit='timeout 10'
    $limit "$@" 2>/dev/null | while IFS= read -r line; do
        printf 'file\t/commands/%s\t%s\n' "$name" "$line"
    done
}
below() { for one in "$root$1"/*; do [ -e "$one" ] && printf '%s\n' "${one#"$root"}"; done; }
{
put /proc/sys/kernel/hostname 1
put /proc/meminfo 3
put /proc/cpuinfo 30
put /sys/devices/system/cpu/online 1
put /sys/devices/system/node/online 1
for one in $(below /sys/devices/system/cpu); do
    case "${one##*/}" in cpu[0-9]*) ;; *) continue ;; esac
    put "$one/topology/thread_siblings_list" 1
    put "$one/topology/physical_package_id" 1
done
for one in $(below /sys/class/infiniband); do
    for name in fw_ver board_id node_type; do put "$one/$name" 1; done
    for port in "$root$one"/ports/*; do
        for name in state phys_state rate link_layer; do put "${port#"$root"}/$name" 1; done
    done
    device "$one/device"
done
for one in $(below /sys/class/cxi); do device "$one/device"; done
for one in $(below /sys/class/net); do
    [ -e "$root$one/device" ] || continue
    for name in operstate speed mtu type; do put "$one/$name" 1; done
    [ -e "$root$one/master/device" ] && printf 'file\t%s/master/device\t\n' "$one"
    device "$one/device"
done
for one in $(below /sys/bus/pci/devices); do
    read -r class < "$root$one/class" || continue
    case "$class" in
        0x03* | 0x12*) device "$one" ;;
        0x0200* | 0x0207*) device "$one" ;;
    esac
done
for one in $(below /proc/driver/nvidia/gpus); do put "$one/information"; done
[ -e "$root/proc/driver/nvidia" ] || run nvidia-smi nvidia-smi --query-gpu=name,pci.bus_id \
    --format=csv,noheader
run nvidia-smi-nvlink nvidia-smi nvlink -s
run rocm-smi rocm-smi --showproductname
run ibv_devinfo ibv_devinfo
# ibstat reads the same /sys: only its saved output tells more.
[ -z "$root" ] || run ibstat
run lspci lspci -Dvvnn
run lscpu lscpu
} 2>/dev/null
printf 'end\t/sys\t\n'
"""


class CollectedTree(Sysroot):
    """What `SCRIPT` printed, as a tree. INVARIANT: it opens no file of this machine."""

    def __init__(self, files: dict[str, str], links: dict[str, str]) -> None:
        self._files = files
        self._links = links
        self._folders = _folders((*files, *links))
        self.unread: dict[str, str] = {}

    def content(self, path: str, most_bytes: int) -> bytes:
        """The first bytes of a file."""
        real = self.real(path)
        text = self._files.get(real, "") if real is not None else ""
        return text.encode("utf-8", "replace")[:most_bytes]

    def names(self, folder: str) -> tuple[str, ...]:
        """Names in a folder, sorted."""
        return tuple(sorted(self._folders.get(self.real(folder) or "", ())))

    def exists(self, path: str) -> bool:
        """Whether something is there."""
        real = self.real(path)
        return real is not None and (real in self._files or real in self._folders)

    def may_open(self, path: str) -> bool:  # noqa: ARG002
        """Devices of another host cannot be opened here."""
        return False

    def real(self, path: str) -> str | None:
        """The path without links; None where links lead round."""
        for _ in range(_MOST_HOPS):
            link = next((one for one in _heads(path) if one in self._links), None)
            if link is None or self._links[link] == link:
                return path
            path = self._links[link] + path[len(link) :]
        return None


def read_collection(text: str, host: str) -> CollectedTree:
    """The tree that `SCRIPT` printed. Raises InputError where its output is cut short."""
    lines: dict[str, list[str]] = {}
    links: dict[str, str] = {}
    sizes: dict[str, int] = {}
    ended = False
    for kind, path, value in _lines(text):
        ended = ended or kind == "end"
        if kind == "link" and _PATH.fullmatch(value) and "/../" not in f"{value}/":
            links[path] = value
        elif kind == "file" and sizes.get(path, 0) < MOST_BYTES:
            sizes[path] = sizes.get(path, 0) + len(value) + 1
            lines.setdefault(path, []).append(value)
    if not ended:
        raise InputError(
            "its list of files is cut short",
            where=host,
            expected="a host whose login scripts print nothing",
        )
    return CollectedTree({path: "\n".join(one) for path, one in lines.items()}, links)


def _lines(text: str) -> Iterator[tuple[str, str, str]]:
    for line in text.split("\n")[:MOST_LINES]:
        kind, _, rest = line[:MOST_LETTERS].partition("\t")
        path, tab, value = rest.partition("\t")
        if tab and kind in ("file", "link", "end") and _PATH.fullmatch(path):
            yield kind, path, value


def _heads(path: str) -> Iterator[str]:
    """The path and its folders, longest first."""
    while path:
        yield path
        path = path.rpartition("/")[0]


def _folders(paths: tuple[str, ...]) -> dict[str, set[str]]:
    folders: dict[str, set[str]] = {}
    for path in paths:
        for head in _heads(path):
            folder, _, name = head.rpartition("/")
            folders.setdefault(folder, set()).add(name)
    return folders
