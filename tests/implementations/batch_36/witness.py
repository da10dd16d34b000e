"""One input within the contract for each wrong file on which it differs clearly from base; many for each right file on which it agrees."""
import importlib.util
import json
import pathlib
import sys

sys.dont_write_bytecode = True
import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import base

F8, E5 = np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2)
TWINS = {"packed": base.packed, "paged": base.paged, "paged_heads_first": base.paged_heads_first, "paged_csr": base.paged_csr,
         "bshe": base.bshe, "bhse": base.plain}


def load(file):
    spec = importlib.util.spec_from_file_location("w" + pathlib.Path(file).stem, HERE / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.scaled_dot_product_attention, getattr(module, "layout", "bhse")


def copied(x):
    return np.array(x, copy=True) if isinstance(x, np.ndarray) else list(x) if isinstance(x, list) else x


def call(function, arguments):
    try:
        result = function(**arguments)
    except ValueError as error:
        return f"refused: {error}"
    return result if isinstance(result, dict) else {"output": result}


def distance(one, two, rows=None):
    """The largest difference of outputs that both give, relative to the size of the output; inf where NaN or shape differs."""
    if isinstance(one, str) or isinstance(two, str):
        return 0.0 if isinstance(one, str) and isinstance(two, str) else np.inf
    worst = 0.0
    for name in sorted(set(one) & set(two)):
        x, y = np.asarray(one[name]), np.asarray(two[name])
        if x.shape != y.shape or x.dtype != y.dtype:
            return np.inf
        x, y = x.astype(np.float64), y.astype(np.float64)
        if rows is not None and name in ("output", "weights", "logsumexp", "scores", "logits"):
            x, y = (np.where(rows.reshape(rows.shape + (1,) * (z.ndim - 3)), z, 0) for z in (x, y))
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        if (np.isfinite(x) != np.isfinite(y)).any() or (~np.isfinite(x) & ~same).any():
            return np.inf
        if x.size:
            with np.errstate(invalid="ignore"):
                worst = max(worst, float(np.max(np.where(same, 0, np.abs(x - y)), initial=0) / max(1e-30, np.abs(x[np.isfinite(x)]).max(initial=1e-30))))
    return worst


R = np.random.default_rng(36)
n = lambda *shape: R.normal(size=shape)


def qkv(B=1, Hq=1, Sq=3, E=4, Hkv=None, Sk=None, Ev=None, **rest):
    Hkv, Sk, Ev = Hkv or Hq, Sq if Sk is None else Sk, Ev or E
    return dict(query=n(B, Hq, Sq, E), key=n(B, Hkv, Sk, E), value=n(B, Hkv, Sk, Ev), **rest)


def past(P, a):
    B, H, _, E = a["key"].shape
    return {**a, "past_key": n(B, H, P, E), "past_value": n(B, H, P, a["value"].shape[3])}


def permuted(x):
    """Tokens before heads in memory."""
    return np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2)


def ints(*x):
    return np.array(x)


def i8(*shape):
    return R.integers(-127, 128, shape).astype(np.int8)


