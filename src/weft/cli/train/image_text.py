"""The text of a step of a synthetic benchmark of images."""

from typing import Any

from weft.catalog.libraries.model_document import ModelDocument
from weft.core.units import format_size_roughly
from weft.train.data_parallel import ImageStep
from weft.train.prices import CollectivePrices


def image_text(model: ModelDocument, prices: CollectivePrices, n_gpus: int, step: ImageStep) -> str:
    """The rate first, then what a step is made of."""
    share = step.compute_s / step.seconds
    binds = "computing binds" if step.exposed_s < step.compute_s else "allreduces bind"
    sizes = " to ".join(format_size_roughly(n) for n in (min(step.sizes), max(step.sizes)))
    return "\n".join(
        [
            f"EXPECT   {step.images_per_s:,.0f} images/s of {model.name} on {n_gpus} GPUs of"
            f" {prices.platform.name}: {binds}",
            "",
            f"step       {1e3 * step.seconds:8.2f} ms  Horovod, 32 images a GPU",
            f"computing  {1e3 * step.compute_s:8.2f} ms  {share:.1%} of the step",
            f"exposed    {1e3 * step.exposed_s:8.2f} ms"
            f"  of {1e3 * step.exchanged_s:.2f} ms of exchanges",
            f"allreduces {len(step.sizes):8}     of {sizes}",
        ]
    )


def image_record(
    model: ModelDocument, prices: CollectivePrices, n_gpus: int, step: ImageStep
) -> dict[str, Any]:
    """The same as a flat record."""
    return {
        "model": model.name,
        "platform": prices.platform.name,
        "n_gpus": n_gpus,
        "step_s": step.seconds,
        "compute_s": step.compute_s,
        "exposed_s": step.exposed_s,
        "images_per_s": step.images_per_s,
        "scaling_efficiency": step.compute_s / step.seconds,
    }
