"""Numbers as C's strtoll reads them: held to the C library itself."""

import ctypes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.catalog.load import variable_lists
from weft.doctor.case import DoctorCase
from weft.doctor.lint import lint
from weft.doctor.numbers import meant, strtoll, whole
from weft.doctor.readers.file import read_job

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.strtoll.restype = ctypes.c_longlong
TEXTS = st.text(alphabet="0123456789abcdefxXoO+- \t.kKMGBiytrue", max_size=24)


def by_c(text: str) -> tuple[int | None, str]:
    end = ctypes.c_char_p()
    content = ctypes.create_string_buffer(text.encode())
    ctypes.set_errno(0)
    value = LIBC.strtoll(content, ctypes.byref(end), 0)
    rest = end.value.decode() if end.value is not None else ""
    return (None if ctypes.get_errno() == 34 else value), rest


@given(TEXTS)
def test_as_the_c_library(text: str) -> None:
    assert strtoll(text) == by_c(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [("true", "1"), ("OFF", "0"), ("2M", "2097152"), ("4 MiB", "4194304"), ("8kb", "8192"),
     ("maybe", None), ("12", None), ("3x", None)],
)  # fmt: skip
def test_what_was_meant(text: str, number: str | None) -> None:
    assert meant(text) == number


@pytest.mark.parametrize("digits", [20, 5000])
@pytest.mark.parametrize("sign", ["", "-", "+"])
def test_numbers_of_any_length_are_too_large_and_no_error(sign: str, digits: int) -> None:
    assert strtoll(sign + "9" * digits) == (None, "")
    assert whole("9" * digits) is None


def test_whole_numbers_are_decimal_digits() -> None:
    assert whole("0012") == 12
    assert [whole(text) for text in ("", "-1", "1.0", "0x1", "\u0661", " 1")] == [None] * 6


@pytest.mark.parametrize(
    "line",
    [
        "srun -n {0} -N {0} --ntasks-per-node={0} --cpu-bind=map_cpu:{0} ./a",
        "#SBATCH --nodes={0} --ntasks-per-node={0}\nexport MV2_ENABLE_SHARP=1",
        "export FI_CXI_RDZV_THRESHOLD={0} FI_CXI_DEFAULT_CQ_SIZE={0}",
        "export NCCL_COLLNET_ENABLE=1 NCCL_COLLNET_NODE_THRESHOLD={0} NCCL_BUFFSIZE={0}",
        "export NCCL_IB_TIMEOUT=0{0} SHARP_COLL_LOG_LEVEL={0} HCOLL_ENABLE_SHARP=-{0}",
        "export NCCL_IB_TIMEOUT=000{1}10",
        "srun --cpu-bind=mask_cpu:{0}*9,f*99999 ./a",
    ],
)
def test_a_script_of_numbers_of_thousands_of_digits_is_judged(line: str) -> None:
    text = line.format("9" * 5000, "0" * 5000)
    lint(DoctorCase(read_job("job.sh", text), variable_lists(), n_nodes=1))
