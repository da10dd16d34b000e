import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32", "bfloat16", "float16")


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
    # rows of weights sum to one, so the value bias can go through the output matrix once
    offset = biases[3] if biases[2] is None else base.project(biases[2][None], matrices[3], biases[3])[0]
    biases[2] = None
    q, k, v = (base.split(base.project(*t), num_heads) for t in zip((query, key, value), matrices, biases))
    allowed, bias = base.exclusions(mask, is_causal, shape)
    weights = base.share(base.score(q, k, scale), allowed, bias)
    output = base.project(base.combine(base.mix(weights, v, allowed)), matrices[3], offset)
    return {"output": base.rounded(output, query.dtype), "weights": base.rounded(weights, query.dtype)}
