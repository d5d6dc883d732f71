"""What logs state outside their steps: sequence length, global batch, GPUs, peak of a GPU.

SOURCE: Megatron-LM, training/arguments.py: _print_args and initialisation; NeMo's printed YAML;
Lightning, fabric/utilities/distributed.py: "Starting with N processes"; torchtitan, train.py and
distributed/parallel_dims.py; Horovod, examples/pytorch/pytorch_synthetic_benchmark.py.
"""

import math
import re
from collections.abc import Iterator

from weft.results.training.formats.values import NUMBER, number
from weft.results.training.model import Remark, Stated, TrainingFacts

_IS = r"[ .'\"]*[:=]?[ .'\"]*"


def _argument(name: str) -> tuple[bytes, str]:
    """An argument of Megatron-LM or of NeMo's YAML."""
    return name.encode(), rf"(?<![A-Za-z_]){name}{_IS}(\d+)"


def _axis(name: str) -> tuple[bytes, str]:
    """An axis of a mesh of devices, as torchtitan names them."""
    return b"device mesh with", rf"device mesh with.*[ :\[]{name}=(\d+)"


_FIELDS: dict[str, tuple[tuple[bytes, str], ...]] = {
    "sequence": (
        (b"seq_length", rf"(?<![A-Za-z_])(?:encoder_)?seq_length{_IS}(\d+)"),
        (b"seq_len", rf"(?<![A-Za-z_])seq_len{_IS}(\d+)"),
        (b"sequence length ", r"sequence length (\d+)"),
        (b"--seq-length", r"--seq-length[ =]+(\d+)"),
    ),
    "batch": (
        (b"global_batch_size", rf"(?<![A-Za-z_])global_batch_size{_IS}(\d+)"),
        (b"global batch size ", r"global batch size (\d+)"),
        (b"--global-batch-size", r"--global-batch-size[ =]+(\d+)"),
    ),
    "batch_per_gpu": ((b"Batch size: ", r"^Batch size: (\d+)\s*$"),),
    "gpus": (
        (b"world size: ", r"using world size: (\d+)"),
        (b"world_size ..", rf"(?<![A-Za-z_])world_size{_IS}(\d+)"),
        (b"Starting with ", r"registered\. Starting with (\d+) processes"),
        (b"Number of GPUs: ", r"^Number of GPUs: (\d+)\s*$"),
        (b"device mesh with", r"device mesh with (.*)"),
    ),
    "peak_flops": ((b"computing MFU", rf"Peak FLOPS used for computing MFU:\s*({NUMBER})"),),
    "tp": (_argument("tensor_model_parallel_size"), _axis("tp")),
    "pp": (_argument("pipeline_model_parallel_size"), _axis("pp")),
    "cp": (_argument("context_parallel_size"), _axis("cp")),
    "ep": (_argument("expert_model_parallel_size"), _axis("ep")),
    "vp": (_argument("virtual_pipeline_model_parallel_size"),),
    "micro_batch": (_argument("micro_batch_size"),),
    "devices": ((b"devices: ", r"^\s*devices: (\d+)\s*$"),),
    "nodes": ((b"num_nodes: ", r"^\s*num_nodes: (\d+)\s*$"),),
}
_PATTERNS = {
    (name, mark): re.compile(text) for name, marks in _FIELDS.items() for mark, text in marks
}
_MODEL = re.compile(r"^Model: ([\w.-]{1,60})\s*$", re.MULTILINE)
_PREFIX = re.compile(r"^(?:\[[\w,. |]{1,60}\](?:<std\w+>)?:? ?|\d{1,6}: ?)")
_AXES = re.compile(r"\b(?:pp|dp|dp_replicate|dp_shard|cp|tp)=(\d+)")
_LIST = re.compile(r"\], \[([\d, ]+)\]")
_OF_A_STEP = ("sequence", "batch", "gpus")
"""Facts whose change makes the steps behind it others."""
_OF_A_STEP_MARKS = tuple(mark for name in _OF_A_STEP for mark, _ in _FIELDS[name])
_MOST_OF_A_KIND = 200
_MOST_AXES = 8
_MOST_VALUE = 1e12
_PEAK_FLOPS = (1e9, 1e18)
"""Of a GPU, FLOP/s: what lies outside is damage."""
_LINE_BYTES = 1000


