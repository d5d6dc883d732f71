"""The one door to every closed form: a platform and conditions in, an expectation out."""

from weft.catalog.platform import Platform
from weft.core.errors import InputError
from weft.expect import closed_forms
from weft.expect.model import Conditions, Expectation
from weft.expect.nccl import nccl


def predict(platform: Platform, conditions: Conditions) -> Expectation:
    """What the platform should deliver. Raises InputError where no closed form covers it."""
    if conditions.library == "nccl":
        return nccl(platform, conditions)
    if conditions.benchmark == "latency":
        return closed_forms.latency(platform, conditions.size_bytes)
    if conditions.benchmark == "bandwidth":
        return closed_forms.bandwidth(platform, conditions.size_bytes, conditions.window)
    if platform.algorithm(conditions.benchmark, conditions.size_bytes) is not None:
        return closed_forms.collective(
            platform, conditions.benchmark, conditions.size_bytes, conditions.n_ranks
        )
    raise InputError(
        f"no closed form of '{conditions.benchmark}' on platform '{platform.name}'",
        expected="a benchmark that `weft expect` lists",
    )
