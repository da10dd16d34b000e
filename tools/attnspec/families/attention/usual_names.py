"""Usual names of the arguments of attention in software; compared without regard to case and underscores."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

USUAL_NAMES: Mapping[str, tuple[str, ...]] = {
    "query": ("q", "queries", "query_states", "xq", "q_heads"),
    "key": ("k", "keys", "key_states", "xk", "k_heads"),
    "value": ("v", "values", "value_states", "xv", "v_heads"),
    "mask": ("attn_mask", "attention_mask", "bool_mask", "attn_bias", "attention_bias", "bias", "m"),
    "grad_output": ("grad_out", "dout", "do", "d_output", "grad", "output_grad", "upstream"),
    "output": ("out", "o", "attn_output", "result"),
    "logsumexp": ("lse", "softmax_lse", "log_sum_exp", "stats"),
    "grad_logsumexp": ("grad_lse", "dlse", "d_lse", "grad_softmax_lse"),
    "past_key": ("past_k", "past_keys", "k_cache", "key_cache", "cached_key"),
    "past_value": ("past_v", "past_values", "v_cache", "value_cache", "cached_value"),
    "key_lengths": (
        "key_value_seq_lengths",
        "kv_lengths",
        "k_lengths",
        "kv_lens",
        "seqlens_k",
        "cache_seqlens",
        "seq_lens",
        "seqused_k",
    ),
    "query_lengths": ("query_seq_lengths", "q_lengths", "q_lens", "seqlens_q"),
    "query_starts": ("cu_seqlens_q", "qo_indptr"),
    "key_starts": ("cu_seqlens_k", "cu_seqlens_kv", "cu_seqlens", "kv_indptr"),
    "key_pool": ("key_cache", "k_cache", "k_pool", "paged_k_cache"),
    "value_pool": ("value_cache", "v_cache", "v_pool", "paged_v_cache"),
    "block_table": ("block_tables", "page_table", "page_tables"),
    "page_starts": ("kv_page_indptr", "paged_kv_indptr", "kv_indptr"),
    "page_indices": ("kv_page_indices", "paged_kv_indices", "kv_indices"),
    "last_page_length": ("kv_last_page_len", "paged_kv_last_page_len", "last_page_len"),
    "sinks": ("sink", "s_aux", "attention_sinks", "sink_logits"),
    "alibi_slopes": ("alibi", "slopes"),
    "query_scale": ("q_descale", "q_scale", "descale_q", "query_descale", "scale_q"),
    "key_scale": ("k_descale", "k_scale", "descale_k", "key_descale", "scale_k"),
    "value_scale": ("v_descale", "v_scale", "descale_v", "value_descale", "scale_v"),
    "output_a": ("o_a", "out_a", "v_a", "prefix_output", "out1", "o1", "output1", "out", "o"),
    "logsumexp_a": ("lse_a", "s_a", "prefix_lse", "lse1", "logsumexp1", "lse"),
    "output_b": ("o_b", "out_b", "v_b", "suffix_output", "out2", "o2", "output2", "block_out", "v_other"),
    "logsumexp_b": ("lse_b", "s_b", "suffix_lse", "lse2", "logsumexp2", "block_lse", "s_other"),
    "is_causal": ("causal", "use_causal_mask", "apply_causal_mask"),
    "causal_alignment": ("alignment",),
    "scale": ("softmax_scale", "sm_scale", "scaling", "attention_scale", "qk_scale", "scale_factor"),
    "softcap": ("logits_soft_cap", "logit_cap", "soft_cap", "attn_logits_soft_cap", "softcapping", "logit_softcap"),
    "window": ("window_size", "local_window_size", "sliding_window"),
    "output_dtype": ("out_dtype", "o_dtype", "o_data_type", "dtype"),
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
"""Value of an argument where a case states none, for functions that have no default of their own."""
