import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def float32_products(s):
    """Scores of products that were carried in the dtype of the run, or float32."""
    work = np.float64 if s.dtype == np.float64 else np.float32
    with np.errstate(all="ignore"):
        q, k = s.q.astype(work), np.repeat(s.k, s.group, axis=1).astype(work)
        s.scores = np.matmul(q * work(1), k.swapaxes(2, 3)).astype(np.float64) * s.factor
    return s


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    arguments = dict(locals())
    s = base.find_logits(float32_products(base.prepare(arguments)))
    work = np.float64 if s.dtype == np.float64 else np.float32
    value = np.repeat(s.v, s.group, axis=1).astype(work)
    shape = (s.batch, s.heads, s.queries)
    most = np.full(shape, -np.inf, work)
    total = np.zeros(shape, work)
    summed = np.zeros(shape + value.shape[3:], work)
    log2_of_e = work(1.4426950408889634)
    tiles = [(begin, min(begin + 5, s.keys)) for begin in range(0, s.keys, 5)]
    with np.errstate(all="ignore"):
        logits2 = s.logits.astype(work) * log2_of_e
        if s.sinks is not None:
            most = np.array(np.broadcast_to((base.wide(s.sinks) * 1.4426950408889634).astype(work)[:, None], shape))
            total = np.where(np.isneginf(most), 0, 1).astype(work)
        for begin, end in reversed(tiles):
            allowed, logits = s.allowed[..., begin:end], logits2[..., begin:end]
            highest = np.maximum(most, np.max(logits, axis=-1))
            anchor = np.where(np.isneginf(highest), 0, highest).astype(work)
            shrink = np.where(np.isneginf(most), 0, np.exp2(most - anchor)).astype(work)
            exponentials = np.where(allowed, np.exp2(logits - anchor[..., None]), 0).astype(work)
            total = total * shrink + exponentials.sum(axis=-1)
            summed = summed * shrink[..., None] + base.weigh(exponentials, allowed, value[:, :, begin:end])
            most = highest
        output = np.where((total == 0)[..., None], 0, summed / total[..., None])
        finite = np.where(np.isneginf(most), 0, most)
        logsumexp = (np.log2(total) + finite) / log2_of_e
    return base.results(s, output, logsumexp)
