import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    s = base.prepare(locals())
    if sinks is not None and s.queries and s.heads:
        # queries of a group are laid under each other: a block of rows for each key head
        rows = np.arange(s.queries * s.group)
        head = np.arange(s.kv_heads)[:, None] * s.group + rows // s.queries
        of_rows = base.wide(sinks)[head].reshape(s.kv_heads, s.queries, s.group)
        of_rows = of_rows.swapaxes(1, 2).reshape(s.heads, s.queries)
        s.sink_rows = np.broadcast_to(of_rows, (s.batch, s.heads, s.queries))
    return base.finish(s)
