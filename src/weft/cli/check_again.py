"""The command that measures the same again: the options of a check, as they were given."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.core.finding import Finding
from weft.core.nodeset import fold

if TYPE_CHECKING:
    from weft.diagnose.check.verdict import Verdict

NOT_AGAIN: Mapping[str, str] = {
    "--dir": "a new run has a directory of its own",
    "--resume": "it is about an interrupted run",
    "--against": "it is held against this run",
    "--plant": "what was planted is mended",
    "--counters": "they were read before the repair",
    "--dry-run": "it measured nothing",
    "--matrix": "it changes what is shown",
    "--drain": "it changes what is written",
    "--report": "it changes what is written",
    "--format": "it changes how it is printed",
    "--mock": "it is for tests",
}
"""Options that do not change what is measured, or must not be given again, and why."""


@dataclass(frozen=True, slots=True)
class Again:
    """Options by name, each with all its words as they are typed."""

    options: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, context: click.Context) -> "Again":
        """What was typed for this command."""
        typed = click.core.ParameterSource.COMMANDLINE
        return cls(
            {
                option.opts[0]: _words(option, context.params[str(option.name)])
                for option in context.command.params
                if isinstance(option, click.Option)
                and option.opts[0] not in NOT_AGAIN
                and context.get_parameter_source(str(option.name)) == typed
            }
        )

    @property
    def argv(self) -> tuple[str, ...]:
        """The whole command."""
        return ("weft", "check", *(word for words in self.options.values() for word in words))

    def against(self, run_dir: Path) -> tuple[str, ...]:
        """The command, which also says what is mended since that run."""
        return (*self.argv, "--against", str(run_dir))

    def of_hosts(self, hosts: Sequence[str]) -> "Again":
        """The same of these hosts, unless hosts were named."""
        if {"--hosts", "--hostfile"} & set(self.options):
            return self
        return Again({"--hosts": ("--hosts", fold(hosts)), **self.options})

    def over(self, rails: Sequence[str]) -> "Again":
        """The same over these network devices, one rank each."""
        kept = {name: it for name, it in self.options.items() if name != "--tasks-per-node"}
        return Again({**kept, "--rails": ("--rails", ",".join(rails))})


def with_own_options(verdict: "Verdict", again: Again) -> "Verdict":
    """The verdict, whose command to mend a run that proves nothing has the options of this one."""
    return replace(verdict, findings=tuple(_told(one, again) for one in verdict.findings))


def _told(finding: Finding, again: Again) -> Finding:
    rails, hosts = finding.facts.get("rails"), finding.facts.get("hosts")
    if not rails or not hosts:
        return finding
    return replace(finding, next_command=shlex.join(again.of_hosts(hosts).over(rails).argv))


def _words(option: click.Option, value: Any) -> tuple[str, ...]:
    if option.is_flag:
        return (option.opts[0],)
    values = value if option.multiple else (value,)
    return tuple(word for one in values for word in (option.opts[0], str(one)))
