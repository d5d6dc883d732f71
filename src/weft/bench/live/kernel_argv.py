"""From a trial to the kernel's command line, and the rounds file of a `pairs` trial."""

from collections.abc import Callable, Mapping
from typing import Any

from weft.bench.model import Trial
from weft.bench.options import KERNEL_OPTIONS, hint_on_machine
from weft.bench.phase import phases_of
from weft.core.errors import InputError, did_you_mean
from weft.core.units import parse_size

KERNEL_BENCHMARKS = (
    *("latency", "bandwidth", "bidirectional", "message_rate", "fan_in", "fan_out"),
    *("random_ring_latency", "random_ring_bandwidth", "natural_ring_bandwidth"),
    *("barrier", "allreduce", "reduce", "reduce_scatter", "broadcast", "allgather"),
    *("alltoall", "alltoallv", "gather", "scatter", "pairs"),
)

MAX_MESSAGE_BYTES = 2**30  # an MPI count is an int
MAX_SECONDS = 1e9
ELEMENT_BYTES = {"allreduce": 4, "reduce": 4, "reduce_scatter": 4}
BANDWIDTHS = (
    *("bandwidth", "bidirectional", "fan_in", "fan_out"),
    *("random_ring_bandwidth", "natural_ring_bandwidth"),
)


def kernel_argv(trial: Trial, rails: tuple[str, ...], rounds_file: str | None) -> tuple[str, ...]:
    """Arguments of weft-kernel for a trial. Raises InputError on an option it does not have."""
    if trial.benchmark not in KERNEL_BENCHMARKS:
        raise InputError(
            f"no kernel benchmark '{trial.benchmark}'",
            where=f"trial {trial.id}",
            expected=", ".join(KERNEL_BENCHMARKS),
            hint=did_you_mean(trial.benchmark, list(KERNEL_BENCHMARKS)),
        )
    words = ["--benchmark", trial.benchmark, *_sizes(trial)]
    for name, value in trial.options.items():
        words += _option(trial, name, value)
    if rails:
        words += ["--rails", ",".join(rails)]
    if rounds_file is not None:
        words += ["--rounds-file", rounds_file]
    return tuple(words)


def rounds_text(trial: Trial) -> str | None:
    """One round a line, pairs of rank numbers 'a-b' between blanks; None without `rounds`."""
    rounds = trial.options.get("rounds")
    if rounds is None:
        return None
    try:
        lines = [[(int(a), int(b)) for a, b in pairs] for pairs in rounds]
    except (TypeError, ValueError) as error:
        raise _bad_option(trial, "rounds", rounds, "a list of rounds of pairs of ranks") from error
    for pairs in lines:
        _check_round(trial, pairs)
    return "".join(" ".join(f"{a}-{b}" for a, b in pairs) + "\n" for pairs in lines if pairs)


def _check_round(trial: Trial, pairs: list[tuple[int, int]]) -> None:
    busy: set[int] = set()
    for rank in (rank for pair in pairs for rank in pair):
        if not 0 <= rank < trial.n_ranks:
            expected = f"ranks from 0 to {trial.n_ranks - 1}"
            raise _bad_option(trial, "rounds", f"rank {rank}", expected)
        if rank in busy:
            expected = "each rank at most once a round"
            raise _bad_option(trial, "rounds", f"rank {rank} twice in a round", expected)
        busy.add(rank)


def _sizes(trial: Trial) -> list[str]:
    """`--sizes`; the two sizes of `pairs` are its small and its large one, (0,) its defaults."""
    sizes = trial.sizes_bytes
    for size in sizes:
        _check_size(trial, size)
    if trial.benchmark == "barrier":
        return []
    if trial.benchmark != "pairs":
        return ["--sizes", ",".join(map(str, sizes))]
    if "pair_sizes" in trial.options or sizes == (0,):
        return []
    if len(sizes) != 2:
        raise _bad_option(trial, "sizes", sizes, "two: the small one for latency, then the large")
    return ["--pair-sizes", f"{min(sizes)},{max(sizes)}"]


