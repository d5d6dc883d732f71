"""The site's nccl-tests or rccl-tests, and the words of one launch of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from weft.core.errors import InputError

LIBRARIES = ("nccl", "rccl")

PASSED = ("NCCL_", "RCCL_", "UCX_", "FI_", "OFI_NCCL_", "HSA_", "MPI_")
PASSED_WHOLE = ("PATH", "LD_LIBRARY_PATH")
"""Variables of this process that every rank needs: Open MPI passes on none of them by itself."""

ITERATIONS, WARMUP = 20, 5
"""As nccl-tests has them by default (-n, -w). SOURCE: NVIDIA/nccl-tests, README."""


@dataclass(frozen=True, slots=True)
class NcclGroup:
    """Hosts that one launch of nccl-tests joins to a communicator.

    `adapter` is the one network device that NCCL may use (None: all of them), `gpu` the one GPU of
    each host (None: all). Pairs have a `round` and ran with `n_concurrent` groups at a time.
    """

    hosts: tuple[str, ...]
    adapter: str | None = None
    gpu: int | None = None
    ends: tuple[str, str] | None = None

    @property
    def name(self) -> str:
        """'n001-n002', 'n003', 'n001-n002.mlx5_3'; of many hosts the first and their number."""
        few = self.hosts if len(self.hosts) <= 2 else (self.hosts[0], f"{len(self.hosts)}-hosts")
        words = "-".join(few)
        if self.adapter is not None:
            words += f".{self.adapter.replace(':', '_')}"
        return words


@dataclass(frozen=True, slots=True)
class NcclTests:
    """A program of nccl-tests. `library` is "nccl" or "rccl"; `path` the program as every host has
    it; `gpus_per_node` the GPUs of a host, one rank each. `passed_on` are variables for every rank.
    """

    library: str
    path: str
    gpus_per_node: int
    passed_on: Mapping[str, str] = field(default_factory=dict)

    @property
    def tool(self) -> str:
        """As people call it."""
        return f"{self.library}-tests"

    @property
    def test(self) -> str:
        """The name of the program without its folder."""
        return self.path.rpartition("/")[2]

    def tasks_per_node(self, group: NcclGroup) -> int:
        """Ranks on a host of a group: one a GPU."""
        return self.gpus_per_node if group.gpu is None else 1

    def argv(self, sizes_bytes: Sequence[int]) -> tuple[str, ...]:
        """The program with its options: sizes from the least to the largest by a factor, each
        result checked once. Raises InputError where no factor leads from one to the other."""
        least, largest = min(sizes_bytes), max(sizes_bytes)
        factor, remainder = divmod(largest, least)
        if remainder:
            raise InputError(
                f"{least} and {largest} bytes are no sizes of one sweep of {self.tool}",
                where="--small and --large",
                expected="a multiple, such as --small 64M --large 1G",
            )
        step = ("-f", str(factor)) if factor > 1 else ()
        counts = ("-g", "1", "-n", str(ITERATIONS), "-w", str(WARMUP), "-c", "1")
        return (self.path, "-b", str(least), "-e", str(largest), *step, *counts)

    def env(self, group: NcclGroup, *, is_logged: bool) -> dict[str, str]:
        """Variables of every rank of a group. NCCL warns, and names its version; where it
        `is_logged` it also names its network and settings.

        SOURCE: NCCL user guide, environment variables: NCCL_IB_HCA with '=' is an exact name.
        NVIDIA/nccl-tests, src/common.cu: NCCL_TESTS_DEVICE is the first GPU of a rank.
        """
        found = dict(self.passed_on)
        if "NCCL_DEBUG" not in found:
            found["NCCL_DEBUG"] = "INFO" if is_logged else "WARN"
        if group.adapter is not None:
            found["NCCL_IB_HCA"] = f"={group.adapter}"
        if group.gpu is not None:
            found["NCCL_TESTS_DEVICE"] = str(group.gpu)
        return found


def passed_on(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of this process that every rank needs."""
    return {
        name: value
        for name, value in sorted(environ.items())
        if (name.startswith(PASSED) or name in PASSED_WHOLE) and "\n" not in value
    }
