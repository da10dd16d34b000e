"""The layouts of caches beside the contract's own: where tokens and heads of them stand."""

from __future__ import annotations

from collections.abc import Mapping

from attnspec.contract.arrangement import Arrangement, AxesOfOperations, Layout, read_axes

_APPENDED = ("past_key", "past_value", "key", "value", "present_key", "present_value")
_WINDOW = ("key_cache", "value_cache", "key", "value", "present_key", "present_value")
_HISTORIES = ("key_history", "value_history")

LAYOUTS: Mapping[str, Layout] = {
    "bshe": AxesOfOperations(
        {
            "append_cache": Arrangement(read_axes({"bhse->bshe": _APPENDED})),
            "write_window": Arrangement(read_axes({"bhse->bshe": _WINDOW, "tbhse->tbshe": _HISTORIES})),
        }
    )
}
"""Name of a layout to what arranges a request in it."""
