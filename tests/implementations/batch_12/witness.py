"""Shows for every wrong file one input on which it differs from base.py, and tries the right ones."""
import copy, importlib.util, json, pathlib, sys, warnings
import numpy as np
ROOT = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))
import base
warnings.filterwarnings("ignore")
FIRST = {"context_vector": "context", "rotary_frequencies": "inverse_frequencies", "rotary_tables": "cos"}


def sdpa(rng, big=False, features=None, dtype=None):
    c = rng.random
    dt = np.dtype(dtype or ("float64" if c() < .7 else "float32"))
    N = lambda *s: rng.normal(size=s).astype(dt)
    B = int(rng.integers(1, 4)); Hkv = int(rng.integers(1, 4)); Hq = Hkv * int(rng.integers(1, 4))
    E = int(rng.integers(1, 12)); Ev = int(rng.integers(1, 12))
    Sq = int(rng.integers(1, 8)); Sk = int(rng.integers(1, 10))
    if big or c() < .25:
        w = rng.integers(3)
        if w == 0: Sk = int(rng.integers(17, 140))
        elif w == 1: Sq = int(rng.integers(17, 70))
        else: Sk = Sq = int(rng.integers(17, 70))
    if c() < .06: Sk = 0
    if c() < .04: Sq = 0
    if c() < .02: B = 0
    d = dict(query=N(B, Hq, Sq, E) * (1 if c() < .8 else 3), key=N(B, Hkv, Sk, E), value=N(B, Hkv, Sk, Ev))
    P = 0
    if c() < .3:
        P = int(rng.integers(0, 7)) if c() < .8 else int(rng.integers(17, 40))
        d["past_key"], d["past_value"] = N(B, Hkv, P, E), N(B, Hkv, P, Ev)
    elif c() < .5:
        if c() < .8: d["key_lengths"] = rng.integers(0 if c() < .4 else min(1, Sk), Sk + 1, B)
        if c() < .6: d["query_lengths"] = rng.integers(0, Sq + 1, B)
    T = P + Sk
    if c() < .45:
        shape = [(Sq, T), (Hq, Sq, T), (B, Hq, Sq, T), (B, 1, Sq, T), (1, 1, 1, T), (B, 1, 1, T), (1, Hq, 1, T), (Hq, 1, T), (1, T)][rng.integers(9)]
        if c() < .5:
            d["mask"] = rng.random(shape) < .7
        else:
            m = rng.normal(size=shape).astype(dt) * (1 if c() < .8 else 20)
            if c() < .6: m[rng.random(shape) < .25] = -np.inf
            d["mask"] = m
    if c() < .25: d["sinks"] = N(Hq)
    if c() < .25: d["alibi_slopes"] = np.abs(N(Hq)) * dt.type(.5)
    if c() < .4: d["is_causal"] = True
    if c() < .4: d["causal_alignment"] = "bottom_right"
    if c() < .3: d["scale"] = float([0, -0.5, 1, 0.3, 2][rng.integers(5)])
    if c() < .2: d["softcap"] = float([0, 1, 2.5, 30][rng.integers(4)])
    if c() < .3:
        n = lambda: None if c() < .35 else int(rng.integers(0, 6))
        d["window"] = [n(), n()]
    if c() < .2:
        for n in ("query", "key", "value"):
            if c() < .5: d[n] = layout(d[n], rng)
    return d

def layout(x, rng):
    w = rng.integers(4)
    if w == 0: return np.asfortranarray(x)
    if w == 1: return np.ascontiguousarray(x[..., ::-1])[..., ::-1]
    if w == 2:
        y = np.zeros(x.shape[:2] + (x.shape[2] * 2,) + x.shape[3:], x.dtype)[:, :, ::2]; y[...] = x; y.setflags(write=False); return y
    y = np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2); return y

def nonfinite(rng):
    """NaN and infinities in keys and values that a length or a Boolean mask excludes, and sometimes in seen ones."""
    d = sdpa(rng)
    d["key"], d["value"] = d["key"].copy(), d["value"].copy()
    for n in ("key", "value"):
        if d[n].size and rng.random() < .7:
            i = tuple(rng.integers(s) for s in d[n].shape)
            d[n][i] = np.nan
    return d

