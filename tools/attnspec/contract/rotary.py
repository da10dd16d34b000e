"""The contract of rotary positions as data: their operations, tensors, and the conventions that concern them."""

from __future__ import annotations

from attnspec.contract.operation import REQUIRED, Input, Operation, Output
from attnspec.contract.shared_conventions import (
    ACCUMULATION,
    HALF_PRECISION_GRADE,
    HALF_PRECISION_OVERFLOW,
    INPUT_CHECKS,
    OUTPUTS,
)

TITLE = "rotary positions"
PROFILES = {
    "rotary": "frequencies under every scaling, tables, both pairings",
}

CONVENTIONS = (ACCUMULATION, HALF_PRECISION_GRADE, HALF_PRECISION_OVERFLOW, INPUT_CHECKS, OUTPUTS)

_OF_ARITHMETIC = (ACCUMULATION.name, INPUT_CHECKS.name, OUTPUTS.name)
_TABLE = ("batch entry", "token", "pair")
_OF_HEADS = ("batch entry", "head", "token", "feature")

OPERATIONS = (
    Operation(
        "rotary_frequencies",
        "rotary_frequencies",
        "rotary",
        sentence="how fast each pair of features turns from token to token",
        attributes={
            "width": REQUIRED,
            "theta": 10000.0,
            "scaling": "none",
            "factor": None,
            "original_length": None,
            "sequence_length": None,
            "low_frequency_factor": None,
            "high_frequency_factor": None,
            "short_factors": None,
            "long_factors": None,
            "proportion": 1.0,
            "beta_fast": 32.0,
            "beta_slow": 1.0,
            "truncate": True,
            "magnitude_scaling": None,
            "magnitude_scaling_all_dimensions": None,
            "attention_factor": None,
        },
        gives=(
            Output("inverse_frequencies", ("pair",), required=True, dtype="any"),
            Output("attention_factor", required=True, dtype="any"),
        ),
        conventions=_OF_ARITHMETIC,
    ),
    Operation(
        "rotary_tables",
        "rotary_tables",
        "rotary",
        sentence="cosine and sine of every pair at every position",
        takes=(Input("position_ids", ("batch entry", "token")), Input("inverse_frequencies", ("pair",))),
        attributes={"attention_factor": 1.0},
        gives=(Output("cos", _TABLE, required=True), Output("sin", _TABLE, required=True)),
        conventions=_OF_ARITHMETIC,
    ),
    Operation(
        "apply_rotary",
        "apply_rotary",
        "rotary",
        sentence="turns the pairs of queries and keys by the angles of their tokens",
        takes=(Input("x", _OF_HEADS), Input("cos", _TABLE), Input("sin", _TABLE)),
        attributes={"pairing": "half"},
        gives=(Output("output", _OF_HEADS, required=True, dtype="of the run"),),
        conventions=(*_OF_ARITHMETIC, HALF_PRECISION_GRADE.name, HALF_PRECISION_OVERFLOW.name),
        may_fuse=True,
    ),
)
"""Every operation of rotary positions, in the order of the spec."""
