"""Every place of the command line where a user names a file."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULT = str(ROOT / "tests/fixtures/field/c01-flux-hpcx-hdr.txt")
FABRIC = str(ROOT / "docs/samples/unplugged-cable.out")
TOPOLOGY = str(ROOT / "tests/fixtures/topology/dump.xml")
LOG = str(ROOT / "tests/fixtures/field_logs/14-nccl-525-shm.log")
TRAINING_LOG = str(ROOT / "tests/fixtures/training/nemo1.log")
TEMPLATE = ("cluster", "template", "azure", "--sku", "HB176rs_v4", "--nodes", "2")
TWIN = ("--twin", "fat-tree", "--nodes", "4")
_GROUPS = ("cluster", "doctor", "fabric", "platform", "study", "train")
NAMED = "@"
"""Where the file is named in a command."""
NEW = "NEW"
"""A place to write to that does not exist yet."""

PLACES: tuple[tuple[str, ...], ...] = (
    ("judge", "@"),
    ("judge", RESULT, "--against", "@"),
    ("judge", RESULT, "--platform", "@"),
    ("train", "read", "@"),
    ("train", "compare", "@", TRAINING_LOG),
    ("train", "compare", TRAINING_LOG, "@"),
    ("import", "@", "-o", NEW),
    ("import", RESULT, "--platform", "@", "-o", NEW),
    ("expect", "@", "latency"),
    ("platform", "show", "@"),
    ("platform", "fit", "@"),
    ("platform", "fit", RESULT, "--healthy", "@"),
    ("platform", "fit", RESULT, "--base", "@"),
    ("study", "plan", "@", *TWIN),
    ("study", "show", "@"),
    ("study", "run", "@", *TWIN, "--dry-run"),
    ("study", "run", "smoke", "--twin", "fat-tree", "--fabric", "@", "--dry-run"),
    ("study", "run", "smoke", "--hostfile", "@", "--dry-run"),
    ("study", "submit", "@", "--dir", NEW, "--dry-run"),
    ("study", "status", "@"),
    ("study", "block", "@", "--block", "0"),
    ("bench", "latency", "--twin", "@", "--nodes", "2", "--dry-run"),
    ("bench", "latency", "--twin", "fat-tree", "--fabric", "@", "--dry-run"),
    ("bench", "latency", "--hostfile", "@", "--dry-run"),
    ("check", "--twin", "@", "--nodes", "4", "--dry-run"),
    ("check", "--twin", "fat-tree", "--fabric", "@", "--dry-run"),
    ("check", *TWIN, "--counters", "@", "--dir", NEW),
    ("check", *TWIN, "--schedule", "./@", "--dry-run"),
    ("check", *TWIN, "--platform", "@", "--dry-run"),
    ("check", *TWIN, "--against", "@", "--dry-run"),
    ("check", *TWIN, "--resume", "--dir", "@"),
    ("check", "--hostfile", "@", "--dry-run"),
    ("compare", "@"),
    ("report", "@"),
    ("export", "@", "--to", "csv"),
    ("fabric", "show", "@"),
    ("fabric", "show", FABRIC, "--engine", "minhop", "--load", "pairs:@"),
    ("fabric", "trace", "a", "b", "@"),
    ("fabric", "audit", "@"),
    ("fabric", "audit", FABRIC, "--before", "@"),
    ("fabric", "audit", FABRIC, "--platform", "@"),
    ("fabric", "route", "@"),
    ("fabric", "export", "@", "--to", "json"),
    ("fabric", "generate", "@", "--nodes", "4"),
    ("recipe", "@"),
    ("recipe", "alps-gh200", "--nodes", "2", "--diff", "@"),
    ("doctor", "log", "@"),
    ("doctor", "log", LOG, "--env", "@"),
    ("doctor", "env", "@"),
    ("doctor", "env", RESULT, "--libnccl", "@"),
    ("doctor", "env", RESULT, "--topology", "@"),
    ("doctor", "topo", "@"),
    ("doctor", "topo", TOPOLOGY, "--against", "@"),
    ("doctor", "topo", "--generate", "@"),
    ("doctor", "container", "@"),
    ("doctor", "container", "/proc/self/root", "--edf", "@"),
    ("doctor", "container", "/proc/self/root", "--cdi", "@"),
    ("doctor", "container", "/proc/self/root", "--hook", "@"),
    ("doctor", "container", "/proc/self/root", "--script", "@"),
    ("doctor", "container", "/proc/self/root", "--recipe", "@"),
    (*TEMPLATE, "--ssh-key", "@", "--dir", NEW),
)


def command_at(place: tuple[str, ...], named: str, new: str) -> list[str]:
    """The command of a place, about a file and a place to write to."""
    return [word.replace(NAMED, named).replace(NEW, new) for word in place]


def title_of(place: tuple[str, ...]) -> str:
    """'judge --against': a place in a few words."""
    at = next(i for i, word in enumerate(place) if NAMED in word)
    n_verbs = 2 if place[0] in _GROUPS else 1
    return " ".join((*place[:n_verbs], *(word for word in place[at - 1 : at] if "--" in word)))
