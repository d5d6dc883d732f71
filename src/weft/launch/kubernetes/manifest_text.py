"""A manifest as YAML for people: values of secret variables masked, scripts line by line."""

from collections.abc import Mapping
from typing import Any

import yaml

from weft.launch.redact import is_secret
from weft.launch.secret_text import MASK, mask_text

WIDTH = 60
"""Lines are broken at the first space behind this column, so that they fit 80."""


class _BlockDumper(yaml.SafeDumper):
    """Writes a text of several lines as such."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_BlockDumper.add_representer(str, _text)


def manifest_text(manifest: Mapping[str, Any]) -> str:
    """The YAML of plain JSON values, as a run directory may keep it and a terminal shows it."""
    shown = _without_secrets(manifest)
    return mask_text(yaml.dump(shown, Dumper=_BlockDumper, sort_keys=False, width=WIDTH))[0]


def _without_secrets(value: Any) -> Any:
    """The same with a mask in the place of the value of each variable that may be secret: its name
    stands on another line, where a search of text does not see both."""
    if isinstance(value, list):
        return [_without_secrets(one) for one in value]
    if not isinstance(value, Mapping):
        return value
    shown = {key: _without_secrets(one) for key, one in value.items()}
    name, text = shown.get("name"), shown.get("value")
    if isinstance(name, str) and isinstance(text, str) and is_secret(name, text):
        shown["value"] = MASK
    return shown
