"""Shows that every wrong file differs from base on an input within the contract, and that every right file agrees."""
import importlib.util, json, pathlib, sys
sys.dont_write_bytecode = True
here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here))
import ml_dtypes
import numpy as np
import base

BF = np.dtype(ml_dtypes.bfloat16)
DT = {"float64": np.dtype(np.float64), "float32": np.dtype(np.float32), "float16": np.dtype(np.float16), "bfloat16": BF}
B, M, S = "scaled_dot_product_attention_backward", "merge_states", "softmax"
inf, nan = np.inf, np.nan


def load(path):
    spec = importlib.util.spec_from_file_location("file_" + path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def call(function, given):
    before = {k: v.tobytes() for k, v in given.items() if isinstance(v, np.ndarray)}
    try:
        with np.errstate(all="ignore"):
            result = function(**given)
    except Exception as error:  # a refusal, or a crash
        return error
    for k, v in before.items():
        assert given[k].tobytes() == v, f"{k} was edited"
    return result


def differ(wrong, right, names, digits):
    """None, or a word on the clearest difference. digits: relative to the largest number of an output."""
    if isinstance(wrong, Exception) or isinstance(right, Exception):
        if isinstance(wrong, Exception) and isinstance(right, Exception):
            return None
        return f"wrong: {wrong!r:.60}" if isinstance(wrong, Exception) else f"not refused: {right!r:.60}"
    for name in names:
        if name not in right:
            if name in wrong and name in ("grad_mask", "grad_sinks"):
                return f"{name} given"
            continue
        if name not in wrong:
            return f"{name} missing"
        w, r = wrong[name], right[name]
        if w.shape != r.shape or w.dtype != r.dtype:
            return f"{name}: {w.shape} {w.dtype} instead of {r.shape} {r.dtype}"
        w, r = w.astype(np.float64), r.astype(np.float64)
        if not w.size:
            continue
        special = ~np.isfinite(r) | ~np.isfinite(w)
        if not np.array_equal(w[special], r[special], equal_nan=True):
            return f"{name}: NaN or infinity in other places"
        error = np.abs(np.where(special, 0, w) - np.where(special, 0, r))
        size = np.abs(np.where(special, 0, r))
        most = np.maximum(size.max(), 1) if digits > 0 else size  # digits < 0: element by element
        bad = error > abs(digits) * most
        if bad.any():
            at = np.unravel_index(np.argmax(np.where(bad, error / np.maximum(size, 1e-300), -1)), bad.shape)
            return f"{name}{tuple(map(int, at))}: {w[at]:.6g} instead of {r[at]:.6g}"
    return None


NAMES = {B: ("grad_query", "grad_key", "grad_value", "grad_mask", "grad_sinks", "delta", "grad_scores"),
         M: ("output", "logsumexp"), S: ("output",)}


def rng_of(seed):
    return np.random.default_rng(seed)


def back(seed=0, dtype="float64", b=2, hq=2, hkv=None, sq=3, sk=4, e=3, ev=None, stored=False, glse=False, **more):
    r = rng_of(seed)
    hkv, ev = hkv or hq, ev or e
    t = DT[dtype]
    draw = lambda *shape: np.round(r.normal(size=shape), 3).astype(t)
    given = dict(grad_output=draw(b, hq, sq, ev), query=draw(b, hq, sq, e), key=draw(b, hkv, sk, e), value=draw(b, hkv, sk, ev))
    if glse:
        given["grad_logsumexp"] = draw(b, hq, sq)
    for name, value in more.items():
        given[name] = value(draw) if callable(value) else value
    if stored:
        given |= forward(given, t)
    return given


def forward(given, t):
    o = base.Backward(dict(dict.fromkeys(("output", "logsumexp", "grad_logsumexp", "mask", "key_lengths", "query_lengths",
        "sinks", "alibi_slopes", "scale", "softcap", "window")), is_causal=False, causal_alignment="top_left") | given)
    o.run()
    return dict(output=base.product(o.weights, o.allowed, o.v).astype(t), logsumexp=o.lse.astype(t))


def ints(*x):
    return np.array(x, dtype=np.int64)


def merge(seed=0, dtype="float64", shape=(1, 2, 3, 4), **more):
    r, t = rng_of(seed), DT[dtype]
    given = dict(output_a=r.normal(size=shape).astype(t), logsumexp_a=r.normal(size=shape[:3]).astype(t),
                 output_b=r.normal(size=shape).astype(t), logsumexp_b=r.normal(size=shape[:3]).astype(t))
    for name, value in more.items():
        given[name] = np.asarray(value).astype(t) if name.startswith("log") else np.broadcast_to(np.asarray(value), shape).astype(t)
    return given


def witnesses():
    """For each wrong file the calls to make; the last is compared. A negative number: the error of each element counts."""
    f = np.float64
    w = {}
    w["single_key_is_certain"] = [back(sk=1, glse=True)]
    given = back(glse=True)
    given["grad_output"] = np.zeros_like(given["grad_output"])
    w["nothing_comes_back"] = [given]
    w["zero_bias_is_no_bias"] = [back(mask=np.zeros((3, 4)))]
    w["expanded_mask_is_summed"] = [back(mask=np.broadcast_to(np.arange(4.0), (2, 2, 3, 4)))]
    w["mask_axes_from_the_left"] = [back(b=2, hq=2, mask=lambda d: d(2, 3, 4))]
    w["sum_only_what_was_repeated"] = [back(sq=0, mask=np.zeros((1, 4)))]
    w["delta_over_query_width"] = [back(e=2, ev=4, stored=True)]
    w["padding_feeds_the_sink"] = [back(glse=True, sinks=np.array([0.5, -0.5]), query_lengths=ints(2, 3))]
    w["square_needs_no_alignment"] = [back(sq=4, sk=4, is_causal=True, causal_alignment="bottom_right", key_lengths=ints(4, 3),
                                           query_lengths=ints(2, 3))]
    w["no_negative_positions"] = [back(sq=4, sk=2, causal_alignment="bottom_right", window=[None, 1])]
    h = dict(grad_output=np.full((1, 1, 1, 1), 100), query=np.zeros((1, 1, 1, 1)), key=np.array([300, -300]).reshape(1, 1, 2, 1),
             value=np.array([10, -10]).reshape(1, 1, 2, 1), scale=1 / 64)
    w["scaled_after_rounding"] = [{k: v.astype(np.float16) if k != "scale" else v for k, v in h.items()}]
    same = dict(sq=3, sk=5, is_causal=True, causal_alignment="bottom_right", key_lengths=ints(5, 4))
    w["offsets_kept_by_key_lengths"] = [back(query_lengths=ints(3, 3), **same), back(query_lengths=ints(1, 2), **same)]
    w["window_loses_last_query_tile"] = [back(b=1, hq=1, sq=72, sk=72, is_causal=True, window=[8, 0])]
    w["ten_thousand_is_infinite"] = [back(mask=np.where(np.arange(3)[:, None] == 1, -10000.0, np.zeros((3, 4))))]
    given = back()
    given["value"] = given["key"]
    w["gradients_by_identity"] = [given]
    w["mask_may_be_larger"] = [back(b=1, mask=lambda d: d(2, 1, 3, 4))]
    w["finite_sentinel"] = [merge(logsumexp_a=np.full((1, 2, 3), -2e30), logsumexp_b=np.full((1, 2, 3), -2e30))]
    half = np.where(np.arange(3) == 1, -inf, np.zeros((1, 2, 3)))
    w["empty_part_returns_the_other"] = [merge(logsumexp_a=half, logsumexp_b=np.full((1, 2, 3), -inf))]
    w["nan_beside_empty"] = [merge(logsumexp_a=np.full((1, 2, 3), nan), logsumexp_b=half)]
    given = merge(shape=(1, 2, 3, 4))
    for name in ("logsumexp_a", "logsumexp_b"):
        given[name] = np.ascontiguousarray(given[name].swapaxes(1, 2))
    w["logarithms_reshaped"] = [given]
    w["largest_of_nothing"] = [merge(shape=(1, 2, 0, 4))]
    w["one_block_of_features"] = [merge(shape=(1, 1, 1, 130))]
    w["base_two_before_distance"] = [merge(logsumexp_a=np.full((1, 2, 3), 1.5e308), logsumexp_b=np.full((1, 2, 3), 1.5e308))]
    w["distance_clipped"] = [merge(logsumexp_a=np.zeros((1, 2, 3)), output_a=1.0, logsumexp_b=np.full((1, 2, 3), -200.0), output_b=1e60)]
    r = rng_of(5)
    w["whole_array_in_memory_order"] = [dict(x=r.normal(size=(4, 3)).T, axis=None)]
    w["axis_moved_back_wrongly"] = [dict(x=r.normal(size=(3, 3, 3)), axis=0)]
    w["first_chunk_all_excluded"] = [dict(x=np.r_[np.full(32, -inf), np.arange(3.0)])]
    w["column_major_shortcut"] = [dict(x=np.asfortranarray(r.normal(size=(3, 4))), axis=1)]
    w["kept_by_bytes"] = [dict(x=np.zeros(8, np.float16)), dict(x=np.zeros(8, BF))]
    w["two_are_one_sigmoid"] = [-1e-3, dict(x=np.array([[40.0, 0.0]]))]
    w["equal_numbers_share"] = [dict(x=np.ones((2, 5)), axis=0)]
    return w


def random_back(seed, dtype="float64"):
    r = rng_of(seed)
    maybe = lambda p=0.5: r.random() < p
    hkv, group = int(r.integers(1, 3)), int(r.integers(1, 4))
    b, sq, sk = int(r.integers(1, 4)), int(r.integers(0, 7)), int(r.integers(0, 40 if maybe(0.2) else 7))
    e, ev = int(r.integers(1, 5)), int(r.integers(1, 5))
    hq = hkv * group
    more = {}
    if maybe(0.4):
        shape = [b if maybe() else 1, hq if maybe() else 1, sq if maybe() else 1, sk][int(r.integers(0, 3)):]
        more["mask"] = r.random(shape) < 0.7 if maybe() else np.where(r.random(shape) < 0.8, r.normal(size=shape), -inf).astype(DT[dtype])
    if maybe(0.4): more["key_lengths"] = r.integers(0, sk + 1, b)
    if maybe(0.4): more["query_lengths"] = r.integers(0, sq + 1, b)
    if maybe(0.4): more["sinks"] = r.normal(size=hq).astype(DT[dtype])
    if maybe(0.3): more["alibi_slopes"] = r.random(hq).astype(DT[dtype])
    if maybe(): more["is_causal"] = True
    if maybe(): more["causal_alignment"] = "bottom_right"
    if maybe(0.3): more["scale"] = float(r.choice([0.0, -0.5, 2.0, 0.25]))
    if maybe(0.3): more["softcap"] = float(r.choice([0.0, 1.0, 3.0]))
    if maybe(0.3): more["window"] = [None if maybe(0.3) else int(r.integers(0, 3)), None if maybe(0.3) else int(r.integers(0, 3))]
    return back(seed, dtype, b, hq, hkv, sq, sk, e, ev, stored=maybe(), glse=maybe(), **more)


def random_merge(seed, dtype="float64"):
    r = rng_of(seed)
    shape = tuple(int(n) for n in r.integers(1, 5, 4))
    lse = lambda: np.where(r.random(shape[:3]) < 0.2, -inf, r.normal(size=shape[:3]) * r.choice([1, 10, 60]))
    given = merge(seed, dtype, shape, logsumexp_a=lse(), logsumexp_b=lse())
    for p in "ab":
        given["output_" + p][np.isneginf(given["logsumexp_" + p].astype(float))] = r.choice([0, 7, nan])
    return given


def random_softmax(seed, dtype="float64"):
    r = rng_of(seed)
    x = (r.normal(size=tuple(r.integers(1, 6, int(r.integers(1, 4))))) * r.choice([1, 5, 100])).astype(DT[dtype])
    return dict(x=x, axis=[None, *range(-x.ndim, x.ndim)][int(r.integers(0, 2 * x.ndim + 1))])


RANDOM = {B: random_back, M: random_merge, S: random_softmax}


def trim(result, given):
    """Rows from number N on are nobody's."""
    if isinstance(result, dict) and given.get("query_lengths") is not None:
        for b, n in enumerate(given["query_lengths"]):
            for name in ("grad_query", "delta", "grad_scores"):
                if name in result:
                    result[name][b, :, int(n):] = 0
    return result


def loss(given, weights_of_lse, dout):
    """The forward pass, written out anew with loops: Σ grad_output · output + Σ grad_logsumexp · logsumexp."""
    q, k, v = given["query"], given["key"], given["value"]
    bs, hq, sq, e = q.shape
    hkv, sk = k.shape[1:3]
    scale = given.get("scale", 1 / e**0.5)
    total = 0.0
    for b in range(bs):
        L = given["key_lengths"][b] if "key_lengths" in given else sk
        N = given["query_lengths"][b] if "query_lengths" in given else sq
        for h in range(hq):
            g = h // (hq // hkv)
            for i in range(N):
                p = i + L - N if given.get("causal_alignment") == "bottom_right" else i
                logits, values = [], []
                for j in range(L):
                    left, right = given.get("window") or (None, None)
                    if given.get("is_causal") and j > p or left is not None and j < p - left or right is not None and j > p + right:
                        continue
                    s = scale * float(q[b, h, i] @ k[b, g, j])
                    c = given.get("softcap")
                    s = c * np.tanh(s / c) if c else s
                    if "alibi_slopes" in given:
                        s -= given["alibi_slopes"][h] * abs(p - j)
                    if "mask" in given:
                        m = np.broadcast_to(given["mask"], (bs, hq, sq, sk))[b, h, i, j]
                        if m.dtype == bool and not m or m.dtype != bool and m == -inf:
                            continue
                        s += 0 if m.dtype == bool else m
                    logits.append(s), values.append(v[b, g, j])
                n = len(logits)
                if "sinks" in given:
                    logits.append(given["sinks"][h])
                if not logits:
                    continue
                logits = np.array(logits)
                total_exp = np.exp(logits).sum()
                if n:
                    total += float(dout[b, h, i] @ (np.exp(logits[:n]) / total_exp @ np.array(values)))
                if weights_of_lse is not None and (n or "sinks" in given):
                    total += weights_of_lse[b, h, i] * np.log(total_exp)
    return total


def check_base():
    tried = 0
    for seed in range(40):
        given = random_back(seed + 5000)
        for name in ("output", "logsumexp"):
            given.pop(name, None)
        got = trim(base.scaled_dot_product_attention_backward(**given), given)
        owed = {"grad_query": "query", "grad_key": "key", "grad_value": "value", "grad_mask": "mask", "grad_sinks": "sinks"}
        r = rng_of(seed)
        for out, name in owed.items():
            if out not in got or not got[out].size:
                continue
            for _ in range(3):
                at = tuple(int(r.integers(0, n)) for n in got[out].shape)
                if given[name][at] == -inf:
                    assert got[out][at] == 0
                    continue
                ends = []
                for step in (1e-5, -1e-5):
                    moved = dict(given) | {name: given[name].copy()}
                    moved[name][at] += step
                    ends.append(loss(moved, moved.get("grad_logsumexp"), moved["grad_output"]))
                slope = (ends[0] - ends[1]) / 2e-5
                assert abs(slope - got[out][at]) < 1e-7, (seed, out, at, slope, got[out][at])
                tried += 1
    print(f"base: {tried} derivatives agree with differences of the forward pass")
    g = dict(grad_output=np.ones((1, 1, 1, 1)), query=np.full((1, 1, 1, 1), 2.0), key=np.ones((1, 1, 2, 1)),
             value=np.array([1.0, 3.0]).reshape(1, 1, 2, 1), scale=1)
    o = base.scaled_dot_product_attention_backward(**g)
    assert np.allclose(o["grad_key"].ravel(), [-1, 1]) and np.allclose(o["grad_value"].ravel(), .5) and o["delta"].item() == 2
    o = base.merge_states(*(np.array(x, float).reshape(s) for x, s in (([1, 2], (1, 1, 1, 2)), ([0], (1, 1, 1)),
                          ([4, 5], (1, 1, 1, 2)), ([np.log(3)], (1, 1, 1)))))
    assert np.allclose(o["output"].ravel(), [3.25, 4.25]) and np.allclose(o["logsumexp"], np.log(4))
    # nothing that is excluded is touched; NaN stays where it belongs
    given = back(sq=4, sk=4, is_causal=True, key_lengths=ints(3, 2), query_lengths=ints(4, 3), glse=True, sinks=np.zeros(2))
    clean = trim(base.scaled_dot_product_attention_backward(**given), given)
    for name, cut in (("key", np.s_[0, :, 3:]), ("value", np.s_[1, :, 2:]), ("query", np.s_[1, :, 3:]),
                      ("grad_output", np.s_[1, :, 3:]), ("grad_logsumexp", np.s_[1, :, 3:])):
        given[name] = given[name].copy()
        given[name][cut] = nan
    dirty = trim(base.scaled_dot_product_attention_backward(**given), given)
    assert differ(dirty, clean, NAMES[B], 1e-12) is None
    for path in sorted((here / "right").glob("0[12]*.py")):
        dirty = trim(load(path).scaled_dot_product_attention_backward(**given), given)
        assert differ(dirty, clean, NAMES[B], 1e-12) is None, path


def refusals():
    ok = back(b=2, hq=4, hkv=2, sq=3, sk=4, e=3, ev=2)
    d = lambda *s: np.ones(s)
    bad = [dict(query=d(2, 3, 3)), dict(key=d(2, 2, 4, 2)), dict(value=d(1, 2, 4, 2)), dict(query=d(2, 3, 3, 3), grad_output=d(2, 3, 3, 2)),
           dict(value=d(2, 1, 4, 2)), dict(value=d(2, 2, 3, 2)), dict(key_lengths=ints(5, 1)), dict(key_lengths=ints(-1, 1)),
           dict(query_lengths=ints(1, 4)), dict(query_lengths=ints(1)), dict(key_lengths=ints(1)), dict(mask=d(3, 3)), dict(mask=d(3, 1)),
           dict(mask=d(2, 3, 3, 4)), dict(grad_output=d(2, 4, 3, 3)), dict(grad_output=d(2, 4, 1, 2)), dict(grad_logsumexp=d(2, 4, 1)),
           dict(grad_logsumexp=d(2, 4, 3, 1)), dict(key=d(2, 2, 4))]
    m = merge(shape=(2, 2, 3, 4))
    badm = [dict(output_a=d(2, 2, 3)), dict(logsumexp_a=d(2, 2)), dict(output_b=d(2, 2, 3, 1)), dict(output_b=d(1, 2, 3, 4)),
            dict(logsumexp_a=d(2, 2, 1)), dict(logsumexp_b=d(2, 2, 3, 1)), dict(logsumexp_b=d(1, 2, 3)), dict(logsumexp_b=d(2, 2, 4))]
    return {B: (ok, bad), M: (m, badm), S: (dict(x=d(2, 2)), [])}


def main():
    check_base()
    batch = json.loads((here / "batch.json").read_text())
    files = sorted(p.name for p in (here / "wrong").glob("*.py"))
    assert files == [pathlib.Path(e["file"]).name for e in batch], "batch.json and wrong/ differ"
    shown, refuse = witnesses(), refusals()
    ok = True
    for entry in batch:
        path, op = here / entry["file"], entry["operation"]
        module = load(path)
        function, right = getattr(module, op), getattr(base, op)
        calls = shown[path.stem[4:]]
        digits = 0.05
        if not isinstance(calls[0], dict):
            digits, calls = calls[0], calls[1:]
        for given in calls:
            got, want = trim(call(function, given), given), trim(call(right, given), given)
        word = differ(got, want, NAMES[op], digits)
        often = 0
        for seed in range(150):
            given = RANDOM[op](seed)
            often += differ(trim(call(function, given), given), trim(call(right, given), given), NAMES[op], 1e-9) is not None
        taken = [b for b in refuse[op][1] if not isinstance(call(function, refuse[op][0] | b), Exception)]
        for t in module.dtypes:
            given = RANDOM[op](3, t)
            got = call(function, given)
            assert not isinstance(got, Exception) and all(x.dtype == DT[t] for x in got.values()), (path, t, got)
        ok &= word is not None
        print(f"{'shown' if word else 'NOT SHOWN'}  {path.stem:36s} {often:3d}/150 random  {word}"
              + (f"   takes {len(taken)} that must be refused" if taken else ""))
    for path in sorted((here / "right").glob("*.py")):
        module, n, worst = load(path), 0, None
        op = next(o for o in (B, M, S) if hasattr(module, o))
        taken = [b for b in refuse[op][1] if not isinstance(call(getattr(module, op), refuse[op][0] | b), Exception)]
        assert not taken, (path, taken)
        for t, digits in (("float64", 1e-11), ("float32", 2e-4), ("float16", 0.02), ("bfloat16", 0.12)):
            for seed in range(120):
                given = RANDOM[op](seed + 1000, t)
                word = differ(trim(call(getattr(module, op), given), given), trim(call(getattr(base, op), given), given), NAMES[op], digits)
                n += 1
                if word:
                    worst = (t, seed, word)
                    print("   ", path.stem, worst)
        ok &= worst is None
        print(f"{'agrees' if worst is None else 'DIFFERS'}  {path.stem}  {n} random inputs")
    print("all shown" if ok else "SOMETHING IS MISSING")
    return 0 if ok else 1


sys.exit(main())
