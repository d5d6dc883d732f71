"""Numbers of things as a person would say them, and the name that a misspelt one is nearest to."""

from collections.abc import Collection, Iterable

SHARED_PERCENT = 60
"""So much of two names is the same letters in the same order where one may be meant for another."""


def counted(n: int, noun: str, plural: str = "") -> str:
    """'1 pair', '3 pairs', '2 launches', '15,040 pairs'; `plural` where it is neither the noun and
    an s nor, after 'ch', es."""
    if n == 1:
        return f"{n} {noun}"
    return f"{n:,} {plural or noun + ('es' if noun.endswith('ch') else 's')}"


def times(n: int) -> str:
    """'once', 'twice', '3 times'."""
    return {1: "once", 2: "twice"}.get(n, f"{n:,} times")


def first_few(names: Collection[str], n_all: int) -> str:
    """'n1, n2 and 3 more': the names that are known of `n_all` things."""
    left = n_all - len(names)
    return ", ".join(names) + (f" and {left:,} more" if left > 0 else "")


def nearest(word: str, known: Iterable[str], *, most_letters: int | None = None) -> str | None:
    """The known name nearest to `word`, None where none is near.

    With `most_letters` so many letters may differ, and the first by name is taken among equals.
    Without, names count that share most of their letters, and the last is taken: of machine sizes
    the newest.
    """
    # Imported here: few runs misspell a name, and each run imports this file.
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.fuzz import ratio
    from rapidfuzz.process import extract_iter

    if most_letters is not None:
        near = extract_iter(word, known, scorer=Levenshtein.distance, score_cutoff=most_letters)
        return min(((letters, name) for name, letters, _ in near), default=(0, None))[1]
    alike = extract_iter(word, known, scorer=ratio, score_cutoff=SHARED_PERCENT)
    return max(((percent, name) for name, percent, _ in alike), default=(0, None))[1]


def nearest_few(word: str, known: Iterable[str], most: int = 3) -> list[str]:
    """The known names that share most of their letters with `word`, the nearest first."""
    from rapidfuzz.fuzz import ratio
    from rapidfuzz.process import extract

    alike = extract(word, list(known), scorer=ratio, limit=most, score_cutoff=SHARED_PERCENT)
    return [name for name, _, _ in alike]
