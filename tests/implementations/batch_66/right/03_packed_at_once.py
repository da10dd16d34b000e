import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "packed"


def scaled_dot_product_attention(
    query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    arguments = dict(locals())
    starts = base.check_packed(arguments)
    of_query, of_key = (np.searchsorted(one[1:], np.arange(one[-1]), side="right") for one in starts)
    first_query, first_key = starts[0][of_query], starts[1][of_key]
    p = np.arange(len(query)) - first_query
    j = np.arange(len(key)) - first_key
    if causal_alignment == "bottom_right":
        p = p + (np.diff(starts[1]) - np.diff(starts[0]))[of_query]
    allowed = of_query[:, None] == of_key
    if is_causal:
        allowed &= j <= p[:, None]
    if window is not None and window[0] is not None:
        allowed &= j >= p[:, None] - int(window[0])
    if window is not None and window[1] is not None:
        allowed &= j <= p[:, None] + int(window[1])
    heads_first = [array.swapaxes(0, 1)[None] for array in (query, key, value)]
    s = base.prepare({
        "query": heads_first[0], "key": heads_first[1], "value": heads_first[2], "sinks": sinks,
        "alibi_slopes": alibi_slopes, "scale": scale, "softcap": softcap,
        "mask": None if mask is None else np.ascontiguousarray(mask[..., j]),
    })
    s.allowed = base.with_mask(s, allowed[None, None])
    s.distance = np.abs(p[:, None] - j)[None, None].astype(np.float64)
    found = base.finish(s)
    return {name: found[name][0].swapaxes(0, 1).copy() for name in ("output", "logsumexp")}
