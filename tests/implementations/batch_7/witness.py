"""For every wrong file one input on which it differs from base.py; for every right file 200 random inputs on which it agrees."""
import json, math, sys
import numpy as np
from common import load, case, copy, call, differ, BF, grid, HERE, sdpa_case
import base
F64, F32, F16 = np.float64, np.float32, np.float16
SD = "scaled_dot_product_attention"

def att(seed=0, B=1, HK=1, G=1, SQ=3, SK=5, E=4, EV=4, dt=F64, P=None, amp=2.0, **more):
    rng = np.random.default_rng(seed)
    c = dict(query=grid(rng, (B, HK * G, SQ, E), dt, amp), key=grid(rng, (B, HK, SK, E), dt, amp), value=grid(rng, (B, HK, SK, EV), dt))
    if P is not None:
        c.update(past_key=grid(rng, (B, HK, P, E), dt), past_value=grid(rng, (B, HK, P, EV), dt))
    c.update(more)
    return c

def put(c, name, at, x):
    c = dict(c); c[name] = c[name].copy(); c[name][at] = x
    return c

def rising(SK, top, dt=F64, **more):
    """scores from 0 to top, in the order of the keys"""
    c = att(SK=SK, SQ=2, E=1, dt=dt, scale=1, **more)
    c["query"] = np.ones_like(c["query"]); c["key"] = np.linspace(0, top, SK).reshape(1, 1, SK, 1).astype(dt)
    return c

def level(x, dt=F64, **more):
    """all scores about x"""
    c = att(E=1, dt=dt, scale=1, **more)
    c["query"] = np.ones_like(c["query"]); c["key"] = (x + c["key"] / 4).astype(dt)
    return c

def lay(c, name, f):
    c = dict(c); c[name] = f(c[name]); return c

