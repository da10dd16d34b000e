"""One input for each wrong file on which it differs from base; then the right files on 200 random inputs each."""
import inspect, json, pathlib, sys
import numpy as np
import ml_dtypes
import base, gen
from agree import load, named, turned

HERE = pathlib.Path(__file__).resolve().parent
inf, nan = np.inf, np.nan


def make(b=1, hq=1, hkv=None, sq=3, sk=3, e=4, ev=None, seed=0, dtype=np.float64, **more):
    r = np.random.default_rng(seed)
    hkv, ev = hkv or hq, ev or e
    f = lambda *s: r.normal(size=s).astype(dtype)
    a = dict(grad_output=f(b, hq, sq, ev), query=f(b, hq, sq, e), key=f(b, hkv, sk, e), value=f(b, hkv, sk, ev))
    for name, x in more.items():
        if x is True and name == "grad_logsumexp": x = f(b, hq, sq)
        if x is True and name == "sinks": x = f(hq)
        if x is True and name == "alibi_slopes": x = abs(f(hq))
        if name == "mask" and isinstance(x, tuple): x = f(*x)
        if name.endswith("lengths"): x = np.array(x)
        a[name] = x
    return a


def stored(a, which=("output", "logsumexp")):
    o, l = base.forward(**a)
    x = dict(output=o.astype(a["query"].dtype), logsumexp=l.astype(a["query"].dtype))
    return {**a, **{k: x[k] for k in which}}


def change(a, **at):
    for name, (where, x) in at.items():
        a[name][where] = x
    return a


def copied(a):
    return {k: v.copy(order="K") if isinstance(v, np.ndarray) else list(v) if isinstance(v, list) else v for k, v in a.items()}


def same_bits(x, y):
    if isinstance(x, np.ndarray):
        return x.tobytes() == y.tobytes()
    return x == y


def transposed(x):
    return np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2)


