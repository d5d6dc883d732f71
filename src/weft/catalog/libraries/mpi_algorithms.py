"""The algorithm that an MPI library takes for a collective (schema weft.algorithms/1).

A document is what the library's own decision functions say, by number of ranks and message size.
Sizes are those of the OSU benchmarks: the whole buffer of allreduce, reduce_scatter, broadcast and
reduce, a block otherwise.
"""

from functools import cache
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field, model_validator

from weft.catalog.document import Document, Slug, SourceClass, Text
from weft.catalog.toml_file import catalogue_document, catalogue_names
from weft.core.errors import unknown_name

Positive = Annotated[int, Field(ge=1)]

TWO_LEVEL = "two_level"
"""The engine's algorithm that goes node by node."""


class Levels(Document):
    """How an algorithm goes node by node: `leaders` of a node, each for as many of its tasks, and
    `between` them another algorithm (absent: the operation's default)."""

    between: Slug | None = None
    leaders: Positive = 1

    @model_validator(mode="after")
    def _levels_are_of_two_level(self) -> "Levels":
        is_two_level = getattr(self, "engine", getattr(self, "algorithm", "")) == TWO_LEVEL
        if not is_two_level and (self.between is not None or self.leaders > 1):
            raise ValueError(f"'between' and 'leaders' belong to '{TWO_LEVEL}'")
        return self


class LibraryAlgorithm(Levels):
    """An algorithm under the library's name, and the engine's that is it, or stands for it.

    `exact`: they send the same messages; otherwise `note` says what differs. `window`: partners at
    a time, where the engine's algorithm has such a number and the library's is not its default.
    """

    benchmark: Slug
    name: Slug
    engine: Slug
    window: Positive | None = None
    exact: bool = True
    note: str = ""

    @model_validator(mode="after")
    def _a_difference_is_named(self) -> "LibraryAlgorithm":
        if self.exact == bool(self.note):
            raise ValueError("a note where, and only where, the algorithms differ")
        return self


class Choice(Document):
    """The algorithms below a number of ranks (absent: of any number) from so many tasks a node on,
    by size.

    Each of `below` is a size in bytes and what is taken for smaller ones; `else_` for all others.
    With `size = "all"` it is the blocks of all ranks together that are compared. Choices are tried
    in order; `power_of_two` ones only hold for such numbers of ranks.
    """

    benchmark: Slug
    below_ranks: Positive | None = None
    tasks_per_node: Positive = 1
    power_of_two: bool = False
    size: Literal["one", "all"] = "one"
    below: tuple[tuple[Positive, Slug], ...] = ()
    else_: Slug = Field(alias="else")

    @model_validator(mode="after")
    def _sizes_rise(self) -> "Choice":
        if any(a >= b for (a, _), (b, _) in pairwise(self.below)):
            raise ValueError("sizes rise from one entry of 'below' to the next")
        return self

    def holds(self, n_ranks: int, tasks_per_node: int) -> bool:
        """Whether it is the choice of so many ranks, on nodes of so many."""
        few = self.below_ranks is None or n_ranks < self.below_ranks
        return (
            few
            and tasks_per_node >= self.tasks_per_node
            and (not self.power_of_two or n_ranks & (n_ranks - 1) == 0)
        )

    def name(self, n_ranks: int, size_bytes: int) -> str:
        """The library's name of the algorithm."""
        compared = size_bytes * n_ranks if self.size == "all" else size_bytes
        return next((name for limit, name in self.below if compared < limit), self.else_)


class MpiAlgorithms(Document):
    """The choices of one library, for commutative operations of built-in types."""

    schema_: Literal["weft.algorithms/1"] = Field(alias="schema")
    library: Text
    version: Text
    class_: SourceClass = Field(alias="class")
    source: Text
    notes: tuple[str, ...] = ()
    algorithms: tuple[LibraryAlgorithm, ...] = Field(min_length=1)
    choices: tuple[Choice, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _every_choice_stands_for_something(self) -> "MpiAlgorithms":
        known = [(stand.benchmark, stand.name) for stand in self.algorithms]
        if len(set(known)) != len(known):
            raise ValueError("each algorithm once")
        for choice in self.choices:
            for name in (*(name for _, name in choice.below), choice.else_):
                if (choice.benchmark, name) not in known:
                    raise ValueError(f"no algorithm '{name}' of {choice.benchmark} is listed")
        return self

    def choose(
        self, benchmark: str, n_ranks: int, size_bytes: int, tasks_per_node: int = 1
    ) -> LibraryAlgorithm | None:
        """The library's choice; None where it is not known of this benchmark."""
        for choice in self.choices:
            if choice.benchmark == benchmark and choice.holds(n_ranks, tasks_per_node):
                name = choice.name(n_ranks, size_bytes)
                stands = (s for s in self.algorithms if (s.benchmark, s.name) == (benchmark, name))
                return next(stands)
        return None


@cache
def mpi_algorithms(name: str) -> MpiAlgorithms:
    """A document of the catalogue. Raises InputError."""
    known = mpi_algorithms_names()
    if name not in known:
        raise unknown_name(f"no MPI library '{name}' in the catalogue", name, known)
    return catalogue_document(MpiAlgorithms, f"algorithms/{name}.toml", "list of algorithms")


def mpi_algorithms_names() -> list[str]:
    """Libraries whose choices are known, sorted."""
    return catalogue_names("algorithms")
