"""A step of a synthetic benchmark of images: computing, and allreduces that it hides in part, each
priced by the NCCL model. The twin runs the same step (`weft.bench.twin.training_step`)."""

from dataclasses import dataclass

from weft.bench.twin.training_step import TrainingStep, buckets_of
from weft.catalog.libraries.model_document import ModelDocument
from weft.catalog.libraries.training_model import synthetic_benchmarks
from weft.core.errors import InputError
from weft.train.prices import CollectivePrices, group_of


@dataclass(frozen=True, slots=True)
class ImageStep:
    """Seconds of a step, of its computing, and of all allreduces; images a second of all GPUs.
    `sizes` are the bytes of each allreduce."""

    seconds: float
    compute_s: float
    exchanged_s: float
    images_per_s: float
    sizes: tuple[int, ...]

    @property
    def exposed_s(self) -> float:
        """What computing does not hide."""
        return self.seconds - self.compute_s


def image_step(
    model: ModelDocument,
    prices: CollectivePrices,
    n_gpus: int,
    framework: str = "horovod",
    *,
    per_node: int | None = None,
) -> ImageStep:
    """The step on `n_gpus`, `per_node` of them on each node (None: as many as it has). Raises
    InputError where the GPU's rate is not known."""
    known = synthetic_benchmarks()
    if model.synthetic_benchmark is None or prices.platform.gpus is None:
        raise InputError(f"{model.name} is no synthetic benchmark", expected="resnet-50 or such")
    trained = known.model(model.synthetic_benchmark)
    compute_ns = known.compute_ns(trained, prices.platform.gpus.architecture)
    backward_ns = known.backward_share.value * compute_ns
    buckets = list(buckets_of(trained, known.framework(framework), backward_ns))
    sizes = tuple(size for size, _ in buckets)
    ready = tuple(compute_ns - backward_ns + at_ns for _, at_ns in buckets)
    group = group_of(n_gpus, 1, per_node or prices.gpus_per_node, n_gpus)
    each_ns = [1e9 * prices.seconds("allreduce", size, group) for size in sizes]
    step_ns = TrainingStep(sizes, ready, compute_ns, known.batch.whole).time_ns(each_ns)
    images = n_gpus * known.batch.whole / step_ns * 1e9
    return ImageStep(step_ns / 1e9, compute_ns / 1e9, sum(each_ns) / 1e9, images, sizes)
