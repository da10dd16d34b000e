"""For every wrong file one input on which it differs from base.py; for every right file 200 random inputs on which it agrees.

    OMP_NUM_THREADS=1 python witness.py [name ...]
"""
import importlib.util
import inspect
import json
import math
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
import base  # noqa: E402

inf, nan = math.inf, math.nan
FIRST = {"softmax": "output", "causal_mask": "output", "split_heads": "output", "combine_heads": "output",
         "scaled_dot_product_attention": "output", "single_head_attention": "output", "multi_head_attention": "output",
         "context_vector": "context", "glorot_normal": "output", "rotary_frequencies": "inverse_frequencies",
         "rotary_tables": "cos", "apply_rotary": "output"}


# ---------------------------------------------------------------------------------------------- making inputs
def rnd(seed, *shape, dt="float64", size=1.0):
    return (np.random.default_rng(seed).standard_normal(shape) * size).astype(dt)


def A(x, dt="float64"):
    return np.array(x, dtype=dt)


def I(*x):
    return np.array(x, dtype=np.int64)


def att(seed=0, B=1, Hq=2, Hkv=1, Sq=4, Sk=4, P=None, E=4, Ev=3, dt="float64", size=1.0, **more):
    q, k, v = (rnd(seed + n, *s, dt=dt, size=size) for n, s in ((1, (B, Hq, Sq, E)), (2, (B, Hkv, Sk, E)), (3, (B, Hkv, Sk, Ev))))
    case = {"query": q, "key": k, "value": v}
    if P is not None:
        case |= {"past_key": rnd(seed + 4, B, Hkv, P, E, dt=dt), "past_value": rnd(seed + 5, B, Hkv, P, Ev, dt=dt)}
    for name, x in more.items():
        if name in ("sinks", "alibi_slopes"):
            x = A(x, dt)
        elif name in ("key_lengths", "query_lengths"):
            x = I(*x)
        elif name == "mask" and x is not None:
            x = np.asarray(x)
            x = x if x.dtype == bool else x.astype(dt)
        case[name] = x
    return case


def bits(seed, *shape, p=0.6):
    return np.random.default_rng(seed).random(shape) < p


def put(case, name, index, x):
    case[name] = case[name].copy()
    case[name][index] = x
    return case


def mha(seed=0, B=2, Sq=3, Sk=3, D=4, biases=True, dt="float64", **more):
    shapes = {"query": (B, Sq, D), "key": (B, Sk, D), "value": (B, Sk, D), "w_query": (D, D), "w_key": (D, D),
              "w_value": (D, D), "w_output": (D, D)}
    if biases:
        shapes |= {n: (D,) for n in ("b_query", "b_key", "b_value", "b_output")}
    case = {n: rnd(seed + i, *s, dt=dt) for i, (n, s) in enumerate(shapes.items())}
    return {"num_heads": 2} | case | more


def sha(seed=0, S=3, D=4, dk=3, dv=2, out=None, **more):
    case = {"x": rnd(seed, S, D), "w_query": rnd(seed + 1, D, dk), "w_key": rnd(seed + 2, D, dk), "w_value": rnd(seed + 3, D, dv)}
    if out:
        case["w_output"] = rnd(seed + 4, dv, out)
    return case | more


