"""How mistakes are planted: each changes a script in one place and says what must find it."""

import random
import re
from collections.abc import Callable

from tests.unit.doctor.script import Planter, Script

from weft.catalog.libraries.variables import ValueSyntax, Variable, version_key
from weft.catalog.load import variable_lists


def sets(rule: str, name: str, *values: str, raw: bool = False) -> Planter:
    """Plant one of these values."""

    def plant(script: Script, rng: random.Random) -> tuple[str, int] | None:
        value = rng.choice(values)
        if name.startswith("NCCL_") and not script.of_nccl:
            return None
        if raw and script.form == "modulefile":
            return None
        if script.form == "container" and script.value(name) is None:
            return None  # it would not be in --container-env, too
        return rule, script.set(name, value, raw=raw)

    return plant


def only(planter: Planter, holds: Callable[[Script], bool]) -> Planter:
    """A planter for some scripts."""
    return lambda script, rng: planter(script, rng) if holds(script) else None


def _nccl(script: Script, wanted: Callable[[Variable], bool]) -> list[Variable]:
    """Variables of NCCL that this script's version knows, that it does not set and that no rule of
    their own looks at."""
    known = [
        one
        for one in variable_lists()["nccl"].variables
        if one.known_in(script.version) and not one.only and not one.instead and wanted(one)
    ]
    return [one for one in known if script.value(one.name) is None and one.name not in JUDGED]


JUDGED = {
    "NCCL_IB_DISABLE", "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_NVLS_ENABLE",
    "NCCL_IB_GID_INDEX", "NCCL_IB_QPS_PER_CONNECTION", "NCCL_PXN_DISABLE", "NCCL_RAS_ENABLE",
    "NCCL_BUFFSIZE", "NCCL_COLLNET_ENABLE", "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS",
    "NCCL_MIN_CTAS", "NCCL_MAX_CTAS", "NCCL_MIN_P2P_NCHANNELS", "NCCL_MAX_P2P_NCHANNELS",
    "NCCL_COLLNET_NODE_THRESHOLD", "NCCL_IB_SL", "NCCL_IB_TIMEOUT", "NCCL_P2P_NET_CHUNKSIZE",
}  # fmt: skip
"""What they are set to matters to a rule of its own."""


def misspelt(script: Script, rng: random.Random) -> tuple[str, int] | None:
    """A name of NCCL with a letter lost, doubled or changed, or with its words in another order."""
    if not script.of_nccl or script.form == "container":
        return None
    variable = rng.choice(_nccl(script, lambda one: len(one.name) > 14))
    words = variable.name.split("_")
    name = variable.name
    at = rng.randrange(6, len(name) - 1)
    how = rng.randrange(4)
    if how == 0:
        name = name[:at] + name[at + 1 :]
    elif how == 1:
        name = name[:at] + name[at] + name[at:]
    elif how == 2:
        name = name[:at] + rng.choice("QXZ") + name[at + 1 :]
    elif len(words) > 2 and words[1] != words[2]:
        name = "_".join([words[0], words[2], words[1], *words[3:]])
    known = {one.name for one in variable_lists()["nccl"].variables}
    if "__" in name or name in known:
        return None
    return "unknown-name", script.set(name, "1")


def of_ucx(script: Script, rng: random.Random) -> tuple[str, int] | None:
    """UCX warns of a name that it does not know."""
    if script.form == "container":
        return None
    name = rng.choice(("UCX_NET_DEVICE", "UCX_TLSS", "UCX_RNDV_TRESH", "UCX_IB_LS"))
    return "unknown-name-warned", script.set(name, "auto")


def newer(script: Script, rng: random.Random) -> tuple[str, int] | None:
    """A name that came after this version."""
    later = [
        one.name
        for one in variable_lists()["nccl"].variables
        if one.since and version_key(one.since) > version_key(script.version) and not one.instead
        and one.reads is ValueSyntax.INTEGER and one.name not in JUDGED
    ]  # fmt: skip
    if not later or not script.of_nccl or script.form == "container":
        return None
    return "newer-name", script.set(rng.choice(later), "7")


def removed(script: Script, rng: random.Random) -> tuple[str, int] | None:
    """A name that this version has lost."""
    gone = [
        one.name
        for one in variable_lists()["nccl"].variables
        if one.until and version_key(one.until) < version_key(script.version)
        and one.reads is ValueSyntax.INTEGER and one.name not in JUDGED
    ]  # fmt: skip
    if not gone or not script.of_nccl or script.form == "container":
        return None
    return "removed-name", script.set(rng.choice(gone), "7")


def integer(rule: str, text: str) -> Planter:
    """A value that an integer of NCCL cannot have."""

    def plant(script: Script, rng: random.Random) -> tuple[str, int] | None:
        if not script.of_nccl or script.form == "container":
            return None
        names = _nccl(
            script, lambda one: one.reads is ValueSyntax.INTEGER and one.name != "NCCL_DEBUG"
        )
        found = rule
        if rule == "word-for-number" and script.since("2.32.3"):
            found = "word-refused"
        return found, script.set(rng.choice(names).name, text)

    return plant


