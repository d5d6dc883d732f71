"""The rank before a line, as launchers and loggers put it there.

SOURCE: torchrun --tee: [default0]:, [rank0]:; Open MPI --tag-output: [1,0]<stdout>:; Slurm srun
--label: 0:.
"""

import re

PREFIX_BYTES = 40
"""The first word of so many bytes shows the rank, where one was read behind the same word."""
_ESCAPE = re.compile(r"\x1b(?:\[[0-9;:?<=>]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_RANK = re.compile(
    r"\s{0,8}(?:\[(?:rank|default)(\d{1,7})\]:?|\[\d{1,6},(\d{1,7})\](?:\[[\w.:-]{1,255}\])?"
    r"<std(?:out|err)>:|\[Rank (\d{1,7})[^\]]{0,60}\]|(\d{1,7}):)(?=\s|$|\[|I)\s*"
)


def without_rank(text: str) -> tuple[str, str]:
    """The rank of a line, "" without one, and the line without it and without colours."""
    if "\x1b" in text:
        text = _ESCAPE.sub("", text)
    found = _RANK.match(text)
    if found is None:
        return "", text
    rank = next(one for one in found.groups() if one is not None)
    return rank.lstrip("0") or "0", text[found.end() :]
