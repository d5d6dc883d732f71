"""When the audit reports, read from thresholds.toml in this folder."""

import functools
from typing import Literal

from pydantic import Field, model_validator

from weft.catalog.document import Document, Figure, RegularExpression, SourceClass, Text
from weft.catalog.toml_file import shipped_document


class CounterRule(Document):
    """The meaning of a counter, its least reported total, and the number an hour that is bad.

    Counters of `bits` bits stop at their highest value. `bad_an_hour` 0: no rate of it is bad.
    `of_this_cable`: what it counts happens on the cable of the port that counts, and nowhere else.
    `of_reboots`: it counts that the link came up again, as it does when its host reboots.
    """

    counter: Text
    bits: int = Field(gt=0)
    total: int = Field(gt=0)
    bad_an_hour: float = Field(ge=0)
    of_this_cable: bool = False
    of_reboots: bool = False
    class_: SourceClass = Field(alias="class")
    source: Text
    means: Text
    fix: Text

    @property
    def highest(self) -> int:
        """Where the counter stops."""
        return int(2**self.bits) - 1


class Engines(Document):
    """Routing engines that give paths service levels of their own."""

    names: tuple[Text, ...]
    class_: SourceClass = Field(alias="class")
    source: Text


class Fallback(Document):
    """The engine that takes over where another gives up."""

    name: Text
    class_: SourceClass = Field(alias="class")
    source: Text


class EngineOfError(Document):
    """Engines by the first letters of their error codes."""

    AB: Text
    class_: SourceClass = Field(alias="class")
    source: Text


class NamePatterns(Document):
    """Patterns of node descriptions: of switches, of adapters, of what is neither."""

    class_: SourceClass = Field(alias="class")
    source: Text
    switch: RegularExpression
    adapter: RegularExpression
    service: RegularExpression


class AuditThresholds(Document):
    """Shares, rates and patterns of the audit, each with its source."""

    schema_: Literal["weft.audit_thresholds/1"] = Field(alias="schema")
    sibling_share: Figure
    lateral_share: Figure
    smallest_group: Figure
    slow_share: Figure
    usual_rate_share: Figure
    taper_slack: Figure
    rail_share: Figure
    ber_bad: Figure
    ber_warning: Figure
    least_growth: Figure
    shortest_interval: Figure
    wait_share: Figure
    symbol_errors: CounterRule
    link_error_recovery: CounterRule
    link_downed: CounterRule
    receive_errors: CounterRule
    remote_physical_errors: CounterRule
    relay_errors: CounterRule
    discards: CounterRule
    constraint_errors_sent: CounterRule
    constraint_errors_received: CounterRule
    local_integrity: CounterRule
    buffer_overrun: CounterRule
    vl15_dropped: CounterRule
    service_level_engines: Engines
    fallback: Fallback
    engine_of_error: EngineOfError
    names: NamePatterns

    @model_validator(mode="after")
    def _warning_comes_first(self) -> "AuditThresholds":
        if self.ber_warning.value >= self.ber_bad.value:
            raise ValueError("ber_warning is below ber_bad")
        return self

    @functools.cached_property
    def counters(self) -> dict[str, CounterRule]:
        """Counter rules by counter, in the order of the document."""
        rules = (getattr(self, name) for name in type(self).model_fields)
        return {rule.counter: rule for rule in rules if isinstance(rule, CounterRule)}


@functools.cache
def thresholds() -> AuditThresholds:
    """The shipped thresholds."""
    return shipped_document(AuditThresholds, "thresholds.toml", "table of thresholds")
