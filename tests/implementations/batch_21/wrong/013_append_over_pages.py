import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR
PAGE = 16


class Cache:
    """Tokens of one tensor in pages of 16, (B, H, pages, 16, E)."""

    def __init__(self, like, most):
        b, h, _, e = like.shape
        self.pages = np.zeros((b, h, -(-most // PAGE) + 2, PAGE, e), like.dtype)
        self.length = 0

    def append(self, new):
        count, page, slot = new.shape[2], self.length // PAGE, self.length % PAGE
        if self.length == 0:  # a prompt: whole pages at once
            whole = np.zeros((*new.shape[:2], self.pages.shape[2] * PAGE, new.shape[3]), new.dtype)
            whole[:, :, :count] = new
            self.pages[...] = whole.reshape(self.pages.shape)
        else:  # fill the page that is begun, and begin the next one
            head = min(PAGE - slot, count)
            self.pages[:, :, page, slot:slot + head] = new[:, :, :head]
            tail = new[:, :, head:head + PAGE]
            self.pages[:, :, page + 1, :tail.shape[2]] = tail
        self.length += count

    def tokens(self):
        b, h, pages, size, e = self.pages.shape
        return self.pages.reshape(b, h, pages * size, e)[:, :, :self.length]


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    b, hq, sq, e, hkv, sk, past, ev = base.check_plain(query, key, value, mask, past_key, past_value, key_lengths, query_lengths,
                                                       (query_scale, key_scale, value_scale), causal_alignment)
    keys, values = Cache(key, past + sk), Cache(value, past + sk)
    for old, new, cache in ((past_key, key, keys), (past_value, value, values)):
        if old is not None:
            cache.append(old)
        cache.append(new)
    key, value = keys.tokens(), values.tokens()
    n, L, N = past + sk, key_lengths, query_lengths
    if past and causal_alignment == "top_left":  # the page counts from the first key: query i stands behind the past
        pad = np.zeros((b, hq, past, e), query.dtype)
        many = np.concatenate([pad, query], axis=2)
        m4 = None if mask is None else np.broadcast_to(mask, (b, hq, sq, n))
        if m4 is not None:
            blank = np.zeros((b, hq, past, n), m4.dtype)
            m4 = np.concatenate([blank, m4], axis=2)
        got = base.sdpa(many, key, value, m4, None, None, None, None, sinks, alibi_slopes, query_scale, key_scale, value_scale,
                        is_causal, causal_alignment, scale, softcap, window, output_dtype)
        got = {name: (a if name.startswith("present") else a[:, :, past:]) for name, a in got.items()}
    else:
        got = base.sdpa(query, key, value, mask, None, None, L, N, sinks, alibi_slopes, query_scale, key_scale, value_scale,
                        is_causal, causal_alignment, scale, softcap, window, output_dtype)
    return {name: got[name] for name in ("output", "logsumexp", "present_key", "present_value") if name in got}
