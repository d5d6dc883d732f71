"""Facts about this host, as figures."""

from weft.catalog.document import SourceClass
from weft.catalog.load import platform


def test_every_fact_says_that_this_host_reported_it() -> None:
    for figure in platform("this-machine").node.values():
        assert figure.class_ is SourceClass.SOURCED
        assert "this host" in figure.source