def multi(rng):
    c = rng.random; dt = np.dtype("float64" if c() < .7 else "float32")
    N = lambda *s: rng.normal(size=s).astype(dt)
    B, H = int(rng.integers(1, 4)), int(rng.integers(1, 5)); D = H * int(rng.integers(1, 5)); Sq = int(rng.integers(1, 7)); Sk = int(rng.integers(1, 7))
    d = dict(query=N(B, Sq, D), key=N(B, Sk, D), value=N(B, Sk, D), num_heads=H)
    if c() < .2: d["key"] = d["value"] = d["query"]; Sk = Sq
    elif c() < .2: d["key"] = d["query"]; Sk = Sq; d["value"] = N(B, Sk, D)
    for n in ("query", "key", "value", "output"):
        d["w_" + n] = N(D, D)
        if c() < .5: d["b_" + n] = N(D)
    if c() < .5:
        shape = [(Sq, Sk), (H, Sq, Sk), (B, 1, Sq, Sk), (B, H, Sq, Sk), (1, Sk), (B, 1, 1, Sk)][rng.integers(6)]
        d["mask"] = rng.random(shape) < .65 if c() < .6 else N(*shape)
    if c() < .3: d["is_causal"] = True
    if c() < .3: d["scale"] = float([0, 1, -.4, .7][rng.integers(4)])
    return d

def single(rng):
    c = rng.random; dt = np.dtype("float64" if c() < .7 else "float32")
    N = lambda *s: rng.normal(size=s).astype(dt)
    S, D, dk, dv = (int(v) for v in rng.integers(1, 7, 4))
    d = dict(x=N(S, D), w_query=N(D, dk), w_key=N(D, dk), w_value=N(D, dv))
    if c() < .5: d["w_output"] = N(dv, dv if c() < .5 else int(rng.integers(1, 6)))
    if c() < .4: d["scale"] = float([0, 1, -.4, .7][rng.integers(4)])
    return d

def context(rng):
    c = rng.random; dt = np.dtype("float64" if c() < .7 else "float32")
    S, D = (int(v) for v in rng.integers(1, 7, 2))
    d = dict(encoder_states=rng.normal(size=(S, D)).astype(dt), decoder_state=rng.normal(size=D).astype(dt))
    if c() < .4: d["scale"] = float([0, 1, -.4, .7][rng.integers(4)])
    return d

def soft(rng):
    c = rng.random; dt = np.dtype("float64" if c() < .7 else "float32")
    r = int(rng.integers(1, 5)); x = (rng.normal(size=tuple(int(v) for v in rng.integers(1, 6, r))) * [1, 5, 300][rng.integers(3)]).astype(dt)
    d = dict(x=x)
    w = rng.integers(3)
    if w == 1: d["axis"] = int(rng.integers(-r, r))
    if w == 2 and c() < .6: d["axis"] = None
    return d

def cmask(rng):
    d = dict(query_length=int(rng.integers(0, 8)))
    if rng.random() < .6: d["key_length"] = int(rng.integers(0, 8))
    if rng.random() < .6: d["offset"] = int(rng.integers(-5, 7))
    if rng.random() < .5: d["additive"] = True
    return d

def split(rng):
    B, S, H, E = (int(v) for v in rng.integers(1, 6, 4))
    x = rng.normal(size=(B, S, H * E)) if rng.random() < .7 else rng.integers(0, 1 << 40, (B, S, H * E))
    if rng.random() < .3: x = np.asfortranarray(x)
    return dict(x=x, num_heads=H)

def combine(rng):
    B, S, H, E = (int(v) for v in rng.integers(0 if rng.random() < .1 else 1, 6, 4))
    x = rng.normal(size=(B, H, S, E))
    if rng.random() < .3: x = np.asfortranarray(x)
    return dict(x=x)

