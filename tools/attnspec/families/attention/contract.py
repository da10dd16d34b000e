"""The contract of attention as data: its operations, their tensors, and the conventions in which libraries differ."""

from __future__ import annotations

from attnspec.convention import Convention, Settles
from attnspec.families.shared_conventions import ACCUMULATION, HALF_PRECISION_GRADE, INPUT_CHECKS, OUTPUTS
from attnspec.operation import REQUIRED, Examples, Input, Operation, Output

TITLE = "attention"
LAYOUTS = ("bhse", "bshe", "hse", "se", "features_first")
EXAMPLES = Examples(convention="fully_masked_row", choice="nan", argument="query", own_name="Q")

CAPABILITIES = {
    "boolean_mask": "A mask of truth values: True for the keys that may be attended.",
    "float_mask": "A mask of numbers, which are added to the logits.",
    "broadcast_mask": "A mask with fewer axes than the scores, or with an axis of length 1 where theirs is longer.",
    "mask_and_causal": "A mask beside is_causal.",
    "grouped_query": "Fewer key heads than query heads.",
    "value_width": "Values of another width than the keys.",
    "unequal_lengths": "Other numbers of queries than of keys.",
    "empty_keys": "No keys at all.",
    "empty_queries": "No queries at all.",
    "empty_heads": "No heads at all.",
    "empty_batch": "A batch without entries.",
    "open_window": "A window that is open to one side.",
    "zero_scale": "A scale of 0.",
    "negative_scale": "A scale below 0.",
}

FULLY_MASKED_ROW = Convention("fully_masked_row", ("zero", "nan", "uniform", "filled", "refuse"))
HALF_PRECISION_OVERFLOW = Convention("half_precision_overflow", ("finite", "open"))
NO_KEYS = Convention("no_keys", ("zero", "nan", "refuse"))
NONFINITE_INPUT = Convention("nonfinite_input", ("propagates", "refuse"))
MASKED_NONFINITE = Convention("masked_nonfinite", ("ignored", "propagates"))

CONVENTIONS = (
    ACCUMULATION,
    Convention("alibi_bias", ("distance", "column")),
    Convention("causal_alignment", ("any", "top_left", "bottom_right"), Settles.ATTRIBUTE),
    Convention("empty_logsumexp", ("minus_infinity", "plus_infinity")),
    FULLY_MASKED_ROW,
    HALF_PRECISION_GRADE,
    HALF_PRECISION_OVERFLOW,
    INPUT_CHECKS,
    Convention("logsumexp_base", ("e", "2")),
    MASKED_NONFINITE,
    NO_KEYS,
    NONFINITE_INPUT,
    OUTPUTS,
)
_OF_SUMS = (ACCUMULATION.name, INPUT_CHECKS.name, NONFINITE_INPUT.name, OUTPUTS.name)
_OF_SCORES = (*_OF_SUMS, HALF_PRECISION_OVERFLOW.name)
_OF_MASKS = (FULLY_MASKED_ROW.name, MASKED_NONFINITE.name, NO_KEYS.name)

_QUERIES = ("batch entry", "query head", "query")
_OVER_KEYS = (*_QUERIES, "key")
_OF_QUERIES = (*_QUERIES, "feature")
_OF_KEYS = ("batch entry", "key head", "key", "feature")
_OF_TOKENS = ("batch entry", "token", "feature")
_OF_HEADS = ("batch entry", "head", "token", "feature")
_MATRIX = ("input feature", "output feature")
_BIAS = ("output feature",)

