"""Messages of libraries that name a fault (schema weft.log-messages/1), each with its remedy."""

import re
from collections.abc import Iterator
from functools import cache, cached_property
from typing import Literal

from pydantic import Field

from weft.catalog.document import Document, RegularExpression, Slug, Text, require_once
from weft.catalog.toml_file import catalogue_document, catalogue_names

FOLDER = "log_messages"
READ_AS_NCCL = {"RCCL", "aws-ofi-nccl"}
"""They write through NCCL's own log, with its mark."""


class LogMessage(Document):
    """One message. `pattern` is searched in the message's text, `place` in where it comes from.

    A fatal message ends the job; a harmful one costs speed, or names a cause; a harmless one does
    neither. A `consequence` follows from another failure, which is named first. `happened` has
    places {in braces} for named groups of the pattern. `example` is the message as it is printed.
    """

    name: Slug
    pattern: RegularExpression
    place: RegularExpression | None = None
    libraries: tuple[Text, ...] = Field(min_length=1)
    severity: Literal["fatal", "harmful", "harmless"]
    consequence: bool = False
    happened: Text
    cause: Text
    remedy: Text
    example: Text
    source: Text
    class_: Literal["sourced", "published", "unverified"] = Field(alias="class")

    @cached_property
    def writers(self) -> frozenset[str]:
        """Libraries as a log names them."""
        return frozenset("NCCL" if one in READ_AS_NCCL else one for one in self.libraries)

    def words(self, library: str, place: str, text: str) -> dict[str, str] | None:
        """The named parts of a message that is this one, None where it is another."""
        if library not in self.writers:
            return None
        if self.place is not None and re.search(self.place, place) is None:
            return None
        found = re.search(self.pattern, text)
        return None if found is None else found.groupdict(default="")

    def sentence(self, words: dict[str, str]) -> str:
        """The event in words, with the parts of this message; parts that it lacks leave no gap."""
        names = {name: words.get(name) or UNNAMED.get(name, "") for name in _places(self.happened)}
        return " ".join(self.happened.format_map(names).split()).replace(" ,", ",").rstrip(" :")


UNNAMED = {"peer": "a peer", "device": "an adapter"}
"""For parts that a version of the message does not have."""


class LogMessages(Document):
    """A document of messages; the first that fits a line counts."""

    schema_: Literal["weft.log-messages/1"] = Field(alias="schema")
    messages: tuple[LogMessage, ...] = Field(alias="message", min_length=1)


@cache
def log_messages() -> tuple[LogMessage, ...]:
    """Every message of the catalogue: within a document the special ones come first."""
    documents = (
        catalogue_document(LogMessages, f"{FOLDER}/{name}.toml", "list of log messages")
        for name in catalogue_names(FOLDER)
    )
    found = tuple(message for document in documents for message in document.messages)
    require_once((message.name for message in found), "message")
    return found


def message_of(library: str, place: str, text: str) -> tuple[LogMessage, dict[str, str]] | None:
    """The message that a line is, with its named parts."""
    found = (
        (message, words)
        for message in log_messages()
        if (words := message.words(library, place, text)) is not None
    )
    return next(found, None)


def _places(sentence: str) -> Iterator[str]:
    return (name for name in re.findall(r"\{(\w+)\}", sentence))
