"""The contract of attention as data: its operations, their tensors, and the conventions in which libraries differ."""

from __future__ import annotations

from dataclasses import replace

from attnspec.contract.convention import Convention, Settles
from attnspec.contract.operation import REQUIRED, Examples, Input, Operation, Output
from attnspec.contract.shared_conventions import (
    ACCUMULATION,
    HALF_PRECISION_GRADE,
    HALF_PRECISION_OVERFLOW,
    INPUT_CHECKS,
    OUTPUTS,
)

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
    "paged": "lengths around the ends of pages, for layouts that hold keys and values in pages",
    "sinks": "logits that belong to no key",
    "alibi": "biases by distance",
    "logsumexp": "its base, its parts, and fully masked rows",
    "backward": "gradients, from the forward pass as it was stored or computed anew",
    "merge": "states of parts of the keys, merged: empty ones, unlike ones, large ones",
    "layout": "heads cut and joined, projections",
    "stress": "large, tiny, close, rising and cancelling numbers; long rows",
    "tails": "lengths around powers of two, and positions beyond a byte",
    "pairs": "features, extents, classes of numbers and memory layouts, of which every two meet",
    "nonfinite": "NaN and infinity, attended and excluded",
    "memory": "how inputs lie in memory, and that they stay as they were",
    "quantized": "keys, values and queries in float8 and int8, and their scales",
    "rejects": "inputs that are refused",
    "long": "from 1,000 to 131,072 keys; run where it is asked for",
}
ON_REQUEST = ("long",)
LAYOUTS = {
    "bhse": "batch, heads, tokens, features: the contract's own",
    "bshe": "tokens before heads in query, key, value, a past and output",
    "hse": "no batch axis",
    "se": "neither batch nor head axis",
    "features_first": "every matrix is the transpose of the contract's: a token is a column",
    "packed": "the tokens of all sequences behind one another, told apart by where each begins",
    "paged": "keys and values in pages, which a table lists for each sequence",
    "paged_heads_first": "the same with heads before tokens in each page",
    "paged_csr": "keys and values in pages, which one list names for all sequences, and the length of each last page",
    "paged_csr_heads_first": "the same with heads before tokens in each page",
}
_BY_TABLE = ("paged", "paged_heads_first")
_BY_LIST = ("paged_csr", "paged_csr_heads_first")
_PAGED = (*_BY_TABLE, *_BY_LIST)
CLAUSES_OF_LAYOUTS = {
    "sdpa.packed.": ("packed",),
    "sdpa.paged.table": _BY_TABLE,
    "sdpa.paged.list": _BY_LIST,
    "sdpa.paged.tokens_first": ("paged", "paged_csr"),
    "sdpa.paged.heads_first": ("paged_heads_first", "paged_csr_heads_first"),
    "sdpa.paged.": _PAGED,
}
_OF_PAGES = {
    "sdpa.key_lengths.alignment": "sdpa.paged.position",
    "sdpa.past.position": "sdpa.paged.position",
    "sdpa.past.concatenation": "sdpa.paged.pages",
}
CLAUSES_IN_PLACE = {
    "packed": {
        "sdpa.key_lengths.exclusion": "sdpa.packed.starts",
        "sdpa.key_lengths.alignment": "sdpa.packed.position",
        "sdpa.query_lengths.rows": "sdpa.packed.starts",
        "sdpa.query_lengths.alignment": "sdpa.packed.position",
        "sdpa.past.position": "sdpa.packed.position",
        "sdpa.past.concatenation": "sdpa.packed.starts",
    },
    **{layout: {**_OF_PAGES, "sdpa.key_lengths.exclusion": "sdpa.paged.table_length"} for layout in _BY_TABLE},
    **{layout: {**_OF_PAGES, "sdpa.key_lengths.exclusion": "sdpa.paged.list_length"} for layout in _BY_LIST},
}
LAYOUT_SETTINGS = {
    **{layout: {"page_size": True, "strict_table": False} for layout in _BY_TABLE},
    **{layout: {"page_size": True} for layout in _BY_LIST},
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
    "float8_e4m3fn": "queries, keys or values in float8_e4m3fn",
    "float8_e5m2": "queries, keys or values in float8_e5m2",
    "int8": "queries, keys or values in int8",
    "mixed_quantization": "queries, keys and values that are not all quantized, or not all in one dtype",
    "scale_per_head": "scales of quantized tensors that have an axis of heads",
    "scale_per_batch_entry": "scales of quantized tensors that have an axis of batch entries",
}