def rot(seed=0, B=2, H=2, S=3, E=6, R=4, **more):
    angle = rnd(seed + 1, B, S, R // 2, size=2)
    return {"x": rnd(seed, B, H, S, E), "cos": np.cos(angle), "sin": np.sin(angle)} | more


def tables(rows, n=3, **more):
    return {"position_ids": np.array(rows), "inverse_frequencies": 10.0 ** -np.arange(n)} | more


# ---------------------------------------------------------------------------------------------- comparing
def load(path):
    spec = importlib.util.spec_from_file_location("m_" + path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def as_dict(operation, result):
    if isinstance(result, dict):
        return result
    if isinstance(result, tuple):
        names = {"rotary_tables": ("cos", "sin"), "rotary_frequencies": ("inverse_frequencies", "attention_factor")}
        return dict(zip(names.get(operation, (FIRST[operation],)), result))
    return {FIRST[operation]: result}


def difference(operation, got, want, case):
    """The greatest difference over the outputs that both give; infinite for another shape or dtype."""
    worst = 0.0
    for name, g in got.items():
        w = np.asarray(want[name])
        g = np.asarray(g)
        if g.shape != w.shape:
            return inf, f"{name}: shape {g.shape} for {w.shape}"
        narrow = name in ("output", "context", "present_key", "present_value", "cos", "sin")
        if narrow and g.dtype != w.dtype and operation != "causal_mask":
            return inf, f"{name}: dtype {g.dtype} for {w.dtype}"
        if operation == "causal_mask" and (g.dtype == bool) != (w.dtype == bool):
            return inf, "dtype"
        g, w = g.astype(np.float64), w.astype(np.float64)
        if operation == "scaled_dot_product_attention" and case.get("query_lengths") is not None and name not in (
                "present_key", "present_value"):
            counts = np.arange(w.shape[2]) < np.asarray(case["query_lengths"])[:, None]
            counts = np.broadcast_to(counts[:, None], w.shape[:3])
            g, w = g[counts], w[counts]
        with np.errstate(all="ignore"):
            d = np.where((g == w) | (np.isnan(g) & np.isnan(w)), 0, np.abs(g - w))
        d = np.where(np.isnan(d), inf, d)
        if d.size and d.max() > worst:
            worst = float(d.max())
    return worst, ""


def call(function, case):
    try:
        with np.errstate(all="ignore"):
            return function(**case), None
    except Exception as error:  # noqa: BLE001
        return None, error


def clone(case):
    """A copy in which arrays that were the same array still are."""
    seen = {}
    return {n: seen.setdefault(id(x), x.copy(order="K")) if isinstance(x, np.ndarray) and x.base is None else x for n, x in case.items()}


def examine_glorot(module, calls):
    """Numbers are free there: the same seed, deviation, distribution and independence of the halves are looked at."""
    from scipy import stats
    got = [module.glorot_normal(**c) for c in calls]
    if len(calls) == 2:
        return float(np.abs(got[0] - got[1]).max()), "the same seed twice"
    x, n = got[0].ravel(), got[0].size
    wanted = math.sqrt(2 / (calls[0]["fan_in"] + calls[0]["fan_out"]))
    errors = abs(x.std() - wanted) / (wanted / math.sqrt(2 * n))
    if errors > 6:
        return float(errors), "standard errors off the deviation"
    p = stats.kstest(x[::1], "norm", args=(0, wanted)).pvalue
    if p < 1e-9:
        return float(-np.log10(max(p, 1e-300))), "decimal places of the p-value"
    r = abs(np.corrcoef(x[:n // 2], x[n // 2:n // 2 * 2])[0, 1])
    return (float(r), "correlation of the halves") if r > 6 / math.sqrt(n / 2) else (0.0, "")


def examine(module, operation, calls):
    """Run the calls one after the other, then compare all of them with base."""
    calls = calls if isinstance(calls, list) else [calls]
    if operation == "glorot_normal":
        return examine_glorot(module, calls)
    calls = [clone(c) for c in calls]
    frozen = [{n: (np.array(x) if isinstance(x, np.ndarray) else x) for n, x in c.items()} for c in calls]
    function = getattr(module, operation)
    kept = [call(function, c) for c in calls]
    worst, why = 0.0, ""
    for case, before, (result, error) in zip(calls, frozen, kept):
        want, refused = call(getattr(base, operation), before)
        for n, x in before.items():
            if isinstance(x, np.ndarray) and not np.array_equal(x, case[n], equal_nan=x.dtype.kind == "f"):
                return inf, f"changed {n}"
        if refused is not None or error is not None:
            if (refused is None) != (error is None):
                return inf, "accepted" if error is None else f"raised {type(error).__name__}: {error}"
            continue
        d, note = difference(operation, as_dict(operation, result), as_dict(operation, want), before)
        if d > worst:
            worst, why = d, note
    return worst, why


# ---------------------------------------------------------------------------------------------- right files
def layout(r, x):
    kind = r.integers(4)
    if kind == 1:
        return np.flip(np.ascontiguousarray(np.flip(x, -1)), -1)
    if kind == 2:
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, -1, 0)), 0, -1)
    return x


def random_attention(seed, dt="float64"):
    r = np.random.default_rng(seed)
    B, Hkv, rep = (int(r.integers(1, 4)) for _ in range(3))
    big = r.random() < 0.15
    Sq, Sk = (int(r.integers(1, 40)), int(r.integers(1, 60))) if big else (int(r.integers(1, 6)), int(r.integers(0 if seed % 9 == 0 else 1, 8)))
    E, Ev = int(r.integers(1, 6)), int(r.integers(1, 5))
    P = int(r.integers(0, 5)) if r.random() < 0.35 else None
    case = att(seed * 10, B, Hkv * rep, Hkv, Sq, Sk, P, E, Ev, dt, size=float(r.choice([1, 1, 1, 20])))
    for n in ("query", "key", "value"):
        case[n] = layout(r, case[n])
    full = (B, Hkv * rep, Sq, Sk + (P or 0))
    if P is None and r.random() < 0.35:
        case["key_lengths"] = r.integers(0, Sk + 1, B)
    if P is None and r.random() < 0.35:
        case["query_lengths"] = r.integers(0, Sq + 1, B)
    if r.random() < 0.5:
        shape = [n if r.random() < 0.7 else 1 for n in full[:3]] + [full[3]]
        shape = shape[int(r.integers(0, 3)):]
        mask = r.random(shape) < 0.7
        if r.random() < 0.5:
            mask = np.where(mask | (r.random(shape) < 0.5), r.standard_normal(shape), -inf).astype(dt)
        case["mask"] = mask
    if r.random() < 0.35:
        case["sinks"] = r.standard_normal(Hkv * rep).astype(dt) * 2
    if r.random() < 0.35:
        case["alibi_slopes"] = r.random(Hkv * rep).astype(dt)
    if r.random() < 0.5:
        case["is_causal"] = True
    if r.random() < 0.5:
        case["causal_alignment"] = "bottom_right"
    if r.random() < 0.4:
        case["window"] = [None if r.random() < 0.3 else int(r.integers(0, 4)) for _ in range(2)]
    if r.random() < 0.3:
        case["softcap"] = float(r.choice([0.0, 1.5, 4.0]))
    if r.random() < 0.4:
        case["scale"] = float(r.choice([0.0, 1.0, -0.7, 0.3]))
    return case


def random_case(operation, seed, dt="float64"):
    r = np.random.default_rng(seed + 77)
    n = lambda a, b: int(r.integers(a, b))  # noqa: E731
    if operation == "scaled_dot_product_attention":
        return random_attention(seed, dt)
    if operation == "multi_head_attention":
        H, e = n(1, 4), n(1, 4)
        B, Sq, Sk = n(1, 3), n(1, 5), n(1, 5)
        case = mha(seed, B, Sq, Sk, H * e, seed % 2 == 0, dt, num_heads=H, is_causal=seed % 3 == 0)
        if r.random() < 0.5:
            case["mask"] = r.random([(B, H, Sq, Sk), (B, 1, Sq, Sk), (H, Sq, Sk), (Sq, Sk)][n(0, 4)]) < 0.7
        return case | ({"scale": 0.3} if seed % 5 == 0 else {})
    if operation == "single_head_attention":
        return sha(seed, n(1, 6), n(1, 5), n(1, 5), n(1, 5), n(0, 4))
    if operation == "context_vector":
        S, D = n(1, 6), n(1, 6)
        return {"encoder_states": rnd(seed, S, D), "decoder_state": rnd(seed + 1, D)} | ({"scale": 0.5} if seed % 2 else {})
    if operation == "softmax":
        x = rnd(seed, *[n(1, 5) for _ in range(n(1, 4))], size=float(r.choice([1, 300])), dt=dt)
        return {"x": x} | ({} if seed % 3 == 0 else {"axis": None if seed % 3 == 1 else n(-x.ndim, x.ndim)})
    if operation == "causal_mask":
        return {"query_length": n(1, 6), "key_length": None if seed % 2 else n(1, 7), "offset": n(-3, 4), "additive": seed % 3 == 0}
    if operation == "apply_rotary":
        R = 2 * n(1, 4)
        return rot(seed, n(1, 3), n(1, 4), n(1, 5), R + n(0, 3), R, pairing=["half", "interleaved"][seed % 2])
    if operation == "rotary_tables":
        return tables(r.integers(0, 300, (n(1, 3), n(1, 6))), n(1, 5), attention_factor=float(r.choice([1, 0.7, 1.3])))
    if operation == "rotary_frequencies":
        R = 2 * n(2, 9)
        scaling = base.SCALINGS[seed % 7]
        case = {"width": R, "scaling": scaling, "theta": float(r.choice([10000, 500000, 100])), "factor": float(n(2, 9)),
                "original_length": n(200, 9000)}
        case |= {"low_frequency_factor": 1.0, "high_frequency_factor": 4.0, "proportion": float(r.random()),
                 "short_factors": list(1 + r.random(R // 2)), "long_factors": list(2 + r.random(R // 2))}
        if seed % 2:
            case["sequence_length"] = n(100, 20000)
        return case
    if operation == "split_heads":
        H = n(1, 4)
        return {"x": rnd(seed, n(1, 3), n(1, 4), H * n(1, 4)), "num_heads": H}
    if operation == "combine_heads":
        return {"x": rnd(seed, n(1, 3), n(1, 4), n(1, 4), n(1, 4))}
    raise KeyError(operation)


def right_tolerance(module, dt):
    if "accumulation" in " ".join(getattr(module, "conventions", {})):
        return 2e-2      # float32 inside, scores up to thousands
    return {"float64": 1e-9, "float32": 2e-4, "float16": 0.1, "bfloat16": 0.6}[dt]


def agrees(path, operation, count=200):
    module = load(path)
    conventions = {k.split(".")[-1]: v for k, v in getattr(module, "conventions", {}).items()}
    worst = 0.0
    offered = set(inspect.signature(getattr(module, operation)).parameters)
    done, seed = 0, -1
    while done < count:
        seed += 1
        for dt in (("float64", "float32") if operation in ("scaled_dot_product_attention", "softmax") else ("float64",)):
            case = random_case(operation, seed, dt)
            if dt not in getattr(module, "dtypes", ("float64", "float32")):
                continue
            if dt == "float32" and seed % 4:
                continue
            if not set(case) <= offered or (conventions.get("no_keys") == "refuse" and case["key"].shape[2] == 0):
                continue
            done += 1
            want, refused = call(getattr(base, operation), case)
            got, error = call(getattr(module, operation), clone(case))
            assert refused is None, (path.name, seed, refused)
            assert error is None, (path.name, seed, error)
            want, got = dict(as_dict(operation, want)), dict(as_dict(operation, got))
            if operation == "scaled_dot_product_attention":
                empty = want["weights"].sum(axis=3) == 0
                if conventions.get("fully_masked_row", "zero") != "zero" or conventions.get("no_keys", "zero") != "zero":
                    for both in (want, got):
                        for n in ("output", "weights", "logsumexp"):
                            if n in both:
                                both[n] = np.where(empty[..., None] if both[n].ndim == 4 else empty, 0, both[n])
                if conventions.get("alibi_bias") == "column" and case.get("alibi_slopes") is not None:
                    for n in ("logsumexp", "logits"):
                        got.pop(n, None)
                if conventions.get("logsumexp_base") == "2" and "logsumexp" in got:
                    got["logsumexp"] = got["logsumexp"] * np.log(2.0)
                if conventions.get("empty_logsumexp") == "plus_infinity" and "logsumexp" in got:
                    got["logsumexp"] = np.where(got["logsumexp"] == inf, -inf, got["logsumexp"])
                got = {n: np.asarray(x).astype(np.asarray(want[n]).dtype) if n == "logsumexp" else x for n, x in got.items()}
                for both in (want, got):   # relative to the size of large logits
                    for n in ("scores", "logits", "logsumexp"):
                        if n in both:
                            both[n] = np.asarray(both[n]) / 100
            d, note = difference(operation, got, want, case)
            worst = max(worst, d / right_tolerance(module, dt))
            assert d <= right_tolerance(module, dt), (path.name, seed, dt, d, note)
    return worst


# ---------------------------------------------------------------------------------------------- the files
WITNESS = {
    'wrong/001_alibi_tile_columns.py': ('scaled_dot_product_attention', lambda: att(Sq=2, Sk=40, alibi_slopes=[0.5, 0.25])),
    'wrong/002_window_tile_start_without_offset.py': ('scaled_dot_product_attention', lambda: att(Sq=30, Sk=20, window=[2, None], causal_alignment='bottom_right')),
    'wrong/003_tile_skip_by_first_row.py': ('scaled_dot_product_attention', lambda: att(mask=np.arange(4)[None, :] == 3 - np.zeros((4, 1)), Sq=4) | {'mask': np.array([[False] * 4, [True] * 4, [True] * 4, [True] * 4])}),
    'wrong/004_no_tiles_no_sink.py': ('scaled_dot_product_attention', lambda: att(B=2, key_lengths=(0, 4), sinks=[0.5, 1.0])),
    'wrong/005_sink_not_in_base_two.py': ('scaled_dot_product_attention', lambda: att(sinks=[1.0, 2.0])),
    'wrong/006_running_maximum_starts_finite.py': ('scaled_dot_product_attention', lambda: att(mask=np.full((4, 4), -2e4))),
    'wrong/007_window_right_beats_causal.py': ('scaled_dot_product_attention', lambda: att(is_causal=True, window=[1, 2])),
    'wrong/008_value_cleaned_by_column.py': ('scaled_dot_product_attention', lambda: put(att(is_causal=True), 'value', (0, 0, 3, 1), nan)),
    'wrong/009_int16_rows.py': ('scaled_dot_product_attention', lambda: att(Hq=1, Sq=1, Sk=33000, E=1, Ev=1, is_causal=True, causal_alignment='bottom_right')),
    'wrong/010_sink_in_every_part.py': ('scaled_dot_product_attention', lambda: att(sinks=[1.0, 0.0])),
    'wrong/011_lse_without_sink.py': ('scaled_dot_product_attention', lambda: att(sinks=[1.0, 0.0])),
    'wrong/012_large_negative_mask_excludes.py': ('scaled_dot_product_attention', lambda: att(mask=np.full((4, 4), -20000.0))),
    'wrong/013_window_left_only_if_causal.py': ('scaled_dot_product_attention', lambda: att(window=[1, None])),
    'wrong/014_zero_window_is_no_window.py': ('scaled_dot_product_attention', lambda: att(window=[0, 0])),
    'wrong/015_alibi_position_clamped_to_keys.py': ('scaled_dot_product_attention', lambda: att(Sq=6, Sk=3, alibi_slopes=[0.5, 1.0], sinks=[0.0, 0.0])),
    'wrong/016_width_cut_by_zip.py': ('scaled_dot_product_attention', lambda: att() | {'key': rnd(9, 1, 1, 4, 6)}),
    'wrong/017_longer_value_taken.py': ('scaled_dot_product_attention', lambda: att() | {'value': rnd(9, 1, 1, 6, 3)}),
    'wrong/018_single_query_sees_all.py': ('scaled_dot_product_attention', lambda: att(Sq=1, Sk=4, is_causal=True)),
    'wrong/019_length_zero_means_all.py': ('scaled_dot_product_attention', lambda: att(B=2, key_lengths=(0, 3))),
    'wrong/020_alibi_signed.py': ('scaled_dot_product_attention', lambda: att(alibi_slopes=[0.5, 0.25])),
    'wrong/021_alibi_inside_softcap.py': ('scaled_dot_product_attention', lambda: att(softcap=1.5, alibi_slopes=[0.5, 1.0])),
    'wrong/022_lengths_tiled_over_heads.py': ('scaled_dot_product_attention', lambda: att(B=2, key_lengths=(2, 4))),
    'wrong/023_softcap_zero_caps_all.py': ('scaled_dot_product_attention', lambda: att(softcap=0.0)),
    'wrong/024_one_length_for_both.py': ('scaled_dot_product_attention', lambda: att(B=2, query_lengths=(2, 4))),
    'wrong/025_sorted_batch_not_restored.py': ('scaled_dot_product_attention', lambda: att(B=3, key_lengths=(2, 4, 3))),
    'wrong/026_int8_positions.py': ('scaled_dot_product_attention', lambda: att(Hq=1, Sq=140, Sk=140, is_causal=True)),
    'wrong/027_flat_mask_modulo.py': ('scaled_dot_product_attention', lambda: att(B=2, mask=bits(3, 2, 1, 4, 4))),
    'wrong/028_mask_rows_from_the_end.py': ('scaled_dot_product_attention', lambda: att(B=2, query_lengths=(2, 4), mask=bits(3, 4, 4))),
    'wrong/029_unsigned_distance.py': ('scaled_dot_product_attention', lambda: att(window=[1, None])),
    'wrong/030_full_last_page_lost.py': ('scaled_dot_product_attention', lambda: att(P=4)),
    'wrong/031_present_with_room.py': ('scaled_dot_product_attention', lambda: att(P=3)),
    'wrong/032_past_means_bottom_right.py': ('scaled_dot_product_attention', lambda: att(P=2, Sq=2, Sk=4, is_causal=True)),
    'wrong/033_window_without_past.py': ('scaled_dot_product_attention', lambda: att(P=3, window=[1, None])),
    'wrong/034_scores_overwritten_by_cap.py': ('scaled_dot_product_attention', lambda: att(softcap=1.5)),
    'wrong/035_weights_sum_to_one_beside_sink.py': ('scaled_dot_product_attention', lambda: att(sinks=[1.0, 0.0])),
    'wrong/036_dead_rows_uniform_weights.py': ('scaled_dot_product_attention', lambda: att(mask=np.array([[False] * 4] + [[True] * 4] * 3))),
    'wrong/037_key_lengths_edited.py': ('scaled_dot_product_attention', lambda: att(B=2, key_lengths=(3, 4), causal_alignment='bottom_right', is_causal=True)),
    'wrong/038_alibi_from_array_end.py': ('scaled_dot_product_attention', lambda: att(B=2, key_lengths=(2, 4), causal_alignment='bottom_right', alibi_slopes=[0.5, 1.0])),
    'wrong/039_sink_overflows.py': ('scaled_dot_product_attention', lambda: att(sinks=[900.0, 1.0])),
    'wrong/040_past_heads_tiled.py': ('scaled_dot_product_attention', lambda: att(Hq=4, Hkv=2, P=3)),
    'wrong/041_dead_row_lse_without_sink.py': ('scaled_dot_product_attention', lambda: att(sinks=[1.0, 0.0], mask=np.array([[False] * 4] + [[True] * 4] * 3))),
    'wrong/042_present_key_scaled.py': ('scaled_dot_product_attention', lambda: att(P=2)),
    'wrong/043_mask_bits_in_64.py': ('scaled_dot_product_attention', lambda: att(Hq=1, Sq=2, Sk=80, mask=bits(3, 2, 80))),
    'wrong/044_negative_slice_end.py': ('scaled_dot_product_attention', lambda: att(Sq=6, Sk=3, is_causal=True, causal_alignment='bottom_right')),
    'wrong/045_any_head_ratio.py': ('scaled_dot_product_attention', lambda: att(Hq=3, Hkv=2)),
    'wrong/046_value_heads_of_their_own.py': ('scaled_dot_product_attention', lambda: att(Hq=2, Hkv=2) | {'value': rnd(9, 1, 1, 4, 3)}),
    'wrong/047_count_in_a_byte.py': ('scaled_dot_product_attention', lambda: att(Hq=1, Sq=1, Sk=256)),
    'wrong/048_packed_rows_slope.py': ('scaled_dot_product_attention', lambda: att(Hq=4, Hkv=2, alibi_slopes=[0.1, 0.4, 1.0, 2.0])),
    'wrong/049_sink_of_key_head.py': ('scaled_dot_product_attention', lambda: att(Hq=4, Hkv=2, sinks=[0.0, 1.0, 2.0, 3.0])),
    'wrong/050_mask_of_key_head.py': ('scaled_dot_product_attention', lambda: att(Hq=2, Hkv=1, mask=bits(3, 2, 4, 4))),
    'wrong/051_decode_alibi_from_end.py': ('scaled_dot_product_attention', lambda: att(Sq=1, Sk=4, alibi_slopes=[0.5, 1.0])),
    'wrong/052_batch_of_one_repeated.py': ('scaled_dot_product_attention', lambda: att(B=2) | {'key': rnd(8, 1, 1, 4, 4), 'value': rnd(9, 1, 1, 4, 3)}),
    'wrong/053_alignment_only_if_causal.py': ('scaled_dot_product_attention', lambda: att(Sq=2, Sk=5, window=[1, 0], causal_alignment='bottom_right')),
    'wrong/054_padding_zeroed_in_place.py': ('scaled_dot_product_attention', lambda: put(att(B=2, key_lengths=(2, 4)), 'value', (0, 0, 3, 1), nan)),
    'wrong/055_sinks_scaled_in_place.py': ('scaled_dot_product_attention', lambda: att(sinks=[1.0, 2.0])),
    'wrong/056_mask_replaces_causality.py': ('scaled_dot_product_attention', lambda: att(mask=bits(3, 4, 4), is_causal=True)),
    'wrong/057_mask_padded_for_past.py': ('scaled_dot_product_attention', lambda: att(P=2, mask=bits(3, 4, 4))),
    'wrong/058_mask_cut_to_fit.py': ('scaled_dot_product_attention', lambda: att(mask=bits(3, 4, 6))),
    'wrong/059_mask_last_axis_one.py': ('scaled_dot_product_attention', lambda: att(mask=np.ones((4, 1), bool))),
    'wrong/060_rank3_mask_by_batch.py': ('scaled_dot_product_attention', lambda: att(B=2, Hq=2, mask=bits(3, 2, 4, 4))),
    'wrong/061_boolean_minus_ten_thousand.py': ('scaled_dot_product_attention', lambda: put(att(mask=np.array([[True, False, True, True]] * 4), scale=1.0), 'key', (0, 0, 1), 1e5)),
    'wrong/062_mask_edited.py': ('scaled_dot_product_attention', lambda: att(mask=rnd(9, 1, 2, 4, 4), is_causal=True)),
    'wrong/063_boolean_mask_remembered.py': ('scaled_dot_product_attention', lambda: [att(mask=bits(3, 4, 4)), att(mask=bits(4, 4, 4))]),
    'wrong/064_positions_remembered_without_window.py': ('scaled_dot_product_attention', lambda: [att(window=[1, 0]), att(window=[2, 1])]),
    'wrong/065_alibi_remembered.py': ('scaled_dot_product_attention', lambda: [att(alibi_slopes=[0.5, 1.0]), att(alibi_slopes=[0.1, 0.2])]),
    'wrong/066_sinks_stay.py': ('scaled_dot_product_attention', lambda: [att(sinks=[1.0, 0.0]), att()]),
    'wrong/067_past_value_remembered.py': ('scaled_dot_product_attention', lambda: [att(P=3), att(P=3) | {'past_value': rnd(50, 1, 1, 3, 3)}]),
    'wrong/068_same_array_scaled_twice.py': ('scaled_dot_product_attention', lambda: (lambda x: {'query': x, 'key': x, 'value': rnd(2, 1, 2, 4, 3)})(rnd(1, 1, 2, 4, 4))),
    'wrong/069_key_is_value_scaled.py': ('scaled_dot_product_attention', lambda: (lambda x: {'query': rnd(2, 1, 2, 4, 4), 'key': x, 'value': x})(rnd(1, 1, 2, 4, 4))),
    'wrong/070_nan_to_num_output.py': ('scaled_dot_product_attention', lambda: put(att(), 'value', (0, 0, 1, 1), nan)),
    'wrong/071_one_maximum_for_all_queries.py': ('scaled_dot_product_attention', lambda: put(att(scale=1.0), 'query', (0, 0, 1), [900.0, -500, 800, 900])),
    'wrong/072_lengths_only_without_causality.py': ('scaled_dot_product_attention', lambda: att(B=2, key_lengths=(2, 4), is_causal=True)),
    'wrong/073_no_negative_offset.py': ('scaled_dot_product_attention', lambda: att(Sq=5, Sk=3, is_causal=True, causal_alignment='bottom_right')),
    'wrong/074_lengths_move_top_left.py': ('scaled_dot_product_attention', lambda: att(B=2, key_lengths=(2, 4), query_lengths=(3, 2), is_causal=True)),
    'wrong/075_window_counts_padding_queries.py': ('scaled_dot_product_attention', lambda: att(B=2, query_lengths=(2, 4), window=[1, 1], causal_alignment='bottom_right')),
    'wrong/076_sinks_keep_first_key.py': ('scaled_dot_product_attention', lambda: att(window=[1, 0], sinks=[0.5, 1.0])),
    'wrong/077_mask_judged_by_first_entry.py': ('scaled_dot_product_attention', lambda: att(B=2, mask=np.stack([np.ones((1, 1, 4), bool), np.array([[[True, True, False, False]]])]))),
    'wrong/078_sink_is_capped.py': ('scaled_dot_product_attention', lambda: att(sinks=[3.0, 2.0], softcap=1.5)),
    'wrong/079_lse_without_float_mask.py': ('scaled_dot_product_attention', lambda: att(mask=rnd(9, 4, 4))),
    'wrong/080_no_keys_no_sink.py': ('scaled_dot_product_attention', lambda: att(Sk=0, sinks=[1.0, 0.5])),
    'wrong/081_present_value_cleaned.py': ('scaled_dot_product_attention', lambda: put(att(), 'value', (0, 0, 1, 1), nan)),
    'wrong/082_int8_alibi_distance.py': ('scaled_dot_product_attention', lambda: att(Sq=1, Sk=200, alibi_slopes=[0.01, 0.02], causal_alignment='bottom_right')),
    'wrong/083_half_alibi_distance.py': ('scaled_dot_product_attention', lambda: att(Hq=1, Sq=1, Sk=4100, E=1, Ev=1, alibi_slopes=[1.0], causal_alignment='bottom_right', sinks=[-3000.0], window=[4099, None], mask=(np.arange(4100) < 2000)[None])),
    'wrong/084_int8_key_lengths.py': ('scaled_dot_product_attention', lambda: att(Sk=150, key_lengths=(140,))),
    'wrong/085_one_output_buffer.py': ('scaled_dot_product_attention', lambda: [att(), att(9)]),
    'wrong/086_results_remembered_without_lengths.py': ('scaled_dot_product_attention', lambda: [att(B=2, key_lengths=(2, 4)), att(B=2, key_lengths=(3, 1))]),
    'wrong/087_mla_width_scale.py': ('scaled_dot_product_attention', lambda: att(Sq=2, E=192)),
    'wrong/088_decode_window_drops_sink.py': ('scaled_dot_product_attention', lambda: att(Sq=1, Sk=1, P=4, window=[2, 0], sinks=[1.0, 0.5])),
    'wrong/089_bottom_right_without_past.py': ('scaled_dot_product_attention', lambda: att(P=3, is_causal=True, causal_alignment='bottom_right')),
    'wrong/090_dead_rows_by_mask_alone.py': ('scaled_dot_product_attention', lambda: att(mask=np.array([[False, True, True, True]] * 4), is_causal=True)),
    'wrong/091_scores_cleaned_if_any_nonfinite.py': ('scaled_dot_product_attention', lambda: put(att(), 'key', (0, 0, 1, 1), nan)),
    'wrong/092_scale_zero_is_default.py': ('scaled_dot_product_attention', lambda: att(scale=0.0)),
    'wrong/093_mask_with_key_heads.py': ('scaled_dot_product_attention', lambda: att(Hq=4, Hkv=2, mask=bits(3, 2, 4, 4))),
    'wrong/094_rank3_taken.py': ('scaled_dot_product_attention', lambda: {'query': rnd(1, 2, 4, 4), 'key': rnd(2, 2, 4, 4), 'value': rnd(3, 2, 4, 3)}),
    'wrong/095_negative_scale_maximum.py': ('scaled_dot_product_attention', lambda: att(scale=-500.0)),
    'wrong/096_reads_memory_order.py': ('scaled_dot_product_attention', lambda: (lambda c: c | {'value': np.asfortranarray(c['value'])})(att())),
    'wrong/097_band_epsilon.py': ('scaled_dot_product_attention', lambda: att(window=[1, 1])),
    'wrong/098_alibi_with_left_padding.py': ('scaled_dot_product_attention', lambda: att(B=2, alibi_slopes=[0.5, 1.0], mask=np.array([[[[True, False, True, True]]], [[[True] * 4]]]))),
    'wrong/099_tile_limit_from_padded_queries.py': ('scaled_dot_product_attention', lambda: att(B=2, query_lengths=(2, 4), is_causal=True, causal_alignment='bottom_right')),
    'wrong/100_lse_of_output_dead_rows_zero.py': ('scaled_dot_product_attention', lambda: att(mask=np.array([[False] * 4] + [[True] * 4] * 3))),
    'wrong/101_float_mask_only_added.py': ('scaled_dot_product_attention', lambda: put(att(mask=np.array([[0.0, 0, -inf, 0]] * 4)), 'key', (0, 0, 2, 1), nan)),
    'wrong/102_mha_value_bias_after_attention.py': ('multi_head_attention', lambda: mha(mask=np.array([[False] * 3, [True] * 3, [True] * 3]))),
    'wrong/103_mha_rank3_mask_by_batch.py': ('multi_head_attention', lambda: mha(mask=bits(3, 2, 3, 3))),
    'wrong/104_mha_causal_bottom_right.py': ('multi_head_attention', lambda: mha(Sq=2, Sk=4, is_causal=True)),
    'wrong/105_mha_key_is_value.py': ('multi_head_attention', lambda: (lambda c: c | {'key': c['query']})(mha())),
    'wrong/106_mha_fused_weights_remembered.py': ('multi_head_attention', lambda: [(lambda c: c | {'key': c['query'], 'value': c['query']})(mha(s)) for s in (0, 50)]),
    'wrong/107_mha_weights_averaged.py': ('multi_head_attention', lambda: mha()),
    'wrong/108_mha_output_bias_before.py': ('multi_head_attention', lambda: mha()),
    'wrong/109_mha_padding_mask_both_ways.py': ('multi_head_attention', lambda: mha(mask=np.array([[[[True, False, True]]], [[[True, True, False]]]]))),
    'wrong/110_mha_not_divisible_taken.py': ('multi_head_attention', lambda: mha(D=5, num_heads=2)),
    'wrong/111_mha_rank2_taken.py': ('multi_head_attention', lambda: (lambda c: c | {n: c[n][0] for n in ('query', 'key', 'value')})(mha())),
    'wrong/112_mha_mask_and_causal_or.py': ('multi_head_attention', lambda: mha(mask=bits(4, 3, 3), is_causal=True)),
    'wrong/113_sha_scale_of_value_width.py': ('single_head_attention', lambda: sha()),
    'wrong/114_sha_query_returned_scaled.py': ('single_head_attention', lambda: sha()),
    'wrong/115_sha_symmetric_when_shared.py': ('single_head_attention', lambda: (lambda c: c | {'w_value': c['w_key']})(sha())),
    'wrong/116_sha_square_output_transposed.py': ('single_head_attention', lambda: sha(out=2)),
    'wrong/117_cv_weights_along_features_when_square.py': ('context_vector', lambda: {'encoder_states': rnd(1, 4, 4), 'decoder_state': rnd(2, 4)}),
    'wrong/118_cv_width_one_broadcast.py': ('context_vector', lambda: {'encoder_states': rnd(1, 3, 4), 'decoder_state': rnd(2, 1)}),
    'wrong/119_cv_raw_scores_edited.py': ('context_vector', lambda: {'encoder_states': rnd(1, 3, 4), 'decoder_state': rnd(2, 4)}),
    'wrong/120_softmax_in_place.py': ('softmax', lambda: {'x': rnd(1, 3, 4)}),
    'wrong/121_softmax_axis_zero_is_default.py': ('softmax', lambda: {'x': rnd(1, 3, 4), 'axis': 0}),
    'wrong/122_softmax_axis_not_moved_back.py': ('softmax', lambda: {'x': rnd(1, 3, 3, 3), 'axis': 0}),
    'wrong/123_softmax_global_maximum.py': ('softmax', lambda: {'x': np.array([[0.0, 1.0], [900.0, 901.0]])}),
    'wrong/124_softmax_axis_counts_backwards.py': ('softmax', lambda: {'x': rnd(1, 3, 4), 'axis': -2}),
    'wrong/125_mask_key_length_zero_or_default.py': ('causal_mask', lambda: {'query_length': 3, 'key_length': 0}),
    'wrong/126_mask_slice_negative_offset.py': ('causal_mask', lambda: {'query_length': 4, 'offset': -2}),
    'wrong/127_mask_view_of_shared.py': ('causal_mask', lambda: [{'query_length': 3, 'offset': 0}, {'query_length': 3, 'offset': 1}]),
    'wrong/128_mask_additive_product.py': ('causal_mask', lambda: {'query_length': 3, 'additive': True}),
    'wrong/129_mask_unsigned_rows.py': ('causal_mask', lambda: {'query_length': 3, 'offset': -2}),
    'wrong/130_combine_one_feature_fast.py': ('combine_heads', lambda: {'x': rnd(1, 1, 2, 3, 1)}),
    'wrong/131_split_not_divisible_taken.py': ('split_heads', lambda: {'x': rnd(1, 1, 3, 5), 'num_heads': 2}),
    'wrong/132_split_reads_memory.py': ('split_heads', lambda: {'x': np.asfortranarray(rnd(1, 2, 3, 4)), 'num_heads': 2}),
    'wrong/133_split_tokens_as_heads.py': ('split_heads', lambda: {'x': rnd(1, 1, 2, 4), 'num_heads': 2}),
    'wrong/134_glorot_one_generator.py': ('glorot_normal', lambda: [dict(fan_in=64, fan_out=64, seed=1), dict(fan_in=64, fan_out=64, seed=1)]),
    'wrong/135_glorot_twelve_uniforms.py': ('glorot_normal', lambda: dict(fan_in=2000, fan_out=1500, seed=3)),
    'wrong/136_glorot_rows_repeat.py': ('glorot_normal', lambda: dict(fan_in=64, fan_out=64, seed=3)),
    'wrong/137_glorot_fan_in_only.py': ('glorot_normal', lambda: dict(fan_in=32, fan_out=256, seed=3)),
    'wrong/138_rotary_half_of_whole_head.py': ('apply_rotary', lambda: rot()),
    'wrong/139_rotary_first_entry_tables.py': ('apply_rotary', lambda: rot()),
    'wrong/140_rotary_in_place_pairs.py': ('apply_rotary', lambda: rot(pairing='interleaved')),
    'wrong/141_rotary_edits_input.py': ('apply_rotary', lambda: rot()),
    'wrong/142_rotary_interleaved_left_apart.py': ('apply_rotary', lambda: rot(pairing='interleaved')),
    'wrong/143_rotary_identity_padding.py': ('apply_rotary', lambda: put(rot(pairing='interleaved'), 'x', (0, 0, 0, 4), nan)),
    'wrong/144_rotary_matrix.py': ('apply_rotary', lambda: put(rot(), 'x', (0, 0, 0, 1), nan)),
    'wrong/145_rotary_layout_guessed.py': ('apply_rotary', lambda: rot(H=3)),
    'wrong/146_rotary_any_pairing_name.py': ('apply_rotary', lambda: rot(pairing='neox')),
    'wrong/147_rotary_tables_broadcast.py': ('apply_rotary', lambda: (lambda c: c | {'cos': c['cos'][:1], 'sin': c['sin'][:1]})(rot())),
    'wrong/148_rotary_longer_tables.py': ('apply_rotary', lambda: (lambda c: c | {'x': c['x'][:, :, :2]})(rot())),
    'wrong/149_rotary_wide_tables_cut.py': ('apply_rotary', lambda: (lambda c: c | {'x': c['x'][..., :2]})(rot())),
    'wrong/150_tables_counted_from_first.py': ('rotary_tables', lambda: tables([[0, 2, 1], [5, 6, 9]])),
    'wrong/151_tables_first_entry.py': ('rotary_tables', lambda: tables([[0, 1, 2], [5, 6, 7]])),
    'wrong/152_tables_int16_positions.py': ('rotary_tables', lambda: tables([[40000, 3]])),
    'wrong/153_tables_lookup_wraps.py': ('rotary_tables', lambda: tables([[5000, 4095]])),
    'wrong/154_tables_cache_ignores_frequencies.py': ('rotary_tables', lambda: [tables([[0, 1, 9]]), tables([[0, 1, 9]]) | {'inverse_frequencies': np.array([0.5, 0.2, 0.03])}]),
    'wrong/155_tables_sine_without_factor.py': ('rotary_tables', lambda: tables([[0, 1, 2]], attention_factor=1.2)),
    'wrong/156_tables_factor_below_one_ignored.py': ('rotary_tables', lambda: tables([[0, 1, 2]], attention_factor=0.7)),
    'wrong/157_tables_rank1_positions.py': ('rotary_tables', lambda: tables([0, 1, 2])),
    'wrong/158_tables_unique_positions.py': ('rotary_tables', lambda: tables([[2, 0, 1]])),
    'wrong/159_freq_dynamic_short_texts.py': ('rotary_frequencies', lambda: dict(width=8, scaling='dynamic', factor=4.0, original_length=2048, sequence_length=1900)),
    'wrong/160_freq_dynamic_integer_exponent.py': ('rotary_frequencies', lambda: dict(width=8, scaling='dynamic', factor=4.0, original_length=2048, sequence_length=8000)),
    'wrong/161_freq_dynamic_never_resets.py': ('rotary_frequencies', lambda: [dict(width=8, scaling='dynamic', factor=4.0, original_length=2048, sequence_length=n) for n in (8000, 3000)]),
    'wrong/162_freq_dynamic_width_two_taken.py': ('rotary_frequencies', lambda: dict(width=2, scaling='dynamic', factor=4.0, original_length=2048)),
    'wrong/163_freq_llama3_by_wavelength.py': ('rotary_frequencies', lambda: dict(width=32, theta=500000.0, scaling='llama3', factor=8.0, original_length=8192, low_frequency_factor=1.0, high_frequency_factor=4.0)),
    'wrong/164_freq_longrope_from_original_length.py': ('rotary_frequencies', lambda: dict(width=4, scaling='longrope', factor=4.0, original_length=4096, short_factors=[1.0, 1.1], long_factors=[2.0, 3.0], sequence_length=4096)),
    'wrong/165_freq_longrope_long_by_default.py': ('rotary_frequencies', lambda: dict(width=4, scaling='longrope', factor=4.0, original_length=4096, short_factors=[1.0, 1.1], long_factors=[2.0, 3.0])),
    'wrong/166_freq_longrope_short_has_no_magnitude.py': ('rotary_frequencies', lambda: dict(width=4, scaling='longrope', factor=4.0, original_length=4096, short_factors=[1.0, 1.1], long_factors=[2.0, 3.0], sequence_length=100)),
    'wrong/167_freq_factor_list_cut.py': ('rotary_frequencies', lambda: dict(width=2, scaling='longrope', factor=4.0, original_length=4096, short_factors=[1.0, 1.1], long_factors=[2.0, 3.0])),
    'wrong/168_freq_proportional_rounded.py': ('rotary_frequencies', lambda: dict(width=14, scaling='proportional', proportion=0.25)),
    'wrong/169_freq_proportional_own_width.py': ('rotary_frequencies', lambda: dict(width=16, scaling='proportional', proportion=0.5)),
    'wrong/170_freq_yarn_upper_bound.py': ('rotary_frequencies', lambda: dict(width=16, scaling='yarn', factor=4.0, original_length=131072)),
    'wrong/171_freq_yarn_low_not_held.py': ('rotary_frequencies', lambda: dict(width=16, scaling='yarn', factor=4.0, original_length=100)),
    'wrong/172_freq_yarn_single_coefficient.py': ('rotary_frequencies', lambda: dict(width=16, scaling='yarn', factor=4.0, original_length=4096, magnitude_scaling=0.7)),
    'wrong/173_freq_yarn_zero_coefficient.py': ('rotary_frequencies', lambda: dict(width=16, scaling='yarn', factor=4.0, original_length=4096, magnitude_scaling=0.7, magnitude_scaling_all_dimensions=0.0)),
    'wrong/174_freq_yarn_range_guard_missing.py': ('rotary_frequencies', lambda: dict(width=2, scaling='yarn', factor=4.0, original_length=32768, theta=100.0)),
    'wrong/175_freq_given_factor_everywhere.py': ('rotary_frequencies', lambda: dict(width=8, scaling='linear', factor=2.0, attention_factor=1.5)),
    'wrong/176_freq_unknown_scaling_is_none.py': ('rotary_frequencies', lambda: dict(width=8, scaling='ntk')),
    'wrong/177_freq_missing_factor_is_one.py': ('rotary_frequencies', lambda: dict(width=8, scaling='linear')),
    'wrong/178_freq_odd_width_taken.py': ('rotary_frequencies', lambda: dict(width=7)),
    'wrong/179_freq_proportion_clipped.py': ('rotary_frequencies', lambda: dict(width=8, scaling='proportional', proportion=1.5)),
    'wrong/180_freq_yarn_theta_one_taken.py': ('rotary_frequencies', lambda: dict(width=8, scaling='yarn', factor=2.0, original_length=4096, theta=0.5)),
    'wrong/181_freq_llama3_equal_bounds_taken.py': ('rotary_frequencies', lambda: dict(width=8, scaling='llama3', factor=2.0, original_length=4096, low_frequency_factor=2.0, high_frequency_factor=2.0)),
    'wrong/182_freq_factor_list_sorted_in_place.py': ('rotary_frequencies', lambda: dict(width=6, scaling='longrope', factor=4.0, original_length=4096, short_factors=[1.0, 1.3, 1.1], long_factors=[2.0, 4.0, 3.0])),
}

RIGHT = {
    'right/01_loops.py': 'scaled_dot_product_attention',
    'right/02_einsum.py': 'scaled_dot_product_attention',
    'right/03_flash.py': 'scaled_dot_product_attention',
    'right/04_splitk.py': 'scaled_dot_product_attention',
    'right/05_packed.py': 'scaled_dot_product_attention',
    'right/06_cache.py': 'scaled_dot_product_attention',
    'right/07_stream.py': 'scaled_dot_product_attention',
    'right/08_gather.py': 'scaled_dot_product_attention',
    'right/09_packgqa.py': 'scaled_dot_product_attention',
    'right/10_transposed.py': 'scaled_dot_product_attention',
    'right/11_float32_uniform.py': 'scaled_dot_product_attention',
    'right/12_half_steps.py': 'scaled_dot_product_attention',
    'right/13_flash_base_two.py': 'scaled_dot_product_attention',
    'right/14_mha_head_by_head.py': 'multi_head_attention',
    'right/15_mha_joined_projections.py': 'multi_head_attention',
    'right/16_sha_rows.py': 'single_head_attention',
    'right/17_cv_tokens.py': 'context_vector',
    'right/18_rotary_pairs.py': 'apply_rotary',
    'right/19_rotary_frequencies_by_list.py': 'rotary_frequencies',
    'right/20_rotary_tables_complex.py': 'rotary_tables',
    'right/21_rotary_complex.py': 'apply_rotary',
    'right/22_softmax_by_logarithm.py': 'softmax',
    'right/23_mask_by_logarithm.py': 'causal_mask',
    'right/24_split_by_stack.py': 'split_heads',
    'right/25_combine_by_concatenation.py': 'combine_heads',
}


def main(names):
    chosen = lambda f: not names or any(n in f for n in names)  # noqa: E731
    differ = agree = 0
    for file, (operation, make) in WITNESS.items():
        if not chosen(file):
            continue
        worst, why = examine(load(HERE / file), operation, make())
        good = worst > 1e-6
        differ += good
        print(f"{file:60s} {worst:12.5g} {'DIFFERS' if good else 'SAME'} {why}")
    for file, operation in RIGHT.items():
        if not chosen(file):
            continue
        worst = agrees(HERE / file, operation)
        agree += 1
        print(f"{file:60s} {worst:12.5g} of its tolerance, AGREES")
    print(f"{differ} of {len(WITNESS)} wrong files differ, {agree} of {len(RIGHT)} right files agree")


if __name__ == "__main__":
    import warnings
    warnings.simplefilter("ignore")
    main(sys.argv[1:])
