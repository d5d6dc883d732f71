"""MPICH's selection of algorithms as JSON (MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE).

The file replaces the whole selection, that of all other collectives too. So the library's own one,
which is a string in its binary, is read and changed in the measured ranges alone. A second file
does the same for the compositions of the device ch4, which come first: in those ranges it takes the
composition that leaves a communicator whole, as the study's arms do without device collectives.

SOURCE: pmodels/mpich, src/mpi/coll/src/csel.c: the words of conditions, and which collectives
compare a message's bytes (avg_msg_size) or those of all ranks (total_msg_size).
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.core.documents.document_text import json_value
from weft.core.documents.text_file import read_file_bytes
from weft.core.errors import InputError
from weft.study.tuning.ranges import RankRange
from weft.study.tuning.tuning_files import TunedCollective, TuningFiles, bytes_scale

Tree = dict[str, Any]
"""Conditions, of which the first that holds counts, down to an algorithm or a composition."""

SELECTION = "mpich_selection.json"
COMPOSITIONS = "mpich_compositions.json"
MOST_LIBRARY_BYTES = 1 << 30
MOST_COMPARED = 2**31 - 1
"""Conditions hold an int."""

BY_MESSAGE = ("allreduce", "bcast", "reduce", "alltoall")
"""Collectives with avg_msg_size. The others but barrier have total_msg_size."""
REDUCTIONS = ("allreduce", "reduce")
_WITH_PARAMETERS = re.compile(r"tree|recexch|^k_|recursive_multiplying|ccl")
"""Algorithms with numbers of their own, which the file would have to give."""
_EXPECTED = "libmpi.so or libmpich.so of MPICH 4 or newer, with its own selection inside"
_TREES = re.compile(rb'\{"collective=[^\0]{2,1000000}')
_INTRA = "comm_type=intra"


@dataclass(frozen=True, slots=True)
class MpichLibrary:
    """What a library file says: its selection, the compositions of its device ("" where it has
    none), and the algorithms that it knows by their names in a selection."""

    file: Path
    selection: Tree
    compositions: Tree
    algorithms: frozenset[str]


def read_mpich_library(file: Path) -> MpichLibrary:
    """Raises InputError where the file holds no selection."""
    content = read_file_bytes(file, expected=_EXPECTED, most_bytes=MOST_LIBRARY_BYTES)
    selection: Tree = {}
    compositions: Tree = {}
    for found in _TREES.finditer(content):
        tree = json_value(found.group(), str(file), _EXPECTED)
        leaves = set(_leaves(tree))
        if any(one.startswith("composition=") for one in leaves):
            compositions = tree
        elif any(one.startswith("algorithm=MPIR_") for one in leaves):
            selection = tree
    if not selection:
        raise InputError(
            "no selection of algorithms in this library", where=str(file), expected=_EXPECTED
        )
    known = re.findall(rb"algorithm=(MPIR_[A-Za-z_]+)\0", content)
    return MpichLibrary(file, selection, compositions, frozenset(one.decode() for one in known))


def mpich_selection(tuned: Sequence[TunedCollective], library: MpichLibrary) -> TuningFiles:
    """The library's selection with the algorithms of collectives that change.

    Raises InputError for an algorithm that this library cannot select, and a size beyond an int.
    """
    changed = [one for one in tuned if one.is_changed]
    selection, compositions = dict(library.selection), dict(library.compositions)
    for one in changed:
        key = f"collective={one.arms.collective}"
        selection[key] = _spliced(one, selection[key], library)
        if key in compositions:
            whole = _whole_composition(compositions[key], library.file)
            compositions[key] = _spliced(one, compositions[key], library, whole)
    texts = {SELECTION: _text(selection)}
    variables = {"MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": SELECTION}
    if compositions:
        texts[COMPOSITIONS] = _text(compositions)
        variables["MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE"] = COMPOSITIONS
    notes = (
        f"The files hold the selection of {library.file.name} itself: another build of MPICH needs "
        "files of its own.",
        "Operations of your own, and buffers in place, keep the library's choice.",
    )
    return TuningFiles(texts, variables, notes)


def _text(tree: Tree) -> str:
    return json.dumps(tree, indent=1) + "\n"


def _algorithm(one: TunedCollective, arm: str, library: MpichLibrary) -> str:
    """The leaf of a chosen arm's algorithm."""
    name = one.arms.algorithms[arm].name
    prefix = f"MPIR_{one.arms.collective.capitalize()}_intra_"
    known = [known.removeprefix(prefix) for known in library.algorithms if known.startswith(prefix)]
    known = sorted(one for one in known if not _WITH_PARAMETERS.search(one))
    if name not in known:
        raise InputError(
            f"this MPICH cannot select '{name}' of {one.arms.collective} by its name alone",
            where=str(library.file),
            expected=f"one of {', '.join(known)}",
            hint="name the library of the run's MPICH: --library FILE",
        )
    return f"algorithm={prefix}{name}"