W = {}
W["alibi_array_corner"] = make(2, sq=4, sk=6, alibi_slopes=True, causal_alignment="bottom_right", key_lengths=[3, 6])
W["cap_factor_with_bias"] = make(softcap=2.0, mask=(3, 3))
W["delta_over_key_mass"] = make(sinks=True)
W["lse_gradient_past_cap"] = make(softcap=1.0, grad_logsumexp=True)
W["grad_mask_is_grad_scores"] = make(softcap=1.0, mask=(3, 3))
W["grad_mask_from_padding"] = make(2, query_lengths=[2, 3], mask=(3, 3))
W["sink_joined_twice"] = stored(make(sinks=True), ("logsumexp",))
a = make(2, 2); W["bias_kept_by_shape"] = [{**a, "alibi_slopes": np.array([.5, .25])}, {**a, "alibi_slopes": np.array([2., 1.])}]
W["rank3_mask_by_batch"] = make(2, 2, mask=(2, 3, 3))
W["one_key_has_weight_one"] = make(sk=1, sinks=True)
W["no_keys_early_out"] = make(sk=0, sinks=True, grad_logsumexp=True)
W["sink_share_as_remainder"] = make(sinks=np.array([-60.0]))
W["nan_compares_false"] = change(make(), key=((0, 0, 1, 0), nan))
W["lse_gradient_of_padding"] = change(make(query_lengths=[2], grad_logsumexp=True), grad_logsumexp=((0, 0, 2), nan))
W["very_negative_is_excluded"] = make(mask=np.full((3, 3), -2.0**31))
W["delta_comes_out_folded"] = make(grad_logsumexp=True)
W["scores_gradient_scaled"] = make()
W["logsumexp_cleaned_in_place"] = stored(make(mask=np.array([[True] * 3, [False] * 3, [True] * 3])), ("logsumexp",))
W["window_closed_for_good"] = make(is_causal=True, window=[1, 2])
W["lse_gradient_broadcasts"] = dict(refuse=make(2, 2, grad_logsumexp=np.ones((2, 2, 1))))
W["lengths_of_a_longer_batch"] = dict(refuse=make(2, key_lengths=[2, 3, 1]))
W["bias_in_float32"] = make(mask=np.array([[.1, .2, .7]]) * 33.3)
W["causal_start_of_key_tile"] = make(sq=3, sk=70, is_causal=True, causal_alignment="bottom_right")
W["window_end_rounded_down"] = make(sq=24, sk=24, window=[3, 0])
W["tile_below_diagonal_is_full"] = make(sq=1, sk=5, is_causal=True, causal_alignment="bottom_right", window=[2, None])
W["tile_judged_by_first_row"] = make(mask=np.array([[False] * 3, [True] * 3, [True] * 3]))
W["base_two_gradient_as_it_is"] = make(grad_logsumexp=True)
W["stored_path_without_lse_gradient"] = stored(make(grad_logsumexp=True))
W["slice_end_below_zero"] = make(sq=5, sk=3, is_causal=True, causal_alignment="bottom_right")
a = make(2, 2); W["workspace_handed_out"] = dict(keep=[a, make(2, 2, seed=1)])
W["value_heads_of_their_own"] = make(1, 4, 2); W["value_heads_of_their_own"]["value"] = np.ones((1, 4, 3, 4)); W["value_heads_of_their_own"] = dict(refuse=W["value_heads_of_their_own"])
W["one_maximum_for_all"] = change(make(), query=((0, 0, 0), 3000.0)); W["one_maximum_for_all"]["key"] = abs(W["one_maximum_for_all"]["key"])
W["scale_of_the_padded_width"] = make(e=2, ev=8)
W["tanh_written_out"] = change(make(softcap=0.5), query=((0, 0, 0), 300.0)); W["tanh_written_out"]["key"] = abs(W["tanh_written_out"]["key"])
a = make(); W["tape_by_address"] = {**a, "value": a["key"]}
W["unsorted_by_the_order"] = make(3, key_lengths=[2, 1, 3])
W["query_lengths_from_keys"] = make(key_lengths=[2])
W["keys_behind_the_last_split"] = make(sk=67)
a = make(sk=200, dtype=np.float16); W["query_gradient_in_half"] = a
a["value"][...] = np.sort(a["value"], axis=2); a["grad_output"][...] = abs(a["grad_output"])  # gradients of the scores rise along the keys
a["key"][...] += 8; a["query"][...] *= np.float16(.25)  # and what they sum to cancels
a = make(dtype=np.float16); a["grad_output"][...] = 300; a["value"] = (np.abs(a["value"]) * 200).astype(np.float16); W["weight_gradients_in_float16"] = a
a = make(2, 2); W["buffers_like_the_inputs"] = {**a, "query": transposed(a["query"]), "key": transposed(a["key"]), "value": transposed(a["value"])}
a = stored(make(2, 2), ("output",)); W["strides_of_the_output"] = {**a, "grad_output": transposed(a["grad_output"])}
a = make(2, 2); W["constant_by_its_last_stride"] = {**a, "grad_output": np.broadcast_to(a["grad_output"][..., :1], a["grad_output"].shape)}
a = make(); W["query_scaled_in_place"] = {**a, "key": a["query"]}
W["distance_inside_the_chunk"] = make(sq=40, sk=4, alibi_slopes=True)


def difference(got, want, a):
    n = np.asarray(a.get("query_lengths", np.full(len(a["query"]), a["query"].shape[2])))
    worst = 0.0
    for k in got:
        x, y = np.asarray(got[k]), np.asarray(want[k])
        if x.shape != y.shape:
            return inf
        if k in ("grad_query", "delta", "grad_scores"):
            real = (np.arange(x.shape[2]) < n[:, None])[:, None].reshape(len(n), 1, x.shape[2], *(1,) * (x.ndim - 3))
            x, y = np.where(real, x, 0), np.where(real, y, 0)
        x, y = x.astype(float), y.astype(float)
        d = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0, abs(x - y) / np.where(y == 0, 1, abs(y)))
        worst = max(worst, np.where(np.isnan(d), inf, d).max(initial=0))
    return worst


def half_base(a):
    """base in float64 on half-precision inputs, not rounded"""
    half = a["query"].dtype
    return base.scaled_dot_product_attention_backward(**{k: v.astype(np.float64) if isinstance(v, np.ndarray) and v.dtype == half else v for k, v in a.items()})


