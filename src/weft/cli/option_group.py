"""Options that belong together, and that a command receives as one value."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def options_as(argument: str, choice: type[Any], options: Sequence[Decorator]) -> Decorator:
    """Add `options` to a command, which receives them as one `argument`: a `choice`, the dataclass
    whose fields they are; a field that is no option keeps its default."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_choice(**kwargs: Any) -> Any:
            named = [name for name in choice.__dataclass_fields__ if name in kwargs]
            fields = {name: kwargs.pop(name) for name in named}
            return command(**{argument: choice(**fields)}, **kwargs)

        wrapped: Callable[..., Any] = with_choice
        for option in reversed(options):
            wrapped = option(wrapped)
        return wrapped

    return add
