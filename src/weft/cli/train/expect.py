"""`weft train expect`: the time of a step of training, by part."""

from typing import Any

import click

from weft.cli.output import emit, format_option
from weft.cli.train.step_options import (
    WAYS,
    AskedStep,
    aggressors_of_options,
    asked_step,
    layout_of_batch,
    step_options,
)

TRANSFORMER_ONLY = ("ga", "global_batch", "layers", "sequence", "recompute")


@click.command("expect")
@click.argument("platform", metavar="PLATFORM")
@step_options
@click.option("--tp", type=WAYS, default=1, help="Tensor parallelism.")
@click.option("--pp", type=WAYS, default=1, help="Pipeline parallelism.")
@click.option("--cp", type=WAYS, default=1, help="Context parallelism.")
@click.option("--ep", type=WAYS, default=1, help="Expert parallelism, a part of DP.")
@click.option(
    "--etp", type=WAYS, help="Tensor parallelism of experts; EP is then a part of TP x CP x DP."
)
@click.option("--dp", type=WAYS, help="Data parallelism; what the others leave, if not given.")
@click.option("--vp", type=WAYS, default=1, help="Virtual stages of a pipeline stage.")
@click.option("--micro-batch", type=WAYS, default=1, show_default=True, help="Sequences at once.")
@click.option("--ga", type=WAYS, help="Micro-batches of a step; 1, if not given.")
@click.option("--global-batch", type=WAYS, help="Sequences of a step, in place of --ga.")
@click.option(
    "--ignore-memory", is_flag=True, help="Price a layout too that does not fit into memory."
)
@format_option
def command(platform: str, format_: str, **given: Any) -> None:
    """How long does a step take, what does it hold and exchange, and what limits it?

    PLATFORM is a name of the catalogue or a .toml file of your own; so is the model of --model.
    A layout that does not fit into the GPUs' memory is exit 2, with the sum by part. NCCL's model
    prices every exchange. Three figures of a step were fitted. With --twin exchanges
    between nodes are simulated, as flows where they are many.
    """
    asked = asked_step(platform, given)
    neighbours = aggressors_of_options(given)
    if asked.model.transformer is None:
        _image_step(asked, given, format_)
        return
    from weft.cli.train.expect_text import record_of, rows_of, step_text
    from weft.cli.train.memory_refusal import refuse_too_large
    from weft.cli.train.twin_text import write_trace
    from weft.train.memory import memory_sum
    from weft.train.step_time import step_time
    from weft.train.twin.prices import on_twin

    step = _transformer_step(asked, given)
    memory = memory_sum(step.shape, step.layout, step.method, step.gpu, step.sequence)
    if not given["ignore_memory"]:
        refuse_too_large(step, memory)
    model = found = step_time(step)
    if given["trace"] is not None:
        write_trace(step, given["trace"])
    if given["twin"]:
        step = on_twin(step, neighbours)
        found = step_time(step)
    emit(
        format_,
        text=lambda: step_text(step, found, memory, model),
        record=record_of(step, found, memory, model),
        rows=rows_of(step, found),
    )


def _transformer_step(asked: AskedStep, given: dict[str, Any]) -> Any:
    from weft.train.layout import check_layout
    from weft.train.published import shape_of
    from weft.train.step_constants import step_constants
    from weft.train.step_time import StepModel

    shape, layout = shape_of(asked.model), _layout(given)
    check_layout(asked.model, shape, layout)
    assert asked.gpu is not None
    return StepModel(
        asked.model, shape, layout, asked.method, asked.prices, asked.gpu, step_constants()
    )


def _layout(given: dict[str, Any]) -> Any:
    """The layout of the options, of which --dp and --global-batch must agree with the others.
    Raises InputError."""
    from weft.core.errors import InputError
    from weft.train.layout import ModelLayout

    ways = {name: given[name] for name in ("tp", "pp", "cp", "ep", "vp", "micro_batch")}
    ways["etp"] = given["etp"] or 0
    per_replica = ways["tp"] * ways["pp"] * ways["cp"]
    n_gpus = given["n_gpus"] or per_replica * (given["dp"] or 1)
    if given["dp"] and n_gpus != per_replica * given["dp"]:
        raise InputError(
            f"{n_gpus} GPUs are not TP {ways['tp']} x PP {ways['pp']} x CP {ways['cp']}"
            f" x DP {given['dp']} = {per_replica * given['dp']}",
            expected="--gpus or --dp alone",
            hint=f"the nearest possible value is --dp {max(1, n_gpus // per_replica)}",
        )
    layout = ModelLayout(n_gpus, **ways, ga=given["ga"] or 1)
    batch = given["global_batch"]
    if batch is None:
        return layout
    if given["ga"]:
        raise click.UsageError("--ga and --global-batch say the same: give one of them")
    return layout_of_batch(n_gpus, batch, ways, "--global-batch")


def _image_step(asked: AskedStep, given: dict[str, Any], format_: str) -> None:
    from weft.cli.train.image_text import image_record, image_text
    from weft.core.errors import InputError
    from weft.train.data_parallel import image_step

    wrong = [n for n in ("tp", "pp", "cp", "ep", "vp", "micro_batch") if given[n] > 1]
    if wrong:
        name = wrong[0].replace("_", "-")
        raise InputError(
            f"--{name} {given[wrong[0]]}: {asked.model.name} is trained with data parallelism only",
            expected="--gpus alone",
            hint=f"the nearest possible value is --{name} 1",
        )
    ignored = [name for name in (*TRANSFORMER_ONLY, "etp") if given[name] is not None]
    ignored += [name for name in ("twin", "trace", "ignore_memory") if given[name]]
    if given["precision"] != "bf16":
        ignored.append("precision")
    if ignored:
        raise InputError(
            f"--{ignored[0].replace('_', '-')}: {asked.model.name} is a synthetic benchmark with a"
            " step of its own",
            expected="options of the network and --gpus",
            hint="leave it out",
        )
    n_gpus = given["n_gpus"] or given["dp"] or 1
    if given["dp"] not in (None, n_gpus):
        raise InputError(
            f"{n_gpus} GPUs are not DP {given['dp']}",
            expected="--gpus or --dp alone",
            hint=f"the nearest possible value is --dp {n_gpus}",
        )
    found = image_step(asked.model, asked.prices, n_gpus)
    record = image_record(asked.model, asked.prices, n_gpus, found)
    emit(
        format_,
        text=lambda: image_text(asked.model, asked.prices, n_gpus, found),
        record=record,
        rows=[record],
    )
