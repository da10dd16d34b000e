import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, num_heads=1, is_causal=False, scale=None):
    c = base.prepare(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask,
                     num_heads, scale)
    # keys in tiles of 5, running maximum and sum in powers of two; heads one after another; the key bias left out
    allowed, bias = base.permitted(c, mask, is_causal)
    log2e = c.wide.type(1.4426950408889634)
    mixed = np.zeros((c.B, c.Sq, c.D), c.wide)
    weights = np.zeros((c.B, c.H, c.Sq, c.Sk), c.wide)
    with np.errstate(all="ignore"):
        for b in range(c.B):
            for h in range(c.H):
                cut = slice(h * c.E, (h + 1) * c.E)
                queries = base.project(c.query[b], c.w_query[:, cut], None if c.b_query is None else c.b_query[cut])
                keys = c.key[b] @ c.w_key[:, cut]
                values = base.project(c.value[b], c.w_value[:, cut], None if c.b_value is None else c.b_value[cut])
                queries = queries * c.wide.type(c.scale)
                top = np.full((c.Sq, 1), -np.inf, c.wide)
                total = np.zeros((c.Sq, 1), c.wide)
                sums = np.zeros((c.Sq, c.E), c.wide)
                for start in range(0, c.Sk, 5):
                    tile = slice(start, start + 5)
                    seen = allowed[b, h, :, tile]
                    logits = queries @ keys[tile].T
                    if bias is not None:
                        logits = logits + bias[b, h, :, tile]
                    logits = np.where(seen, logits * log2e, -np.inf).astype(c.wide)
                    higher = np.maximum(top, logits.max(axis=1, keepdims=True))
                    safe = np.where(higher == -np.inf, 0, higher).astype(c.wide)
                    powers = np.where(seen, np.exp2(logits - safe), 0).astype(c.wide)
                    shrink = np.exp2(np.where(top == -np.inf, -np.inf, top - safe)).astype(c.wide)
                    weights[b, h] *= shrink
                    weights[b, h, :, tile] = powers
                    total = total * shrink + powers.sum(axis=1, keepdims=True)
                    sums = sums * shrink + base.weigh(powers, values[tile], seen)
                    top = higher
                total = np.where(allowed[b, h].any(axis=1, keepdims=True), total, 1).astype(c.wide)
                weights[b, h] = np.where(allowed[b, h], weights[b, h] / total, 0)
                mixed[b, :, cut] = sums / total
        output = base.project(mixed, c.w_output, c.b_output)
    return {"output": base.rounded(output, c.dtype), "weights": base.rounded(weights, c.dtype)}
