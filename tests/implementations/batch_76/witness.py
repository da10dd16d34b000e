"""Each wrong file differs from base within the contract; the right ones agree with it. Exit 1 where not so."""

import importlib.util
import json
import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import ml_dtypes
import numpy as np

import base

BF = np.dtype(ml_dtypes.bfloat16)
S = "scaled_dot_product_attention"
RIGHT = {
    S: base.attention_function(), S + "_backward": base.backward_function(), "merge_states": base.merge_function(),
    "multi_head_attention": base.multi_head_function(), "softmax": base.softmax_function(),
    "rotary_frequencies": base.frequencies_function(), "rotary_tables": base.tables_function(),
    "apply_rotary": base.rotary_function(), "packed": base.packed_function(), "paged": base.paged_function(),
}
failed = 0


def load(path):
    spec = importlib.util.spec_from_file_location("adapter_" + path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def r(seed, *shape, dtype=np.float64):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def qkv(B, H, G, Sq, Sk, E, Ev, seed=1):
    return dict(query=r(seed, B, H, Sq, E), key=r(seed + 1, B, G, Sk, E), value=r(seed + 2, B, G, Sk, Ev))


def named(result, operation):
    if isinstance(result, dict):
        return result
    if isinstance(result, np.ndarray):
        return {"output": result}
    names = {S: ("output", "logsumexp"), "merge_states": ("output", "logsumexp"), "rotary_tables": ("cos", "sin"),
             S + "_backward": ("grad_query", "grad_key", "grad_value", "grad_mask", "grad_sinks")}[operation]
    return {name: item for name, item in zip(names, result) if item is not None}


def far(a, b):
    """The largest difference, relative to the largest number at hand; infinite where NaN or infinity differ."""
    a, b = np.asarray(a).astype(np.float64), np.asarray(b).astype(np.float64)
    if a.shape != b.shape:
        return np.inf
    if a.size == 0:
        return 0.0
    if (np.isnan(a) != np.isnan(b)).any() or (np.isinf(a) != np.isinf(b)).any():
        return np.inf
    ok = np.isfinite(a)
    if not np.array_equal(a[~ok], b[~ok], equal_nan=True):
        return np.inf
    with np.errstate(all="ignore"):
        return float(np.max(np.abs(a[ok] - b[ok]), initial=0) / max(np.max(np.abs(b[ok]), initial=0), 1e-300))


OWED = {S: ["output"], S + "_backward": ["grad_query", "grad_key", "grad_value", "grad_mask", "grad_sinks"],
        "merge_states": ["output", "logsumexp"], "rotary_frequencies": ["inverse_frequencies", "attention_factor"],
        "rotary_tables": ["cos", "sin"]}


def paged_case():
    q, kp, vp = r(1, 2, 2, 2, 4), r(2, 4, 4, 1, 4), r(3, 4, 4, 1, 3)
    return dict(query=q, key_pool=kp, value_pool=vp, block_table=np.array([[2, 0], [2, 1]]),
                key_lengths=np.array([2, 6]))


def packed_case():
    return dict(query=r(1, 5, 2, 4), key=r(2, 8, 1, 4), value=r(3, 8, 1, 3), query_starts=np.array([0, 2, 2, 5]),
                key_starts=np.array([0, 3, 5, 8]))


def mha(B, Sq, Sk, D, **more):
    w = {f"w_{n}": r(10 + i, D, D) / 3 for i, n in enumerate(("query", "key", "value", "output"))}
    return dict(query=r(1, B, Sq, D), key=r(2, B, Sk, D), value=r(3, B, Sk, D), **w, **more)


def one_array():
    given = mha(1, 3, 3, 4, num_heads=2, b_value=np.ones(4))
    given["key"] = given["value"] = given["query"]
    return given


def broadcast_batch():
    given = qkv(2, 2, 2, 3, 4, 4, 3)
    for name in ("key", "value"):
        given[name] = np.broadcast_to(given[name][:1], given[name].shape)
    return given


def nan_mask():
    mask = np.zeros((3, 4))
    mask[1, 2] = np.nan
    return mask


def late_rows():
    given = qkv(1, 1, 1, 1, 40, 4, 3)
    return given | {"mask": np.where(np.arange(40) < 33, -np.inf, -2000.0)[None, :]}


def back(given, **more):
    B, H, Sq, _ = given["query"].shape
    return given | dict(grad_output=r(9, B, H, Sq, given["value"].shape[3])) | more


def sums_in_half():
    ones = np.ones((1, 1, 1024, 2), BF)
    return dict(grad_output=np.ones((1, 1, 1024, 1), BF), query=ones, key=np.array([[1, 0], [0, 0]], BF)[None, None],
                value=np.array([[1], [-1]], BF)[None, None])


def merge(oa, la, ob, lb):
    return dict(output_a=np.array(oa, np.float64).reshape(1, 1, 1, -1), logsumexp_a=np.full((1, 1, 1), la),
                output_b=np.array(ob, np.float64).reshape(1, 1, 1, -1), logsumexp_b=np.full((1, 1, 1), lb))


def tables(B, H, tokens, R, E):
    angles = r(4, B, tokens, R // 2)
    return dict(x=r(5, B, H, tokens, E), cos=np.cos(angles), sin=np.sin(angles))


e = np.array
CASES = {
    1: [qkv(1, 1, 1, 4, 2, 4, 3) | dict(causal_alignment="bottom_right", alibi_slopes=e([0.5]), sinks=e([0.25]))],
    2: [paged_case()],
    3: [packed_case()],
    4: [qkv(1, 1, 1, 2, 4, 4, 3) | dict(softcap=1e14)],
    5: [qkv(1, 1, 1, 1, 300, 4, 3) | dict(sinks=e([4.0]))],
    6: [qkv(1, 1, 1, 70, 130, 4, 3) | dict(window=[8, None], causal_alignment="bottom_right")],
    7: [qkv(1, 4, 2, 1, 5, 4, 3) | dict(mask=r(7, 4, 1, 5))],
    8: [late_rows()],
    9: [qkv(1, 1, 1, 3, 4, 4, 3) | dict(mask=nan_mask())],
    10: [dict(query=np.ones((1, 4, 2, 4), np.int8), key=r(1, 1, 2, 3, 4), value=r(2, 1, 2, 3, 4),
              query_scale=np.array([1, 2, 3, 4], np.float32), output_dtype="float64")],
    11: [broadcast_batch()],
    12: [qkv(1, 1, 1, 2, 3, 8, 72)],
    13: [qkv(1, 1, 1, 2, 60, 4, 3) | dict(alibi_slopes=e([0.3]))],
    14: [back(qkv(1, 2, 1, 4, 5, 4, 3), query_lengths=e([2]), grad_logsumexp=r(8, 1, 2, 4), mask=r(6, 4, 5))],
    15: [back(qkv(2, 1, 1, 3, 4, 4, 3), key_lengths=e([0, 4]), grad_logsumexp=r(8, 2, 1, 3), sinks=e([0.5]))],
    16: [sums_in_half()],
    17: [back(qkv(1, 1, 1, 8, 48, 4, 3), is_causal=True, causal_alignment="bottom_right")],
    18: [back(qkv(1, 1, 1, 2, 1, 4, 3), grad_logsumexp=r(8, 1, 1, 2))],
    19: [merge([1.2e308, 1], 0.0, [-1.2e308, 1], 0.5)],
    20: [merge([1.0], 0.0, [1e37], -120.0)],
    21: [merge([1.0, 2.0], -1e32, [3.0, 4.0], -1e32)],
    22: [mha(3, 3, 4, 4, num_heads=2, mask=e([[1, 1, 0, 0], [0, 1, 1, 1], [1, 0, 0, 1]], bool))],
    23: [one_array()],
    24: [mha(1, 2, 3, 18, num_heads=9, b_output=np.ones(18))],
    25: [mha(1, 2, 3, 4, num_heads=2, b_value=np.ones(4), mask=e([[0, 0, 0], [1, 1, 0]], bool))],
    26: [dict(position_ids=e([[0, 5, 9]]), inverse_frequencies=e([1, 0.1])),
         dict(position_ids=e([[0, 5, 9]]), inverse_frequencies=e([1, 0.01]))],
    27: [tables(2, 2, 3, 4, 6)],
    28: [dict(width=16, scaling="yarn", factor=4, original_length=100, truncate=False)],
    29: [dict(width=4, scaling="longrope", factor=4, original_length=100, short_factors=[1, 2], long_factors=[3, 4])],
    30: [tables(1, 2, 3, 12, 12)],
    31: [dict(x=e([[1.0, 2.0], [1000.0, 1001.0]]))],
}


def show_wrong():
    global failed
    listed = json.loads((HERE / "batch.json").read_text())
    assert [item["file"] for item in listed] == [f"wrong/{p.name}" for p in sorted((HERE / "wrong").glob("*.py"))]
    for number, item in enumerate(listed, 1):
        operation = item["operation"]
        module = load(HERE / item["file"])
        wrong = getattr(module, operation)
        right = RIGHT[getattr(module, "layout", operation)]
        gap, verdict = 0.0, ""
        for given in CASES[number]:
            kept = {name: np.array(x) for name, x in given.items() if isinstance(x, np.ndarray)}
            try:
                expected = named(right(**given), operation)
            except ValueError as error:
                wrong(**given)
                verdict = f"base refuses ({error}), this one computes"
                continue
            got = named(wrong(**given), operation)
            for name in OWED.get(operation, ["output"]):
                if name in expected:
                    gap = max(gap, far(got[name], expected[name]))
            for name, x in kept.items():
                if not np.array_equal(x.astype(np.float64), given[name].astype(np.float64), equal_nan=True):
                    verdict += f" {name} was changed"
        good = bool(verdict) or gap > 1e-9
        failed += not good
        print(f"{'differs' if good else 'DOES NOT DIFFER'} {item['file']}: {verdict or f'relative difference {gap:.3g}'}")


# ------------------------------------------------------------------------------------------------- the right ones

DTYPES = (np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.float16), BF)
SLACK = {DTYPES[0]: 1e-11, DTYPES[1]: 2e-4, DTYPES[2]: 6e-3, DTYPES[3]: 4e-2}


def draw(rng, backward):
    pick = lambda *items: items[rng.integers(len(items))]
    dtype = pick(*DTYPES)
    G, B, Sq, Sk, E, Ev = pick(1, 2, 3), pick(1, 2, 3), pick(0, 1, 2, 5, 9), pick(0, 1, 3, 7, 20, 37), pick(1, 4, 5), pick(1, 3, 6)
    H = G * pick(1, 1, 2, 3)
    n = lambda *shape: rng.standard_normal(shape).astype(dtype)
    given = dict(query=n(B, H, Sq, E), key=n(B, G, Sk, E), value=n(B, G, Sk, Ev))
    P = 0
    if not backward and pick(0, 0, 1):
        P = pick(0, 2, 5)
        given |= dict(past_key=n(B, G, P, E), past_value=n(B, G, P, Ev))
    else:
        if pick(0, 1):
            given["key_lengths"] = rng.integers(0, Sk + 1, B)
        if pick(0, 1):
            given["query_lengths"] = rng.integers(0, Sq + 1, B)
    K = P + Sk
    shape = [pick(1, B), pick(1, H), pick(1, Sq), K][pick(0, 1, 2) :]
    kind = pick("no", "no", "bool", "float")
    if kind == "bool":
        given["mask"] = rng.random(shape) < 0.6
    elif kind == "float":
        given["mask"] = np.where(rng.random(shape) < 0.3, -np.inf, rng.standard_normal(shape)).astype(dtype)
    if pick(0, 1):
        given["sinks"] = n(H)
    if pick(0, 1):
        given["alibi_slopes"] = np.abs(n(H)).astype(dtype)
    given |= dict(is_causal=bool(pick(0, 1)), causal_alignment=pick("top_left", "bottom_right"))
    if pick(0, 1):
        given["window"] = [pick(None, 0, 1, 4), pick(None, 0, 2)]
    if pick(0, 1):
        given["softcap"] = pick(0, 0.75, 3.0)
    if pick(0, 0, 1):
        given["scale"] = pick(0, -0.5, 0.75)
    return given, dtype


def counted(name, x, given):
    """Only the rows that count."""
    x = np.array(x).astype(np.float64)
    if given.get("query_lengths") is not None and name in ("output", "logsumexp", "grad_query", "delta", "weights"):
        for b, n in enumerate(given["query_lengths"]):
            x[b, :, n:] = 0
    return x


def compare(module, operation, given, right, slack):
    got, expected = named(getattr(module, operation)(**given), operation), named(right(**given), operation)
    worst = 0.0
    for name in expected:
        if name in got:
            a, b = counted(name, got[name], given), counted(name, expected[name], given)
            if name in OWED.get(operation, ["output"]) and operation != "rotary_frequencies":
                assert np.asarray(got[name]).dtype == np.asarray(expected[name]).dtype or name in (
                    "grad_mask", "grad_sinks", "logsumexp"), (name, operation)
            gap = far(a, b)
            if np.max(np.abs(np.where(np.isfinite(b), b, 0)), initial=0) < 1e-2 and np.isfinite(gap):
                gap = np.max(np.abs(a - b)[np.isfinite(b)], initial=0)
            worst = max(worst, gap / slack)
    return worst


def spoil(rng, given):
    """NaN in keys and values behind the key lengths, and in queries behind the query lengths."""
    if given.get("key_lengths") is not None:
        for b, n in enumerate(given["key_lengths"]):
            given["key"][b, :, n:] = np.nan
            given["value"][b, :, n:] = np.inf
    if given.get("query_lengths") is not None:
        for b, n in enumerate(given["query_lengths"]):
            given["query"][b, :, n:] = np.nan


def quantized_draw(rng):
    given, _ = draw(rng, False)
    for name in ("past_key", "past_value", "mask"):
        given.pop(name, None)
    B, G = given["key"].shape[:2]
    types = [np.dtype(t) for t in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.int8)]
    for name in ("query", "key", "value"):
        given[name] = (given[name].astype(np.float64) * 4).astype(types[rng.integers(3)])
        shape = [(), (G,), (1,), (B, G), (B, 1), (1, G)][rng.integers(6)]
        given[f"{name}_scale"] = (rng.random(shape) + 0.1).astype(np.float32)
    for name in ("sinks", "alibi_slopes"):
        if name in given:
            given[name] = given[name].astype(np.float64)
    given["output_dtype"] = "float64"
    return given


