"""What all tests share."""

from hypothesis import settings

# A busy machine is not a failure, and a red run must be red again when it is repeated.
settings.register_profile("weft", deadline=None, derandomize=True)
settings.load_profile("weft")
