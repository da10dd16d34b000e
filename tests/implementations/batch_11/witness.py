"""For each wrong file an input on which it differs from base by more than rounding; right files on random inputs.

python witness.py        a line for each file
"""
import copy
import importlib.util
import math
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import base

BF = base.BF16
FIRST = {"context_vector": "context", "rotary_frequencies": "inverse_frequencies", "rotary_tables": "cos"}


def rnd(*shape, seed=9, dt="float64", mag=1.0):
    x = np.random.default_rng(seed + sum(shape)).standard_normal(shape) * mag
    return x.astype(BF if dt == "bfloat16" else dt)


def sd(seed=0, B=2, Hq=2, Hkv=None, Sq=3, Sk=5, E=4, Ev=3, P=None, dt="float64", mag=1.0, mask=None, sinks=None,
       alibi=None, **attributes):
    rng = np.random.default_rng(seed)
    kind = BF if dt == "bfloat16" else np.dtype(dt)

    def draw(*shape, by=1.0):
        return (rng.standard_normal(shape) * by).astype(kind)

    Hkv = Hq if Hkv is None else Hkv
    call = dict(query=draw(B, Hq, Sq, E, by=mag), key=draw(B, Hkv, Sk, E, by=mag), value=draw(B, Hkv, Sk, Ev))
    if P is not None:
        call.update(past_key=draw(B, Hkv, P, E, by=mag), past_value=draw(B, Hkv, P, Ev))
    T = Sk + (P or 0)
    if isinstance(mask, str):
        mask = rng.random((Sq, T)) < .5 if mask == "bool" else draw(Sq, T)
    if mask is not None:
        call["mask"] = mask if mask.dtype == np.bool_ else mask.astype(kind)
    for name, x in (("sinks", sinks), ("alibi_slopes", alibi)):
        if x is not None:
            call[name] = np.array(x).astype(kind)
    for name in ("key_lengths", "query_lengths"):
        if name in attributes:
            attributes[name] = np.array(attributes[name], np.int64)
    return dict(call, **attributes)


def mh(B=2, H=2, D=8, Sq=3, Sk=4, biases=False, one=None, **attributes):
    call = dict(query=rnd(B, Sq, D), key=rnd(B, Sk, D, seed=1), value=rnd(B, Sk, D, seed=2))
    if one == "key":
        call["key"], call["value"] = call["query"], rnd(B, Sq, D, seed=3)
    for n, name in enumerate(("w_query", "w_key", "w_value", "w_output")):
        call[name] = rnd(D, D, seed=20 + n)
        if biases:
            call["b" + name[1:]] = rnd(D, seed=30 + n)
    return dict(call, num_heads=H, **attributes)


def sh(S=3, D=4, dk=3, dv=5, square=False, output=False, **attributes):
    call = dict(x=rnd(S, D), w_query=rnd(D, dk, seed=1), w_key=rnd(D, dk, seed=2), w_value=rnd(D, dv, seed=3))
    if square or output:
        call["w_output"] = rnd(dv, dv if square else 2, seed=4)
    return dict(call, **attributes)