def _check_size(trial: Trial, size: int) -> None:
    element = ELEMENT_BYTES.get(trial.benchmark, 1)
    if size > MAX_MESSAGE_BYTES:
        raise _bad_option(trial, "sizes", size, "at most 1 GiB")
    if size == 0 and trial.benchmark in BANDWIDTHS:
        raise _bad_option(trial, "sizes", size, "from 1 B up: empty messages have no bandwidth")
    if size % element:
        raise _bad_option(trial, "sizes", size, f"multiples of {element}: it adds up floats")


def _option(trial: Trial, name: str, value: Any) -> list[str]:
    if name == "rounds":
        return []
    if name not in _OPTIONS:
        raise InputError(
            f"the live backend has no option '{name}'",
            where=f"trial {trial.id}",
            expected=", ".join(KERNEL_OPTIONS),
            hint=hint_on_machine(name),
        )
    return _OPTIONS[name](trial, name, value)


def _whole(lowest: int) -> Callable[[Trial, str, Any], list[str]]:
    def words(trial: Trial, name: str, value: Any) -> list[str]:
        if not isinstance(value, int) or isinstance(value, bool) or value < lowest:
            raise _bad_option(trial, name, value, f"a whole number from {lowest} up")
        return [_flag(name), str(value)]

    return words


def _switch(trial: Trial, name: str, value: Any) -> list[str]:
    if not isinstance(value, bool):
        raise _bad_option(trial, name, value, "true or false")
    return [_flag(name)] if value else []


def _one_of(*words: str) -> Callable[[Trial, str, Any], list[str]]:
    def argument(trial: Trial, name: str, value: Any) -> list[str]:
        if value not in words:
            raise _bad_option(trial, name, value, "one of " + ", ".join(words))
        return [_flag(name), value]

    return argument


def _seconds(trial: Trial, name: str, value: Any) -> list[str]:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < MAX_SECONDS:
        raise _bad_option(trial, name, value, "seconds greater than 0 and less than 1e9")
    return [_flag(name), f"{value:g}"]


def _skew(trial: Trial, name: str, value: Any) -> list[str]:
    if trial.benchmark != "alltoallv":
        raise _bad_option(trial, name, value, "alltoallv, whose blocks may differ")
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise _bad_option(trial, name, value, "a share from 0 to 1")
    return [_flag(name), f"{value:g}"]


def _aggressors(trial: Trial, name: str, value: Any) -> list[str]:  # noqa: ARG001
    """As `with_aggressors` lists them."""
    listed = (",".join(map(str, one)) for one in value)
    return [word for one in listed for word in ("--aggressor", one)]


def _two_sizes(trial: Trial, name: str, value: Any) -> list[str]:
    parts = value.split(",") if isinstance(value, str) else value
    try:
        small, large = (parse_size(str(part)) for part in parts)
    except (TypeError, ValueError) as error:
        raise _bad_option(trial, name, value, "two sizes, such as '8,4M'") from error
    return [_flag(name), f"{small},{large}"]


def _phases(trial: Trial, name: str, value: Any) -> list[str]:
    if trial.benchmark != "pairs":
        raise _bad_option(trial, name, value, "no phases: only pairs has them")
    return [_flag(name), ",".join(phase.name for phase in phases_of(trial.options))]


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _bad_option(trial: Trial, name: str, value: Any, expected: str) -> InputError:
    return InputError(
        f"option '{name}' of {trial.benchmark} cannot be {value!r}",
        where=f"trial {trial.id}",
        expected=expected,
    )


_OPTIONS: Mapping[str, Callable[[Trial, str, Any], list[str]]] = {
    "iterations": _whole(1),
    "warmup": _whole(0),
    "window": _whole(1),
    "validate": _switch,
    "closing_barrier": _switch,
    "sync": _one_of("barrier", "window"),
    "batch": _whole(1),
    "buffers": _one_of("two", "one", "untouched"),
    "memory": _one_of("host", "cuda", "rocm"),
    "pair_sizes": _two_sizes,
    "phases": _phases,
    "max_seconds_per_size": _seconds,
    "quiet": _seconds,
    "skew": _skew,
    "rings": _whole(1),
    "seed": _whole(0),
    "aggressors": _aggressors,
}
