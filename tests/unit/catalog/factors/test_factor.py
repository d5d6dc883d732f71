"""Factors of the catalogue: whole, and nothing that no backend can do."""

import pytest

from weft.bench.options import TWIN_OPTIONS
from weft.catalog.factors.factor import catalogue_factor, factor_names
from weft.catalog.load import variable_lists
from weft.core.errors import InputError


@pytest.mark.parametrize("name", factor_names())
def test_every_setting_says_what_switches_it(name: str) -> None:
    factor = catalogue_factor(name)
    assert factor.name == name
    known = {one.name for library in variable_lists().values() for one in library.variables}
    settings = [factor.setting("0x0021")] if factor.any else factor.settings
    for setting in settings:
        live = setting.live
        own = [key for key in setting.options if key not in TWIN_OPTIONS]
        if live is not None and not own:
            assert live.manual or live.env, (name, setting.name)
        if live is not None:
            # No list has MPICH's: tests/oracle/test_algorithm_factors.py asks its library.
            listed = {one for one in live.env if not one.startswith("MPIR_CVAR_")}
            assert listed <= known, (name, setting.name)


def test_an_unknown_factor_or_setting_is_named_with_its_neighbours() -> None:
    with pytest.raises(InputError, match="no factor 'sharpe' in the catalogue") as caught:
        catalogue_factor("sharpe")
    assert "sharp" in str(caught.value.hint)
    with pytest.raises(InputError, match="factor 'sharp' has no setting 'onn'"):
        catalogue_factor("sharp").setting("onn")


def test_a_site_names_its_partition_by_its_key() -> None:
    setting = catalogue_factor("partition").setting("0x0021")
    assert setting.live is not None
    assert setting.live.env == {"UCX_IB_PKEY": "0x0021"}
    for name in ("0x8021", "0x0000", "0x21", "21", "default"):
        with pytest.raises(InputError, match=f"no setting '{name}'") as caught:
            catalogue_factor("partition").setting(name)
        assert caught.value.expected == "0x0001 to 0x7fff"
