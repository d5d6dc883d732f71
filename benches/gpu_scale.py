"""Time and memory of the published allreduce (NVLSTree, 16 GiB, one rail) on many GPUs.

    gpu_scale.py [GPUS ...]

Without GPUS it takes 1,024 and 16,384. Peak memory is that of this process, so the largest comes
last.
"""

import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benches.gpu_rails import GPUS, PUBLISHED_BYTES, TOLERANCE, TREE, samples, twin_of

LARGE = (1024, 16_384)


def row(n_gpus: int) -> str:
    """A row of the table: GPUs, bus bandwidth, seconds of wall and processor, peak memory."""
    began_s, worked_s = time.monotonic(), time.process_time()
    twin = twin_of("azure-ndv5", n_gpus // GPUS, extrapolate=TOLERANCE)
    (sample,) = samples(twin, PUBLISHED_BYTES, **{**TREE, "gpu_network": "one-rail"})
    wall_s, cpu_s = time.monotonic() - began_s, time.process_time() - worked_s
    peak_gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
    busbw = sample.metrics["busbw_gb_s"]
    return f"| {n_gpus:,} | {busbw:.1f} | {wall_s:.1f} | {cpu_s:.1f} | {peak_gib:.2f} |"


def main() -> None:
    """Print the table."""
    print("| GPUs | bus bandwidth GB/s | wall s | CPU s | peak GiB |")
    print("|---:|---:|---:|---:|---:|")
    for n_gpus in sorted(map(int, sys.argv[1:])) or LARGE:
        print(row(n_gpus), flush=True)


if __name__ == "__main__":
    main()
