"""One list of machines: every one with a recipe is a platform, every platform has a recipe."""

import pytest

from weft.catalog import load
from weft.catalog.libraries.launch_recipe import LaunchRecipe
from weft.catalog.toml_file import catalogue_names
from weft.cli import run
from weft.core.errors import InputError

OPERATORS = catalogue_names("recipes")
MACHINES = [name for name in load.platform_names() if name != load.THIS_MACHINE]
ADVISED = [name for name in MACHINES if name not in OPERATORS]
Capture = pytest.CaptureFixture[str]


def test_the_two_lists_are_one() -> None:
    assert load.recipe_machines() == MACHINES
    assert set(OPERATORS) <= set(MACHINES)


@pytest.mark.parametrize("name", OPERATORS)
def test_a_recipe_names_its_platform_and_agrees_with_it(name: str) -> None:
    recipe, platform = load.launch_recipe(name), load.platform(name)
    assert recipe.platform == platform.name == name
    if recipe.gpus_per_node:
        assert platform.gpus is None or platform.gpus.per_node.whole == recipe.gpus_per_node
    if recipe.hcas:
        assert len(recipe.hcas) <= platform.hcas_per_node
    if recipe.fabric in ("slingshot", "efa", "roce"):
        assert platform.packets is not None
        assert platform.packets.headers == "ethernet"


@pytest.mark.parametrize("name", ADVISED)
def test_a_platform_without_one_gets_advice_that_says_what_is_not_known(name: str) -> None:
    recipe, platform = load.launch_recipe(name), load.platform(name)
    assert recipe.is_advice
    assert recipe.name == recipe.platform == name
    assert recipe.title == platform.title
    assert not recipe.interface
    assert not recipe.hcas
    assert "the names of the adapters that carry data" in recipe.unknown
    assert platform.gpus is not None or not any(
        one.name.startswith("NCCL_") for one in recipe.settings
    )
    # It is a document as any other.
    text = recipe.model_dump(by_alias=True, mode="json")
    assert LaunchRecipe.model_validate(text) == recipe


@pytest.mark.parametrize("name", MACHINES)
def test_a_recipe_is_printed_for_every_platform(name: str, capsys: Capture) -> None:
    assert run(["recipe", name]) == 0
    out, err = capsys.readouterr()
    assert out
    assert ("not known of" in err) == bool(load.launch_recipe(name).unknown)


@pytest.mark.parametrize("name", MACHINES)
def test_every_platform_is_expected_and_shown(name: str, capsys: Capture) -> None:
    assert run(["expect", name]) == 0
    assert run(["platform", "show", name]) == 0
    assert capsys.readouterr().out


def test_a_windows_mpi_gets_no_settings_of_another() -> None:
    recipe = load.launch_recipe("azure-a9")
    assert not recipe.settings
    assert any("MS-MPI" in one for one in recipe.unknown)


def test_built_platforms_have_a_recipe_where_their_links_have() -> None:
    assert load.launch_recipe("generic-hdr100").is_advice
    with pytest.raises(InputError, match="no advice for its links"):
        load.launch_recipe("generic-tcp-25gbe")
    with pytest.raises(InputError, match="did you mean 'azure-hbv4'"):
        load.launch_recipe("azure-hbv5")
