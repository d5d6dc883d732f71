"""How GPUs share a model: TP x PP x CP x DP, with EP inside DP; which layouts cannot be, and the
nearest that can.

Ranks count as Megatron-LM's do: TP first, then CP, DP, PP. SOURCE: NVIDIA/Megatron-LM,
megatron/core/parallel_state.py: order "tp-cp-ep-dp-pp"; EP is a part of DP.

With expert TP of their own, experts fold differently from attention: expert TP x EP x replicas of
experts are as many GPUs as TP x CP x DP. SOURCE: the same file, expert_tensor_parallel_size and
expert_data_parallel_size; megatron/core/transformer/moe/README.md, MoE Parallel Folding.
"""

import math
from dataclasses import dataclass
from typing import Literal

from weft.catalog.libraries.model_document import Experts, ModelDocument, TransformerShape
from weft.catalog.libraries.training_gpus import Precision
from weft.core.errors import InputError

Recompute = Literal["none", "attention", "half", "full"]
Sharding = Literal["none", "optimizer", "full"]
Dimension = Literal["tp", "ep", "cp", "pp", "dp"]
DIMENSIONS: tuple[Dimension, ...] = ("tp", "ep", "cp", "pp", "dp")


@dataclass(frozen=True, slots=True)
class ModelLayout:
    """Parallelism of `n_gpus`: `vp` virtual stages a pipeline stage, `micro_batch` sequences at
    once, `ga` micro-batches a step. `etp`: TP of experts, which then share out all GPUs of a stage;
    0: as TP, with EP inside DP."""

    n_gpus: int
    tp: int = 1
    pp: int = 1
    cp: int = 1
    ep: int = 1
    vp: int = 1
    micro_batch: int = 1
    ga: int = 1
    etp: int = 0

    @property
    def dp(self) -> int:
        """Replicas of the model, of which EP takes a part."""
        return self.n_gpus // (self.tp * self.pp * self.cp)

    @property
    def expert_tp(self) -> int:
        """GPUs that share an expert."""
        return self.etp or self.tp

    @property
    def expert_replicas(self) -> int:
        """GPUs that have the same part of the same experts."""
        return max(1, self.tp * self.cp * self.dp // (self.expert_tp * self.ep))

    @property
    def global_batch(self) -> int:
        """Sequences of a step."""
        return self.micro_batch * self.dp * self.ga

    @property
    def words(self) -> str:
        """'TP 4 x PP 8 x CP 2 x DP 16 (EP 8), VP 8'."""
        parts = [f"{name} {n}" for name, n in self._ways if n > 1] or [f"DP {self.dp}"]
        own = [f"EP {self.ep}"] if self.ep > 1 else []
        own += [f"expert TP {self.etp}"] if self.etp else []
        experts = f" ({', '.join(own)})" if own else ""
        virtual = f", VP {self.vp}" if self.vp > 1 else ""
        return " x ".join(parts) + experts + virtual

    @property
    def _ways(self) -> tuple[tuple[str, int], ...]:
        return (("TP", self.tp), ("PP", self.pp), ("CP", self.cp), ("DP", self.dp))


@dataclass(frozen=True, slots=True)
class StepMethod:
    """How a step is computed. `recompute`: activations computed again in the backward pass: none,
    `attention` (scores only), `half` of the products, all. `sharding`: what the replicas of a
    parameter share out: nothing, the optimizer's state, or weights and gradients too (FSDP).
    `overlap`: dimensions whose exchanges run beside computing. `flash`: scores never reach memory.
    `dynamic_scaling`: FP8 by scales of the same values, not of steps before.
    `fused`: each operation between products is one kernel.
    """

    precision: Precision = "bf16"
    recompute: Recompute = "none"
    sharding: Sharding = "optimizer"
    overlap: frozenset[Dimension] = frozenset({"tp", "cp", "pp", "dp"})
    flash: bool = True
    dynamic_scaling: bool = False
    fused: bool = True
    sequence_parallel: bool = True
    gradient_bytes: int = 2


def check_layout(model: ModelDocument, shape: TransformerShape, layout: ModelLayout) -> None:
    """Raises InputError for a layout that cannot be, with the nearest possible value."""
    for name in ("n_gpus", "tp", "pp", "cp", "ep", "vp", "micro_batch", "ga"):
        if getattr(layout, name) < 1:
            raise InputError(f"{name} = {getattr(layout, name)}", expected="1 or more")
    _check_tensor(model, shape, layout)
    _check_stages(model, shape, layout)
    _check_sequence(model.sequence, layout)
    per_replica = layout.tp * layout.pp * layout.cp
    if layout.n_gpus % per_replica:
        near = nearest_of(
            layout.n_gpus, [per_replica * n for n in _around(layout.n_gpus, per_replica)]
        )
        raise InputError(
            f"{layout.n_gpus} GPUs do not split into TP {layout.tp} x PP {layout.pp} x"
            f" CP {layout.cp} = {per_replica}",
            expected=f"a multiple of {per_replica}",
            hint=f"the nearest possible value is --gpus {near}",
        )
    _check_experts(model, shape, layout)


def _check_sequence(sequence: int, layout: ModelLayout) -> None:
    """A causal mask gives each GPU of a ring an early and a late part; TP splits what one has.

    SOURCE: NVIDIA/Megatron-LM, megatron/core/utils.py, get_batch_on_this_cp_rank.
    """
    parts = 2 * layout.cp if layout.cp > 1 else 1
    if sequence % parts:
        possible = [one for one in _divisors(sequence) if one == 1 or sequence % (2 * one) == 0]
        reason = f"{sequence} tokens do not split into 2 x {layout.cp} parts"
        raise _impossible("CP", layout.cp, reason, possible)
    if sequence // layout.cp % layout.tp:
        whole = math.lcm(layout.tp * layout.cp, parts)
        near = nearest_of(sequence, [whole * n for n in _around(sequence, whole)])
        raise InputError(
            f"{sequence} tokens do not split into TP {layout.tp} x CP {layout.cp} parts",
            expected=f"a multiple of {whole}: sequence parallelism splits each sample",
            hint=f"the nearest possible value is --sequence {near}",
        )


def _around(n: int, step: int) -> list[int]:
    below = n // step
    return [one for one in (below, below + 1) if one > 0]


def _check_tensor(model: ModelDocument, shape: TransformerShape, layout: ModelLayout) -> None:
    sizes = {"heads": shape.heads, "columns of ffn": shape.ffn, "columns of hidden": shape.hidden}
    if not layout.etp and shape.experts is not None:
        sizes["columns of ffn of an expert"] = shape.experts.ffn
    whole = [f"{size} {name}" for name, size in sizes.items() if size % layout.tp]
    if whole:
        possible = _divisors(math.gcd(*sizes.values()))
        reason = f"{' and '.join(whole)} of {model.name} do not split"
        raise _impossible("TP", layout.tp, reason, possible)


def _check_stages(model: ModelDocument, shape: TransformerShape, layout: ModelLayout) -> None:
    layers = shape.layers
    if layout.pp > layers:
        raise _impossible(
            "PP", layout.pp, f"{model.name} has {layers} layers", list(range(1, layers + 1))
        )
    if layout.vp == 1:
        return
    if layout.pp == 1:
        raise InputError(
            f"VP {layout.vp} without a pipeline",
            expected="--pp 2 or more",
            hint="the nearest possible value is --vp 1",
        )
    possible = [vp for vp in range(1, layers // layout.pp + 1) if layers % (layout.pp * vp) == 0]
    if layout.vp not in (possible or [1]):
        raise _impossible(
            "VP",
            layout.vp,
            f"{layers} layers do not split into PP {layout.pp} x VP {layout.vp}",
            possible or [1],
        )
    if layout.ga % layout.pp:
        near = nearest_of(layout.ga, [layout.pp * n for n in _around(layout.ga, layout.pp)])
        raise InputError(
            f"GA {layout.ga} with virtual stages",
            expected=f"a multiple of PP {layout.pp}: stages take turns",
            hint=f"the nearest possible value is --ga {near}",
        )


def _check_experts(model: ModelDocument, shape: TransformerShape, layout: ModelLayout) -> None:
    if layout.ep == 1 and not layout.etp:
        return
    if shape.experts is None:
        name, value = ("EP", layout.ep) if layout.ep > 1 else ("ETP", layout.etp)
        raise InputError(
            f"{name} {value}: {model.name} has no experts",
            expected="a model with [transformer.experts]",
            hint="the nearest possible value is --ep 1" if layout.ep > 1 else "leave out --etp",
        )
    if layout.etp:
        _check_folding(shape.experts, layout)
        return
    possible = [one for one in _divisors(shape.experts.count) if layout.dp % one == 0]
    if layout.ep not in possible:
        reason = f"{shape.experts.count} experts and DP {layout.dp} do not both split"
        raise _impossible("EP", layout.ep, reason, possible)


def _check_folding(experts: Experts, layout: ModelLayout) -> None:
    """Expert TP x EP must divide the GPUs of a stage, whatever DP is."""
    stage = layout.tp * layout.cp * layout.dp
    possible = [one for one in _divisors(experts.ffn) if stage % one == 0]
    if layout.etp not in possible:
        reason = f"{experts.ffn} columns of an expert and {stage} GPUs of a stage do not both split"
        raise _impossible("ETP", layout.etp, reason, possible)
    possible = [one for one in _divisors(experts.count) if stage % (one * layout.etp) == 0]
    if layout.ep not in possible:
        reason = (
            f"{experts.count} experts and {stage // layout.etp} groups of expert TP {layout.etp} do"
            " not both split"
        )
        raise _impossible("EP", layout.ep, reason, possible)


def _impossible(name: str, value: int, reason: str, possible: list[int]) -> InputError:
    near = nearest_of(value, possible)
    listed = ", ".join(str(one) for one in possible[:12])
    return InputError(
        f"{name} {value}: {reason}",
        expected=f"one of {listed}{', ...' if len(possible) > 12 else ''}",
        hint=f"the nearest possible value is --{name.lower()} {near}",
    )


def nearest_of(wanted: int, possible: list[int]) -> int:
    """The possible value that is nearest; the smaller of two."""
    return min(possible, key=lambda one: (abs(one - wanted), one))


def _divisors(whole: int) -> list[int]:
    return [one for one in range(1, whole + 1) if whole % one == 0]
