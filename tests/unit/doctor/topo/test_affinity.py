"""CPU masks, against the kernel's own words for them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.doctor.topo.affinity import cpu_list, mask_of, mask_text, misread_form


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("00000000,00000000,00ffffff", "0-23"),
        ("00000000,0000ffff,ff000000", "24-47"),
        ("000000ff,ffff0000,00ffffff", "0-23,48-71"),
        ("fff0000,00000000", "48-59"),
        ("1", "0"),
        ("0", ""),
    ],
)
def test_masks_of_published_files(text: str, cpus: str) -> None:
    assert cpu_list(mask_of(text)) == cpus
    assert misread_form(text) is None


def test_odd_masks_are_read_as_nccl_reads_them() -> None:
    assert mask_of("123456789a") == 0x3456789A
    assert mask_of("1,,2") == mask_of("1,2") == 1 << 32 | 2
    assert mask_of("x,1") == 1
    assert mask_of("f-1") == 0xF


@given(st.integers(min_value=0, max_value=2**1024 - 1))
def test_a_written_mask_is_read_back(mask: int) -> None:
    assert mask_of(mask_text(mask)) == mask
    assert misread_form(mask_text(mask)) is None