def ro(B=2, H=2, S=3, E=4, R=4, dt="float64", **attributes):
    angle = rnd(B, S, R // 2, seed=5)
    return dict(x=rnd(B, H, S, E, dt=dt), cos=np.cos(angle).astype(dt), sin=np.sin(angle).astype(dt), **attributes)


def put(call, name, place, number):
    call[name][place] = number
    return call


def same(call):
    return dict(call, value=call["key"])


def moved(call, name):
    x = call[name]
    call[name] = np.ascontiguousarray(x.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)
    return call


def frozen(call):
    for x in call.values():
        if isinstance(x, np.ndarray):
            x.flags.writeable = False
    return call


def spread(call):
    call["key"] = np.broadcast_to(call["key"][:, :1], call["key"].shape)
    return call


def onepast(call):
    return dict(call, past_key=call["past_key"][:1], past_value=call["past_value"][:1])


def flat(call):
    return dict(call, query=call["query"][0], key=call["key"][0], value=call["value"][0])


def load(path):
    spec = importlib.util.spec_from_file_location("file_" + path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def eps(dtype):
    return 2.0 ** -8 if dtype == BF else float(np.finfo(dtype).eps)


def named(operation, result):
    if isinstance(result, dict):
        return result
    return {FIRST.get(operation, "output"): result}


def compare(operation, call, got, want, limit=2000.0):
    """Greatest difference and whether it is more than rounding."""
    worst, differs = 0.0, False
    for name, x in named(operation, got).items():
        x, y = np.asarray(x), np.asarray(named(operation, want)[name])
        free = operation == "causal_mask" and call.get("additive")
        narrow = base.is_float(y.dtype) and base.is_float(x.dtype) and name in ("output", "context", "cos", "sin") and x.dtype != y.dtype
        if operation == "combine_heads" or operation == "split_heads" or name.startswith("present"):
            narrow = x.dtype != y.dtype
        if x.shape != y.shape or narrow and not free or base.is_float(x.dtype) != base.is_float(y.dtype):
            return math.inf, True
        if base.is_float(x.dtype) and not free and x.dtype.itemsize < call_size(call):
            return math.inf, True
        x, y = x.astype(np.float64), y.astype(np.float64)
        if call.get("query_lengths") is not None and name in ("output", "weights", "logsumexp", "scores", "logits"):
            rows = np.arange(x.shape[2]) < call["query_lengths"][:, None]
            rows = np.broadcast_to(rows[:, None], x.shape[:3])
            x, y = x[rows], y[rows]
        if name == "scores" and call.get("mask") is not None:
            pass
        kind = next((a.dtype for a in call.values() if isinstance(a, np.ndarray) and base.is_float(a.dtype)), np.dtype("float64"))
        finite = np.isfinite(x) & np.isfinite(y)
        odd = ~finite & ~((x == y) | np.isnan(x) & np.isnan(y))
        if odd.any():
            return math.inf, True
        if not finite.any():
            continue
        d = float(np.abs(x[finite] - y[finite]).max())
        size = max(float(np.abs(y[finite]).max()), 1.0 if name in ("output", "weights", "logsumexp") else 0.0)
        worst = max(worst, d)
        bound = eps(kind) * size * (limit if kind.itemsize > 2 else 8)
        differs |= d > bound
    return worst, differs


def call_size(call):
    sizes = [a.dtype.itemsize for a in call.values() if isinstance(a, np.ndarray) and base.is_float(a.dtype)]
    return max(sizes, default=1)


def try_(function, call):
    try:
        return function(**call), None
    except Exception as error:
        return None, error


def judge(module, operation, calls, limit=2000.0):
    """One call after the other; results, later looks at earlier results, inputs, refusals."""
    function, right = getattr(module, operation), getattr(base, operation)
    worst, differs, kept = 0.0, False, []
    for call in calls if isinstance(calls, list) else [calls]:
        before = {n: (x.copy() if isinstance(x, np.ndarray) else x) for n, x in call.items()}
        want, refused = try_(right, call)
        for n, x in before.items():
            assert not isinstance(x, np.ndarray) or x.tobytes() == call[n].tobytes(), "base changed " + n
        got, error = try_(function, call)
        if refused is not None or error is not None:
            if (refused is None) != (error is None):
                return math.inf, True
            continue
        if any(isinstance(x, np.ndarray) and x.tobytes() != call[n].tobytes() for n, x in before.items()):
            worst, differs = math.inf, True
        if operation != "glorot_normal":
            d, more = compare(operation, before, got, want, limit)
            worst, differs = max(worst, d), differs or more
        kept.append((operation, before, got, want, copy.deepcopy(got)))
    for operation, call, got, want, first in kept:
        for name, x in named(operation, got).items():
            y = np.asarray(named(operation, first)[name])
            if np.asarray(x).tobytes() != y.tobytes():
                worst, differs = math.inf, True
    return worst, differs


def judge_glorot(module, call):
    """Properties: deviation, distribution, and whether rows repeat."""
    from scipy import stats
    x = module.glorot_normal(**call)
    sigma = math.sqrt(2 / (call["fan_in"] + call["fan_out"]))
    off = abs(x.std() - sigma) / (sigma / math.sqrt(2 * x.size))
    p = stats.kstest(x.ravel()[:4000000] / sigma, "norm").pvalue
    repeated = len(np.unique(x[:, 0])) < len(x)
    tail = np.mean(np.abs(x) > 4 * sigma) / (2 * stats.norm.sf(4))
    return max(off, 0.0), off > 6 or p < 1e-9 or repeated or x.size > 1e6 and abs(tail - 1) > .3


# ---------------------------------------------------------------- random inputs for the right files

def random_sdpa(rng, dt):
    B, Hkv, E, Ev = (int(rng.integers(1, 4)) for _ in range(4))
    Hq = Hkv * int(rng.integers(1, 4))
    Sq, Sk = int(rng.choice([0, 1, 2, 3, 5, 7, 20])), int(rng.choice([0, 1, 2, 4, 6, 9, 40]))
    options = {}
    P = int(rng.integers(0, 6)) if rng.random() < .4 else None
    T = Sk + (P or 0)
    if P is None and rng.random() < .5:
        options["key_lengths"] = rng.integers(0, Sk + 1, B)
    if P is None and rng.random() < .4:
        options["query_lengths"] = rng.integers(0, Sq + 1, B)
    if rng.random() < .4:
        options["sinks"] = rng.standard_normal(Hq)
    if rng.random() < .4:
        options["alibi"] = rng.random(Hq)
    if rng.random() < .5:
        options["is_causal"] = True
    if rng.random() < .5:
        options["causal_alignment"] = "bottom_right"
    if rng.random() < .3:
        options["scale"] = float(rng.choice([0, -1, .3, 2]))
    if rng.random() < .3:
        options["softcap"] = float(rng.choice([0, 1, 5]))
    if rng.random() < .4:
        options["window"] = [None if rng.random() < .3 else int(rng.integers(0, 5)) for _ in range(2)]
    if rng.random() < .5:
        shape = [(Sq, T), (Hq, Sq, T), (1, Sq, T), (B, 1, Sq, T), (B, Hq, 1, T), (1, 1, 1, T)][rng.integers(6)]
        options["mask"] = rng.random(shape) < .7
        if rng.random() < .5:
            options["mask"] = np.where(rng.random(shape) < .8, rng.standard_normal(shape), -np.inf)
    call = sd(int(rng.integers(1 << 30)), B, Hq, Hkv, Sq, Sk, E, Ev, P, dt, float(rng.choice([.3, 1, 3])), **options)
    if rng.random() < .2:
        call = moved(call, "key")
    if rng.random() < .2:
        call = frozen(call)
    if rng.random() < .1:
        call["query"] = call["query"][:, :, ::-1]
    return call


def random_call(operation, rng, dt):
    if operation == "scaled_dot_product_attention":
        return random_sdpa(rng, dt)
    n = [int(rng.integers(1, 6)) for _ in range(5)]
    seed = int(rng.integers(1 << 20))
    if operation == "softmax":
        return dict(x=rnd(*n[:3], seed=seed, dt=dt, mag=5), axis=[None, 0, 1, 2, -1, -2][rng.integers(6)])
    if operation == "causal_mask":
        return dict(query_length=n[0] - 1, key_length=None if n[1] == 1 else n[1] - 2, offset=n[2] - 3, additive=n[3] > 2)
    if operation == "split_heads":
        return dict(x=rnd(n[0], n[1], n[2] * n[3] + (n[4] == 5), seed=seed, dt=dt), num_heads=n[2])
    if operation == "combine_heads":
        return dict(x=rnd(*n[:4], seed=seed, dt=dt))
    if operation == "context_vector":
        call = dict(encoder_states=rnd(n[0], n[1], seed=seed, dt=dt), decoder_state=rnd(n[1], seed=seed, dt=dt))
        return dict(call, scale=float(n[2] - 3)) if n[3] > 3 else call
    if operation == "single_head_attention":
        call = sh(*n[:4], output=n[4] > 3)
        return {k: x.astype(dt) for k, x in call.items()}
    if operation == "multi_head_attention":
        call = mh(n[0], n[1], n[1] * n[2], n[3], n[4], biases=rng.random() < .5, is_causal=bool(rng.random() < .5))
        if rng.random() < .5:
            call["mask"] = rng.random((n[3], n[4])) < .6 if rng.random() < .5 else rng.standard_normal((n[0], 1, n[3], n[4]))
        return {k: x.astype(dt) if isinstance(x, np.ndarray) and x.dtype == np.float64 else x for k, x in call.items()}
    if operation == "apply_rotary":
        return ro(n[0], n[1], n[2], n[3] + 2, 2 * int(rng.integers(1, (n[3] + 2) // 2 + 1)), dt,
                  pairing=["half", "interleaved"][n[4] % 2])
    if operation == "rotary_tables":
        return dict(position_ids=rng.integers(0, 50, (n[0], n[1])), inverse_frequencies=np.abs(rnd(n[2], seed=seed, dt=dt)),
                    attention_factor=n[3] / 2)
    if operation == "rotary_frequencies":
        lists = [list(rng.random(2 * n[0] + 2) + 1) for _ in range(2)]
        return dict(width=4 * n[0] + 4, theta=float(rng.choice([10000, 500, 1e6])), scaling=str(rng.choice(base.SCALINGS)),
                    factor=float(n[1]), original_length=int(rng.choice([64, 4096])), sequence_length=int(rng.choice([10, 64, 9000])),
                    low_frequency_factor=1, high_frequency_factor=1 + n[2], short_factors=lists[0], long_factors=lists[1],
                    proportion=float(rng.random()), truncate=bool(n[3] % 2), magnitude_scaling=[None, .5][n[4] % 2],
                    magnitude_scaling_all_dimensions=[None, .8][n[2] % 2])


def as_declared(module, operation, want):
    """base, told the conventions of the file."""
    conventions = getattr(module, "conventions", {})
    if conventions.get("logsumexp_base") != "2":
        return want
    out = dict(want)
    empty = np.isneginf(out["logsumexp"])
    out["logsumexp"] = np.where(empty, np.inf, out["logsumexp"] / math.log(2))
    gone = empty if True else None
    out["output"] = np.where(gone[..., None], np.nan, out["output"])
    return out


def right_file(path, count=200):
    module, worst, bad, tried = load(path), 0.0, 0, 0
    import inspect
    for operation in (n for n in FIRST.keys() | set(vars(base)) if n in vars(module) and callable(getattr(base, n, None))
                      and getattr(module, n).__module__ == module.__name__ and not n.startswith("_")):
        rng = np.random.default_rng(sum(map(ord, operation)))
        offered = inspect.signature(getattr(module, operation)).parameters
        for n in range(count):
            dt = str(rng.choice(list(module.dtypes)))
            if operation == "glorot_normal":
                break
            call = {k: x for k, x in random_call(operation, rng, dt).items() if k in offered}
            want, refused = try_(getattr(base, operation), call)
            got, error = try_(getattr(module, operation), call)
            tried += 1
            if (refused is None) != (error is None):
                print(path.name, operation, "refusal", repr(refused), repr(error))
                bad += 1
                continue
            if refused is None:
                half = dt in ("bfloat16", "float16")
                limit = 2000.0
                if getattr(module, "conventions", {}).get("accumulation") == "float32":
                    limit = 1e12
                d, more = compare(operation, call, got, as_declared(module, operation, want), limit)
                if half and math.isfinite(d):
                    more = d > 60 * eps(BF if dt == "bfloat16" else np.dtype(dt))
                worst, bad = max(worst, d), bad + more
    return tried, worst, bad



WITNESSES = {
    "001_tile_bound_check.py": ("scaled_dot_product_attention", lambda: sd(Sk=20)),
    "002_tail_tile_rescale.py": ("scaled_dot_product_attention", lambda: dict(sd(B=1, Hq=1, Sk=20, E=1), key=np.arange(20.).reshape(1, 1, 20, 1), query=np.ones((1, 1, 3, 1)))),
    "003_causal_tile_limit.py": ("scaled_dot_product_attention", lambda: sd(Sq=8, Sk=8, P=10, is_causal=True)),
    "004_causal_skip_padded.py": ("scaled_dot_product_attention", lambda: sd(B=1, Sq=24, Sk=40, is_causal=True, causal_alignment='bottom_right', query_lengths=[4])),
    "005_window_first_tile.py": ("scaled_dot_product_attention", lambda: sd(Sq=24, Sk=24, window=[3, None])),
    "006_running_maximum_zero.py": ("scaled_dot_product_attention", lambda: sd(mask=np.full((3, 5), -2000.0))),
    "007_masked_by_size.py": ("scaled_dot_product_attention", lambda: sd(mask=np.full((3, 5), np.finfo('float64').min))),
    "008_lazy_rescale_drift.py": ("scaled_dot_product_attention", lambda: dict(sd(B=1, Hq=1, Sq=1, Sk=400, E=1, dt='float32'), key=np.arange(400, dtype='float32').reshape(1, 1, 400, 1) * np.float32(.4), query=np.ones((1, 1, 1, 1), 'float32'))),
    "009_alibi_distance_byte.py": ("scaled_dot_product_attention", lambda: sd(B=1, Sq=2, Sk=300, alibi=[.01, .02])),
    "010_head_blocks_of_four.py": ("scaled_dot_product_attention", lambda: sd(Hq=6, Hkv=3)),
    "011_skip_low_tiles.py": ("scaled_dot_product_attention", lambda: dict(sd(B=1, Hq=1, Sk=40, E=1), key=np.r_[np.zeros(20), np.full(20, -16.)].reshape(1, 1, 40, 1), query=np.ones((1, 1, 3, 1)))),
    "012_workspace_not_cleared.py": ("scaled_dot_product_attention", lambda: [sd(), sd(key_lengths=[0, 3])]),
    "013_logsumexp_single.py": ("scaled_dot_product_attention", lambda: sd()),
    "014_zero_length_is_none.py": ("scaled_dot_product_attention", lambda: sd(key_lengths=[0, 3])),
    "015_query_tile_mask_row.py": ("scaled_dot_product_attention", lambda: sd(Sq=12, mask=np.array([[0., 1, 2, -1, 3]]))),
    "016_merge_without_maximum.py": ("scaled_dot_product_attention", lambda: sd(Sk=50)),
    "017_parts_of_equal_size.py": ("scaled_dot_product_attention", lambda: sd(Sk=65, B=1)),
    "018_sink_in_every_part.py": ("scaled_dot_product_attention", lambda: sd(Sk=40, sinks=[1., .5])),
    "019_logsumexp_of_best_part.py": ("scaled_dot_product_attention", lambda: sd(Sk=40)),
    "020_empty_part_maximum.py": ("scaled_dot_product_attention", lambda: sd(Sk=40, key_lengths=[20, 30], mask=np.full((3, 40), -2000.0))),
    "021_decode_drops_causality.py": ("scaled_dot_product_attention", lambda: sd(Sq=1, is_causal=True)),
    "022_exp_single_long_rows.py": ("scaled_dot_product_attention", lambda: sd(Sk=40)),
    "023_value_columns.py": ("scaled_dot_product_attention", lambda: sd(Ev=33)),
    "024_tanh_by_exponentials.py": ("scaled_dot_product_attention", lambda: sd(softcap=1e9)),
    "025_same_array_scaled.py": ("scaled_dot_product_attention", lambda: same(sd(Ev=4))),
    "026_output_buffer_reused.py": ("scaled_dot_product_attention", lambda: [sd(), sd(seed=1)]),
    "027_no_keys_before_sink.py": ("scaled_dot_product_attention", lambda: sd(Sk=0, sinks=[1., 2.])),
    "028_nan_plus_minus_infinity.py": ("scaled_dot_product_attention", lambda: put(sd(B=1, mask=np.array([[0., 0, -np.inf, 0, 0]])), 'key', (0, 0, 2, 1), np.nan)),
    "029_rank3_mask_by_batch.py": ("scaled_dot_product_attention", lambda: sd(B=2, Hq=2, mask=rnd(2, 3, 5))),
    "030_default_scale_of_values.py": ("scaled_dot_product_attention", lambda: sd(Sk=40)),
    "031_part_window_local.py": ("scaled_dot_product_attention", lambda: sd(Sq=60, Sk=60, B=1, is_causal=True, window=[3, 0])),
    "032_query_scaled_in_place.py": ("scaled_dot_product_attention", lambda: sd()),
    "033_mask_filled_in_place.py": ("scaled_dot_product_attention", lambda: sd(is_causal=True, mask=rnd(3, 5), causal_alignment='bottom_right')),
    "034_reshape_unknown_size.py": ("scaled_dot_product_attention", lambda: sd(Sq=0)),
    "035_logsumexp_naive.py": ("scaled_dot_product_attention", lambda: sd(mag=60)),
    "036_boolean_mask_large_number.py": ("scaled_dot_product_attention", lambda: dict(sd(B=1, Hq=1, E=1, mask=np.array([[True, True, False, True, True]])), key=np.array([1., 2, 3e9, 4, 5]).reshape(1, 1, 5, 1), query=np.ones((1, 1, 3, 1)))),
    "037_past_columns_of_mask.py": ("scaled_dot_product_attention", lambda: sd(P=3, mask='bool')),
    "038_float_masked_row_nan.py": ("scaled_dot_product_attention", lambda: sd(mask=np.array([[0., 0, 0, 0, 0], [-np.inf] * 5, [0., 0, 0, 0, 0]]))),
    "039_masked_row_weights.py": ("scaled_dot_product_attention", lambda: sd(key_lengths=[0, 3])),
    "040_denominator_epsilon.py": ("scaled_dot_product_attention", lambda: sd()),
    "041_causal_fill_of_mask.py": ("scaled_dot_product_attention", lambda: sd(is_causal=True, mask=rnd(3, 5))),
    "042_mask_in_single.py": ("scaled_dot_product_attention", lambda: sd(mask=rnd(3, 5))),
    "043_packing_leaves_out_empty.py": ("scaled_dot_product_attention", lambda: sd(key_lengths=[0, 3])),
    "044_cumulated_lengths_short.py": ("scaled_dot_product_attention", lambda: sd(B=4, Hq=1, Sq=1, Sk=10000, E=1, Ev=1)),
    "045_first_query_length.py": ("scaled_dot_product_attention", lambda: sd(query_lengths=[3, 1], is_causal=True, causal_alignment='bottom_right')),
    "046_sink_of_key_head.py": ("scaled_dot_product_attention", lambda: sd(Hq=4, Hkv=2, sinks=[0., 1, 2, 3])),
    "047_padded_head_width.py": ("scaled_dot_product_attention", lambda: sd(E=12)),
    "048_masked_value_product.py": ("scaled_dot_product_attention", lambda: put(sd(B=1, is_causal=True), 'value', (0, 0, 4, 1), np.nan)),
    "049_equal_lengths_dense.py": ("scaled_dot_product_attention", lambda: sd(key_lengths=[3, 3])),
    "050_packed_logsumexp_order.py": ("scaled_dot_product_attention", lambda: sd()),
    "051_packed_mask_rows.py": ("scaled_dot_product_attention", lambda: sd(query_lengths=[3, 2], mask=rnd(2, 1, 3, 5))),
    "052_pages_of_first.py": ("scaled_dot_product_attention", lambda: sd(Sk=20, key_lengths=[3, 20])),
    "053_page_number_byte.py": ("scaled_dot_product_attention", lambda: sd(B=1, Hq=1, Sq=1, Sk=3000, E=1, Ev=1)),
    "054_default_scale_single.py": ("scaled_dot_product_attention", lambda: sd(E=5)),
    "055_scale_split_by_root.py": ("scaled_dot_product_attention", lambda: sd(scale=-.5)),
    "056_dot_tail_of_four.py": ("scaled_dot_product_attention", lambda: sd(E=11)),
    "057_alibi_signed.py": ("scaled_dot_product_attention", lambda: sd(alibi=[.5, .25])),
    "058_window_page_start.py": ("scaled_dot_product_attention", lambda: sd(Sq=6, Sk=6, window=[1, 0])),
    "059_slot_after_mask.py": ("scaled_dot_product_attention", lambda: sd(B=1, alibi=[.5, .25], mask=np.array([[False, True, False, True, True]]))),
    "060_logarithm_of_e_short.py": ("scaled_dot_product_attention", lambda: sd(mag=3)),
    "061_sink_in_base_two.py": ("scaled_dot_product_attention", lambda: sd(sinks=[1., -2])),
    "062_mask_in_base_two.py": ("scaled_dot_product_attention", lambda: sd(mask=rnd(3, 5))),
    "063_softcap_overflow.py": ("scaled_dot_product_attention", lambda: sd(mag=60, softcap=1)),
    "064_logsumexp_mixed_bases.py": ("scaled_dot_product_attention", lambda: sd()),
    "065_softcap_of_dot.py": ("scaled_dot_product_attention", lambda: sd(softcap=2)),
    "066_key_order_in_memory.py": ("scaled_dot_product_attention", lambda: moved(sd(), 'key')),
    "067_packed_heads_position.py": ("scaled_dot_product_attention", lambda: sd(Hq=4, Hkv=2, is_causal=True)),
    "068_multi_query_slope.py": ("scaled_dot_product_attention", lambda: sd(Hq=3, Hkv=1, alibi=[.5, .25, .125])),
    "069_past_heads_tiled.py": ("scaled_dot_product_attention", lambda: sd(Hq=4, Hkv=2, P=3)),
    "070_triangle_kept.py": ("scaled_dot_product_attention", lambda: [sd(Sq=3, Sk=5, is_causal=True), sd(Sq=3, Sk=2, P=3, is_causal=True)]),
    "071_memory_without_sinks.py": ("scaled_dot_product_attention", lambda: [sd(sinks=[0., 1]), sd(sinks=[2., 1])]),
    "072_read_only_refused.py": ("scaled_dot_product_attention", lambda: frozen(sd())),
    "073_repeated_head_shortcut.py": ("scaled_dot_product_attention", lambda: spread(sd())),
    "074_mask_or_window.py": ("scaled_dot_product_attention", lambda: sd(B=1, Hq=1, Sk=6, window=[1, 1], mask='bool')),
    "075_window_by_row.py": ("scaled_dot_product_attention", lambda: sd(P=3, window=[1, 1])),
    "076_alibi_under_softcap.py": ("scaled_dot_product_attention", lambda: sd(softcap=2, alibi=[.5, .25])),
    "077_alibi_of_padded_lengths.py": ("scaled_dot_product_attention", lambda: sd(alibi=[.5, .25], causal_alignment='bottom_right', key_lengths=[4, 3], query_lengths=[1, 3])),
    "078_padding_rows_zeroed.py": ("scaled_dot_product_attention", lambda: sd(Sq=5, key_lengths=[3, 5])),
    "079_nan_cleared.py": ("scaled_dot_product_attention", lambda: put(sd(), 'query', (0, 0, 1, 1), np.nan)),
    "080_key_length_clamped.py": ("scaled_dot_product_attention", lambda: sd(key_lengths=[3, 9])),
    "081_mask_column_repeated.py": ("scaled_dot_product_attention", lambda: sd(mask=np.zeros((3, 1)))),
    "082_past_batch_repeated.py": ("scaled_dot_product_attention", lambda: onepast(sd(P=3))),
    "083_head_ratio_rounded.py": ("scaled_dot_product_attention", lambda: sd(Hq=3, Hkv=2)),
    "084_one_length_for_all.py": ("scaled_dot_product_attention", lambda: sd(key_lengths=[3])),
    "085_negative_query_length.py": ("scaled_dot_product_attention", lambda: sd(query_lengths=[-1, 2])),
    "086_scores_share_buffer.py": ("scaled_dot_product_attention", lambda: sd(softcap=2)),
    "087_present_of_window.py": ("scaled_dot_product_attention", lambda: sd(P=3, is_causal=True, window=[2, 0])),
    "088_weights_beside_sink.py": ("scaled_dot_product_attention", lambda: sd(sinks=[1., 2])),
    "089_past_in_single.py": ("scaled_dot_product_attention", lambda: sd(P=3)),
    "090_present_of_query_heads.py": ("scaled_dot_product_attention", lambda: sd(Hq=4, Hkv=2)),
    "091_logits_least_number.py": ("scaled_dot_product_attention", lambda: sd(is_causal=True)),
    "092_scale_by_truth.py": ("scaled_dot_product_attention", lambda: sd(scale=0)),
    "093_causal_cancels_left.py": ("scaled_dot_product_attention", lambda: sd(Sq=5, is_causal=True, window=[2, None])),
    "094_dots_in_half.py": ("scaled_dot_product_attention", lambda: dict(sd(B=1, Hq=1, E=400, Sk=2, dt='bfloat16', scale=.02), query=np.ones((1, 1, 3, 400), BF), key=np.array([np.ones(400), np.arange(400) < 256]).reshape(1, 1, 2, 400).astype(BF))),
    "095_denominator_in_half.py": ("scaled_dot_product_attention", lambda: sd(Sk=600, dt='bfloat16', mag=.1, B=1)),
    "096_values_in_half.py": ("scaled_dot_product_attention", lambda: dict(sd(Sk=600, dt='bfloat16', mag=.1, B=1, Hq=1), value=np.ones((1, 1, 600, 3), BF))),
    "097_fused_scores_rounded.py": ("scaled_dot_product_attention", lambda: dict(sd(B=1, Hq=1, E=2, Sk=4, dt='bfloat16', scale=1), query=np.ones((1, 1, 3, 2), BF), key=np.array([[128, 0], [128, .4], [128, .8], [128, 1.2]]).reshape(1, 1, 4, 2).astype(BF))),
    "098_positions_in_half.py": ("scaled_dot_product_attention", lambda: sd(B=1, Sq=2, Sk=400, dt='bfloat16', alibi=[1., .5], causal_alignment='bottom_right')),
    "099_dots_overflow_half.py": ("scaled_dot_product_attention", lambda: sd(E=64, dt='float16', mag=90, scale=1e-4)),
    "100_present_widened.py": ("scaled_dot_product_attention", lambda: sd(dt='bfloat16', P=2)),
    "101_past_added_in_half.py": ("scaled_dot_product_attention", lambda: sd(dt='float16', P=3, mag=6)),
    "102_chunk_alignment.py": ("scaled_dot_product_attention", lambda: sd(Sq=20, Sk=24, is_causal=True, causal_alignment='bottom_right')),
    "103_chunk_lengths.py": ("scaled_dot_product_attention", lambda: sd(Sq=20, Sk=24, is_causal=True, causal_alignment='bottom_right', query_lengths=[18, 20])),
    "104_softmax_of_whole_maximum.py": ("softmax", lambda: dict(x=np.array([[0., 1], [2000, 2001]]))),
    "105_softmax_axis_by_truth.py": ("softmax", lambda: dict(x=rnd(3, 4), axis=0)),
    "106_softmax_axis_swapped_back.py": ("softmax", lambda: dict(x=rnd(3, 4, 5), axis=0)),
    "107_softmax_guard_above.py": ("softmax", lambda: dict(x=np.array([[-2000., -2001]]))),
    "108_softmax_in_place.py": ("softmax", lambda: dict(x=rnd(3, 4))),
    "109_softmax_online_blocks.py": ("softmax", lambda: dict(x=np.r_[np.full(64, 800.), np.zeros(10)])),
    "110_softmax_whole_array_rows.py": ("softmax", lambda: dict(x=rnd(3, 4), axis=None)),
    "111_causal_zero_keys.py": ("causal_mask", lambda: dict(query_length=3, key_length=0)),
    "112_causal_negative_offset.py": ("causal_mask", lambda: dict(query_length=3, offset=-1)),
    "113_causal_positions_byte.py": ("causal_mask", lambda: dict(query_length=200)),
    "114_causal_additive_corner.py": ("causal_mask", lambda: dict(query_length=3, key_length=4, offset=2, additive=True)),
    "115_split_memory_order.py": ("split_heads", lambda: dict(x=np.asfortranarray(rnd(2, 3, 4)), num_heads=2)),
    "116_split_drops_rest.py": ("split_heads", lambda: dict(x=rnd(2, 3, 5), num_heads=2)),
    "117_split_through_single.py": ("split_heads", lambda: dict(x=rnd(2, 3, 4), num_heads=2)),
    "118_combine_guesses_layout.py": ("combine_heads", lambda: dict(x=rnd(1, 3, 2, 2))),
    "119_combine_workspace.py": ("combine_heads", lambda: [dict(x=rnd(1, 2, 3, 2)), dict(x=rnd(1, 3, 2, 2, seed=5))]),
    "120_context_along_features.py": ("context_vector", lambda: dict(encoder_states=rnd(4, 4), decoder_state=rnd(4))),
    "121_context_raw_scaled.py": ("context_vector", lambda: dict(encoder_states=rnd(5, 4), decoder_state=rnd(4))),
    "122_context_unshifted.py": ("context_vector", lambda: dict(encoder_states=rnd(5, 4) * 50, decoder_state=rnd(4, seed=1) * 50)),
    "123_context_width_repeated.py": ("context_vector", lambda: dict(encoder_states=rnd(5, 4), decoder_state=rnd(1))),
    "124_single_query_scaled.py": ("single_head_attention", lambda: sh()),
    "125_single_scale_of_values.py": ("single_head_attention", lambda: sh()),
    "126_single_projection_single.py": ("single_head_attention", lambda: sh()),
    "127_single_square_output.py": ("single_head_attention", lambda: sh(square=True)),
    "128_multi_value_bias_folded.py": ("multi_head_attention", lambda: mh(biases=True, mask=np.array([[True] * 4, [False] * 4, [True] * 4]))),
    "129_multi_self_attention_guess.py": ("multi_head_attention", lambda: mh(one='key')),
    "130_multi_mask_of_batch.py": ("multi_head_attention", lambda: mh(B=2, H=2, mask=rnd(2, 3, 4))),
    "131_multi_output_bias_masked.py": ("multi_head_attention", lambda: mh(biases=True, mask=np.array([[True] * 4, [False] * 4, [True] * 4]))),
    "132_multi_causal_corner.py": ("multi_head_attention", lambda: mh(is_causal=True)),
    "133_multi_first_mask.py": ("multi_head_attention", lambda: mh(mask=rnd(2, 1, 3, 4))),
    "134_multi_rank_two.py": ("multi_head_attention", lambda: flat(mh())),
    "135_multi_weights_mean.py": ("multi_head_attention", lambda: mh()),
    "136_multi_heads_interleaved.py": ("multi_head_attention", lambda: mh(D=4)),
    "137_multi_scale_on_bias.py": ("multi_head_attention", lambda: mh(biases=True)),
    "138_glorot_fan_in.py": ("glorot_normal", lambda: dict(fan_in=32, fan_out=256, seed=1)),
    "139_glorot_twelve_uniforms.py": ("glorot_normal", lambda: dict(fan_in=2000, fan_out=2000, seed=1)),
    "140_glorot_rows_repeat.py": ("glorot_normal", lambda: dict(fan_in=64, fan_out=64, seed=1)),
    "141_frequencies_dynamic_short.py": ("rotary_frequencies", lambda: dict(width=8, scaling='dynamic', factor=2, original_length=64, sequence_length=50)),
    "142_frequencies_llama_waves.py": ("rotary_frequencies", lambda: dict(width=16, scaling='llama3', factor=8, original_length=256, low_frequency_factor=1, high_frequency_factor=4)),
    "143_frequencies_yarn_bound.py": ("rotary_frequencies", lambda: dict(width=8, scaling='yarn', factor=4, original_length=1000000, theta=100)),
    "144_frequencies_yarn_magnitude.py": ("rotary_frequencies", lambda: dict(width=8, scaling='yarn', factor=4, original_length=4096, magnitude_scaling=.5)),
    "145_frequencies_longrope_edge.py": ("rotary_frequencies", lambda: dict(width=8, scaling='longrope', sequence_length=64, short_factors=[1., 2, 3, 4], long_factors=[2., 4, 6, 8], factor=4, original_length=64)),
    "146_frequencies_proportional_width.py": ("rotary_frequencies", lambda: dict(width=8, scaling='proportional', proportion=.5)),
    "147_frequencies_given_factor_linear.py": ("rotary_frequencies", lambda: dict(width=8, scaling='linear', factor=2, attention_factor=1.5)),
    "148_frequencies_yarn_truncate_low.py": ("rotary_frequencies", lambda: dict(width=16, scaling='yarn', factor=4, original_length=4096, truncate=False)),
    "149_frequencies_lists_cut.py": ("rotary_frequencies", lambda: dict(width=6, scaling='longrope', short_factors=[1., 2, 3, 4], long_factors=[2., 4, 6, 8], factor=4, original_length=64)),
    "150_tables_consecutive.py": ("rotary_tables", lambda: dict(position_ids=np.array([[0, 3, 1], [7, 5, 5]]), inverse_frequencies=np.array([1., .1]))),
    "151_tables_first_batch.py": ("rotary_tables", lambda: dict(position_ids=np.array([[0, 3, 1], [7, 5, 5]]), inverse_frequencies=np.array([1., .1]))),
    "152_tables_phase_single.py": ("rotary_tables", lambda: dict(position_ids=np.array([[0, 3, 1], [7, 5, 5]]), inverse_frequencies=np.array([1., .1]))),
    "153_tables_positions_short.py": ("rotary_tables", lambda: dict(position_ids=np.array([[65536, 131071]]), inverse_frequencies=np.array([1., .1]))),
    "154_tables_sine_by_root.py": ("rotary_tables", lambda: dict(position_ids=np.array([[7, 8]]), inverse_frequencies=np.array([1., .1]))),
    "155_tables_kept_by_length.py": ("rotary_tables", lambda: [dict(position_ids=np.array([[0, 3, 1], [7, 5, 5]]), inverse_frequencies=np.array([1., .1])), dict(position_ids=np.array([[0, 3, 1], [7, 5, 5]]), inverse_frequencies=np.array([1., .3]))]),
    "156_rotary_sequential.py": ("apply_rotary", lambda: ro()),
    "157_rotary_half_of_all.py": ("apply_rotary", lambda: ro(E=6, R=4)),
    "158_rotary_first_tables.py": ("apply_rotary", lambda: ro()),
    "159_rotary_guess_axis.py": ("apply_rotary", lambda: ro(H=3)),
    "160_rotary_by_matrix.py": ("apply_rotary", lambda: put(ro(), 'x', (0, 0, 1, 0), np.nan)),
    "161_rotary_wide_tables.py": ("apply_rotary", lambda: ro(E=4, R=6)),
    "162_rotary_pairs_by_two.py": ("apply_rotary", lambda: ro(E=6, R=6)),
    "163_rotary_in_place.py": ("apply_rotary", lambda: ro()),
    "164_rotary_rest_zero.py": ("apply_rotary", lambda: ro(E=6, R=4, pairing='interleaved')),
}


def main():
    failed = 0
    only = sys.argv[1:]
    for path in sorted((HERE / "wrong").glob("*.py")):
        if only and not any(o in path.name for o in only):
            continue
        operation, make = WITNESSES[path.name]
        module = load(path)
        calls = make()
        with np.errstate(all="ignore"):
            if operation == "glorot_normal":
                worst, differs = judge_glorot(module, calls)
            else:
                worst, differs = judge(module, operation, calls)
        failed += not differs
        print(f"wrong/{path.name:45} {worst:12.3g}  {'DIFFERS' if differs else 'SAME'}")
    for path in sorted((HERE / "right").glob("*.py")):
        if only and not any(o in path.name for o in only):
            continue
        with np.errstate(all="ignore"):
            tried, worst, bad = right_file(path)
        failed += bad > 0
        print(f"right/{path.name:45} {worst:12.3g}  {tried} inputs, {bad} differ")
    print("files that are not as they should be:", failed)


if __name__ == "__main__":
    main()
