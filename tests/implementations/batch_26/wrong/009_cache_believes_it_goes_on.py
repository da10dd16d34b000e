import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Cache:
    """Holds the keys and values of the sequence that is being decoded, so that the past is not copied each time."""

    def __init__(self):
        self.key = self.value = None

    def extend(self, past_key, past_value, key, value):
        if past_key is None:
            self.key, self.value = key.copy(), value.copy()
        elif (self.key is not None and past_key.shape[2] > 0 and self.key.shape == past_key.shape and self.value.shape == past_value.shape
              and self.key.dtype == past_key.dtype and self.value.dtype == past_value.dtype):
            self.key, self.value = np.concatenate([self.key, key], 2), np.concatenate([self.value, value], 2)
        else:
            self.key, self.value = np.concatenate([past_key, key], 2), np.concatenate([past_value, value], 2)
        return self.key, self.value


cache = Cache()


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
                                 sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None):
    a = dict(locals())
    base.check_dense(a)
    k, v = cache.extend(past_key, past_value, key, value)
    past = 0 if past_key is None else past_key.shape[2]
    made = base.dense({**a, "past_key": k[:, :, :past], "past_value": v[:, :, :past], "key": k[:, :, past:], "value": v[:, :, past:]})
    return made
