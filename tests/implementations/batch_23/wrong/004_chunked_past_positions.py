import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np


CHUNK = 4


class Cache:
    """Keys and values in chunks; each chunk remembers at which position it begins."""

    def __init__(self, p):
        cuts = list(range(0, p.P, CHUNK)) + list(range(p.P, p.Sk, CHUNK))
        self.chunks = []
        begin = 0
        for a, z in zip(cuts, cuts[1:] + [p.Sk]):
            self.chunks.append((slice(a, z), begin))
            begin += CHUNK if z - a else 0

    def __iter__(self):
        return iter(self.chunks)


def attend(p):
    cache = Cache(p)
    moved = -(-p.P // CHUNK) * CHUNK - p.P  # new tokens begin with a chunk of their own
    pieces = []
    for cols, begin in cache:
        s = np.einsum("bhie,bhje->bhij", p.q, base.repeat(p.k[:, :, cols], p.group)) * p.scale
        if p.softcap:
            s = p.softcap * np.tanh(s / p.softcap)
        if p.slopes is not None:
            columns = begin + np.arange(cols.stop - cols.start)
            pos = p.pos + (moved if p.alignment == "top_left" or p.P else 0)
            d = np.abs(pos[:, None, :, None] - columns)
            s = s - p.slopes[:, None, None] * d.astype(p.acc)
        if p.bias is not None:
            s = s + p.bias[..., cols]
        pieces.append(s)
    x = np.concatenate(pieces, axis=-1) if pieces else np.zeros((p.B, p.Hq, p.Sq, 0), p.acc)
    x = np.where(p.ok, x, -np.inf).astype(p.acc)
    if p.sinks is not None:
        x = np.concatenate([x, np.broadcast_to(p.sinks[:, None, None], x.shape[:3] + (1,))], axis=-1)
    m = x.max(axis=-1, keepdims=True, initial=-np.inf)
    m = np.where(np.isneginf(m), 0, m)
    e = np.where(np.isneginf(x), 0, np.exp(x - m))
    total = e.sum(axis=-1, keepdims=True)
    w = (e / np.where(total == 0, 1, total))[..., : p.Sk]
    return {"output": base.weigh(w, base.repeat(p.v, p.group), p.ok), "weights": w,
            "logsumexp": (np.log(total) + m)[..., 0]}


scaled_dot_product_attention = base.make(attend)