DEQUANTIZED = Convention(
    "dequantized",
    ("kept", "bfloat16", "float16"),
    sentence="whether quantized numbers, once multiplied by their scales, stay as they are, or are rounded to half "
    "precision",
    decision="0035-quantized-keys-and-values",
)
QUANTIZED_WEIGHTS = Convention(
    "quantized_weights",
    ("kept", "float8_e4m3fn", "float8_e5m2"),
    sentence="whether weights stay as they are, or are rounded to float8 before they meet quantized values",
    decision="0035-quantized-keys-and-values",
)
EMPTY_LOGSUMEXP = Convention(
    "empty_logsumexp",
    ("minus_infinity", "plus_infinity"),
    sentence="the logsumexp of a query that may attend to no key",
    decision="0015-logsumexp",
)
FULLY_MASKED_ROW = Convention(
    "fully_masked_row",
    ("zero", "nan", "uniform", "filled", "refuse"),
    sentence="the output of a fully masked row: zeros, NaN, the mean of all values, that of those which no float mask "
    "excludes, or an error",
    decision="0001-fully-masked-rows",
)
LOGSUMEXP_BASE = Convention(
    "logsumexp_base", ("e", "2"), sentence="the base of the logarithm in `logsumexp`", decision="0015-logsumexp"
)
NO_KEYS = Convention(
    "no_keys",
    ("zero", "nan", "refuse"),
    sentence="the output when there are no keys at all: zeros, NaN, or an error",
    decision="0016-no-keys",
)
NONFINITE_INPUT = Convention(
    "nonfinite_input",
    ("propagates", "refuse"),
    sentence="whether NaN takes its arithmetic course, or raises an error where it would reach a result",
    decision="0003-refusals",
    is_about_nan=True,
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
    DEQUANTIZED,
    EMPTY_LOGSUMEXP,
    FULLY_MASKED_ROW,
    HALF_PRECISION_GRADE,
    HALF_PRECISION_OVERFLOW,
    INPUT_CHECKS,
    LOGSUMEXP_BASE,
    MASKED_NONFINITE,
    NO_KEYS,
    NONFINITE_INPUT,
    OUTPUTS,
    QUANTIZED_WEIGHTS,
)
_OF_SUMS = (ACCUMULATION.name, INPUT_CHECKS.name, NONFINITE_INPUT.name, OUTPUTS.name)
_OF_SCORES = (*_OF_SUMS, HALF_PRECISION_OVERFLOW.name)
_OF_MASKS = (FULLY_MASKED_ROW.name, MASKED_NONFINITE.name, NO_KEYS.name)

_QUERIES = ("batch entry", "query head", "query")
_OVER_KEYS = (*_QUERIES, "key")
_OF_QUERIES = (*_QUERIES, "feature")
_OF_KEYS = ("batch entry", "key head", "key", "feature")
_OF_SCALES = ("batch entry", "key head")
_OF_TOKENS = ("batch entry", "token", "feature")
_OF_HEADS = ("batch entry", "head", "token", "feature")
_MATRIX = ("input feature", "output feature")
_BIAS = ("output feature",)
_ATTENDING = {"is_causal": False, "causal_alignment": "top_left", "scale": None, "softcap": None, "window": None}

