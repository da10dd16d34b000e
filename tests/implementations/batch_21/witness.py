"""Every wrong file on an input that shows it, every right file on many that do not. Also: how often random inputs show each."""
import importlib.util
import pathlib
import sys
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402

import base  # noqa: E402

warnings.simplefilter("ignore")
TOL = {"float64": 1e-9, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}
DT = {"float64": np.float64, "float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def load(path):
    spec = importlib.util.spec_from_file_location("m_" + path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


OPS = ["scaled_dot_product_attention", "apply_rotary", "rotary_tables", "rotary_frequencies", "multi_head_attention",
       "single_head_attention", "softmax", "causal_mask", "split_heads", "combine_heads", "context_vector"]
MAIN = {"scaled_dot_product_attention": "output", "rotary_tables": "cos", "context_vector": "context"}


def operation(module):
    return [op for op in OPS if op in vars(module)]


def reference(op, layout):
    if op != "scaled_dot_product_attention":
        return getattr(base, op)
    return getattr(base, layout) if layout else base.sdpa


def named(result, op):
    return result if isinstance(result, dict) else {MAIN.get(op, "output"): result}


def call(function, args):
    try:
        return function(**args)
    except Exception as error:  # noqa: BLE001
        return error


def same(got, want, op, args, tol=None, base2=False, exact=False):
    """None, or what differs."""
    if isinstance(want, Exception) or isinstance(got, Exception):
        return None if isinstance(want, Exception) and isinstance(got, Exception) else f"{got!r:.70} / {want!r:.70}"
    got, want = named(got, op), named(want, op)
    counts = args.get("query_lengths")
    for name, g in got.items():
        if name not in want:
            continue
        w = want[name]
        if np.shape(g) != np.shape(w):
            return f"{name}: shape {np.shape(g)} / {np.shape(w)}"
        g64, w64 = base.up(g), base.up(w)
        if base2 and name == "logsumexp":
            g64 = g64 * np.log(2)
        if counts is not None and name in ("output", "logsumexp", "weights"):
            for b, n in enumerate(counts):
                g64[b, :, n:] = w64[b, :, n:] = 0
        if (np.isnan(g64) != np.isnan(w64)).any():
            return f"{name}: NaN"
        inf = np.isinf(g64) | np.isinf(w64)
        if (g64[inf] != w64[inf]).any():
            return f"{name}: infinity"
        ok = ~inf & ~np.isnan(w64)
        limit = tol or max(TOL.get(np.asarray(w).dtype.name, 1e-9), TOL.get(dtype_of(args), 1e-9))
        if not ok.any():
            continue
        # relative to the size of the numbers, with room for a log of large numbers
        size = np.maximum(np.abs(w64), 0.05 * np.abs(w64[ok]).max())
        if exact:
            if np.asarray(g).tobytes() != np.asarray(w).tobytes():
                return f"{name}: bits"
            continue
        worst = (np.abs(g64 - w64)[ok] / (limit * size[ok] + 1e-300)).max()
        if worst > 4:
            return f"{name}: {worst:.3g} times the tolerance"
    return None


def dtype_of(args):
    if "output_dtype" in args:
        return args["output_dtype"]
    for name in ("query", "x", "encoder_states", "inverse_frequencies"):
        if name in args:
            return np.asarray(args[name]).dtype.name
    return "float64"


# ---- random inputs ---------------------------------------------------------------------------------------------------


def pick(r, *options):
    return options[r.integers(len(options))]


def normal(r, shape, dtype, size=1.0):
    return (r.standard_normal(shape) * size).astype(DT[dtype])


def options(r, hq, dtype):
    o = {"is_causal": bool(r.random() < 0.5), "causal_alignment": pick(r, "top_left", "bottom_right")}
    if r.random() < 0.3:
        o["scale"] = float(r.choice([0.0, -0.5, 1.0, 0.3]))
    if r.random() < 0.25:
        o["softcap"] = float(r.choice([0.0, 2.0, 5.0]))
    if r.random() < 0.35:
        o["window"] = [pick(r, None, 0, 1, 3, 9), pick(r, None, 0, 1, 3)]
    if r.random() < 0.3:
        o["sinks"] = normal(r, hq, dtype)
    if r.random() < 0.3:
        o["alibi_slopes"] = np.abs(normal(r, hq, dtype, 0.3))
    return o


def random_mask(r, shape, dtype):
    if r.random() < 0.5:
        return r.random(shape) < 0.7
    m = normal(r, shape, dtype)
    m[r.random(shape) < 0.2] = -np.inf
    return m


def draw_packed(r):
    dtype = pick(r, *DT)
    hkv, g, b = int(r.integers(1, 4)), int(r.integers(1, 4)), int(r.integers(1, 5))
    e, ev = int(r.integers(1, 9)), int(r.integers(1, 9))
    n, L = r.integers(0, 24, b), r.integers(0, 24, b)
    if r.random() < 0.3:
        L = n
    qs, ks = (np.concatenate([[0], np.cumsum(c)]).astype(np.int32) for c in (n, L))
    a = dict(query=normal(r, (qs[-1], hkv * g, e), dtype), key=normal(r, (ks[-1], hkv, e), dtype),
             value=normal(r, (ks[-1], hkv, ev), dtype), query_starts=qs, key_starts=ks, **options(r, hkv * g, dtype))
    if r.random() < 0.3:
        most = int(max(L.max(), 1)) + int(r.integers(3))
        a["mask"] = random_mask(r, pick(r, (1, most), (hkv * g, 1, most), (1, 1, 1, most)), dtype)
    if r.random() < 0.1 and len(a["value"]):
        a["value"][r.integers(len(a["value"]))] = np.nan
    return a


def draw_paged(r, heads_first, csr):
    dtype = pick(r, *DT)
    hkv, g, b = int(r.integers(1, 4)), int(r.integers(1, 4)), int(r.integers(1, 5))
    e, ev, size, sq = int(r.integers(1, 9)), int(r.integers(1, 9)), int(pick(r, 1, 2, 3, 4, 5, 7, 8, 16, 16, 24, 32)), int(r.integers(1, 6))
    L = r.integers(0, 45, b)
    need = -(-L // size)
    total = int(need.sum()) + 2
    perm = r.permutation(total)
    k = np.full((total, size, hkv, e), np.nan)
    v = np.full((total, size, hkv, ev), np.nan)
    most = int(need.max()) + int(r.integers(2))
    table = r.integers(0, total, (b, most))
    at, lists = 0, []
    for i in range(b):
        mine = perm[at:at + need[i]]
        at += need[i]
        if i and r.random() < 0.4:  # shared pages
            c = min(need[i], need[i - 1])
            mine[:c] = lists[-1][:c]
        lists.append(mine.copy())
        table[i, :need[i]] = mine
        for c, page in enumerate(mine):
            fill = min(size, L[i] - c * size)
            hole = np.isnan(k[page, :fill, 0, 0])
            k[page, :fill][hole] = r.standard_normal((hole.sum(), hkv, e))
            v[page, :fill][hole] = r.standard_normal((hole.sum(), hkv, ev))
    k, v = k.astype(DT[dtype]), v.astype(DT[dtype])
    if heads_first:
        k, v = k.swapaxes(1, 2), v.swapaxes(1, 2)
    a = dict(query=normal(r, (b, hkv * g, sq, e), dtype), key_pool=k, value_pool=v, **options(r, hkv * g, dtype))
    if csr:
        a["page_starts"] = np.concatenate([[0], np.cumsum(need)]).astype(np.int32)
        a["page_indices"] = np.concatenate([*lists, r.integers(0, total, 2)]).astype(np.int32)
        a["last_page_length"] = np.where(need > 0, L - (need - 1) * size, r.integers(0, 50, b)).astype(np.int32)
    else:
        a["block_table"], a["key_lengths"] = table.astype(np.int32), L.astype(np.int32)
    if r.random() < 0.4:
        a["query_lengths"] = r.integers(0, sq + 1, b)
    if r.random() < 0.3:
        most = int(max(L.max(), 1)) + int(r.integers(3))
        a["mask"] = random_mask(r, pick(r, (1, most), (hkv * g, 1, most), (1, 1, 1, most)), dtype)
    return a


def draw_plain(r):
    dtype = pick(r, *DT)
    hkv, g, b = int(r.integers(1, 4)), int(r.integers(1, 4)), int(r.integers(1, 4))
    e, ev, sq, sk = int(r.integers(1, 9)), int(r.integers(1, 9)), int(r.integers(1, 7)), int(r.integers(0, 40))
    a = dict(query=normal(r, (b, hkv * g, sq, e), dtype), key=normal(r, (b, hkv, sk, e), dtype),
             value=normal(r, (b, hkv, sk, ev), dtype), **options(r, hkv * g, dtype))
    past = 0
    kind = r.random()
    if kind < 0.4:
        past = int(r.integers(0, 20))
        a["past_key"], a["past_value"] = normal(r, (b, hkv, past, e), dtype), normal(r, (b, hkv, past, ev), dtype)
    elif kind < 0.7:
        a["key_lengths"] = r.integers(0, sk + 1, b)
        if r.random() < 0.5:
            a["query_lengths"] = r.integers(0, sq + 1, b)
    if r.random() < 0.4:
        n, hq = past + sk, hkv * g
        a["mask"] = random_mask(r, pick(r, (sq, n), (hq, 1, n), (b, 1, sq, n), (1, hq, sq, n)), dtype)
    if r.random() < 0.5:
        def scale():
            return np.abs(r.standard_normal(pick(r, (), (hkv,), (b, hkv), (b, 1)))).astype(np.float32) * np.float32(0.02) + np.float32(0.005)

        def number(shape):
            q = pick(r, np.int8, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)
            return (r.integers(-128, 128, shape) if q is np.int8 else r.standard_normal(shape) * 30).astype(q)

        kq = number((1,)).dtype
        both = r.random() < 0.7
        if both:
            a["key_scale"], a["key"] = scale(), (r.integers(-128, 128, a["key"].shape)).astype(kq)
            if past or "past_key" in a:
                a["past_key"] = r.integers(-128, 128, a["past_key"].shape).astype(kq)
        if r.random() < 0.7:
            a["value_scale"], a["value"] = scale(), r.integers(-128, 128, a["value"].shape).astype(kq)
            if past or "past_value" in a:
                a["past_value"] = r.integers(-128, 128, a["past_value"].shape).astype(kq)
        if r.random() < 0.4:
            a["query_scale"], a["query"] = scale(), r.integers(-128, 128, a["query"].shape).astype(kq)
            a["output_dtype"] = dtype
    return a


def draw_rotary(r):
    dtype = pick(r, *DT)
    b, h, s, e = int(r.integers(1, 5)), int(r.integers(1, 4)), int(r.integers(1, 90)), int(r.integers(2, 14))
    half = int(r.integers(1, e // 2 + 1))
    ang = r.standard_normal((b, s, half)) * 3
    if r.random() < 0.3:
        ang = np.repeat(ang[:1], b, axis=0)
    a = dict(x=normal(r, (b, h, s, e), dtype), cos=np.cos(ang).astype(DT[dtype]), sin=np.sin(ang).astype(DT[dtype]))
    if r.random() < 0.7:
        a["pairing"] = pick(r, "half", "interleaved")
    if r.random() < 0.15:
        a["x"][0, 0, 0, r.integers(e)] = pick(r, np.nan, np.inf, -0.0)
    return a


def draw_tables(r):
    dtype = pick(r, "float64", "float64", "float32", "float16", "bfloat16")
    b, s, half = int(r.integers(1, 4)), int(r.integers(1, 9)), int(r.integers(1, 9))
    ids = pick(r, r.integers(0, 300, (b, s)), np.tile(np.arange(s), (b, 1)), np.tile(r.permutation(s), (b, 1)),
               np.tile(np.arange(s) + 70, (b, 1)))
    if r.random() < 0.2:
        ids = np.asfortranarray(ids)
    f = (10.0 ** (-r.integers(2, 6) * np.arange(half) / half)).astype(DT[dtype])
    a = dict(position_ids=ids, inverse_frequencies=f)
    if r.random() < 0.4:
        a["attention_factor"] = 1.25
    return a


def draw_frequencies(r):
    width = int(r.integers(2, 17)) * 2
    kind = pick(r, *base.SCALINGS)
    a = dict(width=width, scaling=kind)
    if r.random() < 0.5:
        a["theta"] = float(pick(r, 500.0, 10000.0, 500000.0))
    if kind not in ("none", "proportional") or r.random() < 0.3:
        a["factor"] = float(pick(r, 2.0, 4.0, 8.0))
    if kind not in ("none", "linear", "proportional"):
        a["original_length"] = int(pick(r, 64, 2048, 4096))
    if kind in ("dynamic", "longrope") and r.random() < 0.8:
        a["sequence_length"] = int(a["original_length"] * pick(r, 0.5, 1, 1.5, 2, 4))
    if kind == "llama3":
        a |= dict(low_frequency_factor=1.0, high_frequency_factor=4.0)
    if kind == "longrope":
        a |= dict(short_factors=list(r.uniform(1, 2, width // 2)), long_factors=list(r.uniform(2, 9, width // 2)))
    if kind == "proportional":
        a["proportion"] = float(pick(r, 0.0, 0.25, 0.5, 1.0))
    if kind == "yarn":
        if r.random() < 0.4:
            a["truncate"] = False
        if r.random() < 0.4:
            a["magnitude_scaling"] = 0.7
        if r.random() < 0.4:
            a["magnitude_scaling_all_dimensions"] = float(pick(r, 0.0, 1.2))
    if r.random() < 0.2:
        a["attention_factor"] = 1.5
    return a


def draw_multi(r):
    dtype = pick(r, *DT)
    h, e, b, sq, sk = int(r.integers(1, 7)), int(r.integers(1, 5)), int(r.integers(1, 4)), int(r.integers(1, 12)), int(r.integers(1, 40))
    if r.random() < 0.4:
        sk = sq
    d = h * e
    a = {n: normal(r, (b, s, d), dtype) for n, s in (("query", sq), ("key", sk), ("value", sk))}
    if sq == sk and r.random() < 0.4:
        a["key"] = a["value"] = a["query"]
    a |= {n: normal(r, (d, d), dtype, d**-0.5) for n in ("w_query", "w_key", "w_value", "w_output")}
    a |= {n: normal(r, d, dtype) for n in ("b_query", "b_key", "b_value", "b_output") if r.random() < 0.6}
    a |= dict(num_heads=h, is_causal=bool(r.random() < 0.4))
    if r.random() < 0.5:
        a["mask"] = random_mask(r, pick(r, (sq, sk), (h, sq, sk), (1, sq, sk), (b, 1, sq, sk), (b, h, sq, sk)), dtype)
    if r.random() < 0.2:
        a["scale"] = 0.4
    return a


def draw_single(r):
    dtype = pick(r, *DT)
    s, d, k, v = int(r.integers(1, 9)), int(r.integers(1, 12)), int(r.integers(1, 40)), int(r.integers(1, 9))
    a = dict(x=normal(r, (s, d), dtype), w_query=normal(r, (d, k), dtype, 0.5), w_key=normal(r, (d, k), dtype, 0.5), w_value=normal(r, (d, v), dtype))
    if r.random() < 0.5:
        a["w_output"] = normal(r, (v, 3), dtype)
    if r.random() < 0.4:
        a["scale"] = float(pick(r, 0.0, 1.0, -0.3))
    if r.random() < 0.2:
        a["x"] = normal(r, (s, 2 * d), dtype)[:, ::2]
    return a


def draw_softmax(r):
    dtype = pick(r, *DT)
    shape = tuple(int(n) for n in r.integers(1, 9, r.integers(1, 5)))
    if r.random() < 0.3:
        shape = (3, int(r.integers(20, 200)))
    x = normal(r, shape, dtype, float(pick(r, 1.0, 10.0, 1000.0)))
    a = dict(x=x)
    if r.random() < 0.6:
        a["axis"] = pick(r, None, *range(-len(shape), len(shape)))
    if r.random() < 0.2 and shape[-1] > 2:
        x[..., 0] = -np.inf
        a.pop("axis", None)
    return a


def draw_mask(r):
    a = dict(query_length=int(r.integers(0, 40)))
    if r.random() < 0.6:
        a["key_length"] = int(r.integers(0, 40))
    if r.random() < 0.6:
        a["offset"] = int(r.integers(-10, 20))
    if r.random() < 0.5:
        a["additive"] = True
    return a


DRAW = {
    "packed": draw_packed, "paged": lambda r: draw_paged(r, False, False), "paged_heads_first": lambda r: draw_paged(r, True, False),
    "paged_csr": lambda r: draw_paged(r, False, True), "paged_csr_heads_first": lambda r: draw_paged(r, True, True),
    "scaled_dot_product_attention": draw_plain, "apply_rotary": draw_rotary, "rotary_tables": draw_tables,
    "rotary_frequencies": draw_frequencies, "multi_head_attention": draw_multi, "single_head_attention": draw_single,
    "softmax": draw_softmax, "causal_mask": draw_mask,
    "split_heads": lambda r: (lambda h: dict(x=normal(r, (2, int(r.integers(1, 6)), h * int(r.integers(1, 5)) + int(r.random() < 0.1)), "float32"), num_heads=h))(int(r.integers(1, 5))),
    "combine_heads": lambda r: dict(x=normal(r, tuple(int(i) for i in r.integers(1, 6, 4)), "float32")),
    "context_vector": lambda r: (lambda d: dict(encoder_states=normal(r, (int(r.integers(1, 8)), d), "float32"), decoder_state=normal(r, d, "float32")))(int(r.integers(1, 8))),
}


# ---- the inputs that show ------------------------------------------------------------------------------------------


def rng(n):
    return np.random.default_rng(n)


def heads(r, b, hq, hkv, sq, sk, e=4, past=None):
    a = dict(query=r.standard_normal((b, hq, sq, e)), key=r.standard_normal((b, hkv, sk, e)), value=r.standard_normal((b, hkv, sk, e)))
    if past:
        a |= dict(past_key=r.standard_normal((b, hkv, past, e)), past_value=r.standard_normal((b, hkv, past, e)))
    return a


def packs(r, n, L, hq=2, hkv=1, e=4):
    qs, ks = (np.concatenate([[0], np.cumsum(c)]).astype(np.int32) for c in (n, L))
    return dict(query=r.standard_normal((qs[-1], hq, e)), key=r.standard_normal((ks[-1], hkv, e)), value=r.standard_normal((ks[-1], hkv, e)),
                query_starts=qs, key_starts=ks)


def pools(r, pages, size, hkv=1, e=4, first=False):
    shape = (pages, hkv, size, e) if first else (pages, size, hkv, e)
    return dict(key_pool=r.standard_normal(shape), value_pool=r.standard_normal(shape))


def multi(r, b, sq, sk, d, h, dtype="float64", size=1.0, **more):
    a = {n: normal(r, (b, s, d), dtype, size) for n, s in (("query", sq), ("key", sk), ("value", sk))}
    return a | {n: normal(r, (d, d), dtype, d**-0.5) for n in ("w_query", "w_key", "w_value", "w_output")} | dict(num_heads=h) | more


def w(number):
    """Calls of one after the other; the last one shows."""
    r = rng(number)
    if number == 1:
        return [packs(r, [2, 3], [3, 2])]
    if number == 2:
        a = packs(r, [2, 2], [3, 4])
        a["value"][3] = np.nan
        return [a]
    if number == 3:
        return [packs(r, [1], [17]) | dict(is_causal=True, causal_alignment="bottom_right")]
    if number == 4:
        return [dict(query=r.standard_normal((1, 2, 1, 4)), **pools(r, 4, 24), block_table=np.array([[2, 0]]), key_lengths=np.array([40]))]
    if number == 5:
        return [dict(query=r.standard_normal((2, 2, 1, 4)), **pools(r, 4, 4), block_table=np.array([[2, 0], [2, 1]]), key_lengths=np.array([3, 7]))]
    if number == 6:
        a = dict(query=r.standard_normal((1, 2, 1, 4)), **pools(r, 4, 4), page_starts=np.array([0, 2]), last_page_length=np.array([3]))
        return [a | dict(page_indices=np.array([0, 1])), a | dict(page_indices=np.array([3, 2]))]
    if number == 7:
        return [dict(query=r.standard_normal((2, 2, 1, 4)), **pools(r, 4, 4), page_starts=np.array([0, 0, 2]), page_indices=np.array([3, 1]),
                     last_page_length=np.array([9, 3]))]
    if number == 8:
        return [dict(query=r.standard_normal((1, 2, 1, 4)), **pools(r, 12, 4, first=True), block_table=np.arange(10)[None], key_lengths=np.array([38]),
                     sinks=np.array([0.5, 1.0]))]
    if number == 9:
        return [dict(query=r.standard_normal((1, 2, 2, 4)), **pools(r, 12, 4, first=True), block_table=np.arange(10)[None], key_lengths=np.array([20]),
                     alibi_slopes=np.array([0.5, 1.0]), window=[3, 3], causal_alignment="bottom_right", query_lengths=np.array([2]))
                | dict(causal_alignment="bottom_right", query=r.standard_normal((1, 2, 4, 4)), query_lengths=np.array([4]))]
    if number == 10:
        a = heads(r, 1, 2, 1, 2, 3)
        a = {n: np.full(t.shape, 100, np.int8) for n, t in a.items()}
        a["key"][0, 0, 1] = 10
        return [a | dict(query_scale=np.float32(0.01), key_scale=np.float32(0.01), value_scale=np.float32(0.01), output_dtype="float32") | dict(value=r.integers(-100, 100, (1, 1, 3, 4)).astype(np.int8))]
    if number == 11:
        a = heads(r, 1, 2, 1, 2, 3)
        a["key"] = r.integers(-100, 100, a["key"].shape).astype(np.int8)
        return [a | dict(key_scale=np.float32(0.02), mask=r.standard_normal((2, 3)))]
    if number == 12:
        return [heads(r, 1, 2, 1, 1, 3, past=2) | dict(is_causal=True)]
    if number == 13:
        return [heads(r, 1, 2, 1, 2, 34, past=3)]
    if number == 14:
        return [dict(query=r.standard_normal((1, 4, 1, 4)), **pools(r, 4, 4, hkv=2, first=True), page_starts=np.array([0, 2]), page_indices=np.array([3, 1]),
                     last_page_length=np.array([3]))]
    if number == 15:
        x = r.standard_normal((1, 1, 2, 6))
        x[0, 0, 0, 4] = np.inf
        t = r.standard_normal((1, 2, 2))
        return [dict(x=x, cos=np.cos(t), sin=np.sin(t))]
    if number == 16:
        t = r.standard_normal((3, 2, 2))
        t[2] = t[0]
        return [dict(x=r.standard_normal((3, 1, 2, 4)), cos=np.cos(t), sin=np.sin(t))]
    if number == 17:
        t = r.standard_normal((1, 80, 2))
        return [dict(x=r.standard_normal((1, 1, 80, 4)), cos=np.cos(t), sin=np.sin(t))]
    if number == 18:
        return [dict(position_ids=np.array([[0, 2, 1, 3]]), inverse_frequencies=np.array([1.0, 0.1]))]
    if number == 19:
        a = dict(position_ids=np.array([[0, 2, 1, 3]]))
        return [a | dict(inverse_frequencies=np.array([1.0, 0.1])), a | dict(inverse_frequencies=np.array([1.0, 0.2]))]
    if number == 20:
        return [dict(position_ids=np.asfortranarray(np.array([[0, 1, 2], [5, 6, 7]])), inverse_frequencies=np.array([1.0, 0.1]))]
    if number == 21:
        return [dict(width=16, scaling="yarn", factor=4.0, original_length=4096, magnitude_scaling=0.7)]
    if number == 22:
        a = dict(width=16, scaling="dynamic", factor=4.0, original_length=64)
        return [a | dict(sequence_length=512), a | dict(sequence_length=128)]
    if number == 23:
        return [dict(width=4, scaling="longrope", factor=4.0, original_length=64, sequence_length=64, short_factors=[1.0, 2.0], long_factors=[3.0, 4.0])]
    if number == 24:
        return [multi(r, 1, 3, 3, 8, 2)]
    if number == 25:
        a = multi(r, 1, 3, 3, 8, 2)
        big = r.standard_normal((3, 1, 3, 8))
        return [a | dict(query=big[0], key=big[1], value=big[2])]
    if number == 26:
        return [multi(r, 1, 3, 3, 8, 2, b_value=np.arange(8.0))]
    if number == 27:
        return [multi(r, 2, 3, 3, 8, 2, mask=np.random.default_rng(5).random((2, 3, 3)) < 0.6)]
    if number == 28:
        return [multi(r, 1, 2, 3, 8, 2, b_output=np.arange(8.0), mask=np.array([[False] * 3, [True] * 3]))]
    if number == 29:
        return [multi(r, 1, 2, 4, 8, 2, is_causal=True)]
    if number == 30:
        return [multi(r, 1, 2, 3, 6, 6, mask=r.standard_normal((6, 2, 3)))]
    if number == 31:
        return [multi(r, 1, 2, 3, 64, 1, dtype="float16", size=150.0, scale=0.0005)]
    if number == 32:
        return [multi(r, 1, 4, 40, 8, 2)]
    if number == 33:
        m = np.ones((1, 2, 3, 3), bool)
        return [multi(r, 1, 3, 3, 8, 2, mask=m, is_causal=True), multi(rng(1), 1, 3, 3, 8, 2, mask=m)]
    one = dict(x=r.standard_normal((5, 4)), w_query=r.standard_normal((4, 6)), w_key=r.standard_normal((4, 6)), w_value=r.standard_normal((4, 3)))
    if number == 34:
        return [one | dict(scale=0.0)]
    if number in (35, 36):
        return [one]
    if number == 37:
        return [one | dict(w_query=r.standard_normal((4, 18)), w_key=r.standard_normal((4, 18)))]
    if number == 38:
        return [one | dict(x=r.standard_normal((5, 8))[:, ::2])]
    if number == 39:
        return [dict(x=r.standard_normal((2, 3)), axis=None)]
    if number == 40:
        return [dict(x=np.array([-2e30, -2e30, -3e30]))]
    if number == 41:
        return [dict(x=np.concatenate([np.full(32, -np.inf), r.standard_normal(8)]))]
    if number == 42:
        return [dict(x=normal(r, (1, 8192), "bfloat16", 0.01))]
    if number == 43:
        return [dict(x=r.standard_normal((2, 3, 4)), axis=1)]
    if number == 44:
        return [dict(query_length=16, key_length=24, offset=8)]
    if number == 45:
        return [dict(x=r.standard_normal((1, 2, 7)), num_heads=2)]
    if number == 46:
        x = r.standard_normal((1, 2, 2, 3))
        x[0, 0, 0, 0] = np.nan
        return [dict(x=x)]
    if number == 47:
        return [dict(encoder_states=r.standard_normal((3, 4)), decoder_state=np.array([2.0]))]


def main():
    bad = 0
    for path in sorted((HERE / "wrong").glob("*.py")):
        module, number = load(path), int(path.stem[:3])
        op = operation(module)[0]
        layout = getattr(module, "layout", None)
        calls = w(number)
        why = None
        for n, a in enumerate(calls):
            want = call(reference(op, layout), {k: np.array(v) if isinstance(v, np.ndarray) else v for k, v in a.items()})
            before = {k: np.array(v) for k, v in a.items() if isinstance(v, np.ndarray)}
            got = call(getattr(module, op), a)
            why = same(got, want, op, a)
            for k, v in before.items():
                if v.tobytes() != np.array(a[k]).tobytes():
                    why = f"{k} was written to"
                    break
            if why and n < len(calls) - 1 and "written" not in why:
                print("   shown by an earlier call already", path.stem, why)
            if why:
                break
        shown = why
        # how often random inputs show it
        r, many, hits, first = rng(1000 + number), 150, 0, None
        fresh = load(path)
        for _ in range(many):
            a = DRAW[layout or op](r)
            want = call(reference(op, layout), a)
            got = call(getattr(fresh, op), {k: np.array(v) if isinstance(v, np.ndarray) and number in (33,) else v for k, v in a.items()})
            why = same(got, want, op, a)
            if why:
                hits += 1
                first = first or why
        print(f"{'ok ' if shown else 'NOT SHOWN'} {path.stem:42s} {str(shown):45.45s} random {hits}/{many} {first or ''}")
        bad += not shown
    for path in sorted((HERE / "right").glob("*.py")):
        module = load(path)
        for op in operation(module):
            layout = getattr(module, "layout", None)
            conv = getattr(module, "conventions", {})
            r, hits = rng(7), 0
            for n in range(800):
                a = DRAW[layout or op](r)
                tol = 2e-4 if conv.get("accumulation") == "float32" and dtype_of(a) in ("float64", "float32") else None
                why = same(call(getattr(module, op), a), call(reference(op, layout), a), op, a, tol, conv.get("logsumexp_base") == "2")
                if why:
                    hits += 1
                    print("   ", path.stem, op, n, why)
                    bad += 1
            print(f"{'ok ' if not hits else 'DIFFERS'} {path.stem} {op}: {hits}/800")
    print("all shown, none of the right ones" if not bad else f"{bad} to look at")


if __name__ == "__main__":
    main()
