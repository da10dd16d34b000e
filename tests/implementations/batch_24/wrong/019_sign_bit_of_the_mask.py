"""Sign bit of the mask."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


BITS = (np.uint32(1) << np.arange(32, dtype=np.uint32)).view(np.int32)


def pack(mask):
    """(..., keys) of truth values to (..., words) of int32."""
    keys = mask.shape[-1]
    words = np.zeros(mask.shape[:-1] + (-(-keys // 32),), np.int32)
    for j in range(keys):
        words[..., j // 32] |= np.where(mask[..., j], BITS[j % 32], np.int32(0))
    return words


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    p = base.prepare(locals())
    out, _, lse = base.blank(p)
    words = pack(p.mask4) if p.boolean else None
    for b in range(p.B):
        for h in range(p.Hq):
            x = base.biased(p, b, h, base.scores_of(p, b, h))
            ok = base.by_position(p, b)
            if p.boolean:
                mine = words[b if words.shape[0] > 1 else 0, h if words.shape[1] > 1 else 0]
                j = np.arange(p.T)
                ok &= (mine[:, j // 32] & BITS[j % 32]) > 0
            elif p.mask4 is not None:
                m = base.mask_of(p, b, h)
                ok &= m != -np.inf
                with np.errstate(all="ignore"):
                    x = x + m
            w, lse[b, h] = base.softmax_row(np.where(ok, x, -np.inf), None if p.sinks is None else p.sinks[h])
            out[b, h] = base.weigh(np.where(ok, w, 0), ok, p.v[b, h // p.G])
    return base.finish(p, out, logsumexp=lse)