OPERATIONS = (
    Operation(
        "softmax",
        "softmax",
        "attention",
        sentence="turns numbers into shares of one",
        takes=(Input("x"),),
        attributes={"axis": -1},
        gives=(Output("output", required=True, dtype="of the run"),),
        conventions=(*_OF_SUMS, FULLY_MASKED_ROW.name),
    ),
    Operation(
        "causal_mask",
        "causal_mask",
        "attention",
        sentence="says which keys a query may see when text is read in order",
        attributes={"query_length": REQUIRED, "key_length": None, "offset": 0, "additive": False},
        gives=(Output("output", ("query", "key"), required=True, dtype="any", exact=True),),
        conventions=(OUTPUTS.name,),
    ),
    Operation(
        "split_heads",
        "split_heads",
        "attention",
        sentence="cuts the features of tokens into heads",
        takes=(Input("x", _OF_TOKENS),),
        attributes={"num_heads": REQUIRED},
        gives=(Output("output", _OF_HEADS, required=True, dtype="of the run"),),
        conventions=_OF_SUMS,
    ),
    Operation(
        "combine_heads",
        "combine_heads",
        "attention",
        sentence="lays heads side by side again",
        takes=(Input("x", _OF_HEADS),),
        gives=(Output("output", _OF_TOKENS, required=True, dtype="of the run"),),
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
            Input("query_scale", _OF_SCALES, optional=True, broadcasts=True),
            Input("key_scale", _OF_SCALES, optional=True, broadcasts=True),
            Input("value_scale", _OF_SCALES, optional=True, broadcasts=True),
        ),
        attributes={**_ATTENDING, "output_dtype": None},
        gives=(
            Output("output", _OF_QUERIES, required=True, dtype="of the run"),
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
        "scaled_dot_product_attention_backward",
        "sdpa_backward",
        "attention",
        sentence="the gradients of attention, for whoever trains with it",
        takes=(
            Input("grad_output", _OF_QUERIES),
            Input("query", _OF_QUERIES),
            Input("key", _OF_KEYS),
            Input("value", _OF_KEYS),
            Input("output", _OF_QUERIES, optional=True, derived="scaled_dot_product_attention"),
            Input("logsumexp", _QUERIES, optional=True, derived="scaled_dot_product_attention"),
            Input("grad_logsumexp", _QUERIES, optional=True),
            Input("mask", _OVER_KEYS, optional=True, broadcasts=True),
            Input("key_lengths", ("batch entry",), optional=True),
            Input("query_lengths", ("batch entry",), optional=True),
            Input("sinks", ("query head",), optional=True),
            Input("alibi_slopes", ("query head",), optional=True),
        ),
        attributes=_ATTENDING,
        gives=(
            Output("grad_query", _OF_QUERIES, required=True, dtype="of the run"),
            Output("grad_key", _OF_KEYS, required=True, dtype="of the run"),
            Output("grad_value", _OF_KEYS, required=True, dtype="of the run"),
            Output("grad_mask", _OVER_KEYS, required=True, where_given="mask"),
            Output("grad_sinks", ("query head",), required=True, where_given="sinks"),
            Output("delta", _QUERIES, intermediate=True),
            Output("grad_scores", _OVER_KEYS, intermediate=True),
        ),
        steps=("grad_value", "delta", "grad_scores", "grad_sinks", "grad_mask", "grad_query", "grad_key"),
        conventions=tuple(
            convention.name for convention in CONVENTIONS if convention not in (DEQUANTIZED, QUANTIZED_WEIGHTS)
        ),
        may_fuse=True,
        backward_of="scaled_dot_product_attention",
    ),
    Operation(
        "merge_states",
        "merge",
        "attention",
        sentence="makes attentions over two parts of the keys into one over all of them",
        takes=(
            Input("output_a", _OF_QUERIES),
            Input("logsumexp_a", _QUERIES),
            Input("output_b", _OF_QUERIES),
            Input("logsumexp_b", _QUERIES),
        ),
        gives=(
            Output("output", _OF_QUERIES, required=True, dtype="of the run"),
            Output("logsumexp", _QUERIES, required=True),
        ),
        steps=("logsumexp", "output"),
        conventions=(
            *_OF_SUMS,
            EMPTY_LOGSUMEXP.name,
            HALF_PRECISION_GRADE.name,
            LOGSUMEXP_BASE.name,
            MASKED_NONFINITE.name,
        ),
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
            Output("output", ("query", "feature"), required=True, dtype="of the run"),
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
            Output("output", ("batch entry", "query", "feature"), required=True, dtype="of the run"),
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
            Output("context", ("feature",), required=True, dtype="of the run"),
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
        gives=(Output("output", ("input feature", "output feature"), required=True, dtype="any"),),
        conventions=(OUTPUTS.name,),
    ),
)
"""Every operation of attention, in the order of the spec."""


def _laid_out(*takes: Input) -> Operation:
    """Return attention with the tensors of a layout, beside those of its own that every layout has."""
    attention = next(operation for operation in OPERATIONS if operation.name == "scaled_dot_product_attention")
    kept = [tensor for tensor in attention.takes if tensor.name in ("mask", "sinks", "alibi_slopes")]
    gives = tuple(output for output in attention.gives if output.name in ("output", "logsumexp"))
    return replace(attention, takes=(*takes, *kept), gives=gives, steps=("logsumexp", "output"))


_STARTS = ("sequence",)
_PACKED_QUERIES = ("token", "query head", "feature")
_PACKED_KEYS = ("token", "key head", "feature")
_PACKED = _laid_out(
    Input("query", _PACKED_QUERIES),
    Input("key", _PACKED_KEYS),
    Input("value", _PACKED_KEYS),
    Input("query_starts", _STARTS),
    Input("key_starts", _STARTS),
)


def _in_pages(*places: Input, heads_first: bool) -> Operation:
    page = ("page", "key head", "slot", "feature") if heads_first else ("page", "slot", "key head", "feature")
    pools = (Input("key_pool", page), Input("value_pool", page))
    lengths = Input("query_lengths", ("batch entry",), optional=True)
    return _laid_out(Input("query", _OF_QUERIES), *pools, *places, lengths)


_TABLE = (Input("block_table", ("batch entry", "page of it")), Input("key_lengths", ("batch entry",)))
_LAST_PAGE = Input("last_page_length", ("batch entry",))
_LIST = (Input("page_starts", _STARTS), Input("page_indices", ("page of all",)), _LAST_PAGE)

IN_LAYOUT = {
    "packed": (_PACKED,),
    "paged": (_in_pages(*_TABLE, heads_first=False),),
    "paged_heads_first": (_in_pages(*_TABLE, heads_first=True),),
    "paged_csr": (_in_pages(*_LIST, heads_first=False),),
    "paged_csr_heads_first": (_in_pages(*_LIST, heads_first=True),),
}
"""Attention with the arguments and outputs that it has in the layouts in which its tensors are others."""
