"""The one door to every expectation: a platform and conditions in, value and limits out."""

from dataclasses import replace

from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError, unknown_name
from weft.core.units import format_size
from weft.expect.algorithms import ALGORITHMS
from weft.expect.collectives import collective
from weft.expect.model import Conditions, Expectation
from weft.expect.nccl.collectives import nccl
from weft.expect.pt2pt import BENCHMARKS, pt2pt
from weft.expect.wire import is_physical

PREDICTABLE: tuple[str, ...] = (*BENCHMARKS, *ALGORITHMS)
"""Benchmarks with a closed form."""


def predict(platform: Platform, conditions: Conditions) -> Expectation:
    """What the platform should deliver. Raises InputError where no closed form covers it."""
    _refuse_nonsense(platform, conditions)
    if conditions.library == "nccl":
        return _with_known_adapters(platform, conditions, nccl(platform, conditions))
    form = pt2pt if conditions.benchmark in BENCHMARKS else collective
    return _marked(platform, conditions, form(platform, conditions))


def _with_known_adapters(
    platform: Platform, conditions: Conditions, found: Expectation
) -> Expectation:
    """Without a limit where GPUs talk over adapters whose rate or number is only assumed."""
    if platform.links is None or (conditions.inside_node and not conditions.transport):
        return found
    link, hcas = platform.links.host, platform.node.get("hcas")
    if is_physical(link.most or link.rate) and (hcas is None or is_physical(hcas)):
        return found
    return replace(found, limit=None, limit_name="")


def _marked(platform: Platform, conditions: Conditions, found: Expectation) -> Expectation:
    """A prediction beyond the rows its platform was fitted on says so after its source."""
    fit, size = platform.fit, conditions.size_bytes
    if fit is None or fit.covers(size) or (size == 0 and conditions.benchmark == "barrier"):
        return found
    low, high = format_size(fit.min_bytes), format_size(fit.max_bytes)
    outside = f"{format_size(size)} is outside the fit ({low} to {high})"
    return replace(found, source=f"{found.source}; {outside}")


def _refuse_nonsense(platform: Platform, conditions: Conditions) -> None:
    if conditions.benchmark not in PREDICTABLE:
        raise unknown_name(
            f"no closed form of '{conditions.benchmark}'", conditions.benchmark, PREDICTABLE
        )
    for name in ("n_nodes", "tasks_per_node"):
        if getattr(conditions, name) < 1:
            raise InputError(f"{name} = {getattr(conditions, name)}", expected="1 or more")
    if conditions.size_bytes < 0:
        raise InputError(f"a size of {conditions.size_bytes} B", expected="0 or more")
    nodes = platform.facts.get("nodes")
    if nodes is not None and conditions.n_nodes > nodes.value:
        raise InputError(
            f"{conditions.n_nodes} nodes of platform '{platform.name}'",
            expected=f"at most {nodes.whole}, which is all it has",
        )
    if conditions.memory == "gpu" and platform.gpus is None:
        raise InputError(
            f"platform '{platform.name}' has no GPUs",
            expected="memory host, or a platform with [gpus]",
        )
