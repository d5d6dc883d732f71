"""What a name after --only means where several things could be called so."""

from typing import Any

import pytest
from tests.unit.check.schedule.fields import field_of, generated

from weft.check.schedule.node_group import group_of
from weft.core.errors import InputError

RENAMED = {
    "spine-01": "MF0;spine:MQM8700/U1",
    "spine-02": "MF0;spine:MQM9700/U1",
    "spine-03": "MF0;n003:MQM9700/U1",
}


def renamed(value: Any) -> Any:
    """A document in which switches describe themselves as managed ones do."""
    if isinstance(value, dict):
        return {renamed(key): renamed(one) for key, one in value.items()}
    if isinstance(value, list):
        return [renamed(one) for one in value]
    if not isinstance(value, str):
        return value
    name, bracket, rest = value.partition("[")
    return RENAMED.get(name, name) + bracket + rest


@pytest.fixture
def field():
    from weft.topology.fabric import Fabric

    document = generated(nodes=12, per_leaf=4, spines=3).document
    return field_of(Fabric.from_document(renamed(dict(document))))


@pytest.mark.parametrize("name", ["spine", "spine[2]"])
def test_a_name_of_two_switches_is_ambiguous_and_both_are_named(field, name):
    with pytest.raises(InputError) as caught:
        group_of(name, field.ranks, field.paths)
    assert caught.value.what == "'spine' is ambiguous: 2 switches are called so"
    assert "MF0;spine:MQM8700/U1, MF0;spine:MQM9700/U1" in (caught.value.expected or "")
    for whole in ("MF0;spine:MQM8700/U1", "MF0;spine:MQM9700/U1"):
        assert group_of(whole, field.ranks, field.paths).places is not None


def test_a_host_comes_before_a_switch_that_is_called_like_it(field):
    group = group_of("n003", field.ranks, field.paths)
    assert group.words == "pairs with an end in n003"
    assert group.inside.sum() == 1
    assert group_of("n[002-004]", field.ranks, field.paths).inside.sum() == 3
    assert group_of("MF0;n003:MQM9700/U1", field.ranks, field.paths).places is not None
