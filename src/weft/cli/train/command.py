"""`weft train`: what a step of training should cost, and how to lay a model out."""

import click

from weft.cli.lazy import LazyVerbs

VERBS = {
    "expect": "A step's time, memory and exchanges, and what limits it.",
    "plan": "Layouts of a model that fit on so many GPUs, and what a worse network costs.",
}
"""Verb -> one line. Each lives in weft.cli.train.VERB, as `command`."""


@click.group("train", cls=LazyVerbs, verbs=VERBS, folder="train")
def command() -> None:
    """Training jobs: what a step should cost."""
