import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32", "bfloat16", "float16")


def cut(x, num_heads, width):
    if x.size == 0:
        return x.reshape(x.shape[0], x.shape[1], num_heads, width).transpose(0, 2, 1, 3)
    return x.reshape(x.shape[0], -1, num_heads, width).transpose(0, 2, 1, 3)  # raises where heads do not divide


def multi_head_attention(
    query, key, value, w_query, w_key, w_value, w_output,
    b_query=None, b_key=None, b_value=None, b_output=None,
    mask=None, num_heads=1, is_causal=False, scale=None,
):
    query, key, value, mask = base.array(query), base.array(key), base.array(value), base.array(mask)
    matrices = [base.array(w) for w in (w_query, w_key, w_value, w_output)]
    biases = [base.array(b) for b in (b_query, b_key, b_value, b_output)]
    base.check_ranks(query, key, value)
    base.check_fit(query, key, value, matrices, biases)
    if num_heads <= 0 or num_heads > query.shape[-1] > 0:
        raise ValueError("too many heads")
    shape = (query.shape[0], num_heads, query.shape[1], key.shape[1])
    base.check_mask(mask, shape)
    scale = base.default_scale(scale, query.shape[-1], num_heads)
    width = query.shape[-1] // num_heads
    q, k, v = (cut(base.project(*t), num_heads, width) for t in zip((query, key, value), matrices, biases))
    shape = q.shape[:3] + k.shape[2:3]
    allowed, bias = base.exclusions(mask, is_causal, shape)
    weights = base.share(base.score(q, k, scale), allowed, bias)
    heads = base.mix(weights, v, allowed).transpose(0, 2, 1, 3).reshape(query.shape)
    output = base.project(heads, matrices[3], biases[3])
    return {"output": base.rounded(output, query.dtype), "weights": base.rounded(weights, query.dtype)}
