"""Case generators of attention: what a drawn case of each operation may have, and how often."""

from attnspec_draws.attention.operations.absorbing import draw_absorbed, draw_latents
from attnspec_draws.attention.operations.backward import draw_backward
from attnspec_draws.attention.operations.forward import draw_forward
from attnspec_draws.attention.operations.merging_states import NEARLY_LARGEST as LARGE_LOGARITHMS
from attnspec_draws.attention.operations.merging_states import draw_merging
from attnspec_draws.attention.operations.projecting import (
    HEADS_WORDS,
    PROJECTED_WORDS,
    SOME_BIASES,
    draw_combined,
    draw_one_head,
    draw_several_heads,
    draw_split,
)
from attnspec_draws.attention.operations.softmax import (
    CONTEXT_WORDS,
    MINUS_INFINITY,
    NEARLY_LARGEST,
    NUMBERS,
    draw_context,
    draw_softmax,
)
from attnspec_draws.attention.operations.without_inputs import draw_causal_mask, draw_weights
from attnspec_draws.attention.parts.exclusions import FORMS_OF_MASKS
from attnspec_draws.attention.parts.large import LARGE_CLASSES
from attnspec_draws.attention.parts.refusals import MISFITS, REFUSALS
from attnspec_draws.attention.parts.spoiling import ATTENDED, EXCLUDED, MASKED, OF_GRADIENT, PADDED, SCORES
from attnspec_draws.attention.parts.tokens import CLASSES, CROSS, HEAVY, OF_ALL_TOKENS, PREFIX
from attnspec_draws.generators.memory import MEMORY_ORDER, ONE_ARRAY, ONE_PART
from attnspec_draws.generators.random_cases import CaseGenerator, Kinds, Rare
from attnspec_draws.generators.special_numbers import ALIKE, BEYOND_FLOAT16, Resized

_SPOILT = (EXCLUDED, ATTENDED, MASKED, PADDED)
_MASKS = Kinds(
    ("boolean_mask", "float_mask"),
    FORMS_OF_MASKS,
    ("broadcast_mask", "mask_and_causal"),
    {"batch": 2, "shared": 3, "group": 1, "queries": 4, "keys": 4},
)
_MASKS_OF_LAYERS = _MASKS._replace(extents={"batch": 2, "heads": 3, "queries": 4, "keys": 4, "width": 2})
_ONE_HEAD = {"batch": 1, "shared": 1, "group": 1}
_TILES_OF_SCORES = Rare(
    {**_ONE_HEAD, "queries": 257, "keys": 257, "width": 2, "value_width": 2}, ("mask",), elements=70_000
)
_RARE = (
    # Columns, and elements, of masks beyond what 16 bits count, with and without a sign.
    Rare(
        {**_ONE_HEAD, "queries": 2, "keys": 33_000, "width": 1, "value_width": 1},
        ("mask",),
        words=("unequal_lengths",),
        elements=70_000,
    ),
    Rare(
        {**_ONE_HEAD, "queries": 2, "keys": 65_700, "width": 1, "value_width": 1},
        ("mask",),
        words=("unequal_lengths",),
        elements=140_000,
    ),
    _TILES_OF_SCORES,
    Rare({"width": 160, "value_width": 200, "keys": 7}, ("query_scale", "key_scale", "value_scale")),
    Rare({"width": 4, "value_width": 270, "keys": 9}, words=("value_width",)),
    Rare({"keys": 700}, numbers="large", words=("unequal_lengths",)),
    Rare({"queries": 1, "keys": 1, "past": 9}, ("past_key", "past_value", "alibi_slopes"), words=("unequal_lengths",)),
)
"""Draws of attention that are made now and then."""

_FORMS = frozenset(f"mask.{form}" for form in FORMS_OF_MASKS)
_QUANTIZED = frozenset(("query_scale", "key_scale", "value_scale"))
_OF_OTHER_TOKENS = frozenset(
    (
        *("unequal_lengths", "grouped_query", "value_width", PREFIX, HEAVY, EXCLUDED, ATTENDED, PADDED, SCORES),
        *_QUANTIZED,
        *(ONE_PART, BEYOND_FLOAT16),
        *(name for name in CLASSES if name not in OF_ALL_TOKENS),
    )
)
"""Features that need tokens of their own for queries, keys or values."""

