"""Options of trials between GPUs that a twin would ignore, or could not carry out."""

from collections.abc import Sequence

from weft.bench.model import Trial
from weft.bench.twin.fault import Fault
from weft.bench.twin.gpu.network import gpu_network
from weft.bench.twin.gpu.rails import switched_gpus
from weft.catalog.benchmark import Benchmark
from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError

WHOLE = 'gpu_network = "rails"'


def check_gpu_options(
    platform: Platform, measured: Benchmark, trial: Trial, fidelity: str, faults: Sequence[Fault]
) -> None:
    """Raises InputError for options between GPUs that would look as if they had an effect."""
    network = gpu_network(trial)
    by_rails = network is not None and network.by_rails
    is_pairs = measured.kind == "pairs"
    if "matchings" in trial.options and (not is_pairs or "rounds" in trial.options):
        raise _refused(trial, "option 'matchings'", "pairs without option 'rounds'")
    if "matchings" in trial.options and len(trial.nodes) < 2:
        raise _refused(trial, "option 'matchings' on one node", "two nodes or more")
    if "rails" in trial.options and not (by_rails and measured.name == "allreduce"):
        raise _refused(trial, "option 'rails'", f"an allreduce with {WHOLE}")
    if network is None or not network.by_rails:
        return
    most = switched_gpus(platform).per_node.whole
    if trial.tasks_per_node > most:
        what = f"{trial.tasks_per_node} ranks on a node of {most} GPUs"
        raise _refused(trial, what, f"at most {most}")
    if fidelity != "packet":
        what = f"option 'gpu_network' by rails with --fidelity {fidelity}"
        raise _refused(trial, what, "--fidelity packet")
    if "in_network" in trial.options or "node" in trial.options:
        what = "option 'in_network' or 'node' with 'gpu_network' by rails"
        raise _refused(trial, what, "one of them: GPU nodes have both")
    if network.one_rail and faults:
        what = f"one rail for all, and a fault: {faults[0].describe()}"
        raise _refused(trial, what, "rails that are alike", f"{WHOLE} simulates all of them")
    if network.one_rail and measured.name != "allreduce":
        raise _refused(trial, f"{measured.name} by one rail", f"an allreduce, or {WHOLE}")


def _refused(trial: Trial, what: str, expected: str, hint: str | None = None) -> InputError:
    return InputError(what, where=f"trial {trial.id}", expected=expected, hint=hint)
