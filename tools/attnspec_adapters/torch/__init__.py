"""The built-in adapters whose names begin with `torch`: attention in PyTorch.

What its users call, its kernels one by one, FlexAttention, and its module without weights.

=============================== =====================================================================
`torch`                         Mapped to
=============================== =====================================================================
`softmax`                       ``torch.softmax``; of the whole array by flattening
`scaled_dot_product_attention`  ``torch.nn.functional.scaled_dot_product_attention``; ``enable_gqa``
                                where the numbers of heads differ; bottom-right causal by
                                ``torch.nn.attention.bias.causal_lower_right``
... its backward pass           ``torch.autograd.grad`` of the same
`single_head_attention`         ``torch.nn.MultiheadAttention`` with one head; without `w_output`, its
                                output projection is the identity
`multi_head_attention`          ``torch.nn.MultiheadAttention`` with weights for each head; it takes
                                one mask, in which True means "ignore" and is_causal is spelled out
`glorot_normal`                 ``torch.nn.init.xavier_normal_``
`rms_norm`                      ``torch.nn.functional.rms_norm``, which takes the weight as it is
=============================== =====================================================================

=============================== =====================================================================
`torch`                         Cannot be expressed
=============================== =====================================================================
`scaled_dot_product_attention`  `mask` together with `is_causal`; `window`, `softcap`, `past_key`,
                                `key_lengths`, `query_lengths`, `sinks`, `alibi_slopes`: it has no
                                argument for them; every output but `output`
... its backward pass           the same; `grad_logsumexp`; `delta` and `grad_scores`
`single_head_attention`         weight matrices that are not (D, D); a `scale` other than 1/sqrt(D)
`multi_head_attention`          a `scale` other than 1/sqrt(E)
`split_heads`, `combine_heads`, PyTorch has no operator for these: a user writes them from ``reshape``,
`causal_mask`, `context_vector` ``transpose``, ``tril`` and ``matmul``
=============================== =====================================================================

`torch-math` and `torch-flash` are ``scaled_dot_product_attention`` and its gradients alone, the kernel chosen by
``torch.nn.attention.sdpa_kernel``. Their limits are the same; on a CPU the flash kernel also declines an
Ev other than E and masks of rank 3, and on the way back every float mask. Where `output` and `logsumexp` are given
without a mask, its gradients come from ``aten::_scaled_dot_product_flash_attention_for_cpu_backward``, which autograd
calls, too: the one backward operator of attention that PyTorch has for a CPU. It ends the process where there are no
key heads, so that autograd answers for it there. On other devices, which ``--device`` names, kernels take less, and
nobody has looked at their conventions.

=============================== =====================================================================
`torch-flex`                    Mapped to
=============================== =====================================================================
`scaled_dot_product_attention`  ``torch.nn.attention.flex_attention.flex_attention``, not compiled
... `is_causal`, `window`,      one ``mask_mod``, as PyTorch's documentation of FlexAttention writes
Boolean `mask`, `key_lengths`   them, in the positions that the alignment, `past_key` and the lengths
                                give
... `softcap`, `alibi_slopes`,  one ``score_mod``, in this order
float `mask`
... `past_key`, `past_value`    ``torch.cat`` before the call
... `sinks`                     from the logsumexp, after the call: the output times
                                sigmoid(logsumexp - sink)
... `logsumexp`                 ``return_aux=AuxRequest(lse=True)``
`attention_mask`                ``create_mask`` and ``create_block_mask`` of one ``mask_mod``, which
                                ``and_masks`` joins of a function for each rule, ``or_masks`` for a
                                prefix beside causality
... `parents`                   a table of ancestors, which this adapter makes
=============================== =====================================================================

FlexAttention cannot give `weights`, `scores` or `logits`, and raises where there are no keys. On a CPU it refuses
inputs that keep gradients, so that this adapter has no backward pass. It cannot check what functions give it,
lengths for one.

=============================== =====================================================================
`torch-mha`                     ``torch.nn.MultiheadAttention`` without weights, as encoders call it:
                                attention is ``scaled_dot_product_attention``, and rows without keys
                                are 0; causality alone is its hint ``is_causal``
`torch-mha-fast`                the same by its fast path for inference, which takes self-attention
                                with an even number of heads and Boolean masks alone, and gives NaN
                                for rows without keys
=============================== =====================================================================

The conventions were found by running PyTorch 2.13 on a CPU, and the tests run it again.
"""

from attnspec_adapters.torch.flex import TorchFlex
from attnspec_adapters.torch.kernels import TorchFlash, TorchMath
from attnspec_adapters.torch.multihead import Torch, TorchMultihead, TorchMultiheadFast

__all__ = ["Torch", "TorchFlash", "TorchFlex", "TorchMath", "TorchMultihead", "TorchMultiheadFast"]
