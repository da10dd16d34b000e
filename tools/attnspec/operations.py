"""The operations: what each one takes and gives, by name.

This table is the contract in the form that the harness reads. The prose is in ``spec/operations/``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

REQUIRED = object()
"""Marks an attribute that has no default: a case always states it."""


@dataclass(frozen=True)
class Operation:
    """The names of one operation.

    Attributes
    ----------
    name
        The operation, which is also the name of the callable in an adapter.
    inputs
        Tensors that every case states.
    optional_inputs
        Tensors that a case may leave out.
    attributes
        Attribute name to default; ``REQUIRED`` marks one without a default.
    outputs
        Outputs in the order in which an adapter may return them; only the first one is owed.
    steps
        The same outputs in the order of computing, for naming the first step that diverges.
    """

    name: str
    inputs: tuple[str, ...] = ()
    optional_inputs: tuple[str, ...] = ()
    attributes: Mapping[str, object] = field(default_factory=dict[str, object])
    outputs: tuple[str, ...] = ("output",)
    steps: tuple[str, ...] = ("output",)

    @property
    def arguments(self) -> tuple[str, ...]:
        """Every name that a case may pass: inputs, optional inputs, attributes."""
        return (*self.inputs, *self.optional_inputs, *self.attributes)

    @property
    def required_arguments(self) -> tuple[str, ...]:
        """The names that every case passes."""
        return (*self.inputs, *(name for name, default in self.attributes.items() if default is REQUIRED))


OPERATIONS: Mapping[str, Operation] = {
    operation.name: operation
    for operation in (
        Operation("softmax", inputs=("x",), attributes={"axis": -1}),
        Operation(
            "causal_mask",
            attributes={"query_length": REQUIRED, "key_length": None, "offset": 0, "additive": False},
        ),
        Operation("split_heads", inputs=("x",), attributes={"num_heads": REQUIRED}),
        Operation("combine_heads", inputs=("x",)),
        Operation(
            "scaled_dot_product_attention",
            inputs=("query", "key", "value"),
            optional_inputs=(
                "mask",
                "past_key",
                "past_value",
                "key_lengths",
                "query_lengths",
                "sinks",
                "alibi_slopes",
            ),
            attributes={
                "is_causal": False,
                "causal_alignment": "top_left",
                "scale": None,
                "softcap": None,
                "window": None,
            },
            outputs=("output", "weights", "logsumexp", "scores", "logits", "present_key", "present_value"),
            steps=("present_key", "present_value", "scores", "logits", "logsumexp", "weights", "output"),
        ),
        Operation(
            "single_head_attention",
            inputs=("x", "w_query", "w_key", "w_value"),
            optional_inputs=("w_output",),
            attributes={"scale": None},
            outputs=("output", "weights", "scores", "query", "key", "value"),
            steps=("query", "key", "value", "scores", "weights", "output"),
        ),
        Operation(
            "multi_head_attention",
            inputs=("query", "key", "value", "w_query", "w_key", "w_value", "w_output"),
            optional_inputs=("b_query", "b_key", "b_value", "b_output", "mask"),
            attributes={"num_heads": REQUIRED, "is_causal": False, "scale": None},
            outputs=("output", "weights"),
            steps=("weights", "output"),
        ),
        Operation(
            "context_vector",
            inputs=("encoder_states", "decoder_state"),
            attributes={"scale": None},
            outputs=("context", "weights", "scores", "raw_scores"),
            steps=("raw_scores", "scores", "weights", "context"),
        ),
        Operation(
            "glorot_normal",
            attributes={"fan_in": REQUIRED, "fan_out": REQUIRED, "seed": REQUIRED},
        ),
    )
}
"""Every operation of the contract, by name, in the order of the spec."""
