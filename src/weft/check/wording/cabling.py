"""Findings of cables and table entries that messages avoid, as sentences."""

from collections.abc import Mapping

from weft.check.suspects.accusation import Accusation, Standing
from weft.check.wording.accused import alone, finding_of
from weft.check.wording.figures import against, over_it
from weft.core.finding import Finding


def _out_of_use(accusation: Accusation, owners: Mapping[str, str], *, sure: bool) -> Finding:
    verb = "carries nothing" if sure else "may carry nothing"
    around = "its messages take the other" if accusation.tie else "its messages take other paths"
    evidence = (
        f"under load {against(accusation.worst)}; {alone(accusation)}",
        over_it(accusation.worst),
        "messages of other cables were as slow in the same rounds: they shared a path",
        "possible causes: it is down, disabled or left out by the routing: look at the state of"
        " its ports",
        "other possible causes: exchanged cables, or a wrong table entry: weft fabric audit of"
        " fresh files shows them",
    )
    return finding_of(accusation, owners, f"{verb}: {around}.", evidence, sure=sure)


def _exchanged(accusation: Accusation, owners: Mapping[str, str], *, sure: bool) -> Finding:
    verb = "is" if sure else "may be"
    evidence = (
        f"under load {against(accusation.worst)}; {alone(accusation)}",
        over_it(accusation.worst),
        "two cables look dead by the messages that others met, but some of their own are normal:"
        " they lead elsewhere than the fabric file says",
        "possible causes: exchanged cables, or a fabric file older than the cabling: weft fabric"
        " audit of a fresh ibnetdiscover shows which",
    )
    text = f"{verb} exchanged with another: some of its messages take other paths."
    return finding_of(accusation, owners, text, evidence, sure=sure)


def _another_entry(accusation: Accusation, owners: Mapping[str, str], *, sure: bool) -> Finding:
    moved = accusation.moved
    assert moved is not None
    verb = "sends" if sure else "may send"
    text = (
        f"{verb} what is for {moved.destination} elsewhere than its table says: by {moved.port},"
        f" where it meets other messages ({against(accusation.worst)})."
    )
    evidence = (
        f"{moved.n_slow} of {moved.n} messages that then share a cable are slow, and again whenever"
        " their rounds ran again",
        "other messages that the table sends the same way are not: its cable carries them",
        "possible causes: a wrong entry, or tables older than those in force: weft fabric audit of"
        " fresh dump_lfts, --before with earlier ones",
    )
    return finding_of(accusation, owners, text, evidence, sure=sure)


OF_CABLING = {
    Standing.OUT_OF_USE: _out_of_use,
    Standing.EXCHANGED: _exchanged,
    Standing.ANOTHER_ENTRY: _another_entry,
}
"""By standing: what makes its finding."""
