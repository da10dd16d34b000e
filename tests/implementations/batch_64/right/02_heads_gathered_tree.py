import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def tree(rows):
    while len(rows) > 1:
        odd = rows[-1:] if len(rows) % 2 else rows[:0]
        rows = np.concatenate([rows[0:len(rows) - len(odd):2] + rows[1::2], odd])
    return rows[0]


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, num_heads=1, is_causal=False, scale=None):
    c = base.prepare(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask,
                     num_heads, scale)
    # each query gathers the keys that it may attend to; sums are pairwise trees; heads meet the output matrix in parts
    allowed, bias = base.permitted(c, mask, is_causal)
    queries, keys, values = base.projected(c)
    weights = np.zeros((c.B, c.H, c.Sq, c.Sk), c.wide)
    output = np.zeros((c.B, c.Sq, c.D), c.wide)
    with np.errstate(all="ignore"):
        for b, i in np.ndindex(c.B, c.Sq):
            for h in reversed(range(c.H)):
                seen = np.flatnonzero(allowed[b, h, i])
                if not len(seen):
                    continue
                logits = (keys[b, h, seen] @ queries[b, h, i]) * c.wide.type(c.scale)
                if bias is not None:
                    logits = logits + bias[b, h, i, seen]
                powers = np.exp(logits - logits.max())
                share = powers / tree(powers)
                weights[b, h, i, seen] = share
                mixed = tree(share[:, None] * values[b, h, seen])
                output[b, i] += mixed @ c.w_output[h * c.E:(h + 1) * c.E]
        if c.b_output is not None:
            output = output + c.b_output
    return {"output": base.rounded(output, c.dtype), "weights": base.rounded(weights, c.dtype)}
