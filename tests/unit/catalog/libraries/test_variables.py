"""Variables by version, and recipes that set only what is known."""

import pytest

from weft.catalog.libraries.setting_rules import setting_rules
from weft.catalog.libraries.variables import Variable, version_key
from weft.catalog.load import launch_recipe, launch_recipe_names, platform_names, variable_lists


def nccl(name: str) -> Variable:
    return variable_lists()["nccl"].by_name[name]


def test_versions_compare_as_numbers() -> None:
    versions = ["2.9.9", "2.16.2", "2.16.5", "2.30.7", "2.32"]
    assert sorted(versions, key=version_key) == versions
    assert sorted(versions) != versions
    assert version_key("2.27") == version_key("2.27.0")


@pytest.mark.parametrize(
    ("name", "version", "default"),
    [
        ("NCCL_IB_TIMEOUT", "2.12.7", "14"),
        ("NCCL_IB_TIMEOUT", "2.14.3", "18"),
        ("NCCL_IB_TIMEOUT", "2.26.5", "20"),
        ("NCCL_IB_GID_INDEX", "2.20.5", "0"),
        ("NCCL_IB_GID_INDEX", "2.21.5", "-1"),
        ("NCCL_NVLS_ENABLE", "2.17.1", "1"),
        ("NCCL_NVLS_ENABLE", "2.18.1", "2"),
        ("NCCL_MIN_CTAS", "2.26.5", "unset"),
        ("NCCL_PXN_C2C", "2.27.7", "0"),
        ("NCCL_PXN_C2C", "2.28.3", "1"),
    ],
)
def test_defaults_by_version(name: str, version: str, default: str) -> None:
    """As NVIDIA/nccl's sources at those tags have them."""
    assert nccl(name).default_in(version) == default


@pytest.mark.parametrize(
    ("asked", "taken"),
    [("2.26", "2.26.6"), ("2.18", "2.18.6"), ("v2.26.2-1", "2.26.2"), ("2.99", "2.99")],
)
def test_the_newest_of_a_line(asked: str, taken: str) -> None:
    assert variable_lists()["nccl"].newest_of(asked) == taken


def test_since_and_until() -> None:
    assert not nccl("NCCL_RAS_ENABLE").known_in("2.23.4")
    assert nccl("NCCL_RAS_ENABLE").known_in("2.24.3")
    assert nccl("NCCL_TREE_THRESHOLD").known_in("2.4.8")
    assert not nccl("NCCL_TREE_THRESHOLD").known_in("2.5.6")
    assert nccl("NCCL_MNNVL").known_in("2.20.5")
    assert not nccl("NCCL_MNNVL").known_in("2.21.5")


def test_lists_are_whole() -> None:
    known = {one.name for listed in variable_lists().values() for one in listed.variables}
    for listed in variable_lists().values():
        for one in listed.variables:
            assert one.name.startswith(listed.prefixes), one.name
            if one.instead.startswith(listed.prefixes) and "=" not in one.instead:
                assert one.instead in listed.by_name, one.name
            if one.since and one.until:
                assert version_key(one.since) <= version_key(one.until), one.name
            versions = [version_key(since) for since, _ in one.defaults]
            assert versions == sorted(set(versions)), one.name
            assert {other for other, _ in one.conflicts} <= known, one.name
            assert one.least is None or one.most is None or one.least <= one.most


@pytest.mark.parametrize("name", launch_recipe_names())
def test_recipes_set_what_is_known(name: str) -> None:
    recipe = launch_recipe(name)
    assert not recipe.platform or recipe.platform in platform_names()
    known = {one.name for listed in variable_lists().values() for one in listed.variables}
    known |= {"LD_LIBRARY_PATH", "CUDA_DEVICE_ORDER", "MPICH_GPU_SUPPORT_ENABLED"}
    known |= {"MELLANOX_VISIBLE_DEVICES"}
    for setting in recipe.settings:
        assert setting.name in known, setting.name


def test_rules_and_their_sources() -> None:
    for rule in setting_rules().values():
        assert rule.source
        assert not rule.happens.endswith(".")
        assert not rule.fix.endswith(".")
