import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def tree(states, width):
    """States merged in pairs: largest logit, sum of exponentials, sum of values."""
    if not states:
        return -np.inf, 0.0, np.zeros(width)
    while len(states) > 1:
        pairs = [merged(a, b) for a, b in zip(states[::2], states[1::2])]
        states = pairs + ([states[-1]] if len(states) % 2 else [])
    return states[0] if states[0][0] != -np.inf else (-np.inf, 0.0, np.zeros(width))


def merged(a, b):
    if a[0] == -np.inf and not np.isnan(b[0]):
        return b if not np.isnan(a[2] * 0).any() else (b[0], b[1], b[2] + a[2] * 0)
    if b[0] == -np.inf and not np.isnan(a[0]):
        return merged(b, a)
    most = np.maximum(a[0], b[0])
    of_a, of_b = np.exp(a[0] - most), np.exp(b[0] - most)
    return most, a[1] * of_a + b[1] * of_b, a[2] * of_a + b[2] * of_b


def vacant(s):
    s.scores = s.logits = np.zeros(0)
    return s


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    s = base.prepare(locals())
    p, j = base.positions(s)
    structure, mask = base.structure(s), None if s.mask is None else np.broadcast_to(s.mask, (s.batch, s.heads, s.queries, s.keys))
    output = np.zeros((s.batch, s.heads, s.queries, s.v.shape[3]))
    logsumexp = np.full((s.batch, s.heads, s.queries), -np.inf)
    with np.errstate(all="ignore"):
        for b in range(s.batch):
            for h in range(s.heads):
                for i in range(int(s.count[b])):
                    seen = structure[b, 0, i].copy()
                    if mask is not None:
                        seen &= mask[b, h, i] if mask.dtype == bool else base.wide(mask[b, h, i]) != -np.inf
                    columns = np.nonzero(seen)[0]
                    logits = (s.k[b, h // s.group, columns] * s.q[b, h, i]).sum(axis=1) * s.factor
                    if s.softcap:
                        logits = s.softcap * np.tanh(logits / s.softcap)
                    if s.alibi_slopes is not None:
                        logits = logits - float(s.alibi_slopes[h]) * np.abs(s.offset[b] + i - columns)
                    if mask is not None and mask.dtype != bool:
                        logits = logits + base.wide(mask[b, h, i, columns])
                    own = np.where(np.isfinite(logits) | np.isneginf(logits), 1.0, np.nan)
                    states = [(logit, one, row * one) for logit, one, row in zip(logits, own, s.v[b, h // s.group, columns])]
                    if s.sinks is not None:
                        states.append((float(s.sinks[h]), 1.0, np.zeros(s.v.shape[3])))
                    most, total, summed = tree(states, s.v.shape[3])
                    if total > 0 or total != total:
                        output[b, h, i], logsumexp[b, h, i] = summed / total, most + np.log(total)
    found = base.results(vacant(s), output, logsumexp)
    return {name: found[name] for name in ("output", "logsumexp", "present_key", "present_value")}