OPERATIONS = (
    Operation(
        "softmax",
        "softmax",
        "attention",
        takes=(Input("x"),),
        attributes={"axis": -1},
        gives=(Output("output", owed=True, dtype="of the run"),),
        conventions=(*_OF_SUMS, FULLY_MASKED_ROW.name),
    ),
    Operation(
        "causal_mask",
        "causal_mask",
        "attention",
        attributes={"query_length": REQUIRED, "key_length": None, "offset": 0, "additive": False},
        gives=(Output("output", ("query", "key"), owed=True, dtype="any", exact=True),),
        conventions=(OUTPUTS.name,),
    ),
    Operation(
        "split_heads",
        "split_heads",
        "attention",
        takes=(Input("x", _OF_TOKENS),),
        attributes={"num_heads": REQUIRED},
        gives=(Output("output", _OF_HEADS, owed=True, dtype="of the run"),),
        conventions=_OF_SUMS,
    ),
    Operation(
        "combine_heads",
        "combine_heads",
        "attention",
        takes=(Input("x", _OF_HEADS),),
        gives=(Output("output", _OF_TOKENS, owed=True, dtype="of the run"),),
        conventions=_OF_SUMS,
    ),
    Operation(
        "scaled_dot_product_attention",
        "sdpa",
        "attention",
        takes=(
            Input("query", _OF_QUERIES),
            Input("key", _OF_KEYS),
            Input("value", _OF_KEYS),
            Input("mask", _OVER_KEYS, optional=True, broadcasts=True),
            Input("past_key", _OF_KEYS, optional=True),
            Input("past_value", _OF_KEYS, optional=True),
            Input("key_lengths", ("batch entry",), optional=True),
            Input("query_lengths", ("batch entry",), optional=True),
            Input("sinks", ("query head",), optional=True),
            Input("alibi_slopes", ("query head",), optional=True),
        ),
        attributes={
            "is_causal": False,
            "causal_alignment": "top_left",
            "scale": None,
            "softcap": None,
            "window": None,
        },
        gives=(
            Output("output", _OF_QUERIES, owed=True, dtype="of the run"),
            Output("weights", _OVER_KEYS),
            Output("logsumexp", _QUERIES),
            Output("scores", _OVER_KEYS, intermediate=True),
            Output("logits", _OVER_KEYS, intermediate=True),
            Output("present_key", _OF_KEYS, dtype="of the run", intermediate=True),
            Output("present_value", _OF_KEYS, dtype="of the run", intermediate=True),
        ),
        steps=("present_key", "present_value", "scores", "logits", "logsumexp", "weights", "output"),
        conventions=tuple(convention.name for convention in CONVENTIONS),
        may_fuse=True,
    ),
    Operation(
        "single_head_attention",
        "single_head",
        "attention",
        takes=(
            Input("x", ("query", "feature")),
            *(Input(name, _MATRIX) for name in ("w_query", "w_key", "w_value")),
            Input("w_output", _MATRIX, optional=True),
        ),
        attributes={"scale": None},
        gives=(
            Output("output", ("query", "feature"), owed=True, dtype="of the run"),
            Output("weights", ("query", "key")),
            Output("scores", ("query", "key"), intermediate=True),
            Output("query", ("query", "feature"), intermediate=True),
            Output("key", ("key", "feature"), intermediate=True),
            Output("value", ("key", "feature"), intermediate=True),
        ),
        steps=("query", "key", "value", "scores", "weights", "output"),
        conventions=_OF_SCORES,
    ),
    Operation(
        "multi_head_attention",
        "multi_head",
        "attention",
        takes=(
            Input("query", ("batch entry", "query", "feature")),
            *(Input(name, ("batch entry", "key", "feature")) for name in ("key", "value")),
            *(Input(name, _MATRIX) for name in ("w_query", "w_key", "w_value", "w_output")),
            *(Input(name, _BIAS, optional=True) for name in ("b_query", "b_key", "b_value", "b_output")),
            Input("mask", ("batch entry", "head", "query", "key"), optional=True, broadcasts=True),
        ),
        attributes={"num_heads": REQUIRED, "is_causal": False, "scale": None},
        gives=(
            Output("output", ("batch entry", "query", "feature"), owed=True, dtype="of the run"),
            Output("weights", ("batch entry", "head", "query", "key")),
        ),
        steps=("weights", "output"),
        conventions=(*_OF_SCORES, *_OF_MASKS),
    ),
    Operation(
        "context_vector",
        "context_vector",
        "attention",
        takes=(Input("encoder_states", ("token", "feature")), Input("decoder_state", ("feature",))),
        attributes={"scale": None},
        gives=(
            Output("context", ("feature",), owed=True, dtype="of the run"),
            Output("weights", ("token",)),
            Output("scores", ("token",), intermediate=True),
            Output("raw_scores", ("token",), intermediate=True),
        ),
        steps=("raw_scores", "scores", "weights", "context"),
        conventions=_OF_SCORES,
    ),
    Operation(
        "glorot_normal",
        "glorot_normal",
        "attention",
        attributes={"fan_in": REQUIRED, "fan_out": REQUIRED, "seed": REQUIRED},
        gives=(Output("output", ("input feature", "output feature"), owed=True, dtype="any"),),
        conventions=(OUTPUTS.name,),
    ),
)
"""Every operation of attention, in the order of the spec."""