def hand():
    w = {}
    w["lazy_rescale"] = [rising(20, 12.)]
    w["skip_small_tiles"] = [rising(20, -40.)]
    w["maximum_starts_at_zero"] = [level(-900.)]
    w["maximum_before_masks"] = [put(att(SQ=2, SK=5, mask=np.array([True] * 4 + [False])[None].repeat(2, 0)), "key", (0, 0, 4), 4000.)]
    w["positions_in_int8"] = [att(SQ=2, SK=200, is_causal=True, causal_alignment="bottom_right")]
    c = att(E=8, seed=3); c["query"] = c["query"] + 1 / 3; w["tf32_for_round_widths"] = [c]
    w["second_launch_first_slopes"] = [att(G=10, alibi_slopes=np.linspace(.1, 1, 10))]
    w["merge_without_maximum"] = [level(800.)]
    w["big_negative_mask_excludes"] = [att(mask=np.full((3, 5), -20000.) + np.arange(5))]
    w["tanh_overflows"] = [att(softcap=.01, amp=20.)]
    w["nan_to_num"] = [put(att(), "query", (0, 0, 1, 0), np.nan)]
    w["memory_order"] = [lay(att(HK=2), "query", lambda x: np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2))]
    w["broadcast_heads_shared"] = [lay(att(HK=2), "key", lambda x: np.broadcast_to(x[:, :1], x.shape))]
    w["infinite_values_left_in"] = [put(att(is_causal=True), "value", (0, 0, 4, 1), np.nan)]
    w["no_keys_raises"] = [att(SK=0)]
    w["returned_buffer"] = "kept"
    w["state_in_half"] = [att(SK=100)]
    w["negative_scale_maximum"] = [att(scale=-1., amp=40.)]
    w["exp2_flushes"] = [rising(4, 80.)]
    w["additive_nan"] = [put(att(is_causal=True), "key", (0, 0, 4, 1), np.nan)]
    w["cumulative_in_bytes"] = [att(SK=300)]
    c = att(SQ=2, scale=1, amp=1.); c["query"][0, 0, 1] = 1; c["key"][:] = np.abs(c["key"]) + 1; c["query"][0, 0, 0] = -400.
    w["maximum_of_the_head"] = [c]
    c = att(E=4, dt=F16, amp=2., scale=1 / 65536); c["query"] = (c["query"] * 150).astype(F16); c["key"] = (c["key"] * 150 + 100).astype(F16)
    w["half_scores_overflow"] = [c]
    w["half_denominator"] = [dict(att(SK=400, dt=BF, scale=0.0), value=np.ones((1, 1, 400, 2), BF))]
    w["present_widened"] = [att(dt=BF)]
    w["mask_cached_without_window"] = [att(window=[1, 0]), att(window=[0, 1])]
    w["alibi_cached_by_shape"] = [att(alibi_slopes=np.array([.5])), att(alibi_slopes=np.array([.125]))]
    w["value_heads_repeated_apart"] = [dict(att(HK=2), value=att(HK=1)["value"])]
    w["longer_values_cut"] = [dict(att(), value=att(SK=7)["value"])]
    w["mask_column_repeated"] = [att(mask=np.ones((3, 1), bool))]
    w["wide_head_in_float32"] = [lay(att(E=100), "query", lambda x: x + 1 / 3)]
    w["weights_rounded_for_long_rows"] = [att(SK=150)]
    w["reversed_views"] = [lay(att(), "key", lambda x: x[:, :, ::-1])]
    w["int16_positions"] = [att(E=1, EV=1, SQ=1, SK=33000, is_causal=True, causal_alignment="bottom_right")]
    w["split_from_2048"] = [rising(2050, 5.)]
    w["grid_of_bytes"] = [att(G=300, SQ=1)]
    w["width_of_a_kilobyte"] = [att(E=1030)]
    w["stale_rows"] = [att(), att(key_lengths=np.array([0]))]
    w["rank_3_mask_by_batch"] = [att(B=2, HK=2, mask=np.random.default_rng(1).random((2, 3, 5)) < .6)]
    w["alibi_promotes"] = [att(dt=F32, alibi_slopes=np.array([.5], F32))]
    w["later_tiles_float32_exp"] = [att(SK=20)]
    # layers
    g = lambda *s, dt=F64, amp=2.0, seed=1: grid(np.random.default_rng(seed), s, dt, amp)
    w["softmax_global_maximum"] = [dict(x=np.array([[1., 2], [-2000, -2001]]))]
    w["softmax_overflow_guard"] = [dict(x=np.array([200., 201], F32))]
    w["softmax_clipped"] = [dict(x=np.array([0., 50.]))]
    w["softmax_half_sum"] = [dict(x=np.zeros(400, BF))]
    w["softmax_lanes"] = [dict(x=np.array([-900., -901, -902]))]
    w["softmax_axes_rolled"] = [dict(x=g(3, 3, 3), axis=0)]
    w["split_drops_features"] = [dict(x=g(1, 2, 7), num_heads=2)]
    w["context_without_maximum"] = [dict(encoder_states=g(3, 4) * 40, decoder_state=g(4) * 40, scale=1)]
    w["single_fused_projection_cached"] = [dict(x=g(3, 4), w_query=g(4, 2, seed=s), w_key=g(4, 2, seed=s + 1), w_value=g(4, 2)) for s in (3, 5)]
    w["glorot_state"] = [dict(fan_in=64, fan_out=64, seed=1)] * 2
    w["longrope_from_original"] = [dict(width=4, scaling="longrope", factor=4., original_length=512, sequence_length=512, short_factors=[1., 2.], long_factors=[3., 4.])]
    w["tables_phase_dtype"] = [dict(position_ids=np.array([[50, 301, 1203, 4001]]), inverse_frequencies=np.array([1, .3], BF))]
    w["tables_cache_grows"] = [dict(position_ids=np.array([[3, 1]]), inverse_frequencies=np.array(f)) for f in ([1, .5], [1, .25])]
    w["tables_int16"] = [dict(position_ids=np.array([[131071]]), inverse_frequencies=np.array([1., .01]))]
    x = g(1, 2, 2, 4); x[0, 0, 0, 1] = np.nan
    w["rotary_whole_matrix"] = [dict(x=x, cos=g(1, 2, 2), sin=g(1, 2, 2))]
    w["rotary_one_table"] = [dict(x=g(2, 1, 3, 4), cos=g(1, 3, 2), sin=g(1, 3, 2))]
    q = g(2, 3, 4); m = {f"w_{n}": g(4, 4, seed=k) for k, n in enumerate(("query", "key", "value", "output"))}
    w["multi_rank_3_mask"] = [dict(query=q, key=q, value=q, num_heads=2, mask=np.random.default_rng(2).random((2, 3, 3)) < .6, **m)]
    w["multi_value_bias_late"] = [dict(query=q, key=q, value=q, num_heads=2, mask=np.array([[True] * 3, [False] * 3, [True] * 3]), b_value=g(4), **m)]
    return w

def run(f, op, calls):
    for c in calls[:-1]:
        call(f, op, copy(c))
    return call(f, op, layout(calls[-1]))

def layout(c):
    """copies that keep the way in which arrays lie in memory"""
    out = {}
    for k, v in c.items():
        if isinstance(v, np.ndarray):
            if 0 in v.strides and v.size: v = np.broadcast_to(v[tuple(slice(0, 1) if s == 0 else slice(None) for s in v.strides)].copy(), v.shape)
            elif any(s < 0 for s in v.strides): v = v[tuple(slice(None, None, -1) if s < 0 else slice(None) for s in v.strides)].copy()[tuple(slice(None, None, -1) if s < 0 else slice(None) for s in v.strides)]
            else: v = v.copy(order="K")
        out[k] = v
    return out

