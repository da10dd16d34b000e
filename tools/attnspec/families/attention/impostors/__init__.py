"""Impostors of attention: cheap wrong answers that a set of its cases must be able to tell from right ones."""

from attnspec.families.attention.impostors.backward import BACKWARD
from attnspec.families.attention.impostors.causal import MASKS
from attnspec.families.attention.impostors.context import CONTEXT
from attnspec.families.attention.impostors.forward import FORWARD
from attnspec.families.attention.impostors.heads import COMBINED_HEADS, SPLIT_HEADS
from attnspec.families.attention.impostors.merging import MERGING
from attnspec.families.attention.impostors.parts import part_of
from attnspec.families.attention.impostors.projecting import ONE_HEAD, SEVERAL_HEADS
from attnspec.families.attention.impostors.softmax import SOFTMAX

IMPOSTORS = {
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

__all__ = ["IMPOSTORS", "part_of"]
