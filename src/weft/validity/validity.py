"""May a run be judged at all, and what weakens it: one pass over what its launches proved."""

from collections.abc import Iterable
from dataclasses import dataclass

from weft.bench.model import Sample, State
from weft.bench.twin.fidelity import fidelity_clauses
from weft.core.finding import Finding, Severity
from weft.validity import background_traffic as quiet
from weft.validity import binding, clock, transport
from weft.validity.proof import proofs_of
from weft.validity.thresholds import ValidityThresholds, thresholds


@dataclass(frozen=True, slots=True)
class Validity:
    """`refusal`: why the samples support no verdict, with its remedy; None where they do.

    `warnings` weaken a verdict, gravest first; those of severity NOTE describe the measurement.
    """

    refusal: Finding | None = None
    warnings: tuple[Finding, ...] = ()
    of_twin: tuple[str, ...] = ()
    """How closely a twin followed packets, in clauses."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The warnings that are printed with a verdict's own findings."""
        return tuple(one for one in self.warnings if one.severity is not Severity.NOTE)

    @property
    def caveats(self) -> tuple[str, ...]:
        """The notes, as sentences about the limits of the run."""
        notes = (one.sentence for one in self.warnings if one.severity is Severity.NOTE)
        return (*self.of_twin, *notes)


def findings(samples: Iterable[Sample], limits: ValidityThresholds | None = None) -> Validity:
    """The findings of these samples about the run itself.

    A twin says how closely it followed packets, and leaves no other such evidence. Raises
    InputError on damaged evidence.
    """
    limits = limits or thresholds()
    kept = tuple(samples)
    proofs = proofs_of(kept)
    missed = [proof for proof in proofs if proof.state is State.NOT_ON_FABRIC]
    refusal = None
    if any(sample.state is State.NOT_ON_FABRIC for sample in kept):
        refusal = transport.not_on_fabric(missed, _nodes(kept))
    elif any("oversubscribed" in sample.flags for sample in kept):
        refusal = binding.crowded_cpus(proofs) or binding.oversubscribed()
    found = (
        None if missed else transport.off_fabric_hosts(proofs),
        None if missed else transport.off_named_hosts(proofs),
        transport.unproved(proofs, limits),
        quiet.errors_that_grew(proofs),
        quiet.not_quiet(proofs, limits),
        quiet.neighbours_on_nodes(proofs),
        binding.far_ranks(proofs),
        clock.too_coarse(proofs, limits),
        transport.no_network(proofs),
        transport.other_network(proofs, limits),
        quiet.neighbours_on_switches(proofs),
        quiet.neighbours_not_known(proofs),
        clock.not_common(proofs),
    )
    return Validity(refusal, tuple(one for one in found if one is not None), fidelity_clauses(kept))


def _nodes(samples: Iterable[Sample]) -> list[str]:
    """Nodes of the pairs measured, each once, without the ranks on them."""
    ends = (end for one in samples if one.pair for end in (one.pair.a, one.pair.b))
    return list(dict.fromkeys(end.partition(":")[0] for end in ends))