def freq(rng):
    c = rng.random
    R = 2 * int(rng.integers(2, 17)); s = ["none", "linear", "dynamic", "llama3", "longrope", "proportional", "yarn"][rng.integers(7)]
    d = dict(width=R, scaling=s)
    if c() < .6: d["theta"] = float([100, 10000, 500000, 50][rng.integers(4)])
    if s not in ("none", "proportional") or c() < .3: d["factor"] = float(rng.integers(1, 9)) + (0.5 if c() < .3 else 0)
    if s in ("dynamic", "llama3", "longrope", "yarn") or c() < .2: d["original_length"] = int([64, 128, 4096, 1000][rng.integers(4)])
    if s in ("dynamic", "longrope") and c() < .75 or c() < .1: d["sequence_length"] = int([16, 64, 128, 200, 5000, 4096, 9000][rng.integers(7)])
    if s == "llama3": d["low_frequency_factor"], d["high_frequency_factor"] = 1.0, 4.0
    if s == "longrope": d["short_factors"], d["long_factors"] = (1 + rng.random(R // 2)).tolist(), (2 + rng.random(R // 2)).tolist()
    if s == "proportional": d["proportion"] = float([0, .25, .5, .7, 1][rng.integers(5)])
    if s == "yarn":
        if c() < .3: d["truncate"] = False
        if c() < .3: d["beta_fast"] = 16.0
        if c() < .4: d["magnitude_scaling"] = .7
        if c() < .4: d["magnitude_scaling_all_dimensions"] = 1.2
    if c() < .2: d["attention_factor"] = 1.3
    if s == "yarn":
        import math
        f = lambda b: R * math.log(d["original_length"] / (2 * math.pi * b)) / (2 * math.log(d.get("theta", 10000)))
        if max(f(d.get("beta_fast", 32)), 0) > min(f(1), R - 1): return freq(rng)
    return d

def tables(rng):
    B, S, h = (int(v) for v in rng.integers(1, 6, 3)); dt = "float64" if rng.random() < .6 else "float32"
    d = dict(position_ids=rng.integers(0, 3000 if rng.random() < .3 else 60, (B, S)), inverse_frequencies=(10. ** -np.arange(h)).astype(dt))
    if rng.random() < .4: d["attention_factor"] = 1.25
    return d

def rotary(rng):
    B, H, S, h = (int(v) for v in rng.integers(1, 5, 4)); dt = "float64" if rng.random() < .6 else "float32"
    a = rng.normal(size=(B, S, h)).astype(dt)
    d = dict(x=rng.normal(size=(B, H, S, 2 * h + (int(rng.integers(0, 4)) if rng.random() < .5 else 0))).astype(dt), cos=np.cos(a), sin=np.sin(a))
    if rng.random() < .6: d["pairing"] = ["half", "interleaved"][rng.integers(2)]
    if rng.random() < .2: d["x"] = layout(d["x"], rng)
    return d

BY = {"scaled_dot_product_attention": sdpa, "multi_head_attention": multi, "single_head_attention": single, "context_vector": context, "softmax": soft,
      "causal_mask": cmask, "split_heads": split, "combine_heads": combine, "rotary_frequencies": freq, "rotary_tables": tables, "apply_rotary": rotary}


def load(path):
    spec = importlib.util.spec_from_file_location("m_" + pathlib.Path(path).stem, path)
    m = importlib.util.module_from_spec(spec); spec.loader.exec_module(m); return m

def named(op, r):
    if isinstance(r, dict): return r
    return {FIRST.get(op, "output"): r}

def difference(op, got, want, rtol, kw):
    """The greatest difference of any output given, relative to 1 and the number's size, or a word."""
    worst = 0.0
    for n, g in named(op, got).items():
        w = np.asarray(want[n] if isinstance(want, dict) else want); g = np.asarray(g)
        if g.shape != w.shape: return "shape of " + n
        if g.dtype != w.dtype and n in ("output", "context", "present_key", "present_value", "cos", "sin") and op != "causal_mask": return "dtype of " + n
        if op == "causal_mask" and (g.dtype == bool) != (w.dtype == bool): return "dtype"
        if kw.get("query_lengths") is not None and n in ("output", "weights", "logsumexp", "scores", "logits"):
            keep = np.arange(w.shape[2]) < np.asarray(kw["query_lengths"])[:, None]
            keep = np.broadcast_to(keep.reshape((keep.shape[0], 1, keep.shape[1]) + (1,) * (w.ndim - 3)), w.shape)
            g, w = g[keep], w[keep]
        g, w = g.astype(np.float64), w.astype(np.float64)
        with np.errstate(all="ignore"):
            d = np.where((g == w) | (np.isnan(g) & np.isnan(w)), 0.0, np.abs(g - w) / (1e-300 + np.maximum(np.abs(w), rtol > 0)))
            d = np.where(np.isnan(d), np.inf, d)
        worst = max(worst, float(d.max(initial=0)))
    return worst

def call(f, kw):
    try: return f(**kw), None
    except Exception as e: return None, e

def one(op, f, kw):
    """(difference, differs) of one call."""
    kw = {k: v for k, v in kw.items()}
    before = {k: copy.deepcopy(np.array(v)) if isinstance(v, np.ndarray) else copy.deepcopy(v) for k, v in kw.items()}
    want, refused = call(getattr(base, op), kw)
    got, error = call(f, kw)
    for k, v in kw.items():
        if isinstance(v, np.ndarray) and not np.array_equal(np.array(v), before[k], equal_nan=v.dtype.kind == "f") or isinstance(v, list) and v != before[k]:
            return "changed " + k, True, got
    if refused is not None:
        return ("accepts what base refuses" if error is None else "both refuse"), error is None, got
    if error is not None: return "raises " + repr(error)[:90], True, got
    dt = kw.get("query", kw.get("x", kw.get("encoder_states", kw.get("inverse_frequencies", np.zeros(0)))))
    tol = 1e-4 if np.asarray(dt).dtype == np.float32 else 1e-10
    d = difference(op, got, want, tol, kw)
    return d, isinstance(d, str) or d > tol, got


def qkv(B, Hq, Hkv, Sq, Sk, E, Ev=None, seed=0, dtype="float64"):
    r = np.random.default_rng(seed)
    n = lambda *s: r.normal(size=s).astype(dtype)
    return dict(query=n(B, Hq, Sq, E), key=n(B, Hkv, Sk, E), value=n(B, Hkv, Sk, Ev or E))

def past(d, P, seed=9):
    r = np.random.default_rng(seed)
    n = lambda x: r.normal(size=x.shape[:2] + (P, x.shape[3])).astype(x.dtype)
    return dict(d, past_key=n(d["key"]), past_value=n(d["value"]))

def put(d, name, at, number):
    x = d[name].copy(); x[at] = number
    return dict(d, **{name: x})

def same(d, name, other): return dict(d, **{name: d[other]})
def fortran(d, name): return dict(d, **{name: np.asfortranarray(d[name])})
def bcast(d, name): return dict(d, **{name: np.broadcast_to(d[name][:1], d[name].shape)})
def big(d, by): return dict(d, query=d["query"] * by, key=d["key"] * by)
def big_key(d): return dict(d, query=np.abs(d["query"]) * 1000, key=np.abs(d["key"]) * np.array([1., 100, 1000])[None, None, :, None])

def mha(B, H, D, Sq, Sk, seed=0, dtype="float64"):
    r = np.random.default_rng(seed)
    n = lambda *s: r.normal(size=s).astype(dtype)
    return dict(query=n(B, Sq, D), key=n(B, Sk, D), value=n(B, Sk, D), num_heads=H, **{"w_" + k: n(D, D) for k in ("query", "key", "value", "output")})

def tri(d): return dict(d, key=d["query"], value=d["query"])


WITNESS = {
    'wrong/001_mask_heads_group_first.py': 4,
    'wrong/002_sinks_tiled_over_groups.py': 126,
    'wrong/003_softcap_promotes_float32.py': 4,
    'wrong/004_logits_before_exclusion.py': 1,
    'wrong/005_scores_after_softcap.py': 108,
    'wrong/006_float_mask_inside_softcap.py': 57,
    'wrong/007_causal_dropped_beside_mask.py': 14,
    'wrong/008_lengths_dropped_beside_float_mask.py': 41,
    'wrong/009_query_lengths_taken_for_keys.py': 330,
    'wrong/010_too_long_lengths_clipped.py': 'dict(qkv(2,1,1,2,3,2), key_lengths=np.array([3,4]))',
    'wrong/011_break_at_empty_row.py': 25,
    'wrong/012_attended_nan_cleaned.py': "put(qkv(1,1,1,2,3,2), 'value', (0,0,1,0), np.nan)",
    'wrong/013_empty_row_forgets_sink.py': 15,
    'wrong/014_window_right_overrides_causal.py': 39,
    'wrong/015_window_wraps_before_first_key.py': 35,
    'wrong/016_very_negative_mask_excludes.py': 'dict(qkv(1,1,1,2,3,2), mask=np.array([[-20000.,-20000,-20000],[0,0,0]]))',
    'wrong/017_single_query_never_causal.py': 112,
    'wrong/018_running_max_starts_at_zero.py': 'dict(qkv(1,1,1,2,3,2), mask=np.full((2,3), -2000.))',
    'wrong/019_lazy_rescale_forgets_accumulator.py': 111,
    'wrong/020_tile_with_nan_skipped.py': "put(qkv(1,1,1,2,3,2), 'key', (0,0,1,0), np.nan)",
    'wrong/021_padded_keys_join_beside_mask.py': 42,
    'wrong/022_grouped_scores_in_float32.py': 111,
    'wrong/023_logsumexp_kept_in_float32.py': 12,
    'wrong/024_sink_fixes_the_maximum.py': 'dict(qkv(1,1,1,2,3,2), sinks=np.array([0.]), mask=np.array([[900.,800,0],[0,0,0]]))',
    'wrong/025_sink_in_every_split.py': 144,
    'wrong/026_empty_split_counts_as_one.py': 'dict(qkv(1,1,1,40,40,4), is_causal=True)',
    'wrong/027_only_eight_splits.py': 'qkv(1,1,1,2,300,4)',
    'wrong/028_unsigned_positions.py': 71,
    'wrong/029_packed_group_row_position.py': 'dict(qkv(1,4,2,3,5,4), is_causal=True)',
    'wrong/030_shared_key_value_scaled.py': "same(qkv(1,1,1,2,3,4), 'value', 'key')",
    'wrong/031_full_mask_written_into.py': 35,
    'wrong/032_float32_mask_taken_as_boolean.py': 41,
    'wrong/033_long_mask_cut.py': 'dict(qkv(1,1,1,2,3,2), mask=np.ones((2,5), bool))',
    'wrong/034_one_value_head_repeated.py': 'dict(qkv(1,4,2,2,3,2), value=np.ones((1,1,3,2)))',
    'wrong/035_scale_of_padded_width.py': 139,
    'wrong/036_alibi_position_not_negative.py': 404,
    'wrong/037_fortran_order_reshaped.py': 74,
    'wrong/038_root_of_scale_on_both_sides.py': 31,
    'wrong/039_one_length_for_all.py': 'dict(qkv(2,1,1,2,3,2), key_lengths=np.array([2]))',
    'wrong/040_strides_assumed.py': "fortran(qkv(1,4,2,2,3,4), 'key')",
    'wrong/041_broadcast_key_batch_takes_value_along.py': "bcast(qkv(2,1,1,2,3,4), 'key')",
    'wrong/042_exclusion_by_minus_ten_thousand.py': 'dict(big_key(qkv(1,1,1,3,3,2)), is_causal=True)',
    'wrong/043_positive_mask_clamped.py': 45,
    'wrong/044_cached_scale_from_value_width.py': 66,
    'wrong/045_pool_handed_out.py': '[qkv(1,1,1,2,3,4,seed=1), qkv(1,1,1,2,3,4,seed=2)]',
    'wrong/046_cache_in_float32.py': 71,
    'wrong/047_growth_copies_whole_pages.py': 'past(qkv(1,1,1,2,6,4), 11)',
    'wrong/048_bottom_right_without_past.py': 64,
    'wrong/049_present_trimmed_to_window.py': 2,
    'wrong/050_old_window_mask_columns.py': 'dict(past(qkv(1,1,1,2,2,4), 6), window=[2,None], mask=np.arange(16.).reshape(2,8)%5)',
    'wrong/051_unsorted_by_same_permutation.py': 'dict(qkv(3,1,1,2,5,4), key_lengths=np.array([2,5,3]))',
    'wrong/052_queries_count_from_the_end.py': 25,
    'wrong/053_padding_rows_zeroed_by_negative_slice.py': 4,
    'wrong/054_mask_columns_from_the_end.py': 19,
    'wrong/055_key_lengths_move_top_left.py': 31,
    'wrong/056_longest_sequence_places_all.py': 58,
    'wrong/057_lengths_in_a_byte.py': 'dict(qkv(1,1,1,1,300,2), key_lengths=np.array([290]))',
    'wrong/058_window_ignores_query_length.py': 138,
    'wrong/059_unsigned_lengths.py': 22,
    'wrong/060_alibi_top_left_unless_causal.py': 139,
    'wrong/061_rank3_mask_by_batch_where_it_fits.py': 'dict(qkv(2,2,2,2,3,4), mask=np.arange(12.).reshape(2,2,3))',
    'wrong/062_alibi_bias_kept_by_shape.py': '[dict(qkv(1,2,2,3,3,4), alibi_slopes=np.array([.5,.25])), dict(qkv(1,2,2,3,3,4), alibi_slopes=np.array([1.,.125]))]',
    'wrong/063_far_keys_skipped.py': 71,
    'wrong/064_zero_window_is_open.py': 138,
    'wrong/065_window_one_sided_means_causal.py': 105,
    'wrong/066_default_window_edited.py': '[dict(qkv(1,1,1,3,3,4), is_causal=True), qkv(1,1,1,3,3,4)]',
    'wrong/067_weights_normalised_without_sink.py': 17,
    'wrong/068_present_of_all_query_heads.py': 2,
    'wrong/069_squeezed_single_query.py': 0,
    'wrong/070_no_new_keys_no_output.py': 74,
    'wrong/071_padding_keys_zeroed_in_place.py': 4,
    'wrong/072_sink_in_base_two.py': 15,
    'wrong/073_cap_after_log2e.py': 57,
    'wrong/074_full_tiles_forget_the_window.py': "dict(qkv(1,1,1,2,60,4), is_causal=True, window=[3,None], causal_alignment='bottom_right')",
    'wrong/075_negative_scale_maximum.py': 'big(dict(qkv(1,1,1,2,3,4), scale=-1.0), 40)',
    'wrong/076_merge_of_two_empty_parts.py': 217,
    'wrong/077_prefix_not_capped.py': 124,
    'wrong/078_prefix_distance_from_first_token.py': 'dict(past(qkv(1,1,1,3,3,4), 4), alibi_slopes=np.array([.5]))',
    'wrong/079_merge_by_sigmoid.py': 15,
    'wrong/080_prefix_heads_tiled.py': 119,
    'wrong/081_first_tile_from_last_row.py': 38,
    'wrong/082_skip_bound_ignores_lengths.py': 330,
    'wrong/083_contiguous_queries_scaled_in_place.py': 1,
    'wrong/084_distance_in_half_precision.py': "dict(qkv(1,1,1,1,2200,2), alibi_slopes=np.array([.001]), causal_alignment='bottom_right')",
    'wrong/085_relative_positions_in_int8.py': "dict(qkv(1,1,1,2,300,2), is_causal=True, causal_alignment='bottom_right')",
    'wrong/086_logsumexp_unshifted.py': 'dict(qkv(1,1,1,2,3,2), mask=np.full((2,3), -2000.))',
    'wrong/087_memo_window_without_nones.py': '[dict(qkv(1,1,1,4,4,2), window=[1,None]), dict(qkv(1,1,1,4,4,2), window=[None,1])]',
    'wrong/088_memo_forgets_sinks.py': '[dict(qkv(1,1,1,2,3,2), sinks=np.array([0.])), dict(qkv(1,1,1,2,3,2), sinks=np.array([1.]))]',
    'wrong/089_decode_weighs_in_float32.py': 11,
    'wrong/090_decode_loses_feature_tail.py': 4,
    'wrong/091_causal_table_of_256_positions.py': "dict(qkv(1,1,1,3,300,2), is_causal=True, causal_alignment='bottom_right')",
    'wrong/092_maximum_of_no_keys.py': 7,
    'wrong/093_softcap_by_exponential.py': "dict(qkv(1,1,1,2,3,4,dtype='float32'), softcap=1e7)",
    'wrong/094_sink_capped.py': 140,
    'wrong/095_empty_batch_cannot_be_stacked.py': 'qkv(0,1,1,2,3,2)',
    'wrong/096_reused_scratch_for_long_rows.py': '[qkv(1,1,1,3,3,2), dict(qkv(1,1,1,3,3,2), is_causal=True)]',
    'wrong/097_value_bias_folded_into_output.py': 53,
    'wrong/098_same_query_key_means_self.py': "same(mha(1,2,4,3,3), 'key', 'query')",
    'wrong/099_all_biases_hang_on_the_first.py': 109,
    'wrong/100_causal_at_the_lower_right.py': 131,
    'wrong/101_mask_of_first_head_for_all.py': 33,
    'wrong/102_packed_projection_kept_by_shape.py': '[tri(mha(1,2,4,3,3,seed=1)), tri(mha(1,2,4,3,3,seed=2))]',
    'wrong/103_weights_are_mean_of_heads.py': 0,
    'wrong/104_output_rows_interleaved.py': 62,
    'wrong/105_causal_written_into_mask.py': 21,
    'wrong/106_float_mask_scaled.py': 11,
    'wrong/107_rest_of_features_dropped.py': 'dict(mha(1,1,5,2,3), num_heads=2)',
    'wrong/108_scale_of_merged_projection.py': 79,
    'wrong/109_returned_query_is_scaled.py': 137,
    'wrong/110_square_output_matrix_transposed.py': 143,
    'wrong/111_zero_scale_is_default.py': 14,
    'wrong/112_raw_scores_scaled_in_place.py': 28,
    'wrong/113_one_token_squeezed.py': 2,
    'wrong/114_square_states_weighed_along_features.py': 25,
    'wrong/115_longer_decoder_state_cut.py': 'dict(encoder_states=np.ones((3,4)), decoder_state=np.ones(5))',
    'wrong/116_axis_zero_is_default.py': 21,
    'wrong/117_whole_maximum_subtracted.py': 'dict(x=np.array([[0.,1],[2000,2001]]))',
    'wrong/118_axes_put_back_by_same_permutation.py': 'dict(x=np.arange(27.).reshape(3,3,3)**.5, axis=0)',
    'wrong/119_negative_axis_is_last.py': 9,
    'wrong/120_input_edited.py': 0,
    'wrong/121_distances_clipped.py': 149,
    'wrong/122_whole_array_comes_flat.py': 0,
    'wrong/123_zero_keys_are_square.py': 'dict(query_length=3, key_length=0)',
    'wrong/124_additive_by_multiplication.py': 2,
    'wrong/125_offset_not_negative.py': 12,
    'wrong/126_slice_end_negative.py': 12,
    'wrong/127_kept_by_lengths.py': '[dict(query_length=3, key_length=5), dict(query_length=3, key_length=5, offset=2)]',
    'wrong/128_rest_dropped.py': 'dict(x=np.arange(14.).reshape(1,2,7), num_heads=3)',
    'wrong/129_any_dtype_becomes_float64.py': 'dict(x=np.arange(8).reshape(1,2,4), num_heads=2)',
    'wrong/130_memory_read_in_one_piece.py': 'dict(x=np.asfortranarray(np.arange(24.).reshape(1,2,3,4)))',
    'wrong/131_unknown_axis_of_empty.py': 'dict(x=np.zeros((2,3,0,4)))',
    'wrong/132_standard_deviation_is_variance.py': 'glorot',
    'wrong/133_generator_kept.py': 'glorot',
    'wrong/134_kept_by_shape.py': 'glorot',
    'wrong/135_rows_and_columns_exchanged.py': 'glorot',
    'wrong/136_tails_resampled_inside_two.py': 'glorot',
    'wrong/137_positions_of_first_entry.py': 140,
    'wrong/138_factor_on_cosine_alone.py': 140,
    'wrong/139_phases_in_float32.py': 67,
    'wrong/140_table_kept_while_long_enough.py': '[dict(position_ids=np.array([[0,5,3]]), inverse_frequencies=np.array([1.,.1])), dict(position_ids=np.array([[0,2,3]]), inverse_frequencies=np.array([.5,.05]))]',
    'wrong/141_positions_of_sixteen_bits.py': 'dict(position_ids=np.array([[0,131071]]), inverse_frequencies=np.array([1.,.1]))',
    'wrong/142_second_uses_rotated_first.py': 25,
    'wrong/143_half_of_all_features.py': 99,
    'wrong/144_interleaved_left_in_halves.py': 13,
    'wrong/145_odd_width_not_paired.py': "dict(x=np.arange(5.).reshape(1,1,1,5), cos=np.zeros((1,1,2)), sin=np.ones((1,1,2)), pairing='interleaved')",
    'wrong/146_unknown_pairing_is_half.py': "dict(x=np.ones((1,1,1,4)), cos=np.ones((1,1,2)), sin=np.ones((1,1,2)), pairing='neox')",
    'wrong/147_rotation_as_one_matrix.py': "put(dict(x=np.ones((1,1,2,6)), cos=np.ones((1,2,2)), sin=np.ones((1,2,2))), 'x', (0,0,0,5), np.inf)",
    'wrong/148_contiguous_input_rotated_in_place.py': 0,
    'wrong/149_one_table_for_the_batch.py': 'dict(x=np.ones((2,1,1,4)), cos=np.ones((1,1,2)), sin=np.ones((1,1,2)))',
    'wrong/150_dynamic_shrinks_for_short_texts.py': 143,
    'wrong/151_dynamic_keeps_longest.py': "[dict(width=8, scaling='dynamic', factor=2.0, original_length=64, sequence_length=n) for n in (200, 64)]",
    'wrong/152_llama3_blend_by_wavelength.py': 87,
    'wrong/153_longrope_long_from_equal.py': 52,
    'wrong/154_yarn_upper_bound_half.py': "dict(width=8, scaling='yarn', factor=4.0, original_length=4096, theta=500.0, beta_slow=.5)",
    'wrong/155_single_magnitude_counts.py': 101,
    'wrong/156_proportional_over_rotated_width.py': 96,
    'wrong/157_factor_given_to_all.py': 2,
    'wrong/158_equal_ends_divide_by_zero.py': "dict(width=8, scaling='yarn', factor=4.0, original_length=16, theta=10000.0, beta_fast=30, beta_slow=3)",
    'wrong/159_original_length_falls_back.py': "dict(width=8, scaling='dynamic', factor=2.0, sequence_length=64)",
    'wrong/160_stretched_base_in_float32.py': 24,
    'wrong/161_proportion_rounded.py': "dict(width=10, scaling='proportional', proportion=.75)",
    'wrong/162_scalar_factor_repeated.py': "dict(width=8, scaling='longrope', factor=2.0, original_length=64, short_factors=[1.0], long_factors=[2.0]*4)",
}

def glorot(f):
    """What the page grades, in a sentence that fails, or nothing."""
    from scipy import stats
    for m, n, seed in ((64, 64, 0), (48, 100, 5), (100, 48, 5)):
        x = np.asarray(f(m, n, seed))
        if x.shape != (m, n): return "shape"
        s, c = np.sqrt(2 / (m + n)), m * n
        if abs(x.std() - s) > 6 * s / np.sqrt(2 * c): return f"standard deviation {x.std():.4g} instead of {s:.4g}"
        if abs(x.mean()) > 6 * s / np.sqrt(c): return "mean"
        if stats.kstest(x.ravel(), "norm", args=(0, s)).pvalue <= 1e-9: return "distribution"
        if not (np.abs(x) > 2.5 * s).any(): return "tails"
        if not np.array_equal(x, f(m, n, seed)): return "the same seed gives another matrix"
        if np.array_equal(x, f(m, n, seed + 1)): return "another seed gives the same matrix"
    return None


def try_calls(op, f, calls):
    """Greatest difference over these calls, in order, and whether it is a real one; what was returned must stay."""
    worst, differs, kept = 0.0, False, []
    for kw in calls:
        d, bad, got = one(op, f, kw)
        if bad and not differs or not isinstance(worst, str) and not isinstance(d, str) and d > worst: worst = d
        differs = differs or bad
        if got is not None: kept.append((named(op, got), {n: np.array(r) for n, r in named(op, got).items()}))
    for got, copies in kept:
        if any(not np.array_equal(got[n], copies[n], equal_nan=copies[n].dtype.kind == "f") for n in copies):
            return "an earlier output changed", True
    return worst, differs


def wrong(path, op):
    m = load(path)
    f = getattr(m, op)
    text = WITNESS[path.parent.name + "/" + path.name]
    if text == "glorot":
        said = glorot(f)
        return said, said is not None
    if isinstance(text, int):
        calls = [BY[op](np.random.default_rng(text))]
    else:
        calls = eval(text)
        calls = calls if isinstance(calls, list) else [calls]
    return try_calls(op, f, calls)


def right(path):
    m, worst, bad, runs = load(path), 0.0, 0, 0
    conventions = getattr(m, "conventions", {})
    for op, draw in BY.items():
        f = getattr(m, op, None)
        if f is None: continue
        import inspect
        offered = set(inspect.signature(f).parameters)
        for seed in range(200):
            rng = np.random.default_rng(7000 + seed)
            kw = draw(rng) if op != "scaled_dot_product_attention" or seed % 10 or conventions.get("masked_nonfinite") else nonfinite(rng)
            kw = {n: v for n, v in kw.items() if n in offered}
            if hasattr(m, "restrict"): kw = m.restrict(kw)
            half = "bfloat16" in m.dtypes
            if half:
                import ml_dtypes
                kw = {n: v.astype(ml_dtypes.bfloat16) if getattr(v, "dtype", np.dtype(bool)).kind == "f" else v for n, v in kw.items()}
            d, differs = compare_right(op, f, kw, conventions, half)
            runs += 1
            bad += differs
            if differs and bad <= 2: print("     ", path.name, op, seed, d, {n: getattr(v, "shape", v) for n, v in kw.items()})
            if not isinstance(d, str): worst = max(worst, d)
    if hasattr(m, "glorot_normal"):
        bad += glorot(m.glorot_normal) is not None; runs += 1
    return worst, bad, runs


def compare_right(op, f, kw, conventions, half):
    want, refused = call(getattr(base, op), kw)
    before = {n: np.array(v) for n, v in kw.items() if isinstance(v, np.ndarray)}
    got, error = call(f, kw)
    if any(not np.array_equal(before[n], kw[n], equal_nan=before[n].dtype.kind == "f") for n in before): return "inputs changed", True
    if refused is not None or error is not None: return f"{refused!r} {error!r}", (refused is None) != (error is None)
    got = named(op, got)
    want = dict(want) if isinstance(want, dict) else {"output": want}
    if op == "scaled_dot_product_attention":
        dead = np.isneginf(want["logits"].astype(float)).all(-1)
        empty = dead & (np.isneginf(want["logsumexp"].astype(float)))
        if conventions.get("fully_masked_row") == "nan" or (conventions.get("no_keys") == "nan" and want["logits"].shape[-1] == 0):
            want["output"] = np.where(empty[..., None], np.nan, want["output"]).astype(want["output"].dtype)
            want["weights"] = np.where(empty[..., None], np.nan, want["weights"])
        if conventions.get("empty_logsumexp") == "plus_infinity":
            want["logsumexp"] = np.where(empty, np.inf, want["logsumexp"]).astype(want["logsumexp"].dtype)
        if conventions.get("logsumexp_base") == "2":
            want["logsumexp"] = (want["logsumexp"] / np.log(2)).astype(want["logsumexp"].dtype)
    x = next((v for v in kw.values() if isinstance(v, np.ndarray) and v.dtype.kind != "i"), np.zeros(0))
    tol = 0.15 if half else 1e-4 if x.dtype == np.float32 or conventions.get("accumulation") == "float32" or conventions.get(op + ".accumulation") == "float32" else 1e-10
    d = difference(op, got, want if len(want) > 1 or "output" not in want else want["output"], tol, kw)
    return d, isinstance(d, str) or d > tol


if __name__ == "__main__":
    same_ones = []
    for entry in json.loads((ROOT / "batch.json").read_text()):
        d, differs = wrong(ROOT / entry["file"], entry["operation"])
        print(f"{entry['file']:64s} {d if isinstance(d, str) else format(d, '.3g'):50s} {'DIFFERS' if differs else 'SAME'}")
        if not differs: same_ones.append(entry["file"])
    failed = 0
    for path in sorted((ROOT / "right").glob("*.py")):
        worst, bad, runs = right(path)
        failed += bad > 0
        print(f"right/{path.name:50s} greatest difference {worst:.3g} over {runs} inputs, {bad} disagree")
    print(f"{len(same_ones)} SAME", *same_ones)
    sys.exit(bool(same_ones or failed))
