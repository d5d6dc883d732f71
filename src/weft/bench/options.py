"""Options of benchmarks: which of them a machine has, and which a simulated fabric."""

from collections.abc import Iterable

from weft.bench.model import Trial
from weft.core.errors import InputError, did_you_mean

MACHINE_OPTIONS = (
    *("validate", "sync", "batch", "buffers", "memory", "max_seconds_per_size", "quiet"),
)
"""Options that a simulated fabric does not heed."""
KERNEL_OPTIONS = (
    "aggressors",
    *("iterations", "warmup", "window", "skew", "rings", "seed", "closing_barrier"),
    *("pair_sizes", "phases", "rounds"),
    *MACHINE_OPTIONS,
)
"""Options of the measuring program (weft.bench.live.kernel_argv)."""
OF_SOME_BENCHMARKS = ("window", "rings", "seed")
"""Options without any effect on the benchmarks of the catalogue that do not have them."""
TWIN_OPTIONS = (
    *("adaptive_routing", "congestion_control", "routing"),
    *("algorithm", "between", "leaders", "fallback", "segment_bytes", "in_network", "node"),
    *("host_noise", "service_level", "mpi_choice", "oversubscription"),
    *("gpu_network", "nccl_version", "rails", "matchings"),
)
"""Options that only a simulated fabric has (weft.bench.twin.scenario)."""
WAYS_TO_LAUNCH = {
    "mpi_choice": "--mpi MPICC,MPICC",
    "launcher": "--launcher mpiexec,srun",
    "container": "--container none,podman --image IMAGE",
}
"""Options of the catalogue's factors, and what of the command line makes their arms."""


def hint_on_machine(option: str) -> str | None:
    """What to do about an option that the measuring program does not have."""
    if option in WAYS_TO_LAUNCH:
        return f"name those of this machine: {WAYS_TO_LAUNCH[option]}"
    if option in TWIN_OPTIONS:
        return "a twin has it: --twin PLATFORM"
    return did_you_mean(option, list(KERNEL_OPTIONS))


def refuse_unknown(trial: Trial, own: Iterable[str]) -> None:
    """Raises InputError for an option that neither a twin nor the benchmark (its `own`) has."""
    known = [*KERNEL_OPTIONS, *TWIN_OPTIONS, *own]
    for option in trial.options:
        if option not in known:
            raise InputError(
                f"a twin has no option '{option}'",
                where=f"trial {trial.id}",
                expected=", ".join(known),
                hint=did_you_mean(option, known),
            )
