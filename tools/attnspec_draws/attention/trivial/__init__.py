"""Trivial answers of attention: cheap and wrong; a set of its cases must be able to tell them from right ones."""

from attnspec_draws.attention.trivial.trivial_backward import BACKWARD
from attnspec_draws.attention.trivial.trivial_causal import MASKS
from attnspec_draws.attention.trivial.trivial_context import CONTEXT
from attnspec_draws.attention.trivial.trivial_forward import FORWARD
from attnspec_draws.attention.trivial.trivial_heads import COMBINED_HEADS, SPLIT_HEADS
from attnspec_draws.attention.trivial.trivial_merging import MERGING
from attnspec_draws.attention.trivial.trivial_parts import part_of
from attnspec_draws.attention.trivial.trivial_projecting import ONE_HEAD, SEVERAL_HEADS
from attnspec_draws.attention.trivial.trivial_softmax import SOFTMAX

TRIVIAL_ANSWERS = {
    "softmax": SOFTMAX,
    "context_vector": CONTEXT,
    "causal_mask": MASKS,
    "split_heads": SPLIT_HEADS,
    "combine_heads": COMBINED_HEADS,
    "scaled_dot_product_attention": FORWARD,
    "scaled_dot_product_attention_backward": BACKWARD,
    "single_head_attention": ONE_HEAD,
    "multi_head_attention": SEVERAL_HEADS,
    "merge_states": MERGING,
    "glorot_normal": (),
}

__all__ = ["TRIVIAL_ANSWERS", "part_of"]
