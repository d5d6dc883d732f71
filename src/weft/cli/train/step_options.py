"""Options of `weft train expect` and `weft train plan`: the model, the method, the network."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from weft.cli.options import FILE, GPU_COUNT, Decorator, NumberRange, Several
from weft.core.errors import InputError

if TYPE_CHECKING:
    from weft.catalog.libraries.model_document import ModelDocument
    from weft.catalog.libraries.training_gpus import TrainingGpu
    from weft.train.layout import ModelLayout, StepMethod
    from weft.train.network_state import NetworkState
    from weft.train.prices import CollectivePrices

WAYS = click.IntRange(min=1, max=1 << 20)
GPUS = click.IntRange(1, GPU_COUNT.max)
"""One GPU exchanges nothing, but it trains."""

_MODEL = (
    click.option(
        "--model", "model_name", required=True, metavar="M", help="A model, or a .toml file."
    ),
    click.option("--gpus", "n_gpus", type=GPUS, help="GPUs in all."),
    click.option("--layers", type=WAYS, help="Fewer or more layers than the model has."),
    click.option("--sequence", type=WAYS, help="Tokens of a sample."),
    click.option(
        "--precision",
        type=click.Choice(["bf16", "fp8"]),
        default="bf16",
        show_default=True,
        help="Of products of matrices.",
    ),
    click.option(
        "--recompute",
        type=click.Choice(["none", "attention", "half", "full"]),
        help="Activations computed again in the backward pass.",
    ),
    click.option(
        "--sharding",
        type=click.Choice(["none", "optimizer", "full"]),
        default="optimizer",
        show_default=True,
        help="What replicas share out: nothing, the optimizer's state, all (FSDP).",
    ),
    click.option(
        "--overlap",
        type=Several(["tp", "ep", "cp", "pp", "dp", "none"]),
        default="tp,cp,pp,dp",
        show_default=True,
        help="Dimensions whose exchanges run beside computing.",
    ),
)
_NETWORK = (
    click.option(
        "--transport",
        type=click.Choice(["rdma", "sockets"]),
        default="rdma",
        show_default=True,
        help="What carries messages between nodes.",
    ),
    click.option("--without-gpudirect", is_flag=True, help="Copy through host memory."),
    click.option("--lost-rails", type=click.IntRange(min=0), default=0, help="HCAs that are down."),
    click.option(
        "--taper",
        type=NumberRange(min=1, max=64),
        default=1.0,
        help="Rate down over rate up of a leaf, as 2 for 2:1.",
    ),
    click.option("--static-routes", is_flag=True, help="Flows share up-links by chance."),
    click.option(
        "--twin", is_flag=True, help="Simulate exchanges between nodes, beside NCCL's model."
    ),
    click.option(
        "--aggressor",
        "aggressors",
        multiple=True,
        metavar="PATTERN[:SIZE]@NODES",
        help="With --twin: another job on the nodes between. Repeatable.",
    ),
    click.option(
        "--trace",
        type=FILE,
        help="Write one step there, a directory, as a Chakra execution trace.",
    ),
)


def step_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a step's model, method and network."""
    decorators: tuple[Decorator, ...] = (*_MODEL, *_NETWORK)
    for option in reversed(decorators):
        command = option(command)
    return command


def aggressors_of_options(given: dict[str, Any]) -> tuple[str, ...]:
    """The texts of --aggressor. Raises InputError."""
    from weft.bench.aggressor import parse_aggressor
    from weft.core.errors import InputError

    texts: tuple[str, ...] = given["aggressors"]
    if texts and not given["twin"]:
        raise InputError("--aggressor without --twin", expected="--twin, which simulates it")
    for text in texts:
        parse_aggressor(text)
    return texts


@dataclass(frozen=True, slots=True)
class AskedStep:
    """What the options say of a step. `gpu` is None of a model without a transformer."""

    model: "ModelDocument"
    method: "StepMethod"
    prices: "CollectivePrices"
    gpu: "TrainingGpu | None"


def asked_step(platform: str, given: dict[str, Any]) -> AskedStep:
    """The step of the options. Raises InputError."""
    from weft.catalog.libraries.training_gpus import gpu_of
    from weft.catalog.load import trained_model
    from weft.doctor.machine.detection.document import platform_named
    from weft.train.layout import StepMethod
    from weft.train.parameters import check_parameters
    from weft.train.prices import CollectivePrices
    from weft.train.published import resized

    words = [] if given["overlap"] == "none" else given["overlap"].split(",")
    if "none" in words:
        raise click.UsageError("--overlap none contradicts the other dimensions of --overlap")
    document = platform_named(platform)
    model = resized(
        trained_model(given["model_name"], check_parameters),
        layers=given["layers"] or 0,
        sequence=given["sequence"] or 0,
    )
    method = StepMethod(
        precision=given["precision"],
        recompute=given["recompute"] or "none",
        sharding=given["sharding"],
        overlap=frozenset(words),
    )
    gpu = gpu_of(document, given["precision"]) if model.transformer is not None else None
    return AskedStep(model, method, CollectivePrices(document, _network(document, given)), gpu)


def _network(document: Any, given: dict[str, Any]) -> "NetworkState":
    from weft.core.errors import InputError
    from weft.train.network_state import NetworkState

    lost, hcas = given["lost_rails"], max(1, document.hcas_per_node)
    if lost >= hcas:
        raise InputError(
            f"{lost} lost rails of {hcas}",
            expected=f"at most {hcas - 1}, so that nodes still reach one another",
            hint=f"the nearest possible value is --lost-rails {hcas - 1}",
        )
    sockets = given["transport"] == "sockets"
    return NetworkState(
        taper=given["taper"],
        lost_rails=lost,
        static_routes=given["static_routes"],
        transport="sockets" if sockets else "",
        gpudirect=not given["without_gpudirect"],
    )


def layout_of_batch(
    n_gpus: int, batch: int, ways: dict[str, int], option: str, of: str = ""
) -> "ModelLayout":
    """A layout with the micro-batches that `batch` sequences need; `option` names them, and `of`
    the step in an error. Raises InputError."""
    from weft.train.layout import ModelLayout

    layout = ModelLayout(n_gpus, **ways)
    at_once = layout.micro_batch * max(1, layout.dp)
    if batch % at_once:
        near = max(1, round(batch / at_once)) * at_once
        raise InputError(
            f"{of}{batch} sequences a step on DP {layout.dp} with micro-batches of"
            f" {layout.micro_batch}",
            expected=f"a multiple of {at_once}",
            hint=f"the nearest possible value is {option} {near}",
        )
    return ModelLayout(n_gpus, **ways, ga=batch // at_once)
