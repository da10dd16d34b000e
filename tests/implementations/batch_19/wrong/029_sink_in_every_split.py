"""One query alone: keys are split in parts of 16, and the parts merged by their logsumexp."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = base.prepare(**locals())
    step = 16 if c.Sq == 1 else max(c.T, 1)
    parts = []
    with np.errstate(all="ignore"):
        x = base.logits(c)
        v = base.shared(c, c.v)
        for j in range(0, c.T, step) or [0]:
            part = base.Case()
            part.__dict__.update(c.__dict__, ok=c.ok[..., j:j + step])
            weights, lse = base.softmax(part, x[..., j:j + step])
            parts.append((base.weigh(weights, part.ok, v[..., j:j + step, :]), lse[..., None]))
        m = np.max([lse for _, lse in parts], axis=0)
        m = np.where(m == -np.inf, 0, m)
        total = sum(np.exp(lse - m) for _, lse in parts)
        output = sum(np.where(lse == -np.inf, 0, o * np.exp(lse - m)) for o, lse in parts) / np.where(total == 0, 1, total)
        lse = (np.log(total) + m)[..., 0]
    return base.finish(c, output, **base.wide(c, logsumexp=lse))
