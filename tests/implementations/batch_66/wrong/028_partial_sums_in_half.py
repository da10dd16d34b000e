import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def parts_of(s, size):
    """Largest logit, sum of exponentials and unnormalised sum of values of each part of the keys."""
    value = np.repeat(s.v, s.group, axis=1)
    for begin in range(0, s.keys, size):
        part = slice(begin, begin + size)
        allowed, logits = s.allowed[..., part], s.logits[..., part]
        most = logits.max(axis=-1)
        base_of = np.where(np.isneginf(most), 0.0, most)
        exponentials = np.where(allowed, np.exp(logits - base_of[..., None]), 0.0)
        yield most, exponentials.sum(axis=-1), base.weigh(exponentials, allowed, value[:, :, part])


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    s = base.find_logits(base.prepare(locals()))
    if s.queries != 1 or s.keys == 0:
        return base.finish(s)
    with np.errstate(all="ignore"):
        parts = list(parts_of(s, 16))
        sink = base.sinks_of_rows(s)
        if sink is not None:
            parts.append((sink, np.where(sink == -np.inf, 0.0, 1.0), np.zeros(sink.shape + (s.v.shape[3],))))
        most = np.max([part[0] for part in parts], axis=0)
        most = np.where(np.isneginf(most), 0.0, most)
        if s.dtype in base.HALF:  # the workspace of partial sums
            parts = [(part[0], part[1], base.wide(part[2].astype(s.dtype))) for part in parts]
        total = sum(part[1] * np.exp(part[0] - most) for part in parts)
        summed = sum(part[2] * np.exp(part[0] - most)[..., None] for part in parts)
        output = np.where((total == 0)[..., None], 0.0, summed / total[..., None])
        return base.results(s, output, np.log(total) + most)
