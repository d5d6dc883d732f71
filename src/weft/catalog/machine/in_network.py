"""What a platform's switches reduce by themselves (SHARP)."""

from typing import Any

from pydantic import Field

from weft.catalog.document import Bytes, Document, Figure, Nanoseconds, Slug


class InNetwork(Document):
    """Reductions of small buffers in switches: the scenario's `in_network`.

    `collectives` are those that the library hands over, up to `most` bytes. `reduction` is an
    aggregation node's time for an operation, `payload` an operation's size, `outstanding` how many
    are in flight. `task` is a leader's time for each further task of its node.
    """

    collectives: tuple[Slug, ...] = Field(min_length=1)
    most: Bytes
    reduction: Nanoseconds
    payload: Bytes
    outstanding: Figure
    task: Nanoseconds | None = None

    def reduces(self, benchmark: str, size_bytes: int) -> bool:
        """Whether switches take a collective of a size."""
        return benchmark in self.collectives and size_bytes <= self.most.whole

    def to_scenario(self) -> dict[str, Any]:
        """The keys of the engine."""
        found = {
            "reduction_ns": self.reduction.value,
            "payload_bytes": self.payload.whole,
            "outstanding": self.outstanding.whole,
            "max_bytes": self.most.whole,
        }
        return found if self.task is None else {**found, "task_ns": self.task.value}
