import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

TILE = 16


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    p = base.mha_begin(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query, b_key, b_value,
                       b_output, mask, is_causal, scale)
    q, k, v = base.mha_heads(p)
    keep, bias = base.mask_parts(mask, (p.B, p.H, p.Sq, p.Sk), p.T)
    causal = base.causal_table(p.Sq, p.Sk) if p.is_causal else np.ones((p.Sq, p.Sk), bool)
    tiles, kept = [], []
    with np.errstate(all="ignore"):
        for start in range(0, p.Sk, TILE):
            stop = min(start + TILE, p.Sk)
            tile = (q @ k[:, :, start:stop].swapaxes(-1, -2)) * p.T(p.scale)
            if bias is not None:
                tile = tile + bias[..., :stop - start]
            tiles.append(tile)
            kept.append(keep[..., :stop - start] & causal[:, start:stop])
    if not tiles:
        tiles, kept = [np.zeros((p.B, p.H, p.Sq, 0), p.T)], [keep]
    keep = np.concatenate(kept, axis=-1)
    weights = base.shares(np.concatenate(tiles, axis=-1), keep)
    return base.mha_end(p, base.weigh(weights, v, keep), weights)