def w_table(lengths, size, Hq=1, Hkv=1, Sq=2, E=4, pages=None, table=None, heads_first=False, **rest):
    pages = pages or 8
    shape = (pages, Hkv, size, E) if heads_first else (pages, size, Hkv, E)
    most = max(-(-l // size) for l in lengths)
    table = R.permutation(pages)[: len(lengths) * most].reshape(len(lengths), most) if table is None else np.array(table)
    return dict(query=n(len(lengths), Hq, Sq, E), key_pool=n(*shape), value_pool=n(*shape), block_table=table,
                key_lengths=np.array(lengths), **rest)


def w_packed(qs, ks, Hq=1, Hkv=1, E=4, **rest):
    return dict(query=n(qs[-1], Hq, E), key=n(ks[-1], Hkv, E), value=n(ks[-1], Hkv, E), query_starts=np.array(qs),
                key_starts=np.array(ks), **rest)


NEGATIVE_ZERO = past(2, qkv(Sk=2))
NEGATIVE_ZERO["key"][0, 0, 0, 0] = -0.0
PADDED = qkv(Sq=3, query_lengths=ints(2))
PADDED["query"][0, 0, 2] = 1e5
SIGNS = dict(query=i8(1, 1, 2, 4), key=i8(1, 1, 3, 4), value=n(1, 1, 3, 4), query_scale=np.float32(0.01), key_scale=np.float32(0.01),
             output_dtype="float64")
SIGNS["query"][..., 0], SIGNS["key"][0, 0, 1, 0] = -100, -128
SIGNS["value"] = SIGNS["value"].astype(np.float64)
NAN = dict(qkv(Sq=2, Sk=3), key_scale=np.float32(0.5))
NAN["key"] = NAN["key"].astype(F8)
NAN["key"][0, 0, 1, 1] = np.nan
SAME = i8(1, 2, 4, 4)
STRIDES = qkv(B=2, Hq=3, Sq=4)
STRIDES["key"] = permuted(STRIDES["key"])
ORDER = dict(qkv(B=2, Hq=2, Sq=3), key_scale=np.float32(0.5))
ORDER["key"] = permuted(ORDER["key"].astype(F8))
REORDERED = qkv(B=2, Hq=2, Sq=3)
REORDERED["query"] = permuted(REORDERED["query"])
CSR_EMPTY = dict(query=n(2, 1, 2, 4), key_pool=n(3, 2, 1, 4), value_pool=n(3, 2, 1, 4), page_starts=ints(0, 0, 2),
                 page_indices=ints(2, 0), last_page_length=ints(3, 1))

# (arguments, or two sets of them where the second call shows it, or a name of a special check)
WITNESS = {
    "present_in_ring": ("overwritten", past(2, qkv(Sk=2)), past(2, qkv(Sk=2))),
    "decode_needs_no_causal_mask": past(2, qkv(Sq=1, Sk=3, is_causal=True)),
    "no_new_keys_no_attention": past(3, qkv(Sq=2, Sk=0)),
    "window_forgets_past": past(4, qkv(Sq=2, Sk=2, window=[1, 0], causal_alignment="bottom_right")),
    "alibi_from_array_end": qkv(Sq=2, Sk=6, alibi_slopes=np.array([0.5]), key_lengths=ints(4), causal_alignment="bottom_right"),
    "cache_is_added_to_zeros": ("bits", NEGATIVE_ZERO),
    "empty_entry_forgets_sink": qkv(B=2, key_lengths=ints(0, 3), sinks=np.array([0.5])),
    "trimmed_and_padded_logits": qkv(B=2, Sq=3, Sk=5, key_lengths=ints(2, 3)),
    "one_maximum_for_padded_rows": ("rows", PADDED, 2),
    "unsigned_lengths": qkv(Sq=5, Sk=3, key_lengths=ints(2), is_causal=True, causal_alignment="bottom_right"),
    "lengths_share_a_limit": qkv(Sq=2, Sk=5, query_lengths=ints(4)),
    "packed_markers_collapse": w_packed([0, 1, 2, 4], [0, 2, 2, 5]),
    "packed_mask_from_the_right": w_packed([0, 2, 4], [0, 2, 6], mask=n(1, 4)),
    "packed_alibi_by_row": w_packed([0, 2, 4], [0, 5, 10], alibi_slopes=np.array([0.5])),
    "shared_tail_is_cleared": w_table([3, 8], 4, table=[[1, 0], [1, 2]]),
    "last_page_of_no_page": CSR_EMPTY,
    "decode_groups_interleaved": {k: v.swapaxes(1, 2) for k, v in qkv(Hq=4, Hkv=2, Sq=1, Sk=5).items()},
    "layout_of_pages_guessed": w_table([5], 2, Hq=2, heads_first=True),
    "sink_in_every_split": qkv(Sq=1, Sk=20, sinks=np.array([1.0])),
    "output_like_query_reshaped": REORDERED,
    "int8_sign_trick": SIGNS,
    "e4m3_without_nan": NAN,
    "products_in_float32": ("float64", dict(qkv(), value=i8(1, 1, 3, 4), value_scale=np.float32(0.1))),
    "maximum_without_sink": qkv(sinks=np.array([1000.0])),
    "value_by_strides_of_key": STRIDES,
    "bias_into_mask": ("inputs", qkv(mask=n(1, 1, 3, 3), alibi_slopes=np.array([0.5]))),
    "products_by_identity": dict(query=n(1, 2, 2, 4), key=SAME, value=SAME, key_scale=np.float32(0.01), value_scale=np.float32(0.1)),
    "rows_left_in_workspace": ("second", qkv(Sq=3, Sk=3), qkv(Sq=3, Sk=3, mask=np.array([[True] * 3, [False] * 3, [True] * 3]))),
    "pages_before_the_last_window": w_table([8], 4, Sq=4, window=[2, 0], causal_alignment="bottom_right"),
    "square_needs_no_alignment": qkv(Sq=4, Sk=4, key_lengths=ints(2), is_causal=True, causal_alignment="bottom_right"),
    "codes_in_memory_order": ORDER,
}


def shown(function, twin, witness):
    kind, *rest = witness if isinstance(witness, tuple) else ("plain", witness)
    if kind == "overwritten":
        first = call(function, rest[0])
        kept = {k: v.copy() for k, v in first.items()}
        return distance(kept, call(twin, rest[0])) < 1e-9 and not isinstance(call(function, rest[1]), str) and distance(first, kept) > 1e-3
    if kind == "bits":
        one, two = call(function, rest[0]), call(twin, rest[0])
        return one["present_key"].tobytes() != two["present_key"].tobytes() and np.array_equal(two["present_key"][:, :, 2:], rest[0]["key"])
    if kind == "rows":
        rows = np.broadcast_to(np.arange(3) < rest[1], (1, 1, 3))
        return distance(call(function, rest[0]), call(twin, rest[0]), rows) > 1e-3
    if kind == "float64":
        return distance(call(function, rest[0]), call(twin, rest[0])) > 1e-9
    if kind == "inputs":
        before = {k: copied(v) for k, v in rest[0].items()}
        call(function, rest[0])
        return any(not np.array_equal(before[k], v) for k, v in rest[0].items() if isinstance(v, np.ndarray))
    if kind == "second":
        return distance(call(function, rest[0]), call(twin, rest[0])) < 1e-9 and distance(call(function, rest[1]), call(twin, rest[1])) > 1e-3
    one, two = call(function, rest[0]), call(twin, rest[0])
    if isinstance(two, str):  # the page refuses it
        return not isinstance(one, str)
    return not isinstance(one, str) and distance(one, two) > 1e-3


# many random inputs
def pick(*x):
    return x[R.integers(len(x))]


def cast(a, dtype):
    keep = ("query_scale", "key_scale", "value_scale")
    return {k: v.astype(base.dtype_of(dtype)) if isinstance(v, np.ndarray) and v.dtype == np.float64 and k not in keep else v for k, v in a.items()}


def options(Hq, B, T, Sq, masks=True):
    a = dict(is_causal=bool(R.integers(2)), causal_alignment=pick("top_left", "bottom_right"), scale=pick(None, None, 0.7, 0.0, -0.5),
             softcap=pick(None, None, 0.0, 1.5), window=pick(None, None, [1, 0], [None, 2], [2, None], [0, 0], [3, 1]))
    if R.random() < 0.3:
        a["sinks"] = n(Hq)
    if R.random() < 0.3:
        a["alibi_slopes"] = np.abs(n(Hq))
    if masks and R.random() < 0.5:
        shape = pick((Sq, T), (1, T), (Hq, Sq, T), (Hq, 1, T), (B, 1, Sq, T), (B, Hq, Sq, T), (1, 1, 1, T))
        a["mask"] = R.random(shape) < 0.7 if R.random() < 0.5 else np.where(R.random(shape) < 0.2, -np.inf, n(*shape))
    return a


def random_plain(quantize=False):
    B, Hkv, G, Sq, Sk, E, Ev = R.integers(1, 4), R.integers(1, 4), R.integers(1, 4), R.integers(1, 6), R.integers(0, 20), R.integers(1, 9), R.integers(1, 7)
    a = qkv(B, Hkv * G, Sq, E, Hkv, int(Sk), Ev)
    rows, T = None, Sk
    kind = R.integers(3)
    if kind == 1:
        P = int(R.integers(0, 6))
        a, T = past(P, a), Sk + P
    elif kind == 2:
        if R.random() < 0.8:
            a["key_lengths"] = R.integers(0, Sk + 1, B)
        if R.random() < 0.6:
            a["query_lengths"] = R.integers(0, Sq + 1, B)
            rows = np.broadcast_to(np.arange(Sq) < a["query_lengths"][:, None, None], (B, Hkv * G, Sq))
    a.update(options(Hkv * G, B, T, Sq))
    dtype = pick(*base.DTYPES)
    if quantize:
        for name in ("query", "key", "value"):
            if R.random() < 0.7:
                to = pick(np.dtype(np.int8), F8, E5)
                for part in (name, "past_" + name):
                    if part in a:
                        a[part] = R.integers(-128, 128, a[part].shape).astype(np.int8) if to == np.int8 else (a[part] * 5).astype(to)
                size = 0.02 if to == np.int8 else 0.3
                a[name + "_scale"] = (size * R.uniform(0.5, 1.5, pick((), (Hkv,), (1,), (B, Hkv), (B, 1), (1, Hkv)))).astype(np.float32)
                if a[name + "_scale"].ndim == 0:
                    a[name + "_scale"] = np.float32(a[name + "_scale"])
        if base.quantized(a["query"]):
            a["output_dtype"] = dtype
    return cast(a, dtype), rows, dtype


def random_layout(layout):
    B, Hkv, G, E, Ev = int(R.integers(1, 4)), int(R.integers(1, 3)), int(R.integers(1, 3)), int(R.integers(1, 9)), int(R.integers(1, 6))
    lengths = R.integers(0, 12, B)
    most = max(lengths)
    dtype, rows = pick(*base.DTYPES), None
    if layout == "packed":
        counts = R.integers(0, 5, B)
        qs, ks = np.r_[0, counts.cumsum()], np.r_[0, lengths.cumsum()]
        a = dict(query=n(qs[-1], Hkv * G, E), key=n(ks[-1], Hkv, E), value=n(ks[-1], Hkv, Ev), query_starts=qs, key_starts=ks)
    else:
        size, Sq = int(R.integers(1, 6)), int(R.integers(1, 5))
        counts = -(-lengths // size)
        total = int(counts.sum())
        pages = R.permutation(total + 3)
        a = dict(query=n(B, Hkv * G, Sq, E), key_pool=n(total + 3, size, Hkv, E), value_pool=n(total + 3, size, Hkv, Ev))
        starts = np.r_[0, counts.cumsum()]
        if "csr" in layout:
            a.update(page_starts=starts, page_indices=pages, last_page_length=np.where(counts > 0, lengths - (counts - 1) * size, 1))
        else:
            table = np.zeros((B, max(int(counts.max()), 1) + 1), int)
            for b in range(B):
                table[b, : counts[b]] = pages[starts[b] : starts[b + 1]]
            a.update(block_table=table, key_lengths=lengths)
        if "heads_first" in layout:
            a.update(key_pool=a["key_pool"].swapaxes(1, 2), value_pool=a["value_pool"].swapaxes(1, 2))
        if R.random() < 0.5:
            a["query_lengths"] = R.integers(0, Sq + 1, B)
    a.update(options(Hkv * G, B, most, 1, masks=False))
    if R.random() < 0.4:
        shape = pick((1, most), (Hkv * G, 1, most))
        a["mask"] = R.random(shape) < 0.7 if R.random() < 0.5 else n(*shape)
    return cast(a, dtype), rows, dtype


def random_input(layout, quantize):
    if layout == "bhse":
        return random_plain(quantize)
    if layout == "bshe":
        a, rows, dtype = random_plain()
        for name in ("past_key", "past_value"):
            if a.pop(name, None) is not None and "mask" in a:
                a.pop("mask")
        return {k: v.swapaxes(1, 2) if k in ("query", "key", "value") else v for k, v in a.items()}, None, dtype
    return random_layout(layout)


BOUND = {"float64": 1e-11, "float32": 1e-4, "float16": 5e-3, "bfloat16": 4e-2}


def main():
    batch, bad = json.loads((HERE / "batch.json").read_text()), 0
    assert sorted(e["file"] for e in batch) == sorted(f"wrong/{p.name}" for p in (HERE / "wrong").glob("*.py"))
    for entry in batch:
        function, layout = load(entry["file"])
        fine = shown(function, TWINS[layout], WITNESS[pathlib.Path(entry["file"]).stem[4:]])
        bad += not fine
        tries, differ, errors = 60, 0, 0
        for _ in range(tries):
            a, rows, dtype = random_input(layout, quantize=R.random() < 0.4)
            try:
                one = call(function, a)
            except Exception as error:
                errors += 1
                print("   error", entry["file"], repr(error))
                continue
            differ += not distance(call(TWINS[layout], a), one, rows) <= BOUND[dtype]
        print(f"{'shown' if fine else 'NOT SHOWN':10}{entry['file']:48} differs from base on {differ} of {tries} random inputs")
        bad += errors
    for file in sorted((HERE / "right").glob("*.py")):
        function, layout = load(f"right/{file.name}")
        worst = {}
        for _ in range(400):
            a, rows, dtype = random_input(layout, quantize=R.random() < 0.4 or "late" in file.name)
            before = {k: copied(v) for k, v in a.items()}
            d = distance(call(TWINS[layout], a), call(function, a), rows)
            assert all(np.array_equal(before[k], v, equal_nan=False) for k, v in a.items() if isinstance(v, np.ndarray))
            worst[dtype] = max(worst.get(dtype, 0), d)
        fine = all(worst[d] <= BOUND[d] for d in worst)
        bad += not fine
        print("agrees" if fine else "DISAGREES", file.name, {d: f"{x:.1e}" for d, x in worst.items()})
    print("all shown" if not bad else f"{bad} bad")
    return bad


if __name__ == "__main__":
    sys.exit(bool(main()))
