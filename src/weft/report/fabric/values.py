"""Values for the page's script: names, places of cells, cables, as short lists."""

from collections.abc import Mapping
from typing import Any

from weft.report.fabric.matrix_layout import MatrixLayout
from weft.topology.subnet.anomalies import kind_of
from weft.topology.subnet.cable_matrix import CableState, Matrix
from weft.topology.subnet.labels import shown
from weft.topology.subnet.link_load import Load
from weft.topology.subnet.subnet import Subnet, SubnetCable
from weft.topology.subnet.tiers import Tiers

STATES = tuple(CableState)
Values = dict[str, Any]


SharedTexts = dict[str, int]
"""Texts that many cables share, each with its number."""


def page_values(
    subnet: Subnet,
    tiers: Tiers,
    drawn: Mapping[str, tuple[Matrix, MatrixLayout]],
    load: Load | None,
) -> Values:
    """Switches and hosts by name, and every matrix by the id of its drawing."""
    numbers = {node: at for at, node in enumerate(tiers.labels)}
    words: SharedTexts = {}
    matrices = {
        id_: _matrix_values(matrix, layout, numbers, words, load)
        for id_, (matrix, layout) in drawn.items()
    }
    return {
        "switches": [label.name for label in tiers.labels.values()],
        "hosts": [
            [shown(subnet.name(node)), numbers[switch], port]
            for switch, hosts in tiers.hosts.items()
            for port, node in hosts
        ],
        "states": [state.value for state in STATES],
        "layered": tiers.is_layered,
        "words": list(words),
        "matrices": matrices,
    }


def _matrix_values(
    matrix: Matrix,
    layout: MatrixLayout,
    numbers: Mapping[int, int],
    words: SharedTexts,
    load: Load | None,
) -> Values:
    return {
        "kind": kind_of(matrix),
        "rows": [[row.name, [numbers[node] for node in row.switches]] for row in matrix.rows],
        "columns": [[c.name, [numbers[node] for node in c.switches]] for c in matrix.columns],
        "cell": [layout.cell_width, layout.cell_height],
        "origin": [layout.left, layout.top],
        "panel": [layout.panel_rows, layout.panel_width],
        "size": [layout.width, layout.height],
        # Row, column, state, expected number (-1: no pattern), cables.
        "cells": [
            [
                cell.row,
                cell.column,
                STATES.index(cell.state),
                -1 if cell.n_expected is None else cell.n_expected,
                [_cable_values(cable, numbers, words, load) for cable in cell.cables],
            ]
            for cell in matrix.cells
        ],
    }


def _cable_values(
    cable: SubnetCable, numbers: Mapping[int, int], words: SharedTexts, load: Load | None
) -> list[Any]:
    """Switch and port of both ends, the tools' report, and the load up and down if there is one."""
    ends = [value for end in cable.ends for value in (numbers[end.node], end.port)]
    shares = [] if load is None else [round(load.share.get(end.key, 0.0), 2) for end in cable.ends]
    return [*ends, words.setdefault(cable.words, len(words)), *shares]
