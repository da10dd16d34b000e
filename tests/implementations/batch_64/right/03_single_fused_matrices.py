import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

conventions = {"accumulation": "float32"}


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    c = base.prepare_single(x, w_query, w_key, w_value, w_output, scale)
    # float32 throughout, one packed projection, query rows in tiles of 7, values meet the output matrix first
    single = np.float32
    packed = np.concatenate([c.w_query, c.w_key, c.w_value], axis=1).astype(single)
    with np.errstate(all="ignore"):
        query, key, value = np.split(c.x.astype(single) @ packed, [c.d_k, 2 * c.d_k], axis=1)
        mapped = value if c.w_output is None else value @ c.w_output.astype(single)
        output, weights, scores = [mapped[:0]], [np.zeros((0, c.S), single)], [np.zeros((0, c.S), single)]
        for start in range(0, c.S, 7):
            rows = (key @ query[start:start + 7].T).T * single(c.scale)
            powers = np.exp(rows - rows.max(axis=1, keepdims=True))
            total = powers.sum(axis=1, keepdims=True)
            output.append(powers @ mapped / total)
            weights.append(powers / total)
            scores.append(rows)
    results = dict(output=np.concatenate(output), weights=np.concatenate(weights), scores=np.concatenate(scores),
                   query=query, key=key, value=value)
    return {name: base.rounded(array, c.dtype) for name, array in results.items()}
