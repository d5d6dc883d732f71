"""Numbers of things as a person would say them."""


def counted(n: int, noun: str) -> str:
    """'1 pair', '3 pairs', '15,040 pairs'."""
    return f"{n} {noun}" if n == 1 else f"{n:,} {noun}s"


def times(n: int) -> str:
    """'once', 'twice', '3 times'."""
    return {1: "once", 2: "twice"}.get(n, f"{n:,} times")
