"""Options that price the steps of two jobs: each holds for both, or is FIRST,SECOND."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from weft.cli.train.step_options import WAYS, asked_step, layout_of_batch
from weft.core.errors import InputError

if TYPE_CHECKING:
    from weft.results.training.model import Stated
    from weft.train.layout import ModelLayout
    from weft.train.log.given_figures import GivenFigures
    from weft.train.log.judged_run import JudgedRun
    from weft.train.log.step_parts import PricedStep

NEEDED = ("platform", "model", "precision")
"""Options without which no step is priced: a log never states them all."""
_DIMENSIONS = {
    "tp": "Tensor parallelism.",
    "pp": "Pipeline parallelism.",
    "cp": "Context parallelism.",
    "ep": "Expert parallelism.",
    "vp": "Virtual stages.",
    "micro-batch": "Sequences at once.",
}
_STATED_BY_OPTION = ("tp", "pp", "micro_batch")
"""Of these no job has a usual value; the other dimensions are 1 where nothing states them."""
_WORDS = ("first", "second")


class OneOrTwoOf(click.ParamType[tuple[Any, Any]]):
    """'4', of both jobs, or '4,8'."""

    def __init__(self, each: click.ParamType[Any]) -> None:
        self.each = each
        self.name = each.name

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Any, Any]:
        """The value of each job."""
        parts = str(value).split(",")
        if len(parts) > 2:
            self.fail(f"'{value}' has more than two values", param, ctx)
        first, second = (self.each.convert(one, param, ctx) for one in (parts[0], parts[-1]))
        return first, second


_OPTIONS: dict[str, tuple[click.ParamType[Any], str]] = {
    "platform": (click.STRING, "Platform that a step is priced on, to say which part moved."),
    "model": (click.STRING, "A model of the catalogue, or a .toml file."),
    "precision": (click.Choice(["bf16", "fp8"]), "Of products of matrices."),
    "layers": (WAYS, "Fewer or more layers than the model has."),
    **{
        name: (WAYS, f"{text[:-1]}; as the log states, if not given.")
        for name, text in _DIMENSIONS.items()
    },
    "recompute": (
        click.Choice(["none", "attention", "half", "full"]),
        "Activations computed again.",
    ),
    "sharding": (click.Choice(["none", "optimizer", "full"]), "What replicas share out."),
    "transport": (click.Choice(["rdma", "sockets"]), "What carries messages between nodes."),
}


@dataclass(frozen=True, slots=True)
class StepPairs:
    """What the options say of each of two jobs, None where they do not."""

    values: tuple[dict[str, Any], dict[str, Any]]

    @property
    def are_given(self) -> bool:
        """Whether any option is."""
        return any(value is not None for side in self.values for value in side.values())


def step_pair_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options, passed on as `steps`."""
    names = [name.replace("-", "_") for name in _OPTIONS]

    @functools.wraps(command)
    def with_steps(**kwargs: Any) -> Any:
        pairs = {name: kwargs.pop(f"step_{name}") or (None, None) for name in names}
        sides = tuple({name: pair[i] for name, pair in pairs.items()} for i in range(2))
        return command(steps=StepPairs((sides[0], sides[1])), **kwargs)

    wrapped: Callable[..., Any] = with_steps
    for name, (each, text) in reversed(_OPTIONS.items()):
        option = click.option(
            f"--{name}",
            f"step_{name.replace('-', '_')}",
            type=OneOrTwoOf(each),
            metavar="X[,X]",
            help=text,
        )
        wrapped = option(wrapped)
    return wrapped


def priced_step(
    side: int, steps: StepPairs, judged: "JudgedRun | None", given: "GivenFigures"
) -> "PricedStep":
    """The step of the first (0) or second (1) job. Raises InputError for what neither the options
    nor the log state, and for a step that cannot be."""
    from weft.results.training.model import TrainingFacts
    from weft.train.layout import ModelLayout, check_layout
    from weft.train.log.step_parts import PricedStep
    from weft.train.published import shape_of
    from weft.train.step_constants import step_constants
    from weft.train.step_time import StepModel, step_time

    options, rates = steps.values[side], judged.rates if judged else None
    figures = {
        "gpus": given.gpus or _whole(rates.gpus if rates else None),
        "batch": given.batch or _whole(rates.batch if rates else None),
        "sequence": given.sequence or _whole(rates.sequence if rates else None),
    }
    facts = judged.run.facts if judged else TrainingFacts()
    ways = {name: options[name] or _whole(getattr(facts, name)) for name in _ways()}
    _refuse_lacking(side, options, figures, ways, is_log=judged is not None)
    asked = asked_step(options["platform"], _of_expect(options, figures["sequence"]))
    if asked.model.transformer is None or asked.gpu is None:
        raise InputError(
            f"the step of {asked.model.name} has no parts that the model tells apart",
            expected="a model with [transformer]",
            hint="weft train expect prices it",
        )
    shape = shape_of(asked.model)
    known = {name: value or 1 for name, value in ways.items()}
    # Dimensions that cannot be are named before the batch that does not fit them.
    check_layout(asked.model, shape, ModelLayout(figures["gpus"] or 1, **known, ga=known["pp"]))
    layout = _layout(side, figures, known)
    check_layout(asked.model, shape, layout)
    step = StepModel(
        asked.model, shape, layout, asked.method, asked.prices, asked.gpu, step_constants()
    )
    steady = judged.steady if judged else None
    return PricedStep(step, step_time(step), steady.summary if steady else None)


def _ways() -> list[str]:
    return [name.replace("-", "_") for name in _DIMENSIONS]


def _whole(stated: "Stated | None") -> int | None:
    return round(stated.value) if stated is not None else None


def _of_expect(options: dict[str, Any], sequence: int | None) -> dict[str, Any]:
    """The options of `weft train expect`, those not given as its own defaults."""
    return {
        "model_name": options["model"],
        "layers": options["layers"],
        "sequence": sequence,
        "precision": options["precision"],
        "recompute": options["recompute"],
        "sharding": options["sharding"] or "optimizer",
        "overlap": "tp,cp,pp,dp",
        "transport": options["transport"] or "rdma",
        "without_gpudirect": False,
        "lost_rails": 0,
        "taper": 1.0,
        "static_routes": False,
    }


def _refuse_lacking(
    side: int,
    options: dict[str, Any],
    figures: dict[str, int | None],
    ways: dict[str, int | None],
    *,
    is_log: bool,
) -> None:
    """Raises InputError that names every option which is needed."""
    lacking = [name for name in NEEDED if options[name] is None]
    lacking += [name for name in ("gpus", "batch") if figures[name] is None]
    if is_log:
        lacking += ["sequence"] if figures["sequence"] is None else []
        lacking += [name for name in _STATED_BY_OPTION if ways[name] is None]
    if not lacking:
        return
    named = [f"--{name.replace('_', '-')}" for name in lacking]
    source = f"the {_WORDS[side]} log and the options do" if is_log else "the options do"
    raise InputError(
        f"no price of the {_WORDS[side]} step: {source} not state {', '.join(lacking)}",
        expected="all that the time of a step depends on",
        hint=f"{' '.join(f'{name} X' for name in named)}, or FIRST,SECOND where they differ",
    )


def _layout(side: int, figures: dict[str, int | None], ways: dict[str, int]) -> "ModelLayout":
    """The layout, with the micro-batches that the batch needs. Raises InputError."""
    of = f"the {_WORDS[side]} step: "
    return layout_of_batch(figures["gpus"] or 1, figures["batch"] or 1, ways, "--batch", of)