def _spliced(one: TunedCollective, own: Tree, library: MpichLibrary, composition: str = "") -> Tree:
    """The collective's own tree, with the algorithm in each chosen range of ranks and bytes, or
    else this composition."""
    inside = own.get(_INTRA, own)
    by_ranks: Tree = {f"comm_size<{one.ranges[0].first}": inside}
    for ranks in one.ranges:
        by_ranks[f"comm_size<={ranks.last}"] = _by_bytes(one, ranks, inside, library, composition)
    by_ranks["comm_size=any"] = inside
    # A tree without the kind of communicator holds for both kinds.
    others = {key: value for key, value in own.items() if key != _INTRA}
    return {_INTRA: by_ranks, **(others if _INTRA in own else {"comm_type=inter": own})}


def _by_bytes(
    one: TunedCollective, ranks: RankRange, own: Tree, library: MpichLibrary, composition: str
) -> Tree:
    collective = one.arms.collective
    leaves = {sizes.arm: _algorithm(one, sizes.arm, library) for sizes in ranks.chosen}
    if not leaves:
        return own
    if collective == "barrier":
        return {composition or leaves[ranks.chosen[0].arm]: {}}
    is_block = bytes_scale(one, ranks) > 1
    scale = ranks.first if is_block and collective not in BY_MESSAGE else 1
    word = "avg_msg_size" if collective in BY_MESSAGE else "total_msg_size"
    tree: Tree = {}
    for sizes in ranks.chosen:
        first, end = sizes.bytes_compared(scale)
        if end > MOST_COMPARED:
            raise InputError(
                f"{end} bytes of {collective}", expected=f"at most {MOST_COMPARED}: MPICH's int"
            )
        if first > 0:
            tree.setdefault(f"{word}<{first}", own)
        algorithm = leaves[sizes.arm]
        tree[f"{word}<{end}"] = _guarded(collective, algorithm, {composition or algorithm: {}}, own)
    tree[f"{word}=any"] = own
    return tree


def _guarded(collective: str, algorithm: str, tree: Tree, own: Tree) -> Tree:
    """The tree under the conditions that the study's calls met, which algorithms rely on:
    operations of MPI, no buffer in place, as many elements as ranks, a power of two of ranks."""
    if collective in REDUCTIONS:
        if algorithm.endswith(("_reduce_scatter_allgather", "_reduce_scatter_gather")):
            tree = {"count<pow2": own, "count=any": tree}
        return {"is_op_built_in=yes": tree, "is_op_built_in=no": own}
    if collective == "reduce_scatter":
        return {"is_commutative=yes": tree, "is_commutative=no": own}
    if collective == "alltoall":
        return {"is_sendbuf_inplace=yes": own, "is_sendbuf_inplace=no": tree}
    if algorithm.endswith("_recursive_doubling"):
        return {"comm_size=pow2": tree, "comm_size=any": own}
    return tree


def _whole_composition(tree: Tree, file: Path) -> str:
    """The composition of a communicator that has no levels: it leaves every one whole."""
    without_levels = {
        leaf
        for key, inner in _conditions(tree)
        if key == "comm_hierarchy=any"
        for leaf in _leaves(inner)
    }
    leaves = without_levels or set(_leaves(tree))
    if len(leaves) != 1:
        raise InputError(
            f"which composition leaves a communicator whole: one of {', '.join(sorted(leaves))}",
            where=str(file),
            expected=_EXPECTED,
        )
    return leaves.pop()


def _conditions(tree: Tree) -> Iterator[tuple[str, Tree]]:
    for key, inner in tree.items():
        yield key, inner
        yield from _conditions(inner)


def _leaves(tree: Tree) -> Iterator[str]:
    """Algorithms and compositions. What stands in one is its parameters."""
    for key, inner in tree.items():
        if key.startswith(("algorithm=", "composition=")):
            yield key
        else:
            yield from _leaves(inner)
