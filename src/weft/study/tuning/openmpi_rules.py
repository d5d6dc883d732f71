"""Open MPI's file of dynamic rules, which coll/tuned reads (coll_tuned_dynamic_rules_filename).

SOURCE: open-mpi/ompi, ompi/mca/coll/tuned/coll_tuned_dynamic_file.c, coll_tuned_dynamic_rules.c
and coll_tuned_decision_dynamic.c: the numbers, their order, and the bytes that are compared.
"""

import json
from collections.abc import Sequence
from typing import Any

from weft.core.errors import InputError
from weft.study.tuning.algorithm import TunedAlgorithm
from weft.study.tuning.ranges import RankRange
from weft.study.tuning.tuning_files import TunedCollective, TuningFiles, bytes_scale

RULES = "ompi_rules.conf"
FIRST_WITH_JSON = 6
"""The first version that reads rules as JSON. It reads the older form, too, but takes a rule's
number of ranks as the first one beyond it."""
FIRST_WITH_REQUESTS = 5
"""The first version whose rules hold a number of requests."""

IDS = {
    "allgather": 0,
    "allreduce": 2,
    "alltoall": 3,
    "barrier": 6,
    "bcast": 7,
    "reduce": 11,
    "reduce_scatter": 12,
}
"""SOURCE: open-mpi/ompi, ompi/mca/coll/base/coll_base_functions.h, COLLTYPE."""
USUAL_FANOUT = 4
"""A rule names the fan-out of bcast and reduce, which has this default (ompi_info)."""
_WITH_FANOUT = ("bcast", "reduce")
_DEFAULT_RULE = "0 0 0 0"


def openmpi_rules(tuned: Sequence[TunedCollective], version: int) -> TuningFiles:
    """The rules of collectives that change, for Open MPI of a main version (4, 5, 6).

    Raises InputError where an algorithm has a number of requests, and rules of the version none.
    """
    changed = [one for one in tuned if one.is_changed]
    needs_requests = any(
        algorithm.parameter("max_requests", 0) for one in changed for algorithm in _algorithms(one)
    )
    if needs_requests and version < FIRST_WITH_REQUESTS:
        raise InputError(
            f"an algorithm has max_requests, which rules of Open MPI {version} cannot set",
            where="the study of the run",
            expected="arms without it, or a run with Open MPI 5",
        )
    if version >= FIRST_WITH_JSON:
        text = _json_text(changed)
    else:
        text = _numbers_text(changed, with_requests=needs_requests)
    notes = [
        "A rule holds within a node as between nodes: Open MPI compares the number of ranks.",
        "Open MPI also takes it for operations of your own: ring and Rabenseifner need commutative "
        "ones.",
    ]
    if version >= FIRST_WITH_REQUESTS:
        notes.append(
            "Between nodes coll/han comes first: the rules then apply to the parts that it makes, "
            "by their own numbers of ranks."
        )
    variables = {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_dynamic_rules_filename": RULES,
    }
    return TuningFiles({RULES: text}, variables, tuple(notes))


def _algorithms(one: TunedCollective) -> list[TunedAlgorithm]:
    return [one.arms.algorithms[sizes.arm] for ranks in one.ranges for sizes in ranks.chosen]


def _numbers_text(changed: Sequence[TunedCollective], *, with_requests: bool) -> str:
    # The version is the first thing in the file, comments come after it.
    lines = ["rule-file-version-2"] if with_requests else []
    lines.append(f"{len(changed)} # collectives")
    for one in changed:
        collective = one.arms.collective
        # A communicator takes the last rule of fewer ranks than it has, or as many; a smaller one
        # would take the first, and a larger one the last, so that both get a rule of their own.
        after = one.ranges[-1].last + 1
        lines += [f"{IDS[collective]} # {collective}", f"{len(one.ranges) + 2} # numbers of ranks"]
        lines += ["0 1 # fewer ranks: the library's choice", _DEFAULT_RULE]
        for ranks in one.ranges:
            rules = _rules(collective, ranks, one, with_requests=with_requests)
            lines += [f"{ranks.first} {len(rules)} # {ranks.first} to {ranks.last} ranks", *rules]
        lines += [f"{after} 1 # more ranks: the library's choice", _DEFAULT_RULE]
    return "\n".join(lines) + "\n"


def _rules(
    collective: str, ranks: RankRange, one: TunedCollective, *, with_requests: bool
) -> list[str]:
    """'from-bytes algorithm fan-out segment-bytes', the first from 0, each up to the next."""
    rules = {0: _DEFAULT_RULE}
    scale = bytes_scale(one, ranks)
    for sizes in ranks.chosen:
        algorithm = one.arms.algorithms[sizes.arm]
        words = [algorithm.name, _fanout(collective, algorithm), _segment(algorithm)]
        if with_requests:
            words.append(str(algorithm.parameter("max_requests", 0)))
        first, end = sizes.bytes_compared(scale)
        rules[first] = f"{first} {' '.join(words)} # {sizes.arm}"
        rules[end] = f"{end} 0 0 0"
    return [rules[key] for key in sorted(rules)]


def _json_text(changed: Sequence[TunedCollective]) -> str:
    collectives = {
        one.arms.collective: [_json_ranks(one, ranks) for ranks in one.ranges if ranks.chosen]
        for one in changed
    }
    document = {"rule_file_version": 3, "module": "tuned", "collectives": collectives}
    return json.dumps(document, indent=1) + "\n"


def _json_ranks(one: TunedCollective, ranks: RankRange) -> dict[str, Any]:
    scale = bytes_scale(one, ranks)
    rules = []
    for sizes in ranks.chosen:
        algorithm = one.arms.algorithms[sizes.arm]
        first, end = sizes.bytes_compared(scale)
        rules.append(
            {
                "msg_size_min": first,
                "msg_size_max": end - 1,
                "alg": int(algorithm.name),
                "faninout": int(_fanout(one.arms.collective, algorithm)),
                "seg_size": int(_segment(algorithm)),
                "reqs": algorithm.parameter("max_requests", 0),
            }
        )
    return {"comm_size_min": ranks.first, "comm_size_max": ranks.last, "rules": rules}


def _fanout(collective: str, algorithm: TunedAlgorithm) -> str:
    usual = USUAL_FANOUT if collective in _WITH_FANOUT else 0
    named = "chain_fanout" if collective in _WITH_FANOUT else "tree_fanout"
    return str(algorithm.parameter(named, usual))


def _segment(algorithm: TunedAlgorithm) -> str:
    return str(algorithm.parameter("segmentsize", 0))
