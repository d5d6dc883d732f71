import time
import tracemalloc

import pytest

from weft.core.errors import InputError
from weft.core.nodeset import MOST_NODES, expand, fold, most_names


def test_the_grammar_of_the_field_is_read() -> None:
    assert expand("node[1-3,7]") == ("node1", "node2", "node3", "node7")
    assert expand("n[08-10]") == ("n08", "n09", "n10")


def test_names_fold_back() -> None:
    assert fold(["node2", "node1", "node3", "node1"]) == "node[1-3]"


@pytest.mark.parametrize(
    "text",
    [
        "node[1-",
        "node[3-1]",
        "",
        " ",
        "n[nan-inf]",
        "n[1-10/0]",
        "n[0-1e18]",
        "[[[[",
        "n*",
        "a,,b",
        "a[1-2] b[1-3]",
        "n1 n2",
        "n1\nn2",
        "@nowhere:x",
    ],
)
def test_a_wrong_node_set_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="nod"):
        expand(text)


@pytest.mark.parametrize(
    "text",
    [
        "n[1-1000000000]",
        f"n[1-{MOST_NODES + 1}]",
        "n[1 - 99999999]",
        "n[+1-9_999_999_9]",
        "n[٠-٩٩٩٩٩٩٩٩]",
        "n[-99999999-3]",
        "[1-1000000000]",
        "rack[1-1000]node[1-1000]",
        "n[1-64] n[1-64] n[1-64] n[1-64]",
        "n[1-2]" * 30,
        "n[1-200000],m[1-200000]",
        "n[" + "1-100000," * 10 + "1]",
        f"n[1-{'9' * 400}]",
        f"n[{'9' * 5000}-{'9' * 5000}]",
        "n[1-9999999999/1000]",
        "n[1-1000000000]!n[2-1000000000]",
    ],
)
def test_a_set_of_too_many_nodes_is_refused_before_it_is_built(text: str) -> None:
    tracemalloc.start()
    begun = time.monotonic()
    with pytest.raises(InputError, match="262,144 nodes"):
        expand(text)
    seconds, (_, most_bytes) = time.monotonic() - begun, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds < 2
    assert most_bytes < 10_000_000


@pytest.mark.parametrize(
    "text",
    [
        "n[1-3,7-9/2]",
        "rack[1-4]node[1-8]",
        "a,b,c",
        "n[1-3]!n2",
        "n[001-100],m[5]",
        "n[1-10000/999]",
    ],
)
def test_the_bound_is_never_below_the_number_of_names(text: str) -> None:
    assert most_names(text) >= len(expand(text))


def test_a_set_as_large_as_the_largest_machines_is_read() -> None:
    assert len(expand("rack[1-512]node[1-310]")) == 158_720


@pytest.mark.parametrize("text", ["x" * 100_000, "[" * 100_000, "x[" * 50_000])
def test_a_long_text_takes_no_longer_than_its_length(text: str) -> None:
    begun = time.monotonic()
    most_names(text)
    assert time.monotonic() - begun < 1


def test_a_long_name_with_a_foreign_sign_folds_at_once() -> None:
    """A hostfile may hold lines of an environment."""
    names = [letters * 40 + "=1" for letters in ("a", "FI_CXI", "\u00fc")]
    start = time.process_time()
    assert fold(names) == ",".join(names)
    assert time.process_time() - start < 0.5