def main():
    W = hand(); bad = 0
    for entry in json.loads((HERE / "batch.json").read_text()):
        op, name = entry["operation"], entry["file"][10:-3]
        f = getattr(load(entry["file"]), op); g = getattr(base, op)
        if W.get(name) == "kept":
            a, b = att(seed=1), att(seed=2)
            got = f(**a); f(**b); want = g(**a)
            worst, where = differ(op, a, {"output": got}, want, [])
        elif name in W:
            got, ch = run(f, op, W[name]); want, _ = call(g, op, layout(W[name][-1]))
            worst, where = differ(op, W[name][-1], got, want, ch)
            if op == "glorot_normal": worst, where = differ(op, {}, got, call(f, op, W[name][0])[0], [])
        else:
            for seed in range(400):
                c = case(op, np.random.default_rng(seed)); got, ch = call(f, op, copy(c)); want, _ = call(g, op, copy(c))
                worst, where = differ(op, c, got, want, ch)
                if op == "glorot_normal" and worst != math.inf: worst = 0
                if worst > 1000: where += f" (seed {seed})"; break
        ok = worst > 30
        bad += not ok
        print(f"{entry['file']:55s} {worst:10.3g} {'DIFFERS' if ok else 'SAME'}   {where}")
    print("SAME:", bad)
    for p in sorted((HERE / "right").glob("*.py")):
        m = load(p); bad_r = 0
        for op in [o for o in ("scaled_dot_product_attention softmax context_vector single_head_attention multi_head_attention split_heads combine_heads causal_mask apply_rotary rotary_tables rotary_frequencies").split() if hasattr(m, o)]:
            conv = getattr(m, "conventions", {}); dts = [np.dtype({"bfloat16": BF}.get(d, d)) for d in getattr(m, "dtypes", ("float64", "float32"))]
            worst = 0; n = 0
            import inspect
            offers = set(inspect.signature(getattr(m, op)).parameters)
            seed = 0
            while n < 220 and seed < 4000:
                seed += 1
                dt = dts[seed % len(dts)]; c = case(op, np.random.default_rng(1000 + seed), dt)
                for k in list(c):
                    if k not in offers and k in ("sinks", "alibi_slopes", "softcap", "window", "scale"): del c[k]
                if set(c) - offers: continue
                want, _ = call(getattr(base, op), op, copy(c)); got, ch = call(getattr(m, op), op, copy(c))
                n += 1
                want, got = adapt(conv, op, c, want, got, base)
                d, w = differ(op, c, got, want, ch)
                if "float32" in (conv.get("accumulation"), conv.get(op + ".accumulation")) and d != math.inf and (dt == F64 or op == 'rotary_frequencies'): d /= 2e7
                if dts == [BF]: d /= 5  # each step rounds to bfloat16
                worst = max(worst, d)
                if d > 1:
                    bad_r += 1
                    if bad_r < 4: print("   ", p.name, op, seed, d, w)
            print(f"{p.name:40s} {op:32s} {n} inputs, greatest {worst:.3g} {'AGREES' if worst <= 1 else 'WRONG'}")

def adapt(conv, op, c, want, got, base):
    if isinstance(want, str) or isinstance(got, str) or op != SD: return want, got if not isinstance(got, dict) else dict(got)
    got = {k: np.array(v) for k, v in got.items()}
    if "logsumexp" in got:
        if conv.get("logsumexp_base") == "2": got["logsumexp"] = (got["logsumexp"] * math.log(2)).astype(got["logsumexp"].dtype)
        if conv.get("empty_logsumexp") == "plus_infinity": got["logsumexp"][got["logsumexp"] == np.inf] = -np.inf
    if c["query"].dtype == BF and "weights" in got: want = dict(want, weights=want["weights"].astype(BF)); got["weights"] = got["weights"].astype(BF)
    how = conv.get("fully_masked_row", "zero")
    if how != "zero":
        dead = (want["logits"] == -np.inf).all(-1)
        if "sinks" in c: dead = dead & False
        v = np.repeat(want["present_value"], c["query"].shape[1] // c["key"].shape[1], axis=1).astype(np.float64)
        expect = np.nan if how == "nan" else v.mean(axis=2, keepdims=True)
        full = np.broadcast_to(expect, want["output"].shape)
        o = want["output"].copy(); o[dead] = full[dead].astype(o.dtype); want = dict(want, output=o)
        if how == "nan" or how == "uniform":
            got.pop("weights", None); got.pop("logsumexp", None)
    return want, got

if __name__ == "__main__":
    main()
