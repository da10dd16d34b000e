"""The layouts of rotary positions beside the contract's own: where tokens, heads and features of them stand."""

from __future__ import annotations

from collections.abc import Mapping

from attnspec.contract.arrangement import Arrangement, AxesOfOperations, Layout, read_axes

_FEATURES = ("x", "output")
_TABLES = ("cos", "sin")


def _without_batch(features: str, tables: str) -> Layout:
    """Return the layout in which features and tables have these axes; positions are those of one batch entry."""
    of_tables = {f"bsp->{tables}": _TABLES}
    return AxesOfOperations(
        {
            "apply_rotary": Arrangement(read_axes({f"bhse->{features}": _FEATURES, **of_tables})),
            "rotary_tables": Arrangement(read_axes({"bs->s": ("position_ids",), **of_tables})),
        }
    )


LAYOUTS: Mapping[str, Layout] = {
    "bshe": AxesOfOperations({"apply_rotary": Arrangement(read_axes({"bhse->bshe": _FEATURES}))}),
    "hse": _without_batch("hse", "sp"),
    "se": _without_batch("se", "sp"),
    "features_first": _without_batch("es", "ps"),
}
"""Name of a layout to what arranges a request in it."""
