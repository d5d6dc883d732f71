"""Lists of tenants: what nobody can mean is refused, with its place."""

from pathlib import Path

import pytest

from weft.core.errors import InputError
from weft.isolation.tenants import read_tenancy, require_nodes

TWO = """schema = "weft.tenants/1"

[[tenant]]
name = "cfd"
nodes = "n[1-4]"
traffic = "allreduce:8"
target = 1.1

[[tenant]]
name = "load"
nodes = "n[5-8],n12"
traffic = "put_incast:1M"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "tenants.toml"
    path.write_text(text)
    return path


def test_tenants_without_a_key_get_the_first_free_one(tmp_path: Path) -> None:
    text = TWO.replace('"put_incast:1M"\n', '"put_incast:1M"\npartition_key = "0x0001"\n')
    cfd, load = read_tenancy(written(tmp_path, text)).tenants
    assert (cfd.partition_key, load.partition_key) == ("0x0002", "0x0001")
    assert load.node_names == ("n5", "n6", "n7", "n8", "n12")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("target = 1.1\n", "", "no tenant has a target"),
        ("target = 1.1", "target = 0.9", "target"),
        ("target = 1.1", "target = nan", "target"),
        ("n[5-8],n12", "n[4-8]", "node 'n4' is one of tenant 'cfd', too"),
        ("n[5-8],n12", "n5", "nodes = 'n5'"),
        ("n[5-8],n12", "job", "nodes = 'job'"),
        ("n[5-8],n12", "8", "nodes = '8'"),
        ("n[5-8],n12", "50%", "nodes = '50%'"),
        ('"load"', '"cfd"', "2 tenants named 'cfd'"),
        ("put_incast:1M", "shout:1M", "no pattern 'shout'"),
        ("put_incast:1M", "put_incast:1M@n9", "traffic = 'put_incast:1M@n9'"),
        ("put_incast:1M", "put_incast:1M,sl=1", "traffic = 'put_incast:1M,sl=1'"),
        ("allreduce:8", "put_incast:8", "with a target"),
        ("allreduce:8", "allreduce:7", "sends 7 B"),
        ("[[tenant]]", 'services = "n12"\n[[tenant]]', "node 'n12' is one of services, too"),
        ("target = 1.1", 'target = 1.1\npartition_key = "0x7fff"', "0x0001 to 0x7ffe"),
        ("target = 1.1", 'target = 1.1\npartition_key = "0x8001"', "0x0001 to 0x7ffe"),
        ("target = 1.1", "target = 1.1\nservice_level = 15", "service_level"),
        ("[[tenant]]", "data_lanes = 0\n[[tenant]]", "data_lanes"),
        ("[[tenant]]", 'congestion_control = "hope"\n[[tenant]]', "congestion_control"),
        ("weft.tenants/1", "weft.tenants/2", "schema"),
    ],
)
def test_what_nobody_can_mean_is_refused(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in TWO
    with pytest.raises(InputError) as refused:
        read_tenancy(written(tmp_path, TWO.replace(old, new, 1)))
    assert says in refused.value.describe()


def test_two_tenants_of_one_partition_are_refused(tmp_path: Path) -> None:
    key = '\npartition_key = "0x0021"\n'
    text = TWO.replace("target = 1.1\n", f"target = 1.1{key}") + key
    with pytest.raises(InputError, match="2 tenants of partition key '0x0021'"):
        read_tenancy(written(tmp_path, text))


def test_ten_tenants_are_too_many(tmp_path: Path) -> None:
    more = "".join(
        f'\n[[tenant]]\nname = "t{at}"\nnodes = "m{at}a,m{at}b"\ntraffic = "alltoall"\n'
        for at in range(8)
    )
    with pytest.raises(InputError, match="10 tenants"):
        read_tenancy(written(tmp_path, TWO + more))


def test_a_node_that_the_fabric_does_not_have_is_named(tmp_path: Path) -> None:
    tenancy = read_tenancy(written(tmp_path, TWO))
    known = [f"n{at}" for at in range(1, 12)]
    with pytest.raises(InputError, match="tenant 'load': no node 'n12' in the fabric"):
        require_nodes(tenancy, known, "tenants.toml")
    require_nodes(tenancy, [*known, "n12"], "tenants.toml")
