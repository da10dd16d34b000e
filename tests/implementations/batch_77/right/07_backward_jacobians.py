"""The Jacobian of the softmax, written out for every query over the keys that it may attend to."""

import math

import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
conventions = {"fully_masked_row": "uniform", "half_precision_grade": "fused"}


def _refuse(condition, message):
    if condition:
        raise ValueError(message)


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    _refuse(not query.ndim == key.ndim == value.ndim == 4, "query, key and value need four axes")
    batch, heads, rows, width = query.shape
    _, groups, keys, _ = key.shape
    _refuse(key.shape[3] != width, "width")
    _refuse(not batch == key.shape[0] == value.shape[0], "batch")
    _refuse(value.shape[1] != groups, "heads of keys and values")
    _refuse(heads % groups if groups else heads, "query heads")
    _refuse(value.shape[2] != keys, "length")
    for lengths, most in ((key_lengths, keys), (query_lengths, rows)):
        if lengths is not None:
            lengths = np.asarray(lengths)
            _refuse(lengths.shape != (batch,), "lengths of another batch")
            _refuse((lengths < 0).any() or (lengths > most).any(), "length out of range")
    _refuse(grad_output.shape != (batch, heads, rows, value.shape[3]), "shape of grad_output")
    _refuse(grad_logsumexp is not None and grad_logsumexp.shape != (batch, heads, rows), "shape of grad_logsumexp")
    additive = mask is not None and mask.dtype != bool
    if mask is not None:
        _refuse(mask.ndim < 2 or mask.ndim > 4 or mask.shape[-1] != keys, "mask")
        full = np.broadcast_to(mask, (batch, heads, rows, keys))
        padded = (1,) * (4 - mask.ndim) + mask.shape
        grad_mask = np.zeros(padded)

    dtype = query.dtype
    query, key, value, grad_output = (np.asarray(t).astype(np.float64) for t in (query, key, value, grad_output))
    factor = 1 / math.sqrt(width) if scale is None else float(scale)
    left, right = (None, None) if window is None else window
    grad_query, grad_key, grad_value = np.zeros_like(query), np.zeros_like(key), np.zeros_like(value)
    grad_sinks = np.zeros(heads)
    delta = np.zeros((batch, heads, rows))
    grad_scores = np.zeros((batch, heads, rows, keys))
    every = np.arange(keys)
    with np.errstate(all="ignore"):
        for b in range(batch):
            count = keys if key_lengths is None else int(key_lengths[b])
            asked = rows if query_lengths is None else int(query_lengths[b])
            first = 0 if causal_alignment == "top_left" else count - asked
            for h in range(heads):
                g = h // (heads // groups)
                for i in range(asked):
                    p = first + i
                    may = every < count
                    if is_causal:
                        may &= every <= p
                    if left is not None:
                        may &= p - left <= every
                    if right is not None:
                        may &= every <= p + right
                    if mask is not None:
                        may &= full[b, h, i] != -np.inf if additive else full[b, h, i]
                    (chosen,) = np.nonzero(may)
                    onto = 0.0 if grad_logsumexp is None else float(grad_logsumexp[b, h, i])
                    if chosen.size == 0:
                        if sinks is not None:
                            grad_sinks[h] += onto
                        elif keys:
                            grad_value[b, g] += grad_output[b, h, i] / keys
                        continue
                    k, v = key[b, g, chosen], value[b, g, chosen]
                    score = k @ query[b, h, i] * factor
                    logit = softcap * np.tanh(score / softcap) if softcap else score.copy()
                    if alibi_slopes is not None:
                        logit -= float(alibi_slopes[h]) * np.abs(chosen - p)
                    if additive:
                        logit += full[b, h, i, chosen].astype(np.float64)
                    sink = -math.inf if sinks is None else float(sinks[h])
                    top = np.maximum(logit.max(), sink)
                    e = np.exp(logit - top)
                    rest = np.exp(sink - top) if sinks is not None else 0.0
                    total = e.sum() + rest
                    w = e / total
                    jacobian = np.diag(w) - np.outer(w, w)  # of the weights by the logits
                    upwards = v @ grad_output[b, h, i]
                    by_logit = jacobian @ upwards + onto * w
                    delta[b, h, i] = w @ upwards
                    if additive:
                        at = [x if n > 1 else 0 for x, n in zip((b, h, i), padded)]
                        np.add.at(grad_mask[tuple(at)], chosen if padded[3] > 1 else 0 * chosen, by_logit)
                    if sinks is not None:
                        grad_sinks[h] += rest / total * (onto - delta[b, h, i])
                    by_score = by_logit / np.cosh(score / softcap) ** 2 if softcap else by_logit
                    grad_scores[b, h, i, chosen] = by_score
                    grad_query[b, h, i] = factor * (by_score @ k)
                    grad_key[b, g, chosen] += factor * np.outer(by_score, query[b, h, i])
                    grad_value[b, g, chosen] += np.outer(w, grad_output[b, h, i])
        result = {
            "grad_query": grad_query.astype(dtype),
            "grad_key": grad_key.astype(dtype),
            "grad_value": grad_value.astype(dtype),
            "delta": delta,
            "grad_scores": grad_scores,
        }
    if additive:
        result["grad_mask"] = grad_mask.reshape(mask.shape)
    if sinks is not None:
        result["grad_sinks"] = grad_sinks
    return result