def facts_in(region: bytes, first_line: int) -> tuple[TrainingFacts, list[Remark]]:
    """The facts of a piece of a log that begins with this line. One that it states with two values
    is left out, with a remark."""
    found: dict[str, list[Stated]] = {name: [] for name in _FIELDS}
    for (name, mark), pattern in _PATTERNS.items():
        found[name] += _stated(region, first_line, mark, pattern)
    remarks: list[Remark] = []
    kept = {name: _one_of(name, values, remarks) for name, values in found.items()}
    devices, nodes = kept.pop("devices"), kept.pop("nodes")
    if kept["gpus"] is None and devices is not None and nodes is not None:
        kept["gpus"] = Stated(devices.value * nodes.value, devices.line)
    model = _MODEL.search(region[: 1 << 16].decode("utf-8", "replace"))
    return TrainingFacts(**kept, model=model.group(1) if model else ""), remarks


def has_arguments(content: bytes) -> bool:
    """Whether a block has the arguments of a job: one search, for each block of a log."""
    return b"global_batch_size" in content


def may_state_facts(text: bytes) -> bool:
    """Whether a text may state what a step is: cheaper than `facts_in`."""
    return any(mark in text for mark in _OF_A_STEP_MARKS)


def changed_fact(before: TrainingFacts, after: TrainingFacts) -> Remark | None:
    """The first fact of a step that is another one now; None where none is."""
    for name in _OF_A_STEP:
        old, new = getattr(before, name), getattr(after, name)
        if old is not None and new is not None and old.value != new.value:
            what, _ = _WORDS[name]
            text = f"{what}: {old.value:g} in line {old.line}, {new.value:g} here: another run"
            return Remark(new.line, f"the log states two {text}")
    return None


def _stated(
    region: bytes, first_line: int, mark: bytes, pattern: re.Pattern[str]
) -> Iterator[Stated]:
    at, line, counted_to = 0, first_line, 0
    for _ in range(_MOST_OF_A_KIND):
        at = region.find(mark, at)
        if at < 0:
            return
        start = region.rfind(b"\n", max(0, at - _LINE_BYTES), at) + 1 or max(0, at - _LINE_BYTES)
        end = region.find(b"\n", at)
        end = len(region) if end < 0 else end
        text = region[start : min(end, at + _LINE_BYTES)].decode("utf-8", "replace")
        line += region.count(b"\n", counted_to, start)
        counted_to = start
        for match in pattern.finditer(_PREFIX.sub("", text).rstrip("\r")):
            value = _value(match.group(1))
            least, most = _PEAK_FLOPS if mark == b"computing MFU" else (1, _MOST_VALUE)
            if least <= value <= most:
                yield Stated(value, line)
        at = end


def _value(text: str) -> float:
    """The number, or the product of the axes of a mesh of devices."""
    axes = _AXES.findall(text)[:_MOST_AXES]
    listed = _LIST.search(text)
    if not axes and listed:
        axes = [one for one in listed.group(1).replace(" ", "").split(",") if one][:_MOST_AXES]
    return math.prod(number(one) for one in axes) if axes else number(text)


_WORDS = {
    "sequence": ("sequence lengths", "--sequence"),
    "batch": ("global batches", "--batch"),
    "gpus": ("numbers of GPUs", "--gpus"),
}


def _one_of(name: str, values: list[Stated], remarks: list[Remark]) -> Stated | None:
    if not values:
        return None
    first = min(values, key=lambda one: one.line)
    other = next((one for one in values if one.value != first.value), None)
    if other is None:
        return first
    if name in _WORDS:
        what, option = _WORDS[name]
        text = (
            f"two {what}: {first.value:g} here, {other.value:g} in line {other.line}; weft takes "
            f"neither: give {option}"
        )
        remarks.append(Remark(first.line, text))
    return None
