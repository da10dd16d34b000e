"""The contract of attention as data: its operations, their tensors, and the conventions in which libraries differ."""

from __future__ import annotations

from attnspec.convention import Convention, Settles
from attnspec.families.shared_conventions import ACCUMULATION, HALF_PRECISION_GRADE, INPUT_CHECKS, OUTPUTS
from attnspec.operation import REQUIRED, Examples, Input, Operation, Output

TITLE = "attention"
PROFILES = {
    "documents": "the worked examples of the source documents",
    "core": "scores, scales, softmax, weighted values",
    "masking": "Boolean and float masks, their shapes, fully masked rows",
    "causal": "both alignments, with fewer and with more queries than keys",
    "grouped_query": "several query heads to a key head",
    "window": "one-sided, two-sided and narrow windows",
    "softcap": "its curve, its place among the steps, and off",
    "cache": "past and present, one new token and several",
    "varlen": "sequences of different lengths in one batch",
    "sinks": "logits that belong to no key",
    "alibi": "biases by distance",
    "logsumexp": "its base, its parts, and fully masked rows",
    "layout": "heads cut and joined, projections",
    "stress": "large, tiny, close, rising and cancelling numbers; long rows",
    "tails": "lengths around powers of two, and positions beyond a byte",
    "pairs": "features, extents, classes of numbers and memory layouts, of which every two meet",
    "nonfinite": "NaN and infinity, attended and excluded",
    "memory": "how inputs lie in memory, and that they stay as they were",
    "rejects": "inputs that are refused",
}
LAYOUTS = {
    "bhse": "batch, heads, tokens, features: the contract's own",
    "bshe": "tokens before heads in query, key, value and output",
    "hse": "no batch axis",
    "se": "neither batch nor head axis",
    "features_first": "every matrix is the transpose of the contract's: a token is a column",
}
EXAMPLES = Examples(convention="fully_masked_row", choice="nan", argument="query", own_name="Q")

CAPABILITIES = {
    "boolean_mask": "a mask of truth values: true for the keys that may be attended",
    "float_mask": "a mask of numbers, which are added to the logits",
    "broadcast_mask": "a mask with fewer axes than the scores, or with an axis of length 1 where theirs is longer",
    "mask_and_causal": "a mask beside `is_causal`",
    "grouped_query": "fewer key heads than query heads",
    "value_width": "values of another width than the keys",
    "unequal_lengths": "other numbers of queries than of keys",
    "empty_keys": "no keys at all",
    "empty_queries": "no queries at all",
    "empty_heads": "no heads at all",
    "empty_batch": "a batch without entries",
    "open_window": "a window that is open to one side",
    "zero_scale": "a scale of 0",
    "negative_scale": "a scale below 0",
}

FULLY_MASKED_ROW = Convention(
    "fully_masked_row",
    ("zero", "nan", "uniform", "filled", "refuse"),
    sentence="the output of a fully masked row: zeros, NaN, the mean of all values, that of those which no float mask "
    "excludes, or an error",
    decision="0001-fully-masked-rows",
)
HALF_PRECISION_OVERFLOW = Convention(
    "half_precision_overflow",
    ("finite", "open"),
    sentence="whether products, scores and logits beyond the largest number of half precision stay numbers, or leave "
    "open what comes of them",
    decision="0018-half-precision-grades",
)
NO_KEYS = Convention(
    "no_keys",
    ("zero", "nan", "refuse"),
    sentence="the output when there are no keys at all: zeros, NaN, or an error",
    decision="0016-no-keys",
)
NONFINITE_INPUT = Convention(
    "nonfinite_input", ("propagates", "refuse"), sentence="whether NaN takes its arithmetic course, or raises an error"
)
MASKED_NONFINITE = Convention(
    "masked_nonfinite",
    ("ignored", "propagates"),
    sentence="whether NaN and infinity in an excluded key or value have no effect, or may reach results",
    decision="0017-masked-nonfinite-values",
)

CONVENTIONS = (
    ACCUMULATION,
    Convention(
        "alibi_bias",
        ("distance", "column"),
        sentence="whether ALiBi subtracts the distance between query and key, or a multiple that differs from it by "
        "one number for each query",
        decision="0014-alibi",
    ),
    Convention(
        "causal_alignment",
        ("any", "top_left", "bottom_right"),
        Settles.ATTRIBUTE,
        sentence="where queries stand among the keys when their numbers differ: as the caller says, or always one way",
        decision="0002-causal-alignment",
    ),
    Convention(
        "empty_logsumexp",
        ("minus_infinity", "plus_infinity"),
        sentence="the logsumexp of a query that may attend to no key",
        decision="0015-logsumexp",
    ),
    FULLY_MASKED_ROW,
    HALF_PRECISION_GRADE,
    HALF_PRECISION_OVERFLOW,
    INPUT_CHECKS,
    Convention(
        "logsumexp_base", ("e", "2"), sentence="the base of the logarithm in `logsumexp`", decision="0015-logsumexp"
    ),
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
        sentence="turns numbers into shares of one",
        takes=(Input("x"),),
        attributes={"axis": -1},
        gives=(Output("output", owed=True, dtype="of the run"),),
        conventions=(*_OF_SUMS, FULLY_MASKED_ROW.name),
    ),
    Operation(
        "causal_mask",
        "causal_mask",
        "attention",
        sentence="says which keys a query may see when text is read in order",
        attributes={"query_length": REQUIRED, "key_length": None, "offset": 0, "additive": False},
        gives=(Output("output", ("query", "key"), owed=True, dtype="any", exact=True),),
        conventions=(OUTPUTS.name,),
    ),
    Operation(
        "split_heads",
        "split_heads",
        "attention",
        sentence="cuts the features of tokens into heads",
        takes=(Input("x", _OF_TOKENS),),
        attributes={"num_heads": REQUIRED},
        gives=(Output("output", _OF_HEADS, owed=True, dtype="of the run"),),
        conventions=_OF_SUMS,
    ),
    Operation(
        "combine_heads",
        "combine_heads",
        "attention",
        sentence="lays heads side by side again",
        takes=(Input("x", _OF_HEADS),),
        gives=(Output("output", _OF_TOKENS, owed=True, dtype="of the run"),),
        conventions=_OF_SUMS,
    ),
    Operation(
        "scaled_dot_product_attention",
        "sdpa",
        "attention",
        sentence="the heart: scores, masks, softmax, weighted values",
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
        sentence="the tokens of one sequence attend to each other",
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
        sentence="projections, several heads, one more projection",
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
        sentence="what a decoder state takes from the encoder states",
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
        sentence="random weight matrices to start from",
        attributes={"fan_in": REQUIRED, "fan_out": REQUIRED, "seed": REQUIRED},
        gives=(Output("output", ("input feature", "output feature"), owed=True, dtype="any"),),
        conventions=(OUTPUTS.name,),
    ),
)
"""Every operation of attention, in the order of the spec."""
