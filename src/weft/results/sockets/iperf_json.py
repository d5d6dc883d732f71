"""iperf3's JSON document (-J). SOURCE: runs of iperf3 3.12."""

from collections.abc import Mapping
from typing import Any

from weft.results.lines.json_values import amount, count, loaded, text_of
from weft.results.model import JsonResult, Row
from weft.results.sockets.iperf import BLOCK_BYTES, iperf_table, is_one_host

_DIRECTIONS = ("", "_bidir_reverse")
_BYTES_OF_MBIT = 1e6


def read_json(text: str) -> JsonResult | None:
    """The table of a document of iperf3, or None where it is none."""
    if '"test_start"' not in text and '"sum_received"' not in text:
        return None
    document = loaded(text)
    if not isinstance(document, dict) or not isinstance(document.get("end"), dict):
        return None
    end, start = document["end"], _mapping(document.get("start"))
    test = _mapping(start.get("test_start"))
    protocol = text_of(test.get("protocol")).upper() or ("UDP" if "sum" in end else "")
    is_udp = protocol == "UDP"
    size = count(test.get("blksize")) or BLOCK_BYTES
    rows = []
    for direction in _DIRECTIONS:
        rate = _rate(end, direction, is_udp=is_udp)
        if rate:
            metrics = {"bandwidth_mb_s": rate / 8 / _BYTES_OF_MBIT}
            rows.append(Row(1, None if is_udp else size, metrics))
    remarks = [f"the tool reports: {text_of(document['error'])}"] if document.get("error") else []
    if not rows:
        return JsonResult((), {}, tuple(remarks))
    table = iperf_table(
        rows,
        1,
        protocol=protocol,
        on_one_host=_is_one_host(start),
        version=text_of(start.get("version")).removeprefix("iperf "),
    )
    return JsonResult((table,), {}, tuple(remarks))


def _rate(end: Mapping[str, Any], direction: str, *, is_udp: bool) -> float | None:
    """Bits a second of one direction: as received, else as sent."""
    names = [f"sum_received{direction}", f"sum_sent{direction}"]
    names += [f"sum{direction}"] if is_udp else []
    rates = [amount(_mapping(end.get(name)).get("bits_per_second")) for name in names]
    return next((rate for rate in rates if rate), None)


def _is_one_host(start: Mapping[str, Any]) -> bool:
    connected = start.get("connected")
    streams = connected if isinstance(connected, list) else []
    ends = [(text_of(_mapping(s).get(k)) for k in ("local_host", "remote_host")) for s in streams]
    return any(is_one_host(here, there) for here, there in ends)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
