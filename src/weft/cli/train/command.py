"""`weft train`: what training logs say of a job's steps, and what a step should cost."""

import click

from weft.cli.lazy import LazyVerbs

VERBS = {
    "read": "Step time, tokens/s and stragglers of training logs; what was left out and why.",
    "expect": "A step's time, memory and exchanges, and what limits it.",
    "plan": "Layouts of a model that fit on so many GPUs, and what a worse network costs.",
    "compare": "Two logs or steps: speed-up, efficiency, and which part of the step moved.",
}
"""Verb -> one line. Each lives in weft.cli.train.VERB, as `command`."""


@click.group("train", cls=LazyVerbs, verbs=VERBS, folder="train")
def command() -> None:
    """Training jobs: the steps of their logs, and what a step should cost.

    Logs of NeMo, Megatron-LM, Megatron-DeepSpeed, torchtitan, Horovod's synthetic benchmarks and
    Lightning, and step times as CSV; each is known by its content.
    """
