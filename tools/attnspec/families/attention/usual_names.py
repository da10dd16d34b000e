"""What software usually calls the arguments of attention; compared without regard to case and underscores."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

USUAL_NAMES: Mapping[str, tuple[str, ...]] = {
    "query": ("q", "queries", "query_states", "xq", "q_heads"),
    "key": ("k", "keys", "key_states", "xk", "k_heads"),
    "value": ("v", "values", "value_states", "xv", "v_heads"),
    "mask": ("attn_mask", "attention_mask", "bool_mask", "attn_bias", "attention_bias", "bias", "m"),
    "past_key": ("past_k", "past_keys", "k_cache", "key_cache", "cached_key"),
    "past_value": ("past_v", "past_values", "v_cache", "value_cache", "cached_value"),
    "key_lengths": ("key_value_seq_lengths", "kv_lengths", "k_lengths", "kv_lens", "seqlens_k", "cache_seqlens"),
    "query_lengths": ("query_seq_lengths", "q_lengths", "q_lens", "seqlens_q"),
    "sinks": ("sink", "s_aux", "attention_sinks", "sink_logits"),
    "alibi_slopes": ("alibi", "slopes"),
    "is_causal": ("causal", "use_causal_mask", "apply_causal_mask"),
    "causal_alignment": ("alignment",),
    "scale": ("softmax_scale", "sm_scale", "scaling", "attention_scale", "qk_scale", "scale_factor"),
    "softcap": ("logits_soft_cap", "logit_cap", "soft_cap", "attn_logits_soft_cap", "softcapping", "logit_softcap"),
    "window": ("window_size", "local_window_size", "sliding_window"),
    "num_heads": ("n_heads", "n_head", "heads", "nheads", "num_attention_heads"),
    "w_query": ("w_q", "q_proj", "weight_q"),
    "w_key": ("w_k", "k_proj", "weight_k"),
    "w_value": ("w_v", "v_proj", "weight_v"),
    "w_output": ("w_o", "w_out", "o_proj", "out_proj", "weight_o"),
    "b_query": ("b_q", "bias_q"),
    "b_key": ("b_k", "bias_k"),
    "b_value": ("b_v", "bias_v"),
    "b_output": ("b_o", "b_out", "bias_o"),
    "axis": ("dim",),
    "x": ("logits", "scores", "input", "inputs", "hidden_states"),
    "encoder_states": ("encoder_outputs", "annotations"),
    "decoder_state": ("decoder_hidden", "state"),
}
"""Argument to its other names, the most usual first."""

UNSTATED: Mapping[str, str] = {"scale": "query.shape[-1] ** -0.5"}
"""What an argument is where a case states none, for functions that have no default of their own."""
