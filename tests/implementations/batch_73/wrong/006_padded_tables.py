import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_apply(x, cos, sin, pairing)
    pairs, width = cos.shape[2], x.shape[3]
    more = (width - 2 * pairs) // 2
    first, second = base.places(pairs, pairing)
    rest_first, rest_second = base.places(more, pairing)
    first = np.concatenate([first, 2 * pairs + rest_first])
    second = np.concatenate([second, 2 * pairs + rest_second])
    ones = np.ones((*cos.shape[:2], more), cos.dtype)
    cos = np.concatenate([cos, ones], axis=-1)
    sin = np.concatenate([sin, np.zeros_like(ones)], axis=-1)
    return {"output": base.turned(x, cos[:, None], sin[:, None], first, second)}
