"""The built-in adapter `reference`: attnspec's own reference, tested like any other software."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.dtypes import FLOAT_DTYPES
from attnspec.version import __version__
from attnspec_reference import (
    causal_mask,
    combine_heads,
    context_vector,
    glorot_normal,
    multi_head_attention,
    scaled_dot_product_attention,
    single_head_attention,
    softmax,
    split_heads,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "causal_mask",
    "combine_heads",
    "context_vector",
    "conventions",
    "dtypes",
    "glorot_normal",
    "multi_head_attention",
    "name",
    "scaled_dot_product_attention",
    "single_head_attention",
    "softmax",
    "split_heads",
    "version",
]


name = "attnspec reference"
version = __version__
dtypes = FLOAT_DTYPES
conventions: Mapping[str, str] = {}
"""The reference takes every normative choice, so it declares none."""
