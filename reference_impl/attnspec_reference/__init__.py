"""Attention, written to be read: the reference implementation of the attnspec specification.

Each module implements one operation and follows its page in ``spec/operations/`` step by step: same names,
same order, and the name of each step as the comment above it. Where speed and clarity disagree, clarity
wins.

Everything works in float64. Given float32, float16 or bfloat16 inputs, an operation computes in float32 and
rounds its results once, at the end, to the dtype of the inputs. Inputs are never modified. Inputs that the
specification refuses raise ``ValueError``.

The names of the steps are relied on: a mistake or a control is one of these functions with a step of that name
replaced (``attnspec_mistakes.patches``), and refuses to be made where no step has the name.

Examples
--------
>>> from attnspec_reference import softmax
>>> softmax([0.0, 0.0])
array([0.5, 0.5])
"""

from attnspec_reference.attention.absorbed_latent_attention import AbsorbedLatentAttention, absorbed_latent_attention
from attnspec_reference.attention.causal_mask import causal_mask
from attnspec_reference.attention.combine_heads import combine_heads
from attnspec_reference.attention.context_vector import ContextVector, context_vector
from attnspec_reference.attention.glorot_normal import glorot_normal
from attnspec_reference.attention.latent_attention import LatentAttention, latent_attention
from attnspec_reference.attention.merge_states import MergedStates, merge_states
from attnspec_reference.attention.multi_head_attention import MultiHeadAttention, multi_head_attention
from attnspec_reference.attention.paged_latents import (
    paged_absorbed_latent_attention,
    paged_absorbed_latent_attention_by_list,
    paged_latent_attention,
    paged_latent_attention_by_list,
)
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention
from attnspec_reference.attention.scaled_dot_product_attention_backward import (
    AttentionGradients,
    scaled_dot_product_attention_backward,
)
from attnspec_reference.attention.served_attention import (
    ServedAttention,
    packed_attention,
    paged_attention,
    paged_attention_by_list,
    paged_attention_by_list_heads_first,
    paged_attention_heads_first,
)
from attnspec_reference.attention.single_head_attention import SingleHeadAttention, single_head_attention
from attnspec_reference.attention.softmax import softmax
from attnspec_reference.attention.split_heads import split_heads
from attnspec_reference.caches.append_cache import AppendedCache, append_cache
from attnspec_reference.caches.scatter_cache import ScatteredCache, scatter_cache
from attnspec_reference.caches.write_paged_cache import write_paged_cache
from attnspec_reference.caches.write_slots import WrittenPools, write_slots
from attnspec_reference.caches.write_window import WrittenWindow, write_window
from attnspec_reference.masks.attention_mask import AttentionMask, attention_mask
from attnspec_reference.norms.qk_norm import NormalizedPair, qk_norm
from attnspec_reference.norms.rms_norm import rms_norm
from attnspec_reference.rotary.apply_rotary import apply_rotary
from attnspec_reference.rotary.rotary_frequencies import RotaryFrequencies, rotary_frequencies
from attnspec_reference.rotary.rotary_tables import RotaryTables, rotary_tables

__all__ = [
    "IN_LAYOUT",
    "AbsorbedLatentAttention",
    "AppendedCache",
    "Attention",
    "AttentionGradients",
    "AttentionMask",
    "ContextVector",
    "LatentAttention",
    "MergedStates",
    "MultiHeadAttention",
    "NormalizedPair",
    "RotaryFrequencies",
    "RotaryTables",
    "ScatteredCache",
    "ServedAttention",
    "SingleHeadAttention",
    "WrittenPools",
    "WrittenWindow",
    "absorbed_latent_attention",
    "append_cache",
    "apply_rotary",
    "attention_mask",
    "causal_mask",
    "combine_heads",
    "context_vector",
    "glorot_normal",
    "latent_attention",
    "merge_states",
    "multi_head_attention",
    "packed_attention",
    "paged_absorbed_latent_attention",
    "paged_absorbed_latent_attention_by_list",
    "paged_attention",
    "paged_attention_by_list",
    "paged_attention_by_list_heads_first",
    "paged_attention_heads_first",
    "paged_latent_attention",
    "paged_latent_attention_by_list",
    "qk_norm",
    "rms_norm",
    "rotary_frequencies",
    "rotary_tables",
    "scaled_dot_product_attention",
    "scaled_dot_product_attention_backward",
    "scatter_cache",
    "single_head_attention",
    "softmax",
    "split_heads",
    "write_paged_cache",
    "write_slots",
    "write_window",
]

IN_LAYOUT = {
    "packed": {"scaled_dot_product_attention": packed_attention},
    "paged": {
        "scaled_dot_product_attention": paged_attention,
        "latent_attention": paged_latent_attention,
        "absorbed_latent_attention": paged_absorbed_latent_attention,
    },
    "paged_heads_first": {"scaled_dot_product_attention": paged_attention_heads_first},
    "paged_csr": {
        "scaled_dot_product_attention": paged_attention_by_list,
        "latent_attention": paged_latent_attention_by_list,
        "absorbed_latent_attention": paged_absorbed_latent_attention_by_list,
    },
    "paged_csr_heads_first": {"scaled_dot_product_attention": paged_attention_by_list_heads_first},
}
"""Layout to the operations whose arguments are others there, as they are there."""