def out_of_range(script: Script, rng: random.Random) -> tuple[str, int] | None:
    """One above the most that is taken."""
    if not script.of_nccl or script.form == "container":
        return None
    bound = _nccl(script, lambda one: one.reads is ValueSyntax.INTEGER and one.most is not None)
    variable = rng.choice(bound)
    assert variable.most is not None
    value = str(variable.most + 1)
    if value in {default for _, default in variable.defaults}:
        return None
    return "out-of-range", script.set(variable.name, value)


def not_exported(script: Script, rng: random.Random) -> tuple[str, int] | None:
    """The word export is forgotten."""
    if script.form not in ("sbatch", "srun"):
        return None
    marked = [
        i for i, line in enumerate(script.lines)
        if line.startswith("export ") and not line.startswith(NEEDED)
    ]  # fmt: skip
    if not marked:
        return None
    at = rng.choice(marked)
    script.lines[at] = script.lines[at].removeprefix("export ")
    return "not-exported", at + 1


NEEDED = tuple(
    f"export {name}="
    for name in (
        "NCCL_NET",
        "NCCL_PROTO",
        "NCCL_COLLNET_ENABLE",
        "CUDA_DEVICE_ORDER",
        "FI_CXI_RDZV",
    )
)
"""Without them another rule has something to say."""


def twice(script: Script, rng: random.Random) -> tuple[str, int] | None:
    """One name with two values on one command line."""
    if script.form != "mpirun":
        return None
    names = [
        i for i, line in enumerate(script.lines)
        if re.match(r"  -x (UCX|FI|MV2)_\w+=[^ ]+ ", line) or line.startswith("  -x NCCL_DEBUG=")
    ]  # fmt: skip
    if not names:
        return None
    at = rng.choice(names)
    name = script.lines[at].split("=")[0]
    known = script.lines[at].split("=")[1].removesuffix(" \\")
    other = SECOND.get(known)
    if other is None:
        return None
    script.lines.insert(len(script.lines) - 1, f"{name}={other} \\")
    return "twice", len(script.lines) - 1


SECOND = {"WARN": "VERSION", "mlx5_ib0:1": "mlx5_ib1:1", "eth0": "eth1", "2048": "4096"}
"""Another value that is as right as the first."""


def left_behind(script: Script, _rng: random.Random) -> tuple[str, int] | None:
    """srun --export without ALL."""
    if script.form not in ("sbatch", "srun"):
        return None
    at = script.line_of("srun ")
    if at is None or not any(line.startswith(FABRIC) for line in script.lines):
        return None
    script.lines[at - 1] = script.lines[at - 1].replace("srun ", "srun --export=PATH ", 1)
    return "not-forwarded", at


FABRIC = ("export NCCL_", "export UCX_", "export FI_", "export SHARP_")


def image_wins(script: Script, rng: random.Random) -> tuple[str, int] | None:
    """One name is forgotten in --container-env."""
    if script.form != "container":
        return None
    at = script.line_of("--container-env=")
    assert at is not None
    names = script.lines[at - 1].partition("=")[2].removesuffix(" \\").split(",")
    mine = [one for one in names if one.startswith(("NCCL_", "UCX_", "FI_"))]
    if not mine or len(names) < 2:
        return None
    left = rng.choice(mine)
    kept = ",".join(one for one in names if one != left)
    script.lines[at - 1] = f"  --container-env={kept} \\"
    return "image-wins", script.line_of("srun ") or 0


def not_mounted(script: Script, _rng: random.Random) -> tuple[str, int] | None:
    """The topology file stays outside."""
    at = script.line_of("--container-mounts=")
    if script.form != "container" or at is None:
        return None
    del script.lines[at - 1]
    return "topology-not-mounted", script.line_of("export NCCL_TOPO_FILE=") or 0


def masks(script: Script, rng: random.Random) -> tuple[str, int] | None:
    """Masks that overlap, leave the node, or are not as many as the ranks."""
    at = script.line_of("--cpu-bind=mask_cpu:")
    if at is None:
        return None
    line = script.lines[at - 1]
    parts = line.partition("mask_cpu:")[2].removesuffix(" \\").split(",")
    wrong = rng.choice(
        [
            [parts[0], "1fff", *parts[2:]],
            [*parts[:-1], "1" + "0" * 40],
            parts[:-1],
            [*parts[:-1], "fgh"],
            [*parts[:-1], "0"],
        ]
    )
    script.lines[at - 1] = f"  --cpu-bind=mask_cpu:{','.join(wrong)} \\"
    return "masks", at


def without(rule: str, name: str, at: str) -> Planter:
    """A variable is left out."""

    def plant(script: Script, _rng: random.Random) -> tuple[str, int] | None:
        line = script.line_of(script._head(name))
        if line is None or script.form == "container":
            return None
        del script.lines[line - 1]
        found = script.line_of(script._head(at).rstrip("= ")) if at else 0
        return None if found is None else (rule, found)

    return plant
