"""Functions and structures of a shared library, as its symbols and its debugging information say.

NVIDIA's libraries of NCCL carry both; others may be stripped of them.
"""

import platform
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from weft.core.documents.text_file import open_file
from weft.core.errors import InputError
from weft.doctor.libnccl import MOST_BYTES

if TYPE_CHECKING:
    from elftools.dwarf.compileunit import CompileUnit
    from elftools.dwarf.die import DIE
    from elftools.elf.elffile import ELFFile

MACHINES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}
"""The word of an ELF file for the processors of Linux."""
EXPECTED = "a libnccl.so as NVIDIA builds it, with symbols and debugging information"


@dataclass(frozen=True, slots=True)
class Symbol:
    """Where a function or variable begins in the file's own addresses. `parameters`: the types of
    those of a function, mangled as the Itanium C++ ABI has them."""

    address: int
    parameters: str
    n_bytes: int


@dataclass(frozen=True, slots=True)
class Member:
    """Where a member of a structure lies, and how long one element of it is."""

    offset: int
    element_bytes: int
    n_elements: int


@dataclass(frozen=True, slots=True)
class Structure:
    """A structure's size and members."""

    n_bytes: int
    fields: Mapping[str, Member] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DebugInfo:
    """Of the symbols and structures that were asked for, those that there are."""

    symbols: Mapping[str, Symbol]
    structures: Mapping[str, Structure]


def read_debug_info(
    path: Path, symbols: Collection[str], structures: Mapping[str, str]
) -> DebugInfo:
    """Symbols by name, and structures by the source file (its end) that uses them. Raises
    InputError where it is no library of this machine, or has neither."""
    with open_file(path, expected=EXPECTED, most_bytes=MOST_BYTES) as file:
        return _read(file, str(path), symbols, structures)


def _read(
    file: BinaryIO, where: str, symbols: Collection[str], structures: Mapping[str, str]
) -> DebugInfo:
    from elftools.common.exceptions import DWARFError, ELFError
    from elftools.elf.elffile import ELFFile

    try:
        elf = ELFFile(file)
        of_machine = elf["e_machine"]
        if of_machine != MACHINES.get(platform.machine()):
            raise InputError(
                f"a library for another processor ({str(of_machine).removeprefix('EM_')})",
                where=where,
                expected=f"one for {platform.machine()}, or the same command on such a machine",
            )
        return DebugInfo(
            dict(_symbols(elf, where, symbols)), dict(_structures(elf, where, structures))
        )
    except (ELFError, DWARFError, KeyError, ValueError, OverflowError, AssertionError) as error:
        raise InputError(
            f"no shared library that can be read ({error})", where=where, expected=EXPECTED
        ) from error


def _stripped(of: str, where: str) -> InputError:
    return InputError(
        f"the library has no {of} (stripped)",
        where=where,
        expected=EXPECTED,
        hint="the libnccl.so.2 of NVIDIA's wheel on PyPI, nvidia-nccl-cu12 of the same version, has"
        " both",
    )


def _symbols(elf: "ELFFile", where: str, wanted: Collection[str]) -> Iterator[tuple[str, Symbol]]:
    from elftools.elf.sections import SymbolTableSection

    table = elf.get_section_by_name(".symtab")
    if not isinstance(table, SymbolTableSection):
        raise _stripped("symbols", where)
    prefixes = {f"_Z{len(name)}{name}": name for name in wanted}
    for symbol in table.iter_symbols():
        mangled, address = symbol.name, symbol["st_value"]
        if not address or "." in mangled:
            continue
        if mangled in wanted:
            yield mangled, Symbol(address, "", symbol["st_size"])
        elif mangled.startswith("_Z"):
            prefix = next((one for one in prefixes if mangled.startswith(one)), None)
            if prefix is not None:
                parameters = mangled[len(prefix) :]
                yield prefixes[prefix], Symbol(address, parameters, symbol["st_size"])


def _structures(
    elf: "ELFFile", where: str, wanted: Mapping[str, str]
) -> Iterator[tuple[str, Structure]]:
    if not elf.has_dwarf_info(strict=True):
        raise _stripped("debugging information", where)
    left = dict(wanted)
    for unit in elf.get_dwarf_info(relocate_dwarf_sections=False).iter_CUs():
        source = _name(unit.get_top_DIE())
        here = {name for name, used_by in left.items() if source.endswith(used_by)}
        if here:
            for name, structure in _of_unit(unit, here):
                left.pop(name, None)
                yield name, structure
        if not left:
            return


def _of_unit(unit: "CompileUnit", wanted: Collection[str]) -> Iterator[tuple[str, Structure]]:
    for die in unit.get_top_DIE().iter_children():
        is_whole = die.tag == "DW_TAG_structure_type" and "DW_AT_byte_size" in die.attributes
        if is_whole and (name := _name(die)) in wanted:
            fields = {
                _name(member): _member(member)
                for member in die.iter_children()
                if member.tag == "DW_TAG_member"
                and "DW_AT_data_member_location" in member.attributes
            }
            yield name, Structure(die.attributes["DW_AT_byte_size"].value, fields)


def _member(member: "DIE") -> Member:
    kind, n_elements = member.get_DIE_from_attribute("DW_AT_type"), 1
    while kind.tag in ("DW_TAG_typedef", "DW_TAG_array_type", "DW_TAG_const_type"):
        for bound in kind.iter_children():
            if "DW_AT_upper_bound" in bound.attributes:
                n_elements *= bound.attributes["DW_AT_upper_bound"].value + 1
        kind = kind.get_DIE_from_attribute("DW_AT_type")
    size = kind.attributes.get("DW_AT_byte_size")
    at = member.attributes["DW_AT_data_member_location"].value
    return Member(at, size.value if size is not None else 0, n_elements)


def _name(die: "DIE") -> str:
    name = die.attributes.get("DW_AT_name")
    return name.value.decode("utf-8", "replace") if name is not None else ""
