"""How long `weft doctor container` reads images of packed layers: prints the table.

python benches/container_layers.py [--gigabytes 20] [--images FOLDER] [--runs 3]

One layer is packed once and listed 32 times: 20 GB of content take 0.3 GB of disk. Set PYTHONPATH
to the sources of another weft to measure that one.
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
from collections.abc import Iterable, Iterator
from pathlib import Path

N_LAYERS = 32
N_SMALL_FILES = 1_000_000
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


def shared_objects() -> bytes:
    """Libraries of this Python's packages: content that packs as that of an image."""
    top = Path(sysconfig.get_paths()["platlib"])
    found = b"".join(one.read_bytes() for one in sorted(top.rglob("*.so*")))
    return found[:_CONTENT_BYTES]


def write_layer(path: Path, files: Files) -> None:
    """A layer in tar, packed by gzip's default level."""
    pack = zlib.compressobj(6, zlib.DEFLATED, 31)
    with path.open("wb") as out:
        for name, content in files:
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), 1_700_000_000
            padding = bytes(-len(content) % tarfile.BLOCKSIZE)
            out.write(pack.compress(member.tobuf(tarfile.PAX_FORMAT) + content + padding))
        out.write(pack.compress(bytes(2 * tarfile.BLOCKSIZE)) + pack.flush())


def write_layout(folder: Path, files: Files) -> None:
    """An OCI layout that lists one layer 32 times."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def put(table: dict[str, object]) -> dict[str, object]:
        content = json.dumps(table).encode()
        name = hashlib.sha256(content).hexdigest()
        (blobs / name).write_bytes(content)
        return {"digest": f"sha256:{name}", "size": len(content)}

    write_layer(blobs / "layer", files)
    layer = {"digest": "sha256:layer", "size": (blobs / "layer").stat().st_size}
    config = put({"architecture": "amd64"})
    manifest = put({"config": config, "layers": [layer] * N_LAYERS})
    (folder / "index.json").write_text(json.dumps({"manifests": [manifest]}))


def measured(image: Path, host: Path) -> tuple[float, float, float]:
    """Seconds, seconds of processors, and MB of memory of one process."""
    argv = [sys.executable, "-c", _COMMAND, "doctor", "container", str(image), "--host", str(host)]
    begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    found = subprocess.run(argv, check=False, capture_output=True, text=True)
    seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    # The image has no loader: weft reads all of it, and cannot tell.
    if found.returncode != 5:
        raise SystemExit(f"weft ends with {found.returncode}: {found.stderr}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, cpu, int(found.stderr.split()[-2]) * 1024 / 1e6


def main() -> None:
    """A table of images: medians of the runs, and the memory at most."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=20, help="of the image of large files")
    parser.add_argument("--images", type=Path, help="folder where images are kept for another run")
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    n_bytes = int(given.gigabytes * 1e9) // N_LAYERS
    with tempfile.TemporaryDirectory() as scratch:
        top = given.images or Path(scratch)
        host = Path(scratch) / "host"
        (host / "dev").mkdir(parents=True)
        (host / "dev" / "cxi0").touch()
        content = shared_objects()
        images = {
            f"{given.gigabytes:g} GB of large files": large_files(content, n_bytes),
            f"{N_SMALL_FILES:,} small files": small_files(content, N_SMALL_FILES // N_LAYERS),
        }
        print(f"CPUs: {len(os.sched_getaffinity(0))}; layers: {N_LAYERS}\n")
        print("| image | s | s of CPUs | MB | runs |\n|---|---|---|---|---|")
        for name, files in images.items():
            image = top / name.replace(" ", "-")
            if not image.exists():
                write_layout(image, files)
            runs = [measured(image, host) for _ in range(given.runs)]
            seconds, cpu = (statistics.median(one[place] for one in runs) for place in (0, 1))
            memory = max(one[2] for one in runs)
            print(
                f"| {name} | {seconds:.1f} | {cpu:.1f} | {memory:.0f} | {given.runs} |", flush=True
            )


if __name__ == "__main__":
    main()
