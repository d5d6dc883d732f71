"""Names that a shell, a terminal or a reader of node sets could take for something else."""

CANARY = "canary"
"""The file that a name makes where a shell runs it."""

NAMES = (
    "a b",
    "it's",
    'say "x"',
    f"$(touch {CANARY})",
    f"`touch {CANARY}`",
    f"x;touch {CANARY}",
    f"x|touch {CANARY}",
    f"x&touch {CANARY}&",
    f"x\ntouch {CANARY}\n",
    f"'$(touch {CANARY})'",
    "-rf",
    "--help",
    "n[1",
    "n[1-4]",
    "a,b",
    "@all",
    "*",
    "~",
    "$HOME",
    "!x",
    "back\\slash",
    "100%s%n",
    "tab\there",
    "gr\u00fcn",
    "\u202egnp.exe",
    "\u200fright",
    "\x1b[31mred\x1b[2J",
    "\x1b]0;title\x07",
    "\x9b31m",
    "\udcff\udcfe",
    f"x FILES'$(touch {CANARY})",
)