def one(entry):
    m = load(str(HERE / "wrong" / entry["file"]))
    fn = m.scaled_dot_product_attention_backward
    a = W[entry["file"][4:-3]]
    conv = getattr(m, "conventions", {})
    if isinstance(a, dict) and "refuse" in a:
        try:
            base.scaled_dot_product_attention_backward(**a["refuse"])
            return 0, "base takes it"
        except ValueError:
            pass
        fn(**a["refuse"])
        return inf, "accepts"
    if isinstance(a, dict) and "keep" in a:
        first = named(fn(**a["keep"][0]), a["keep"][0])
        was = {k: v.copy() for k, v in first.items()}
        fn(**a["keep"][1])
        return difference(first, was, a["keep"][0]), "outputs overwritten"
    calls = a if isinstance(a, list) else [a]
    for a in calls:
        fresh = copied(a)
        same = {k: n for k in a for n in a if k < n and isinstance(a[k], np.ndarray) and a[k] is a[n]}
        for k, n in same.items():
            fresh[k] = fresh[n]
        if any(isinstance(v, np.ndarray) and 0 in v.strides for v in a.values()):
            fresh = a
        before = copied(fresh)
        want = base.scaled_dot_product_attention_backward(**copied(a)) if a["query"].dtype != np.float16 else half_base(a)
        got = named(fn(**turned(fresh, conv)), a)
    changed = [k for k in before if not same_bits(fresh[k], before[k])]
    if changed:
        return inf, "changed " + ", ".join(changed)
    limit = 0.01 if a["query"].dtype == np.float16 else 1e-9
    d = difference(got, want, a)
    return (d, "") if d > limit else (0.0, f"only {d:.3g}")


def main():
    bad = 0
    entries = json.loads((HERE / "batch.json").read_text())
    assert len({e["file"] for e in entries}) == len(list((HERE / "wrong").glob("*.py"))) == len(entries)
    for e in entries:
        with np.errstate(all="ignore"):
            d, note = one(e)
        bad += not d > 0
        print(f"{e['file']:48s} {d:10.3g} {'DIFFERS' if d > 0 else 'SAME'} {note}")
    for f in sorted((HERE / "right").glob("*.py")):
        m = load(str(f))
        fn, conv = m.scaled_dot_product_attention_backward, getattr(m, "conventions", {})
        offered = set(inspect.signature(fn).parameters)
        for dtype in [np.dtype({"bfloat16": ml_dtypes.bfloat16}.get(t, t)) for t in getattr(m, "dtypes", ("float64", "float32"))]:
            r, worst, n = np.random.default_rng(5), 0.0, 0
            while n < 200:
                a = gen.case(r, dtype, only=offered | {"bottom_right"}, big=n % 8 == 0)
                if "causal_alignment" not in offered:
                    if a.get("causal_alignment", "top_left") != conv["causal_alignment"]:
                        continue
                    a.pop("causal_alignment", None)
                align = {"causal_alignment": conv["causal_alignment"]} if "causal_alignment" not in offered else {}
                a = {k: v for k, v in a.items() if k in offered}
                wide = {k: v.astype(np.float64) if isinstance(v, np.ndarray) and v.dtype == dtype else v for k, v in a.items()}
                wide.pop("output", None), wide.pop("logsumexp", None)
                want = base.scaled_dot_product_attention_backward(**wide, **align)
                x = turned(a, conv)
                if conv.get("empty_logsumexp") == "plus_infinity" and "logsumexp" in x:
                    x["logsumexp"] = np.where(np.isneginf(x["logsumexp"]), inf, x["logsumexp"].astype(float)).astype(dtype)
                before = copied(x)
                got = named(fn(**x), a)
                assert all(same_bits(x[k], before[k]) for k in x), "inputs changed"
                if conv.get("fully_masked_row") == "uniform":
                    see = base.Backward(**wide, **align)
                    see.sizes(); see.place(); see.attendable()
                    if not see.attend.any(-1)[np.broadcast_to(see.counted(), see.attend.shape[:3])].all():
                        got.pop("grad_value")
                n += 1
                for k in got:
                    g, w = np.asarray(got[k]), want[k]
                    assert g.shape == w.shape and g.dtype == dtype, (k, g.shape, g.dtype)
                    if k in ("grad_query", "delta", "grad_scores"):
                        N = np.asarray(a.get("query_lengths", np.full(len(a["query"]), a["query"].shape[2])))
                        real = (np.arange(g.shape[2]) < N[:, None])[:, None].reshape(len(N), 1, g.shape[2], *(1,) * (g.ndim - 3))
                        g, w = np.where(real, g, 0), np.where(real, w, 0)
                    d = abs(g.astype(float) - w) / (1 + abs(w).max(initial=0))
                    worst = max(worst, np.where(np.isnan(d), inf, d).max(initial=0))
            limit = {"float64": 1e-12, "float32": 1e-4, "float16": 2e-2, "bfloat16": 1.5e-1}[dtype.name]
            if conv.get("accumulation") == "float32":
                limit = max(limit, 1e-4)
            bad += not worst <= limit
            print(f"{f.name:40s} {dtype.name:9s} {worst:10.3g} {'AGREES' if worst <= limit else 'DISAGREES'}")
    sys.exit(bool(bad))


main()
