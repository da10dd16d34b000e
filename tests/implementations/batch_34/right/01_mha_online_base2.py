"""Head by head, keys in tiles of five from the back, powers of two, no key bias, the output summed up over heads."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    p = base.mha_begin(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query, b_key, b_value,
                       b_output, mask, is_causal, scale)
    T, E = p.T, p.E
    keep, bias = base.exclusions(p)
    log2e = T(np.log2(np.e))
    output = np.zeros((p.B, p.Sq, p.D), T)
    weights = np.zeros((p.B, p.H, p.Sq, p.Sk), T)
    with np.errstate(all="ignore"):
        for h in reversed(range(p.H)):
            cut = slice(h * E, (h + 1) * E)
            q = base.project(p.query, p.wq[:, cut], None if p.bq is None else p.bq[cut])
            k = base.project(p.key, p.wk[:, cut])
            v = base.project(p.value, p.wv[:, cut], None if p.bv is None else p.bv[cut])
            top = np.full((p.B, p.Sq), -np.inf, T)
            total = np.zeros((p.B, p.Sq), T)
            mixed = np.zeros((p.B, p.Sq, E), T)
            logits = np.full((p.B, p.Sq, p.Sk), -np.inf, T)
            for stop in range(p.Sk, 0, -5):
                start = max(stop - 5, 0)
                here = keep[:, h, :, start:stop]
                s = (q @ k[:, start:stop].swapaxes(-1, -2)) * T(p.scale)
                if bias is not None:
                    s = s + bias[:, h, :, start:stop]
                s = np.where(here, s, T(-np.inf)) * log2e
                logits[:, :, start:stop] = s
                new = np.maximum(top, s.max(axis=-1))
                base_of = np.where(new == -np.inf, T(0), new)
                old = np.exp2(top - base_of)
                e = np.where(here, np.exp2(s - base_of[..., None]), T(0))
                total = total * old + e.sum(axis=-1)
                terms = np.where(here[..., None], e[..., None] * v[:, None, start:stop], T(0)).sum(axis=-2)
                mixed = mixed * old[..., None] + terms
                top = new
            alive = keep[:, h].any(axis=-1)
            inverse = np.where(alive, T(1) / np.where(alive, total, T(1)), T(0))
            e = np.where(keep[:, h], np.exp2(logits - np.where(alive, top, T(0))[..., None]), T(0))
            weights[:, h] = e * inverse[..., None]
            output += (mixed * inverse[..., None]) @ p.wo[cut]
        if p.bo is not None:
            output += p.bo
    return {"output": base.rounded(output, p.dtype), "weights": base.rounded(weights, p.dtype)}
