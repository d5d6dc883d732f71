"""The recipe of this machine is that of its link, with its own adapters."""

from pathlib import Path

import pytest
from tests.unit.doctor.machine_trees import Tree, ndr

from weft.core.errors import InputError
from weft.doctor.machine.detection.recipe import recipe_here


def test_adapters_are_named_exactly(tmp_path: Path) -> None:
    recipe = recipe_here(ndr(tmp_path).root)
    assert (recipe.name, recipe.gpus_per_node) == ("generic-ndr", 8)
    values = {one.name: one.value for one in recipe.settings}
    assert values["NCCL_IB_HCA"] == "=" + ",".join(f"mlx5_{i}" for i in range(8))


def test_a_machine_without_gpus_has_no_settings_of_nccl(tmp_path: Path) -> None:
    tree = Tree(tmp_path).machine()
    tree.hca(0, rate="HDR")
    recipe = recipe_here(tree.root)
    assert (recipe.name, recipe.library, recipe.cores_per_node) == ("generic-hdr", "mpi", 96)
    assert not any(one.name.startswith("NCCL_") for one in recipe.settings)


def test_a_link_without_a_recipe_is_named(tmp_path: Path) -> None:
    tree = Tree(tmp_path).machine()
    tree.hca(0, rate="EDR")
    with pytest.raises(InputError, match="no recipe for this machine's link, InfiniBand EDR"):
        recipe_here(tree.root)


def test_a_machine_without_a_network_has_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither an active RDMA adapter"):
        recipe_here(Tree(tmp_path).machine().root)
