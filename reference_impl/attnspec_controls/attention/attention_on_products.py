"""The controls of attention that know no quantized tensors, given the products of numbers and scales."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from attnspec_controls.attention import attention_freedoms, attention_products, attention_softmax
from attnspec_mistakes.attention.forward.attention_patches import of_products

if TYPE_CHECKING:
    from attnspec_controls.control import Control

CONTROLS: tuple[Control, ...] = tuple(
    replace(control, function=of_products(control.function))
    for control in (*attention_products.CONTROLS, *attention_softmax.CONTROLS, *attention_freedoms.CONTROLS)
)
