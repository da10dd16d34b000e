"""Attention in Transformers where nobody chooses: ``attn_implementation="sdpa"``.

================================ ====================================================================
Operation                        Mapped to
================================ ====================================================================
`scaled_dot_product_attention`   ``ALL_ATTENTION_FUNCTIONS["sdpa"]``, with the mask that a model makes
... `past_key`, `past_value`     ``DynamicCache``
... `is_causal`, `window`,       ``masking_utils.sdpa_mask`` in the positions that alignment, past and
`key_lengths`                    lengths give: ``causal_mask_function``, ``sliding_window_overlay``, a
                                 function of this adapter for the right side of a window, and lengths
                                 as a padding mask; ``is_causal`` where Transformers leaves the mask
                                 out
... `mask`                       joined with it; one of numbers gets -inf where a key is excluded
================================ ====================================================================

================================ ====================================================================
Operation                        Cannot be expressed
================================ ====================================================================
`scaled_dot_product_attention`   `softcap` and `sinks`, for which models fall back to the eager form;
                                 `alibi_slopes`, for which they have attentions of their own; outputs
                                 without elements; every output but `output`
others                           Transformers has no operator for them
================================ ====================================================================

The kernels are PyTorch's: see the adapter `torch`. The conventions were found by running Transformers 5.23 with
PyTorch 2.13 on a CPU, and the tests run it again.
"""

from attnspec_adapters.transformers.attention.sdpa import conventions, scaled_dot_product_attention

__all__ = ["conventions", "scaled_dot_product_attention"]