def paged_list_draw(rng, n):
    given, dtype = draw(rng, True)
    B, G, E = given["query"].shape[0], given["key"].shape[1], given["query"].shape[3]
    size = int(rng.integers(1, 6))
    lengths = rng.integers(0, 14, B)
    counts = -(-lengths // size)
    order = rng.permutation(int(counts.sum()) + 3)
    pools = [rng.standard_normal((len(order), G, size, w)).astype(dtype) for w in (E, given["value"].shape[3])]
    last = lengths - (counts - 1) * size
    more = dict(page_starts=np.concatenate([[0], np.cumsum(counts)]), page_indices=order, last_page_length=last)
    kept = {k: given[k] for k in ("sinks", "alibi_slopes", "is_causal", "causal_alignment", "scale", "softcap", "window",
                                  "query_lengths") if k in given}
    if n % 3 == 0:
        kept["mask"] = rng.random((given["query"].shape[1], 1, 14)) < 0.7 if n % 2 else rng.standard_normal((1, 14)).astype(dtype)
    return dict(query=given["query"], key_pool=pools[0], value_pool=pools[1], **more, **kept), dtype


class PagedHeadsFirst(base.Paged):
    heads_first = True


def plain_twin(given):
    """A list of pages as plain attention, entry by entry, to hold base's own paging against."""
    q = given["query"]
    size = given["key_pool"].shape[2]
    output = np.zeros(q.shape[:3] + given["value_pool"].shape[3:], q.dtype)
    for b in range(q.shape[0]):
        pages = given["page_indices"][given["page_starts"][b] : given["page_starts"][b + 1]]
        n = (len(pages) - 1) * size + given["last_page_length"][b] if len(pages) else 0
        k, v = (np.concatenate([p[x] for x in pages] + [p[0][:, :0]], axis=1)[None, :, :n]
                for p in (given["key_pool"], given["value_pool"]))
        N = q.shape[2] if "query_lengths" not in given else given["query_lengths"][b]
        rest = {x: given[x] for x in ("sinks", "alibi_slopes", "is_causal", "causal_alignment", "scale", "softcap",
                                      "window") if x in given}
        if "mask" in given:
            rest["mask"] = given["mask"][..., :n]
        output[b, :, :N] = RIGHT[S](q[b : b + 1, :, :N], k, v, **rest)["output"][0]
    return output


def numeric_gradients(rng):
    """base's gradients against differences of base's forward pass."""
    worst = 0.0
    for _ in range(12):
        given, _ = draw(rng, True)
        given = {k: x.astype(np.float64) if isinstance(x, np.ndarray) and x.dtype.kind not in "bi" else x
                 for k, x in given.items()}
        B, H, Sq, _ = given["query"].shape
        go, gl = rng.standard_normal((B, H, Sq, given["value"].shape[3])), rng.standard_normal((B, H, Sq))
        if "query_lengths" in given:
            for b, n in enumerate(given["query_lengths"]):
                go[b, :, n:] = gl[b, :, n:] = 0

        def loss(**changed):
            out = RIGHT[S](**(given | changed))
            log = np.where(np.isfinite(out["logsumexp"]), out["logsumexp"], 0)
            return (out["output"] * go).sum() + (log * gl).sum()

        grads = RIGHT[S + "_backward"](grad_output=go, grad_logsumexp=gl, **given)
        for name in ("query", "key", "value", "sinks", "mask"):
            if f"grad_{name}" not in grads or given[name].size == 0:
                continue
            for _ in range(3):
                at = tuple(rng.integers(n) for n in given[name].shape)
                if not np.isfinite(given[name][at]):
                    continue
                up, down = given[name].copy(), given[name].copy()
                up[at] += 1e-5
                down[at] -= 1e-5
                slope = (loss(**{name: up}) - loss(**{name: down})) / 2e-5
                own = grads[f"grad_{name}"]
                if name == "query" and "query_lengths" in given and at[2] >= given["query_lengths"][at[0]]:
                    continue
                worst = max(worst, abs(slope - own[at]) / 1e-6)
    return worst


def show_right():
    global failed

    def tell(name, what, count, worst):
        global failed
        failed += not worst <= 1
        print(f"{'agrees' if worst <= 1 else 'DOES NOT AGREE'} {name}: {what}, {count} inputs, worst {worst:.3g} of what is let pass")

    rng = np.random.default_rng(0)
    tell("base", "gradients by differences", 12, numeric_gradients(rng))
    for path in sorted((HERE / "right").glob("*.py")):
        module = load(path)
        rng = np.random.default_rng(5)
        if getattr(module, "layout", None):
            right = base.paged_csr_function(PagedHeadsFirst)
            worst = twin = 0.0
            for n in range(40):
                given, dtype = paged_list_draw(rng, n)
                worst = max(worst, compare(module, S, given, right, SLACK[dtype]))
                twin = max(twin, far(counted("output", right(**given)[0], given), counted("output", plain_twin(given), given)))
            tell(path.name, "pages in a list", 40, worst)
            tell("base", "pages against plain", 40, twin / 1e-12)
            continue
        worst = 0.0
        for n in range(150):
            given, dtype = draw(rng, False)
            if n % 3 == 0:
                spoil(rng, given)
            worst = max(worst, compare(module, S, given, RIGHT[S], SLACK[dtype]))
        tell(path.name, "forward", 150, worst)
        tell(path.name, "quantized", 40, max(compare(module, S, quantized_draw(rng), RIGHT[S], 1e-11) for _ in range(40)))
        worst = 0.0
        for n in range(100):
            given, dtype = draw(rng, True)
            B, H, Sq, _ = given["query"].shape
            given["grad_output"] = rng.standard_normal((B, H, Sq, given["value"].shape[3])).astype(dtype)
            if n % 2:
                given["grad_logsumexp"] = rng.standard_normal((B, H, Sq)).astype(dtype)
            if n % 4 > 1 and dtype in DTYPES[:2]:
                out = RIGHT[S](**{k: x for k, x in given.items() if not k.startswith("grad")})
                given["output"], given["logsumexp"] = out["output"], out["logsumexp"].astype(dtype)
            if n % 3 == 0:
                spoil(rng, given)
            worst = max(worst, compare(module, S + "_backward", given, RIGHT[S + "_backward"], 4 * SLACK[dtype]))
        tell(path.name, "backward", 100, worst)
        worst = 0.0
        for n in range(40):
            dtype = DTYPES[n % 4]
            shape = tuple(rng.integers(1, 4, 3))
            o = [(rng.standard_normal(shape + (3,)) * 10.0 ** rng.integers(-2, 3)).astype(dtype) for _ in range(2)]
            l = [np.where(rng.random(shape) < 0.3, -np.inf, rng.standard_normal(shape) * 8).astype(dtype) for _ in range(2)]
            for a, b in zip(o, l):
                a[b == -np.inf] = np.nan
            given = dict(output_a=o[0], logsumexp_a=l[0], output_b=o[1], logsumexp_b=l[1])
            worst = max(worst, compare(module, "merge_states", given, RIGHT["merge_states"], SLACK[dtype]))
        tell(path.name, "merge", 40, worst)
        worst = 0.0
        for n in range(20):
            dtype = DTYPES[n % 4]
            x = (rng.standard_normal((3, 2, 4)) * 300).astype(dtype)
            worst = max(worst, compare(module, "softmax", dict(x=x, axis=(-1, 0, 1, None)[n // 4 % 4]), RIGHT["softmax"], SLACK[dtype]))
        tell(path.name, "softmax", 20, worst)
        if hasattr(module, "multi_head_attention"):
            worst = 0.0
            for n in range(30):
                dtype, heads = DTYPES[n % 4], int(rng.integers(1, 4))
                given = mha(2, 3, int(rng.integers(1, 5)), heads * 2, num_heads=heads, is_causal=bool(n % 2))
                for b in ("query", "key", "value", "output"):
                    if rng.random() < 0.5:
                        given[f"b_{b}"] = rng.standard_normal(heads * 2)
                if n % 3:
                    given["mask"] = rng.random((2, 1, 3, given["key"].shape[1]) if n % 3 == 1 else (heads, 3, given["key"].shape[1])) < 0.6
                given = {k: x.astype(dtype) if isinstance(x, np.ndarray) and x.dtype != bool else x for k, x in given.items()}
                worst = max(worst, compare(module, "multi_head_attention", given, RIGHT["multi_head_attention"], 4 * SLACK[dtype]))
            tell(path.name, "multi-head", 30, worst)
        if hasattr(module, "apply_rotary"):
            worst = 0.0
            for n in range(30):
                dtype = DTYPES[n % 4]
                R = 2 * int(rng.integers(1, 7))
                given = tables(2, int(rng.integers(1, 4)), 3, R, R + int(rng.integers(0, 3)))
                given = {k: x.astype(dtype) for k, x in given.items()} | dict(pairing=("half", "interleaved")[n // 4 % 2])
                if n % 5 == 0:
                    given["x"][0, 0, 1, 0] = (np.nan, np.inf)[n % 2]
                worst = max(worst, compare(module, "apply_rotary", given, RIGHT["apply_rotary"], SLACK[dtype]))
                given = dict(position_ids=rng.integers(0, 5000, (2, 3)), inverse_frequencies=rng.random(R // 2).astype(dtype), attention_factor=1.5)
                worst = max(worst, compare(module, "rotary_tables", given, RIGHT["rotary_tables"], SLACK[dtype]))
            tell(path.name, "rotary", 60, worst)
        if hasattr(module, "rotary_frequencies"):
            common = dict(width=12, factor=4.0, original_length=4096, theta=5000)
            given = [dict(width=8), common | dict(scaling="linear"), common | dict(scaling="dynamic", sequence_length=9000),
                     common | dict(scaling="dynamic"), common | dict(scaling="llama3", low_frequency_factor=1, high_frequency_factor=4),
                     common | dict(scaling="longrope", short_factors=[1, 2, 3, 4, 5, 6], long_factors=[2, 3, 4, 5, 6, 7], sequence_length=4097),
                     common | dict(scaling="longrope", short_factors=[1, 2, 3, 4, 5, 6], long_factors=[2, 3, 4, 5, 6, 7]),
                     common | dict(scaling="proportional", proportion=0.6), common | dict(scaling="yarn"),
                     common | dict(scaling="yarn", truncate=False, original_length=90, magnitude_scaling=0.5, magnitude_scaling_all_dimensions=0.8)]
            tell(path.name, "frequencies", len(given), max(compare(module, "rotary_frequencies", g, RIGHT["rotary_frequencies"], 1e-13) for g in given))


show_wrong()
show_right()
sys.exit(1 if failed else 0)
