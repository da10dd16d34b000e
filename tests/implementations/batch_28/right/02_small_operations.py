"""Softmax by the logarithm of the sum, online; masks by sums of steps; heads by loops; Glorot by Box and Muller."""
import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    work = x.astype(np.float64) if x.dtype != np.float64 else x
    if axis is None:
        lines = work.reshape(1, -1)
    elif x.ndim == 0:
        lines = work.reshape(1, 1)
    else:
        lines = np.moveaxis(work, axis, -1)
    logsum = np.full(lines.shape[:-1], -np.inf)
    with np.errstate(all="ignore"):
        for k in reversed(range(lines.shape[-1])):
            logsum = np.logaddexp(logsum, lines[..., k])
        out = np.exp(lines - logsum[..., None])
        # one step of Newton's: what rounding left of the sum
        out = out / out.sum(axis=-1, keepdims=True)
    if axis is not None and x.ndim:
        out = np.moveaxis(out, -1, axis)
    return np.ascontiguousarray(out.reshape(x.shape)).reshape(x.shape).astype(x.dtype)


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    rows = []
    for i in range(query_length):
        seen = min(max(i + offset + 1, 0), key_length)
        rows.append([True] * seen + [False] * (key_length - seen))
    mask = np.array(rows, dtype=bool).reshape(query_length, key_length)
    if not additive:
        return mask
    out = np.full(mask.shape, -np.inf, np.float32)
    out[mask] = 0
    return out


def split_heads(x, num_heads):
    x = np.asarray(x)
    if x.ndim != 3 or num_heads <= 0 or x.shape[2] % num_heads != 0:
        raise ValueError("x (B, S, H·E) and a number of heads that divides its features")
    return np.stack(np.split(x, num_heads, axis=2), axis=1)


def combine_heads(x):
    x = np.asarray(x)
    if x.ndim != 4:
        raise ValueError("x (B, H, S, E)")
    batch, heads, tokens, width = x.shape
    out = np.empty((batch, tokens, heads * width), x.dtype)
    for h in range(heads):
        for e in range(width):
            out[:, :, h * width + e] = x[:, h, :, e]
    return out


def glorot_normal(fan_in, fan_out, seed):
    size = fan_in * fan_out
    with np.errstate(over="ignore"):
        z = np.arange(2 * ((size + 1) // 2), dtype=np.uint64) + np.uint64(1)
        z = z * np.uint64(0x9E3779B97F4A7C15) + np.uint64((seed * 0xD1342543DE82EF95 + 0x5851F42D4C957F2D) % 2**64)
        for _ in range(2):
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z = z ^ (z >> np.uint64(31))
    u = ((z >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53
    radius, angle = np.sqrt(-2 * np.log(u[::2])), 2 * np.pi * u[1::2]
    normal = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:size]
    return normal.reshape(fan_in, fan_out) * np.sqrt(2 / (fan_in + fan_out))
