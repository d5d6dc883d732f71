"""Masks of processors: whether they are masks, fit the node, and lie near the ranks' GPUs."""

import re
from collections.abc import Iterator, Sequence

from weft.doctor.case import DoctorCase, Found, mistake
from weft.doctor.job import HOLE, JobLaunch, number_of
from weft.doctor.numbers import whole
from weft.doctor.topo.affinity import cpu_list

KINDS = {
    "mask_cpu": re.compile(r"(?:0[xX])?[0-9a-fA-F]+"),
    "map_cpu": re.compile(r"[0-9]+|0[xX][0-9a-fA-F]+"),
}
"""SOURCE: Slurm, srun(1): masks are hexadecimal, a map's processors decimal unless they begin with
0x; both may be repeated with *COUNT."""
_REPEATED = re.compile(r"(.*?)\*([0-9]{1,4})")
ELLIPSES = ("...", "\u2026")
MOST_RANKS = 4096
MOST_BITS = 4096


def rules(case: DoctorCase) -> Iterator[Found]:
    """All of this family."""
    for launch in case.job.launches:
        given = given_masks(launch)
        if given is None:
            continue
        kind, texts = given
        bad = next((text for text in texts if not KINDS[kind].fullmatch(text)), None)
        if bad is None:
            masks = [_mask(kind, text) for text in texts]
            wrong = list(_fit(case, launch, masks))
            yield from wrong or _near(case, launch, masks)
            continue
        what = "hexadecimal mask" if kind == "mask_cpu" else "number of a processor"
        at = launch.options["cpu-bind"].at
        yield mistake("masks", at, what=f"`{bad}` is no {what}", fix="write one")


def given_masks(launch: JobLaunch) -> tuple[str, list[str]] | None:
    """(kind, masks as written) of a launch; None without any, and where only the running job knows
    them or the writer left some out (`fff,fff000,...`)."""
    word = launch.options.get("cpu-bind")
    kind = next((one for one in KINDS if word is not None and f"{one}:" in word.text), None)
    if word is None or kind is None or HOLE in word.text:
        return None
    texts = _repeated(word.text.partition(f"{kind}:")[2].split(","))
    return None if any(text.strip() in ELLIPSES for text in texts) else (kind, texts)


def _repeated(texts: Sequence[str]) -> list[str]:
    found: list[str] = []
    for text in texts:
        repeated = _REPEATED.fullmatch(text)
        found += [repeated[1]] * int(repeated[2]) if repeated is not None else [text]
    return found[:MOST_RANKS]


def _mask(kind: str, text: str) -> int:
    if kind == "mask_cpu":
        return int(text, 16)
    number = int(text, 16) if text[:2].lower() == "0x" else whole(text)
    return 1 << min(MOST_BITS if number is None else number, MOST_BITS)


def _fit(case: DoctorCase, launch: JobLaunch, masks: list[int]) -> Iterator[Found]:
    at = launch.options["cpu-bind"].at
    recipe = case.recipe
    cpus = recipe.cores_per_node * recipe.threads_per_core if recipe is not None else 0
    gpus = recipe.gpus_per_node if recipe is not None else 0
    tasks = number_of(launch.options, "ntasks-per-node") or gpus
    overlap = _overlap(masks)
    highest = max(masks, default=0).bit_length()
    what = fix = ""
    if overlap is not None:
        first, second = overlap
        what = f"the masks of ranks {first} and {second} overlap without being the same"
        fix = "give each rank processors of its own, or both the same ones"
    elif 0 in masks:
        what, fix = f"rank {masks.index(0)} has no processor", "give it one"
    elif cpus and highest > cpus:
        what = f"processor {highest - 1} is named; the node has 0 to {cpus - 1}"
        fix = "write masks for this node"
    elif tasks and len(masks) < tasks:
        what = f"{len(masks)} masks for {tasks} ranks a node: they begin again at the first"
        fix = "write a mask a rank"
    if what:
        yield mistake("masks", at, what=what, fix=fix)


def _overlap(masks: list[int]) -> tuple[int, int] | None:
    """The first two ranks whose masks overlap without being the same."""
    first: dict[int, int] = {}
    taken = 0
    for rank, mask in enumerate(masks):
        if mask & taken and mask not in first:
            return next(other for before, other in first.items() if before & mask), rank
        taken |= mask
        first.setdefault(mask, rank)
    return None


def _near(case: DoctorCase, launch: JobLaunch, masks: list[int]) -> Iterator[Found]:
    """Rank by rank near the GPU of the same number, as a topology file has them."""
    if case.is_on("NCCL_IGNORE_CPU_AFFINITY"):
        return  # NCCL's threads go to their GPU's processors whatever the mask.
    far = [
        (rank, mask, near)
        for rank, (mask, near) in enumerate(zip(masks, case.gpu_cpus, strict=False))
        if near and not mask & near
    ]
    if not far:
        return
    rank, mask, near = far[0]
    ranks = ", ".join(str(one) for one, _, _ in far)
    words = {"ranks": f"rank {ranks} runs" if len(far) == 1 else f"ranks {ranks} run"}
    words |= {"rank": str(rank), "processors": cpu_list(mask), "wanted": cpu_list(near)}
    yield mistake("masks-far", launch.options["cpu-bind"].at, **words)
