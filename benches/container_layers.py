"""How long `weft doctor container` reads images of packed layers, and squashfs: prints the table.

python benches/container_layers.py [--gigabytes 20] [--images FOLDER] [--runs 3] [--form squashfs]

Each image has the loader of this machine and a small NCCL, so that weft judges the whole chain.
One layer is packed once and listed 32 times: 20 GB of content take 0.3 GB of disk. A squashfs has
all of its content: 20 GB take 8 GB, and mksquashfs makes it. Set PYTHONPATH to the sources of
another weft to measure that one.
"""

import argparse
import hashlib
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.unit.doctor.container.container_trees import LIBRARY_FOLDER, SlingshotNode

N_LAYERS = 32
N_SMALL_FILES = 900_000
"""With their folders fewer than the 1,000,000 names that weft walks in search of a plug-in."""
LARGE_BYTES, SMALL_BYTES = 4_000_000, 2000
_CONTENT_BYTES = 256 << 20
_COMMAND = """
import sys
from weft.cli import main
try:
    main()
finally:
    lines = open("/proc/self/status").read().splitlines()
    print(*(one for one in lines if one.startswith("VmHWM")), file=sys.stderr)
"""
Files = Iterable[tuple[str, bytes]]


def large_files(content: bytes, n_bytes: int) -> Iterator[tuple[str, bytes]]:
    """Files of 4 MB, each tenth of them a library."""
    draw = random.Random(1)  # noqa: S311 (no secret)
    for number in range(max(1, n_bytes // LARGE_BYTES)):
        at = draw.randrange(len(content) - LARGE_BYTES)
        name = f"opt/app/part{number}.bin" if number % 10 else f"usr/lib/lib{number}.so.1"
        yield name, content[at : at + LARGE_BYTES]


def small_files(content: bytes, n_files: int) -> Iterator[tuple[str, bytes]]:
    """Files of up to 2,000 bytes in folders of 40, as packages of Python have them."""
    draw = random.Random(2)  # noqa: S311 (no secret)
    for number in range(n_files):
        at, size = draw.randrange(len(content) - SMALL_BYTES), draw.randrange(SMALL_BYTES)
        folder = f"opt/conda/lib/python3.11/site-packages/package{number // 40}"
        yield f"{folder}/module{number % 40}.py", content[at : at + size]


def zero_files(n_bytes: int) -> Iterator[tuple[str, bytes]]:
    """Files of zeros, which a squashfs keeps as holes."""
    content = bytes(LARGE_BYTES)
    for number in range(max(1, n_bytes // LARGE_BYTES)):
        yield f"opt/app/part{number}.bin", content


def base_files(folder: Path) -> list[tuple[str, bytes]]:
    """A loader, the C library and NCCL, as regular files."""
    own = SlingshotNode(folder).build().image / LIBRARY_FOLDER
    names = ("libc.so.6", "libm.so.6", "libnccl.so.2")
    loader = "ld-linux-x86-64.so.2"
    files = [(f"{LIBRARY_FOLDER}/{name}", (own / name).read_bytes()) for name in names]
    return [(f"lib64/{loader}", (own / loader).read_bytes()), *files]


def shared_objects() -> bytes:
    """Libraries of this Python's packages: content that packs as that of an image."""
    top = Path(sysconfig.get_paths()["platlib"])
    found = b"".join(one.read_bytes() for one in sorted(top.rglob("*.so*")))
    return found[:_CONTENT_BYTES]


def tar_pieces(files: Files) -> Iterator[bytes]:
    """Files as a tar."""
    for name, content in files:
        member = tarfile.TarInfo(name)
        member.size, member.mtime = len(content), 1_700_000_000
        padding = bytes(-len(content) % tarfile.BLOCKSIZE)
        yield member.tobuf(tarfile.PAX_FORMAT) + content + padding
    yield bytes(2 * tarfile.BLOCKSIZE)


def write_layer(path: Path, files: Files) -> None:
    """A layer in tar, packed by gzip's default level."""
    pack = zlib.compressobj(6, zlib.DEFLATED, 31)
    with path.open("wb") as out:
        for piece in tar_pieces(files):
            out.write(pack.compress(piece))
        out.write(pack.flush())


def write_squashfs(path: Path, files: Files) -> None:
    """A squashfs packed by zstd. Its level changes the packed blocks, of which weft reads few."""
    packing = ("-comp", "zstd", "-Xcompression-level", "1")
    argv = ["mksquashfs", "-", str(path), "-tar", *packing, "-quiet", "-no-progress"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE) as made:
        assert made.stdin is not None
        for piece in tar_pieces(files):
            made.stdin.write(piece)
    if made.returncode != 0:
        raise SystemExit(f"mksquashfs ends with {made.returncode}")


def write_layout(folder: Path, base: Files, files: Files) -> None:
    """An OCI layout with one layer of the base, and one that is listed 32 times."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def put(table: dict[str, object]) -> dict[str, object]:
        content = json.dumps(table).encode()
        name = hashlib.sha256(content).hexdigest()
        (blobs / name).write_bytes(content)
        return {"digest": f"sha256:{name}", "size": len(content)}

    layers = []
    for name, members in (("base", base), ("layer", files)):
        write_layer(blobs / name, members)
        layers.append({"digest": f"sha256:{name}", "size": (blobs / name).stat().st_size})
    config = put({"architecture": "amd64"})
    manifest = put({"config": config, "layers": [layers[0], *layers[1:] * N_LAYERS]})
    (folder / "index.json").write_text(json.dumps({"manifests": [manifest]}))


def measured(image: Path, host: Path) -> tuple[float, float, float]:
    """Seconds, seconds of processors, and MB of memory of one process."""
    argv = [sys.executable, "-c", _COMMAND, "doctor", "container", str(image), "--host", str(host)]
    begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    found = subprocess.run(argv, check=False, capture_output=True, text=True)
    seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if found.returncode != 1 or "[plugin-not-mounted]" not in found.stdout:
        raise SystemExit(f"weft ends with {found.returncode}: {found.stderr}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, cpu, int(found.stderr.split()[-2]) * 1024 / 1e6


@dataclass(frozen=True)
class Made:
    """An image to read: its form, its content in words, and what writes it to a path."""

    form: str
    content: str
    write: Callable[[Path], None]


def images(base: Files, content: bytes, gigabytes: float) -> Iterator[Made]:
    """Layers and squashfs of large and of small files."""
    n_bytes, n_files = int(gigabytes * 1e9), N_SMALL_FILES
    kinds: dict[str, Callable[[int], Files]] = {
        f"{gigabytes:g} GB of large files": lambda parts: large_files(content, n_bytes // parts),
        f"{gigabytes:g} GB of zeros": lambda parts: zero_files(n_bytes // parts),
        f"{n_files:,} small files": lambda parts: small_files(content, n_files // parts),
    }
    for name, files in kinds.items():
        # weft refuses a layer that unpacks to 200 times its size, as zeros do.
        if not name.endswith("zeros"):
            yield Made("layers", name, partial(_write_layers, base, files))
        yield Made("squashfs", name, partial(_write_squashfs, base, files))


def _write_layers(base: Files, files: Callable[[int], Files], path: Path) -> None:
    write_layout(path, base, files(N_LAYERS))


def _write_squashfs(base: Files, files: Callable[[int], Files], path: Path) -> None:
    write_squashfs(path, chain(base, files(1)))


def main() -> None:
    """A table of images: medians of the runs, and the memory at most."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=20, help="of the image of large files")
    parser.add_argument("--images", type=Path, help="folder where images are kept for another run")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--form", choices=("layers", "squashfs"), help="only these")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        top = given.images or Path(scratch)
        host = Path(scratch) / "host"
        (host / "dev").mkdir(parents=True)
        (host / "dev" / "cxi0").touch()
        base = base_files(Path(scratch) / "node")
        print(f"CPUs: {len(os.sched_getaffinity(0))}; layers: {N_LAYERS}\n")
        print("| form | content | s | s of CPUs | MB | runs |\n|---|---|---|---|---|---|")
        for one in images(base, shared_objects(), given.gigabytes):
            if given.form in (None, one.form):
                image = top / f"{one.form} {one.content}".replace(" ", "-")
                if not image.exists():
                    one.write(image)
                print(f"| {one.form} | {one.content} | {figures(image, host, given.runs)} |")
                sys.stdout.flush()
                if given.images is None and image.is_file():
                    image.unlink()


def figures(image: Path, host: Path, n_runs: int) -> str:
    """The cells of a row: medians, and the memory at most."""
    runs = [measured(image, host) for _ in range(n_runs)]
    seconds, cpu = (statistics.median(run[place] for run in runs) for place in (0, 1))
    return f"{seconds:.1f} | {cpu:.1f} | {max(run[2] for run in runs):.0f} | {n_runs}"


if __name__ == "__main__":
    main()
