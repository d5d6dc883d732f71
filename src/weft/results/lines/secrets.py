"""Text of a log as it may be kept: without passwords, tokens and keys."""

from weft.launch.secret_text import mask_text

_LONGEST = 2000


def masked(text: str) -> str:
    """The text, its first 2,000 characters, with a mask in the place of each secret."""
    return mask_text(text[:_LONGEST])[0]
