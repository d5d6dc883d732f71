"""Words of a configuration file of ssh."""

from pathlib import Path

from weft.core.errors import InputError


def config_path(path: Path) -> str:
    """A path as ssh_config(5) takes it: in quotes, '%' doubled. Raises InputError for one that no
    quotes hold."""
    text = str(path)
    if not text.isprintable() or '"' in text:
        raise InputError(f"{text!a} cannot stand in ssh_config", expected="a plain path")
    return f'"{text.replace("%", "%%")}"'
