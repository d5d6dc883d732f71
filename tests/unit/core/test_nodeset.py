import pytest

from weft.core.errors import InputError
from weft.core.nodeset import expand, fold


def test_the_grammar_of_the_field_is_read() -> None:
    assert expand("node[1-3,7]") == ("node1", "node2", "node3", "node7")
    assert expand("n[08-10]") == ("n08", "n09", "n10")


def test_names_fold_back() -> None:
    assert fold(["node2", "node1", "node3", "node1"]) == "node[1-3]"


@pytest.mark.parametrize("text", ["node[1-", "node[3-1]", ""])
def test_a_wrong_node_set_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="nod"):
        expand(text)
