"""weft: measure a fabric, predict it on a twin, name what is wrong, prescribe settings."""

__version__ = "0.1.0"
