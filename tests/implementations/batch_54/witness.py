"""Every wrong file differs from base on one input within the contract; every right file agrees on many."""
import importlib.util, json, pathlib, sys

import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
import base

DT = {"float64": np.float64, "float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def load(file):
    spec = importlib.util.spec_from_file_location(pathlib.Path(file).stem, HERE / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def wide(x):
    return np.asarray(x).astype(np.float64)


def differs(got, want, tol=1e-9):
    """The largest difference relative to the size of the numbers; infinite for shapes, dtypes, and NaN in other places."""
    worst, where = 0.0, None
    for name, w in want.items():
        g = got[name]
        if g.shape != w.shape or g.dtype != w.dtype:
            return np.inf, name + " shape or dtype"
        g, w = wide(g), wide(w)
        if (np.isfinite(g) != np.isfinite(w)).any():
            return np.inf, name + " finite"
        ok = np.isfinite(w)
        if ok.any():
            d = np.abs(g[ok] - w[ok]).max() / max(np.abs(w)[ok].max(), 1e-30)
            if d > worst:
                worst, where = d, name
    return worst, where


def copies(args):
    return {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in args.items()}


def mha(rng, dtype="float64", B=2, Sq=3, Sk=4, D=8, H=2, biases="qkvo", spread=1.0, **more):
    t = lambda *s: (rng.standard_normal(s) * spread).astype(DT[dtype])
    args = dict(query=t(B, Sq, D), key=t(B, Sk, D), value=t(B, Sk, D), num_heads=H)
    for n in ("query", "key", "value", "output"):
        args["w_" + n] = (rng.standard_normal((D, D)) / np.sqrt(D)).astype(DT[dtype])
        if n[0] in biases:
            args["b_" + n] = t(D)
    return args | more


def single(rng, dtype="float64", S=3, D=5, dk=2, dv=4, do=3, **more):
    t = lambda *s: rng.standard_normal(s).astype(DT[dtype])
    args = dict(x=t(S, D), w_query=t(D, dk), w_key=t(D, dk), w_value=t(D, dv))
    return args | ({} if do is None else {"w_output": t(dv, do)}) | more


def ctx(rng, dtype="float64", S=5, D=3, **more):
    t = lambda *s: rng.standard_normal(s).astype(DT[dtype])
    return dict(encoder_states=t(S, D), decoder_state=t(D)) | more


def boolean(rng, *shape):
    m = rng.random(shape) < 0.6
    m[..., 0] = True
    return m


def inputs(name, rng):
    if name == "mask_tiled":
        return mha(rng, mask=boolean(rng, 2, 1, 3, 4))
    if name == "rank3_batch":
        return mha(rng, mask=boolean(rng, 2, 3, 4))
    if name == "self_packed":
        a = mha(rng, Sq=4)
        a["key"] = a["query"]
        return a
    if name == "bias_all_or_none":
        return mha(rng, biases="qvo")
    if name == "one_query_causal":
        return mha(rng, Sq=1, is_causal=True)
    if name == "causal_tiles":
        return mha(rng, B=1, Sq=20, Sk=20, is_causal=True)
    if name == "max_of_excluded":
        a = mha(rng, is_causal=True, Sq=3, Sk=3, spread=1.0)
        a["key"][:, 2] *= 5000
        return a
    if name in ("dead_rows_weights", "dead_rows_no_bias"):
        m = boolean(rng, 3, 4)
        m[1] = False
        return mha(rng, mask=m)
    if name in ("dead_rows_any_head", "value_bias_late"):
        m = boolean(rng, 2, 3, 4)
        m[1, 1] = False
        return mha(rng, mask=m)
    if name == "scale_in_weights":
        return mha(rng, biases="q")
    if name == "padding_squeezed":
        return mha(rng, B=3, Sq=3, mask=boolean(rng, 3, 1, 1, 4))
    if name == "nan_to_num":
        a = mha(rng)
        a["key"][0, 1, 2] = np.nan
        return a
    if name == "scale_of_values":
        return single(rng)
    if name == "square_output":
        return single(rng, dv=3, do=3)
    if name == "value_absorbed":
        return single(rng)
    if name == "tied_by_memory":
        a = single(rng)
        packed = rng.standard_normal((5, 4))
        return a | dict(w_query=packed[:, :2], w_key=packed[:, 2:])
    if name == "max_from_zero":
        a = single(rng, scale=-300.0)
        a["w_key"] = a["w_query"].copy()
        a["x"] = np.abs(a["x"]) + 1
        a["w_query"] = np.abs(a["w_query"]) + 1
        a["w_key"] = np.abs(a["w_key"]) + 1
        return a
    if name == "scale_float32":
        return single(rng, dk=3)
    if name == "one_token":
        return single(rng, S=1, dv=3, do=3)
    if name == "column_tokens":
        return single(rng, S=5)
    if name == "half_denominator":
        return ctx(rng, "bfloat16", S=400) | {"scale": 0.01}
    if name == "memory_order":
        a = ctx(rng)
        return a | {"encoder_states": np.asfortranarray(a["encoder_states"])}
    if name == "raw_from_scores":
        return ctx(rng, scale=0.0)
    if name == "scaled_maximum":
        a = ctx(rng, scale=-100.0)
        a["encoder_states"] *= 10
        return a
    if name == "zero_padding":
        a = ctx(rng)
        a["encoder_states"][2] = 0
        return a
    raise KeyError(name)


def show(item, rng):
    name = pathlib.Path(item["file"]).stem[4:]
    wrong = getattr(load(item["file"]), item["operation"])
    right = getattr(base, item["operation"])
    if name == "mask_edited":
        a = mha(rng, Sq=4, is_causal=True, mask=rng.standard_normal((4, 4)))
        before = a["mask"].copy()
        right(**a)
        assert np.array_equal(a["mask"], before)
        wrong(**a)
        return not np.array_equal(a["mask"], before), "mask edited"
    if name == "projected_keys_kept":
        a = mha(rng)
        b = a | {"b_value": a["b_value"] + 1}
        first, _ = differs(wrong(**a), right(**a))
        d, where = differs(wrong(**b), right(**b))
        return first < 1e-12 and d > 1e-3, f"{d:.2g} {where}"
    if name in ("reshape_divides", "width_one"):
        a = mha(rng, D=6, H=4) if name == "reshape_divides" else ctx(rng) | {"decoder_state": np.ones(1)}
        try:
            right(**a)
            return False, "base took it"
        except ValueError:
            pass
        return set(wrong(**a)) > set(), "not refused"
    a = inputs(name, rng)
    got, want = wrong(**a), right(**a)
    if name == "nan_to_num":
        assert np.isnan(wide(want["output"])).any()
    else:
        assert all(np.isfinite(wide(w)).all() for w in want.values()), "base must be finite"
    d, where = differs(got, want)
    return d > (1e-9 if name == "scale_float32" else 1e-2), f"{d:.2g} {where}"


# ------------------------------------------------ ordinary inputs: what is right, and how many wrong files are wrong nearly everywhere

def view(rng, x):
    kind = rng.integers(4)
    if kind == 1:
        return np.asfortranarray(x)
    if kind == 2:
        return x[::-1].copy()[::-1]
    if kind == 3:
        big = np.zeros(tuple(2 * n for n in x.shape), x.dtype)
        big[tuple(slice(0, 2 * n, 2) for n in x.shape)] = x
        return big[tuple(slice(0, 2 * n, 2) for n in x.shape)]
    return x


def random_input(op, rng, dtype, nonfinite=False):
    pick = lambda *v: v[rng.integers(len(v))]
    scale = pick(None, None, 0.5, 0.0, -1.0, 1.0)
    extra = {} if scale is None else {"scale": scale}
    if op == "multi_head_attention":
        B, H, E, Sq, Sk = pick(1, 2, 3), pick(1, 2, 3), pick(1, 2, 4), pick(1, 2, 5, 17, 0), pick(1, 3, 5, 18, 0)
        a = mha(rng, dtype, B, Sq, Sk, H * E, H, biases=pick("", "qkvo", "qv", "o", "k"))
        kind = rng.integers(5)
        shape = pick((Sq, Sk), (1, Sk), (H, Sq, Sk), (1, Sq, Sk), (B, 1, Sq, Sk), (B, 1, 1, Sk), (B, H, Sq, Sk))
        if kind in (1, 2):
            a["mask"] = rng.random(shape) < 0.6
        elif kind == 3:
            a["mask"] = np.where(rng.random(shape) < 0.3, -np.inf, rng.standard_normal(shape)).astype(DT[dtype])
        a |= extra | ({"is_causal": True} if rng.random() < 0.4 else {})
        if nonfinite and Sk:
            a[pick("key", "value")][0, rng.integers(Sk), 0] = pick(np.nan, np.inf)
    elif op == "single_head_attention":
        a = single(rng, dtype, pick(1, 3, 6, 17), pick(1, 3, 6), pick(1, 2, 5), pick(1, 3, 4), pick(None, 1, 3)) | extra
    else:
        a = ctx(rng, dtype, pick(1, 2, 7, 40), pick(1, 3, 7)) | extra
    return {k: view(rng, v) if isinstance(v, np.ndarray) else v for k, v in a.items()}


def tolerance(dtype):
    return 500 * EPS["float64"] if dtype == "float64" else 200 * EPS["float32"] if dtype == "float32" else 2 * EPS[dtype]


def agree(module, op, rng, count=300):
    worst = 0.0
    for n in range(count):
        dtype = list(DT)[n % 4]
        float32 = getattr(module, "conventions", {}).get("accumulation") == "float32"
        a = random_input(op, rng, dtype, nonfinite=n % 7 == 0)
        before = copies(a)
        got, want = getattr(module, op)(**a), getattr(base, op)(**a)
        assert all(np.array_equal(wide(a[k]), wide(before[k]), equal_nan=True) for k in a if isinstance(a[k], np.ndarray))
        size = 1.0
        for name, w in want.items():
            g, v = wide(got[name]), wide(w)
            assert got[name].shape == w.shape and got[name].dtype == w.dtype, (name, n)
            assert (np.isfinite(g) == np.isfinite(v)).all(), (op, name, n, dtype)
            ok = np.isfinite(v)
            if ok.any():
                limit = tolerance("float32" if dtype == "float64" and float32 else dtype) * max(1, np.abs(v[ok]).max())
                worst = max(worst, np.abs(g[ok] - v[ok]).max() / limit)
    return worst


def formula(rng):
    """base against the pages' worked example and a loop."""
    x = np.array([[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1.]])
    got = base.single_head_attention(x, np.array([[1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1.]]),
                                     np.array([[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0.]]),
                                     np.array([[0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0.]]), scale=1)
    assert np.allclose(got["output"], [[1.93662, 6.68311, 1.59507], [1.99999, 7.96399, 0.05398], [1.99970, 7.75989, 0.35839]], atol=1e-5)
    h = np.array([[.64, -.27, .89, -.12], [-.45, .33, .71, .08], [.19, -.94, .56, .37], [.03, .85, -.41, .76]])
    got = base.context_vector(h, np.array([.45, .11, -.88, .67]))
    assert np.allclose(got["context"], [0.09578694, 0.14982156, 0.24673243, 0.38854995], atol=1e-8)
    a = mha(rng, is_causal=True, mask=boolean(rng, 2, 3, 4))
    got = base.multi_head_attention(**a)
    for b in range(2):
        rows = np.zeros((3, 8))
        for head in range(2):
            f = slice(4 * head, 4 * head + 4)
            q, k, v = ((a[n][b] @ a["w_" + n] + a["b_" + n])[:, f] for n in ("query", "key", "value"))
            for i in range(3):
                js = [j for j in range(i + 1) if a["mask"][head, i, j]]
                e = np.exp([q[i] @ k[j] / 2 for j in js])
                rows[i, f] = sum(w * v[j] for w, j in zip(e / e.sum(), js))
        assert np.allclose(got["output"][b], rows @ a["w_output"] + a["b_output"])


if __name__ == "__main__":
    items = json.loads((HERE / "batch.json").read_text())
    formula(np.random.default_rng(0))
    failed, everywhere = [], 0
    for number, item in enumerate(items):
        ok, why = show(item, np.random.default_rng(100 + number))
        module, op = load(item["file"]), item["operation"]
        rng, bad = np.random.default_rng(7), 0
        for n in range(60):
            dtype = ("float64", "float32")[n % 2]
            a = random_input(op, rng, dtype)
            a = copies(a) if n % 3 else a
            want = getattr(base, op)(**a)
            bad += differs(getattr(module, op)(**a), want)[0] > (1e-11 if dtype == "float64" else 1e-3)
        everywhere += bad > 30
        print(f"{'shown ' if ok else 'MISSED'} {item['file']:40} {why:28} wrong on {bad}/60 ordinary inputs")
        failed += [] if ok else [item["file"]]
    for file in sorted((HERE / "right").glob("*.py")):
        module = load(f"right/{file.name}")
        op = next(o for o in ("multi_head_attention", "single_head_attention", "context_vector") if hasattr(module, o))
        worst = agree(module, op, np.random.default_rng(3))
        print(f"right  {file.name:40} worst error / limit {worst:.2g}")
        failed += [] if worst < 1 else [file.name]
    print(f"{len(items)} wrong, {everywhere} of them wrong nearly everywhere;", "FAILED: " + ", ".join(failed) if failed else "all shown")
    sys.exit(bool(failed))