_COMMON = frozenset((*CLASSES, *_SPOILT, "fully_masked_row", MEMORY_ORDER, ALIKE, ONE_ARRAY, ONE_PART, *_FORMS)) - {
    "plain"
}
"""Features that attention and its backward pass can leave out."""

_OF_LATENTS = frozenset(("full_width", "fully_masked_row", MEMORY_ORDER)) | _FORMS

CASE_GENERATORS = {
    "softmax": CaseGenerator(
        draw_softmax, frozenset((*NUMBERS, NEARLY_LARGEST, MINUS_INFINITY, MEMORY_ORDER)) - {"plain"}
    ),
    "context_vector": CaseGenerator(
        draw_context,
        CONTEXT_WORDS,
        REFUSALS["context_vector"],
        resized=(Resized(("encoder_states",), ("decoder_state",)),),
    ),
    "causal_mask": CaseGenerator(draw_causal_mask, frozenset()),
    "split_heads": CaseGenerator(
        draw_split, HEADS_WORDS, REFUSALS["split_heads"], resized=(Resized(("x",)),), misfits=MISFITS["split_heads"]
    ),
    "combine_heads": CaseGenerator(draw_combined, HEADS_WORDS, resized=(Resized(("x",)),)),
    "scaled_dot_product_attention": CaseGenerator(
        draw_forward,
        _COMMON | {SCORES, PREFIX, HEAVY} | {*LARGE_CLASSES} - {"plain"},
        REFUSALS["scaled_dot_product_attention"],
        classes_of_large=tuple(LARGE_CLASSES),
        resized=(Resized(("value", "past_value")),),
        misfits=MISFITS["scaled_dot_product_attention"],
        left_out_with={CROSS: _OF_OTHER_TOKENS},
        kinds={"mask": _MASKS},
        wanted=(("is_causal",), ("mask",)),
        rare=_RARE,
    ),
    "scaled_dot_product_attention_backward": CaseGenerator(
        draw_backward,
        _COMMON | {OF_GRADIENT},
        REFUSALS["scaled_dot_product_attention_backward"],
        frozenset(("output", "logsumexp")),
        resized=(Resized(("value", "output")), Resized(("grad_output", "grad_logsumexp"))),
        misfits=MISFITS["scaled_dot_product_attention_backward"],
        left_out_with={CROSS: _OF_OTHER_TOKENS},
        kinds={"mask": _MASKS},
        wanted=(("output", "logsumexp"), ("is_causal",), ("mask",)),
        rare=(_TILES_OF_SCORES,),
    ),
    "single_head_attention": CaseGenerator(
        draw_one_head,
        PROJECTED_WORDS,
        resized=(Resized(("x",), ("w_query", "w_key", "w_value")), Resized(("w_value",), ("w_output",))),
    ),
    "multi_head_attention": CaseGenerator(
        draw_several_heads,
        PROJECTED_WORDS | {EXCLUDED, ATTENDED, MASKED, SOME_BIASES} | _FORMS,
        REFUSALS["multi_head_attention"],
        resized=(
            Resized(("query", "key", "value"), ("w_query", "w_key", "w_value")),
            Resized(("w_value", "b_value"), ("w_output",)),
        ),
        misfits=MISFITS["multi_head_attention"],
        left_out_with={CROSS: frozenset(("unequal_lengths", EXCLUDED, ATTENDED, ONE_PART))},
        kinds={"mask": _MASKS_OF_LAYERS},
        wanted=(("is_causal",), ("b_query", "b_key", "b_value", "b_output"), ("mask",)),
        rare=(Rare({"batch": 1, "heads": 1, "queries": 257, "keys": 257, "width": 2}, ("mask",), elements=70_000),),
    ),
    "merge_states": CaseGenerator(
        draw_merging,
        frozenset(("empty_parts", LARGE_LOGARITHMS, HEAVY, EXCLUDED, ATTENDED, "full_width", MEMORY_ORDER)),
        REFUSALS["merge_states"],
        resized=(Resized(("output_a", "output_b")),),
        largest_whole=2**22,  # Its tolerance takes as long as a few sums.
    ),
    "latent_attention": CaseGenerator(draw_latents, _OF_LATENTS),
    "absorbed_latent_attention": CaseGenerator(draw_absorbed, _OF_LATENTS),
    "glorot_normal": CaseGenerator(draw_weights, frozenset()),
}

__all__ = ["CASE_GENERATORS"]
