import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


_rooms = {}


def workspace(c, parts):
    shape = (c.B * c.Hq * c.Sq,)
    room = _rooms.get((shape, c.Ev, c.work))
    if room is None or len(room[0]) < parts:
        room = (np.full((parts,) + shape, -np.inf, c.work), np.zeros((parts,) + shape, c.work),
                np.zeros((parts,) + shape + (c.Ev,), c.work))
        _rooms[shape, c.Ev, c.work] = room
    return room


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    c = base.prepare(**locals())
    logits, allowed = base.biased(c, base.scores_of(c)), base.allowed_of(c)
    logits = base.excluded(logits, allowed)
    room = workspace(c, -(-c.K // 8))
    for n, start in enumerate(range(0, c.K, 8)):
        for held, new in zip(room, base.part(c, logits, allowed, start, start + 8)):
            held[n] = new.reshape(held[n].shape)
    state = base.nothing(c)
    for n in range(len(room[0])):
        state = base.joined(state, tuple(held[n].reshape(like.shape) for held, like in zip(room, state)))
    if c.sinks is not None:
        state = base.joined(state, base.sink_part(c, state[0].shape))
    out, lse = base.closed(state)
    return base.presents(c, {"output": base.rounded(c, out), "logsumexp": lse})
