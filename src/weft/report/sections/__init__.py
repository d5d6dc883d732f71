"""The sections of a page: each a pure function from a run to a Section, or None."""
