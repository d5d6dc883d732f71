"""Words of Tcl, in which modulefiles are written."""

import re

_NEEDS_NO_BACKSLASH = re.compile(r"[^{}\\\r]*")
_NAMED = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def tcl_word(value: str) -> str:
    """A word that has this value, in braces where that is enough: nothing is replaced in them.

    SOURCE: Tcl(n), rules [6] braces and [9] backslashes.
    """
    if _NEEDS_NO_BACKSLASH.fullmatch(value):
        return f"{{{value}}}"
    return "".join(
        _NAMED.get(one, one if one.isalnum() or ord(one) > 127 else "\\" + one) for one in value
    )
