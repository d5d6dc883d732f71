"""The link under a fit: as the user names it, or as the rows of the files tell it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.catalog.document import Figure


def named_link(text: str) -> "Figure":
    """The rate of a link by its name. Raises InputError."""
    from weft.catalog.machine.generic import link_of

    _, link = link_of(text)
    return _rate(link.gbps, f"--link {text}: {link.source}")


def told_link(paths: Sequence[Path]) -> "tuple[Figure | None, str]":
    """The rate of the only link that the rows fit, None where they leave several; and a remark."""
    from weft.judge.path_class.evidence import evidence_of
    from weft.judge.path_class.fit import fit_of
    from weft.judge.path_class.proof import head_of, proofs_in
    from weft.results.result_file import read_results

    files = [(path, read_results(path)) for path in paths if path.is_file()]
    proofs = {
        found.proof.says: found
        for path, results in files
        for found in proofs_in(head_of(path), results.environment)
    }
    tables = [table for _, results in files for table in results.tables]
    evidence = evidence_of(tables, proofs.values())
    fit, shown = fit_of(evidence), evidence.link_shown
    networks = all(one.family.transport in ("rdma", "sockets") for one in fit.links)
    is_open = not fit.is_one_rate or not networks or any(one.count > 1 for one in fit.links)
    if is_open or shown is None or (shown.is_weak and fit.behind):
        return None, "the rows leave the link open: without --link no row is called impossible"
    link = fit.links[0]
    share = f"{100 * link.share:.0f} % of {link.path_class.gbps:g} Gb/s"
    source = f"told by the rows, {share}: {link.path_class.source}"
    return _rate(link.path_class.gbps, source), f"link: {share}, told by the rows (else --link)"


def _rate(gbps: float, source: str) -> "Figure":
    from weft.catalog.document import Figure, SourceClass

    fields = {"value": gbps, "unit": "Gb/s", "class": SourceClass.SOURCED, "source": source}
    return Figure.model_validate(fields)
