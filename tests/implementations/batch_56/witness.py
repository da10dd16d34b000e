"""For every wrong file one input within the contract on which it differs from base; for every right file many on which it
agrees. Also: how many random inputs each wrong file fails."""
import copy
import importlib.util
import json
import pathlib
import sys
import warnings

import ml_dtypes
import numpy as np

sys.dont_write_bytecode = True
here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here))
import base

warnings.simplefilter("ignore")
U = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}


def load(file):
    spec = importlib.util.spec_from_file_location("m_" + pathlib.Path(file).stem, here / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def truth(layout, a):
    a = dict(a)
    if layout is None:
        return base.attention(**a)
    if layout == "bshe":
        for name in ("query", "key", "value", "past_key", "past_value"):
            if a.get(name) is not None:
                a[name] = a[name].swapaxes(1, 2)
        return {"output": base.attention(**a)["output"].swapaxes(1, 2)}
    if layout == "packed":
        return base.packed(**a)
    query, k, v = base.pools(a.pop("query"), a.pop("key_pool"), a.pop("value_pool"), layout.endswith("heads_first"))
    if "csr" in layout:
        pages, lengths = base.list_pages(a.pop("page_starts"), a.pop("page_indices"), a.pop("last_page_length"), len(query), k.shape[1])
    else:
        pages, lengths = base.table_pages(a.pop("block_table"), a.pop("key_lengths"), len(query), k.shape[1])
    return base.paged(query, k, v, pages, lengths, **a)


def differ(got, owed, dtype, a, loose):
    """Names of outputs that differ."""
    bad = []
    for name in got:
        x, y = np.asarray(got[name]), np.asarray(owed[name])
        if x.shape != y.shape:
            bad.append(name)
            continue
        if name == "output" and x.dtype != y.dtype:
            bad.append(name)
            continue
        x, y = x.astype(np.float64), y.astype(np.float64)
        if a.get("query_lengths") is not None and name in ("output", "logsumexp", "weights", "scores", "logits"):
            for b, n in enumerate(a["query_lengths"]):
                x[b, :, n:], y[b, :, n:] = 0, 0
        u = U[dtype]
        if name != "output" and dtype in ("float16", "bfloat16"):
            u = U["float32"]
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        with np.errstate(all="ignore"):
            near = np.abs(x - y) <= loose * u * (1 + np.abs(y) + (np.nanmax(np.where(np.isfinite(y), np.abs(y), 0), initial=0)))
        if not (same | near).all():
            bad.append(name)
    return bad


def frozen(a):
    return {n: (x.tobytes(), x.shape) if isinstance(x, np.ndarray) else copy.deepcopy(x) for n, x in a.items()}


def call(module, layout, a, loose=64):
    before = frozen(a)
    dtype = a["output_dtype"] if a.get("output_dtype") else a["query"].dtype.name
    try:
        owed = truth(layout, a)
    except ValueError:
        try:
            module.scaled_dot_product_attention(**a)
        except Exception:
            return []
        return ["not refused"]
    try:
        got = module.scaled_dot_product_attention(**a)
    except Exception as e:
        return ["raised " + repr(e)[:80]]
    bad = differ(got, owed, dtype, a, loose)
    return bad + (["inputs changed"] if frozen(a) != before else [])


def memory(r, x):
    """The same numbers, lying otherwise."""
    way = r.integers(5)
    if way == 1:
        order = r.permutation(x.ndim)
        return np.ascontiguousarray(x.transpose(order)).transpose(np.argsort(order))
    if way == 2 and x.ndim:
        return np.ascontiguousarray(x[..., ::-1])[..., ::-1]
    if way == 3 and x.ndim:
        room = np.zeros(x.shape[:-1] + (x.shape[-1] * 2 + 1,), x.dtype)
        room[..., : x.shape[-1] * 2 : 2] = x
        return room[..., : x.shape[-1] * 2 : 2]
    return x.copy()


def numbers(r, shape, dtype):
    return memory(r, r.standard_normal(shape).astype(base.dtype_of(dtype)))


def attributes(r, a, Hq, dtype):
    a["is_causal"] = bool(r.random() < .4)
    a["causal_alignment"] = str(r.choice(["top_left", "bottom_right"]))
    if r.random() < .3:
        a["scale"] = float(r.choice([0, -.5, .3, 2]))
    if r.random() < .25:
        a["softcap"] = float(r.choice([0, 1.5, 4]))
    if r.random() < .35:
        a["window"] = [None if r.random() < .3 else int(r.integers(0, 6)) for _ in range(2)]
    if r.random() < .3:
        a["sinks"] = r.standard_normal(Hq).astype(base.dtype_of(dtype))
    if r.random() < .3:
        a["alibi_slopes"] = r.random(Hq).astype(base.dtype_of(dtype))
    return a


def masks(r, a, shape, dtype):
    shape = tuple(n if r.random() < .6 else 1 for n in shape[:-1]) + shape[-1:]
    shape = shape[r.integers(0, 3):]
    if r.random() < .5:
        a["mask"] = r.random(shape) < .7
    else:
        m = r.standard_normal(shape)
        m[r.random(shape) < .2] = -np.inf
        a["mask"] = m.astype(base.dtype_of(dtype))


def plain(r, layout=None):
    dtype = str(r.choice(["float64", "float64", "float32", "bfloat16", "float16"]))
    B, Hkv, G = int(r.integers(0, 4)) if r.random() < .1 else int(r.integers(1, 4)), int(r.integers(1, 4)), int(r.integers(1, 4))
    Sq, Sk, E, Ev = int(r.integers(1, 7)), int(r.integers(0, 20)), int(r.integers(1, 6)), int(r.integers(1, 6))
    if r.random() < .2:
        Sq = Sk
    if r.random() < .2:
        Sq = 1
    Hq = Hkv * G
    a = dict(query=numbers(r, (B, Hq, Sq, E), dtype), key=numbers(r, (B, Hkv, Sk, E), dtype), value=numbers(r, (B, Hkv, Sk, Ev), dtype))
    P, past = 0, r.random() < .35
    if past:
        P = int(r.integers(0, 9))
        a["past_key"], a["past_value"] = numbers(r, (B, Hkv, P, E), dtype), numbers(r, (B, Hkv, P, Ev), dtype)
    elif r.random() < .5:
        if r.random() < .7:
            a["key_lengths"] = r.integers(0, Sk + 1, B)
        if r.random() < .5:
            a["query_lengths"] = r.integers(0, Sq + 1, B)
    attributes(r, a, Hq, dtype)
    if r.random() < .4:
        masks(r, a, (B, Hq, Sq, P + Sk), dtype)
    if r.random() < .3:
        for name in ("query", "key", "value"):
            if r.random() < .7:
                kind = str(r.choice(base.QUANTIZED))
                def some(shape):
                    return r.integers(-128, 128, shape).astype(np.int8) if kind == "int8" else r.standard_normal(shape).astype(base.dtype_of(kind))
                a[name] = some(a[name].shape)
                if past and name != "query":
                    a["past_" + name] = some(a["past_" + name].shape)
                shape = [(), (Hkv,), (1,), (B, Hkv), (B, 1), (1, Hkv)][r.integers(6)]
                a[name + "_scale"] = np.asarray((r.random(shape) + .5) * (.01 if kind == "int8" else 1), dtype=np.float32)
                if name == "query":
                    a["output_dtype"] = dtype
    if layout == "bshe":
        for name in ("query", "key", "value", "past_key", "past_value"):
            if name in a:
                a[name] = a[name].swapaxes(1, 2)
    return a


def packed(r, nan=False):
    dtype = str(r.choice(["float64", "float64", "float32", "bfloat16", "float16"]))
    B, Hkv, G, E, Ev = int(r.integers(0, 5)), int(r.integers(1, 3)), int(r.integers(1, 3)), int(r.integers(1, 5)), int(r.integers(1, 5))
    N, L = r.integers(0, 6, B), r.integers(0, 9, B)
    Hq = Hkv * G
    a = dict(query=numbers(r, (int(N.sum()), Hq, E), dtype), key=numbers(r, (int(L.sum()), Hkv, E), dtype),
             value=numbers(r, (int(L.sum()), Hkv, Ev), dtype),
             query_starts=np.concatenate([[0], np.cumsum(N)]).astype(np.int64), key_starts=np.concatenate([[0], np.cumsum(L)]).astype(np.int64))
    attributes(r, a, Hq, dtype)
    if r.random() < .3:
        masks(r, a, (1, Hq, 1, int(L.max(initial=0))), dtype)
    return a


def paged(r, layout):
    dtype = str(r.choice(["float64", "float64", "float32", "bfloat16", "float16"]))
    B, Hkv, G, E, Ev = int(r.integers(1, 4)), int(r.integers(1, 3)), int(r.integers(1, 3)), int(r.integers(1, 5)), int(r.integers(1, 5))
    Sq, size, pages = int(r.integers(1, 6)), int(r.integers(1, 6)), 8
    Hq = Hkv * G
    kp, vp = r.standard_normal((pages, size, Hkv, E)), r.standard_normal((pages, size, Hkv, Ev))
    L = r.integers(0, 4 * size + 1, B)
    table = np.stack([r.permutation(pages)[:5] for _ in range(B)])
    if r.random() < .3:
        table[:, 0] = table[0, 0]  # one page shared as the first
        for b in range(B):
            rest = [p for p in r.permutation(pages) if p != table[b, 0]]
            table[b, 1:] = rest[:4]
    used = np.zeros((pages, size), bool)
    for b in range(B):
        for j in range(L[b]):
            used[table[b, j // size], j % size] = True
    if r.random() < .3:
        kp[~used], vp[~used] = np.nan, np.nan
    kp, vp = kp.astype(base.dtype_of(dtype)), vp.astype(base.dtype_of(dtype))
    if layout.endswith("heads_first"):
        kp, vp = (np.ascontiguousarray(x.swapaxes(1, 2)) for x in (kp, vp))
    a = dict(query=numbers(r, (B, Hq, Sq, E), dtype), key_pool=memory(r, kp), value_pool=memory(r, vp))
    if "csr" in layout:
        counts = -(-L // size)
        a["page_starts"] = np.concatenate([[0], np.cumsum(counts)])
        a["page_indices"] = np.concatenate([table[b, :counts[b]] for b in range(B)] + [r.integers(0, pages, 2)])
        a["last_page_length"] = np.where(L > 0, L - (counts - 1) * size, r.integers(-3, 12, B))
    else:
        a["block_table"], a["key_lengths"] = table, L
    if r.random() < .4:
        a["query_lengths"] = r.integers(0, Sq + 1, B)
    attributes(r, a, Hq, dtype)
    if r.random() < .3:
        masks(r, a, (1, Hq, 1, int(L.max())), dtype)
    return a


def draw(r, layout):
    if layout is None or layout == "bshe":
        return plain(r, layout)
    return packed(r) if layout == "packed" else paged(r, layout)


R = np.random.default_rng(5)


def n(*shape, dtype="float64"):
    return R.standard_normal(shape).astype(base.dtype_of(dtype))


def qkv(B=1, Hq=1, Hkv=1, Sq=1, Sk=4, E=4, Ev=3, dtype="float64"):
    return dict(query=n(B, Hq, Sq, E, dtype=dtype), key=n(B, Hkv, Sk, E, dtype=dtype), value=n(B, Hkv, Sk, Ev, dtype=dtype))


def pk(N, L, **more):
    return dict(query=n(sum(N), 1, 4), key=n(sum(L), 1, 4), value=n(sum(L), 1, 3), query_starts=np.cumsum([0] + N), key_starts=np.cumsum([0] + L), **more)


br = dict(is_causal=True, causal_alignment="bottom_right")
W = {}
W["past_bottom_right"] = [dict(qkv(Sq=2, Sk=4), past_key=n(1, 1, 3, 4), past_value=n(1, 1, 3, 3), **br)]
W["alibi_unplaced"] = [dict(qkv(Sq=2, Sk=2), past_key=n(1, 1, 3, 4), past_value=n(1, 1, 3, 3), alibi_slopes=np.array([.5]))]
W["equal_extents_offset"] = [dict(qkv(B=2, Sq=4, Sk=4), key_lengths=np.array([4, 2]), **br)]
W["window_start_of_longest"] = [dict(qkv(B=2, Sq=1, Sk=20), key_lengths=np.array([20, 6]), window=[3, None], causal_alignment="bottom_right")]
a = qkv(Sq=2, Sk=9)
a["query"] = np.abs(a["query"])
a["key"][0, 0, 8] = -np.inf
W["part_of_minus_infinity"] = [a]
W["sink_in_last_part"] = [dict(qkv(B=2, Sq=1, Sk=12), key_lengths=np.array([12, 5]), sinks=np.array([.5]))]
a = qkv(Sq=3, Sk=20)
a["key"][0, 0, 17:] *= 3
W["stale_maximum_logsumexp"] = [a]
W["decode_remainder"] = [qkv(Sq=1, Sk=19)]
W["workspace_not_cleared"] = [qkv(Sk=20), qkv(Sk=6)]
a = qkv()
a["key"], a["value"] = (R.integers(-9, 9, a[x].shape).astype(np.int8) for x in ("key", "value"))
W["products_kept"] = [dict(a, key_scale=np.float32(.1), value_scale=np.float32(s)) for s in (.1, .3)]
W["mask_in_place"] = [dict(qkv(Sq=3, Sk=3), mask=n(1, 1, 3, 3), is_causal=True)]
a = qkv(B=2, Hq=2, Hkv=2, Sq=2, Sk=4)
a["value"] = np.ascontiguousarray(a["value"].swapaxes(1, 2)).swapaxes(1, 2)
W["value_in_order_of_key"] = [a]
W["mask_of_new_keys"] = [dict(qkv(Sq=2, Sk=2), past_key=n(1, 1, 3, 4), past_value=n(1, 1, 3, 3), mask=np.tri(2, dtype=bool))]
W["packed_heads_tile"] = [dict(qkv(Hq=3, Hkv=1, Sq=8, Sk=8), is_causal=True)]
W["decode_sinks_by_key_head"] = [dict(qkv(Hq=4, Hkv=2), sinks=np.array([0., 1, 2, 3]))]
W["maximum_before_scale"] = [dict(qkv(Sq=2, Sk=6, dtype="float32"), scale=-100.0)]
W["alibi_half_positions"] = [dict(qkv(Sq=1, Sk=302, dtype="bfloat16"), alibi_slopes=np.array([1], dtype=ml_dtypes.bfloat16), causal_alignment="bottom_right")]
a = qkv()
a["value"] = a["value"].astype(ml_dtypes.float8_e4m3fn)
a["value"][0, 0, 1, 1] = np.nan
W["float8_by_shift"] = [dict(a, value_scale=np.float32(1))]
a = qkv(B=2, Hq=2, Hkv=2)
a["value"] = R.integers(-99, 99, a["value"].shape).astype(np.int8)
W["scale_by_entry"] = [dict(a, value_scale=np.array([.1, 2], np.float32))]
a = qkv()
a["value"] = R.integers(-99, 99, a["value"].shape).astype(np.int8)
W["key_decides"] = [dict(a, value_scale=np.float32(.1))]
W["products_in_float32"] = [dict(a, value_scale=np.float32(.1))]
a = qkv()
a["query"], a["key"] = np.full(a["query"].shape, 100, np.int8), np.array([20, 60, 80, 120], np.int8).reshape(1, 1, 4, 1) * np.ones(4, np.int8)
W["int16_sums"] = [dict(a, query_scale=np.float32(.01), key_scale=np.float32(.01), output_dtype="float32")]
W["token_first_decode_groups"] = [dict(query=n(1, 1, 4, 4), key=n(1, 5, 2, 4), value=n(1, 5, 2, 3))]
W["packed_markers"] = [pk([2, 0, 3], [2, 3, 4])]
W["packed_one_list"] = [pk([2, 3], [4, 1])]
W["packed_context_clipped"] = [pk([4, 2], [2, 5], **br)]
W["paged_shared_cleared"] = [dict(query=n(2, 1, 1, 4), key_pool=n(3, 4, 1, 4), value_pool=n(3, 4, 1, 3), block_table=np.array([[1, 0], [1, 2]]), key_lengths=np.array([2, 6]))]
W["paged_common_prefix"] = [dict(query=n(2, 1, 5, 4), key_pool=n(4, 4, 1, 4), value_pool=n(4, 4, 1, 3), block_table=np.array([[1, 0], [1, 2]]), key_lengths=np.array([5, 6]), **br)]
W["paged_window_of_last"] = [dict(query=n(1, 1, 4, 4), key_pool=n(4, 1, 4, 4), value_pool=n(4, 1, 4, 3), block_table=np.array([[1, 0]]), key_lengths=np.array([6]), window=[1, None], causal_alignment="bottom_right")]
W["list_length_of_no_page"] = [dict(query=n(2, 1, 1, 4), key_pool=n(3, 4, 1, 4), value_pool=n(3, 4, 1, 3), page_starts=np.array([0, 0, 2]), page_indices=np.array([2, 1]), last_page_length=np.array([7, 3]))]
a = dict(query=n(1, 1, 3, 4), key_pool=n(2, 1, 4, 4), value_pool=n(2, 1, 4, 3), page_starts=np.array([0, 1]), page_indices=np.array([1]), last_page_length=np.array([4]), **br)
a["value_pool"][1, 0, 3, 0] = np.nan
W["paged_excluded_nan"] = [a]

good = True
batch = json.loads((here / "batch.json").read_text())
for entry in batch:
    module, layout = load(entry["file"]), None
    layout = getattr(module, "layout", None)
    name = pathlib.Path(entry["file"]).stem[4:]
    for a in W[name]:
        bad = call(module, layout, a, loose=12 if a["query"].dtype.itemsize == 2 else 256)
    benign = 0
    drawn = 150
    r = np.random.default_rng(11)
    fresh = load(entry["file"])
    kinds = set()
    for _ in range(drawn):
        b = call(fresh, layout, draw(r, layout))
        benign += not b
        kinds |= set(b)
    print(f"{entry['file']:48s} witness: {bad or 'NONE'}   random: {drawn - benign} of {drawn} differ {sorted(kinds)}")
    good &= bool(bad)
for file in sorted((here / "right").glob("*.py")):
    module = load("right/" + file.name)
    layout = getattr(module, "layout", None)
    r = np.random.default_rng(23)
    wrong = []
    for k in range(400):
        a = draw(r, layout)
        b = call(module, layout, a, loose=64)
        if b:
            wrong.append((k, b))
    print(f"right/{file.name}: {len(wrong)} of 400 differ {wrong[:3]}")
    good &= not wrong
    odd = []
    for k in range(200):  # NaN and infinity: rows that stay clean are right, and NaN comes where base has NaN
        a = draw(r, layout)
        for name in ("query", "key", "value", "key_pool", "value_pool"):
            if name in a and a[name].size and a[name].dtype.name in U and r.random() < .4:
                x = a[name].copy()
                x.reshape(-1)[r.integers(x.size)] = r.choice([np.nan, np.inf, -np.inf])
                a[name] = x
        try:
            owed = truth(layout, a)
        except ValueError:
            continue
        got = module.scaled_dot_product_attention(**a)
        x, y = got["output"].astype(np.float64), np.asarray(owed["output"]).astype(np.float64)
        clean = np.isfinite(y)
        u = U[owed["output"].dtype.name]
        with np.errstate(all="ignore"):
            near = np.abs(x - y) <= 64 * u * (1 + np.max(np.abs(y[clean]), initial=0))
        if a.get("query_lengths") is not None:
            for b, count in enumerate(a["query_lengths"]):
                clean[b, :, count:] = False
        if not near[clean].all():
            odd.append(k)
    print(f"    nonfinite: {len(odd)} of 200 differ")
    good &= not odd
assert len(batch) == 31 and len({e["sentence"] for e in batch}) == 31
print("all shown" if good else "NOT ALL SHOWN")
