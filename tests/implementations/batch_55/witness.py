"""For every wrong file an input within the contract on which it differs from base; for right files many on which they agree."""
import copy
import importlib.util
import inspect
import json
import pathlib
import sys
import warnings

import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import base  # noqa: E402

NAME = "scaled_dot_product_attention"
DT = {"float64": np.dtype("f8"), "float32": np.dtype("f4"), "float16": np.dtype("f2"), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
TOL = {"float64": 1e-9, "float32": 3e-4, "float16": 8e-3, "bfloat16": 6e-2}


def load(path):
    spec = importlib.util.spec_from_file_location("w_" + path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def call(function, case):
    given = {k: (list(v) if k == "window" else v.copy(order="K") if isinstance(v, np.ndarray) else v) for k, v in case.items()}
    kept = copy.deepcopy(given)
    try:
        out = function(**given)
    except ValueError as error:
        return f"refused: {error}"
    for k, v in kept.items():
        same = v.tobytes() == given[k].tobytes() if isinstance(v, np.ndarray) else v == given[k]
        if not same:
            return f"edited its input {k}"
    return out


def differences(case, got, want):
    if isinstance(got, str) or isinstance(want, str):
        alike = isinstance(got, str) and isinstance(want, str) and got.startswith("refused") and want.startswith("refused")
        return [] if alike else [(got if isinstance(got, str) else "taken", 0.0)]
    found = []
    for name, x in got.items():
        y = want[name]
        if x.shape != y.shape or x.dtype != y.dtype:
            found.append((name + " shape or dtype", np.inf))
            continue
        dtype = case["query"].dtype.name
        x, y = x.astype(np.float64), y.astype(np.float64)
        if "query_lengths" in case and not name.startswith("present"):
            counts = np.arange(x.shape[2]) < np.asarray(case["query_lengths"])[:, None]
            counts = counts.reshape(counts.shape[0], 1, counts.shape[1], *[1] * (x.ndim - 3))
            x, y = np.where(counts, x, 0), np.where(counts, y, 0)
        with np.errstate(all="ignore"):
            same = (x == y) | (np.isnan(x) & np.isnan(y))
            error = np.where(same, 0, np.abs(x - y) / (1 + np.abs(y)))
            worst = np.nan_to_num(error, nan=np.inf).max(initial=0)
        if worst > TOL.get(dtype, 1e-3):
            found.append((name, worst))
    return found


def naive(case):
    """The formula, number by number."""
    c = {k: np.asarray(v).astype(np.float64) if isinstance(v, np.ndarray) and v.dtype != bool else v for k, v in case.items()}
    q, k, v = c["query"], c["key"], c["value"]
    (B, Hq, Sq, E), Hkv = q.shape, k.shape[1]
    P = 0
    if "past_key" in c:
        P = c["past_key"].shape[2]
        k, v = np.concatenate([c["past_key"], k], 2), np.concatenate([c["past_value"], v], 2)
    T = k.shape[2]
    out, lse = np.zeros((B, Hq, Sq, v.shape[3])), np.full((B, Hq, Sq), -np.inf)
    left, right = c.get("window") or (None, None)
    mask = None if "mask" not in c else np.broadcast_to(c["mask"], (B, Hq, Sq, T))
    for b, h, i in np.ndindex(B, Hq, Sq):
        L = int(c["key_lengths"][b]) if "key_lengths" in c else T
        N = int(c["query_lengths"][b]) if "query_lengths" in c else Sq
        p = i + P if c.get("causal_alignment", "top_left") == "top_left" else i + L - N
        g = h // (Hq // Hkv)
        logits, values = [], []
        for j in range(L):
            if c.get("is_causal") and j > p or left is not None and j < p - left or right is not None and j > p + right:
                continue
            if mask is not None and (not mask[b, h, i, j] if mask.dtype == bool else mask[b, h, i, j] == -np.inf):
                continue
            s = q[b, h, i] @ k[b, g, j] * (c["scale"] if "scale" in c else E**-0.5)
            s = c["softcap"] * np.tanh(s / c["softcap"]) if c.get("softcap") else s
            s -= c["alibi_slopes"][h] * abs(p - j) if "alibi_slopes" in c else 0
            logits.append(s + (mask[b, h, i, j] if mask is not None and mask.dtype != bool else 0))
            values.append(v[b, g, j])
        n = len(logits)
        row = np.array(logits + ([c["sinks"][h]] if "sinks" in c else []))
        if len(row):
            m = row.max()
            e = np.exp(row - m)
            lse[b, h, i] = m + np.log(e.sum())
            if n:
                out[b, h, i] = (e[:n] / e.sum()) @ np.array(values)
    side = DT["float64"] if case["query"].dtype == DT["float64"] else DT["float32"]
    return {"output": out.astype(case["query"].dtype), "logsumexp": lse.astype(side)}


def drawn(rng, dtype):
    r = lambda *shape: rng.normal(size=shape).astype(DT[dtype])
    yes = lambda chance=0.3: rng.random() < chance
    B, Hkv, G = rng.integers(1, 4), rng.integers(1, 3), rng.integers(1, 4)
    Sq = 1 if yes(0.25) else rng.integers(1, 9)
    Sk = 0 if yes(0.03) else Sq if yes(0.25) else rng.integers(1, 40 if yes(0.2) else 12)
    E, Ev = rng.integers(1, 10), rng.integers(1, 10)
    Hq = Hkv * G
    c = {"query": r(B, Hq, Sq, E), "key": r(B, Hkv, Sk, E), "value": r(B, Hkv, Sk, Ev)}
    P = 0
    if yes(0.25):
        P = rng.integers(0, 6)
        c["past_key"], c["past_value"] = r(B, Hkv, P, E), r(B, Hkv, P, Ev)
    elif yes(0.4):
        c["key_lengths"] = rng.integers(0, Sk + 1, B)
        if yes(0.5):
            c["query_lengths"] = rng.integers(0, Sq + 1, B)
    if yes(0.4):
        shape = [(Sq, P + Sk), (Hq, Sq, P + Sk), (B, 1, Sq, P + Sk), (B, Hq, 1, P + Sk)][rng.integers(4)]
        m = rng.random(shape) < 0.7
        c["mask"] = m if yes(0.5) else np.where(m | yes(0.5), rng.normal(size=shape), -np.inf).astype(DT[dtype])
    if yes():
        c["sinks"] = r(Hq)
    if yes():
        c["alibi_slopes"] = np.abs(r(Hq))
    if yes(0.5):
        c["is_causal"] = True
    if yes(0.5):
        c["causal_alignment"] = "bottom_right"
    if yes():
        c["scale"] = float([0.0, -0.5, 0.3, 2.0][rng.integers(4)])
    if yes():
        c["softcap"] = float([0.0, 1.5, 20.0][rng.integers(3)])
    if yes():
        c["window"] = [None if yes() else int(rng.integers(0, 5)), None if yes() else int(rng.integers(0, 4))]
    return c


def plain(B=1, Hq=1, Hkv=None, Sq=1, Sk=4, E=4, Ev=None, dtype="float32", seed=0, **more):
    rng = np.random.default_rng(seed)
    r = lambda *shape: rng.normal(size=shape).astype(DT[dtype])
    Hkv = Hkv or Hq
    return {"query": r(B, Hq, Sq, E), "key": r(B, Hkv, Sk, E), "value": r(B, Hkv, Sk, Ev or E)} | more


def witnesses():
    f = np.float32
    W = {}
    W[1] = plain(Sq=1, Sk=6, causal_alignment="bottom_right", window=[1, None], key_lengths=np.array([4]))
    W[2] = plain(Sq=20, Sk=20, is_causal=True, window=[3, 0])
    W[3] = plain(Sq=16, Sk=16, is_causal=True)
    W[4] = plain(Sk=3, sinks=f([120]))
    W[5] = plain(Sk=33, sinks=f([3]))
    W[6] = plain(Sq=2, Sk=3, mask=np.array([[True] * 3, [False] * 3]))
    W[7] = plain(Sq=2, Sk=5, is_causal=True, causal_alignment="bottom_right", key_lengths=np.array([3]), alibi_slopes=f([0.5]))
    W[8] = plain(Sk=3, softcap=1.0, sinks=f([2.5]))
    W[9] = plain(Sq=2, Sk=5, causal_alignment="bottom_right", window=[1, 0])
    W[10] = plain(Sq=5, Sk=3, is_causal=True, causal_alignment="bottom_right")
    W[11] = plain(Sq=3, Sk=4, mask=np.array([[True], [True], [False]]))
    m = np.random.default_rng(5).random((4, 2, 4)) < 0.6
    m[..., 0] = True
    W[12] = plain(Hq=4, Hkv=2, Sq=2, Sk=4, mask=m)
    W[13] = plain(Sq=1, Sk=3, mask=f([[0, 2, -1]]))
    W[14] = plain(Sq=3, Sk=3, is_causal=True)
    W[14]["value"][0, 0, 2, 1] = np.nan
    W[15] = plain(Sk=700, dtype="bfloat16", scale=0.0)
    W[15]["value"] = np.abs(W[15]["value"]) + W[15]["value"].dtype.type(1)
    W[16] = {"query": np.full((1, 1, 1, 64), 64, np.float16), "key": np.stack([np.full(64, 32), np.full(64, 31.96875)]).astype(np.float16)[None, None],
             "value": np.array([1, 2], np.float16).reshape(1, 1, 2, 1), "scale": 1 / 64}
    W[17] = plain(Sq=2, Sk=5, E=6, dtype="float64")
    W[17] = {k: v * 3 if k != "value" else v for k, v in W[17].items()}
    first = plain(Sq=2, Sk=5, is_causal=True)
    W[18] = [first, first | {"causal_alignment": "bottom_right"}]
    W[19] = plain(Hq=2, Sq=3, Sk=4)
    W[19]["key"] = np.asfortranarray(W[19]["key"])
    W[20] = plain(Sq=4, Sk=4, is_causal=True, window=[2, None])
    W[21] = plain(Sq=2, Sk=4, is_causal=True, causal_alignment="bottom_right") | {"past_key": np.ones((1, 1, 3, 4), f), "past_value": np.ones((1, 1, 3, 4), f)}
    W[22] = {"query": np.full((1, 1, 1, 1), 10, f), "key": f([30, -30]).reshape(1, 1, 2, 1), "value": f([1, 2]).reshape(1, 1, 2, 1), "scale": -1.0}
    W[23] = plain(Sq=1, Sk=70, key_lengths=np.array([9]))
    W[24] = plain(Sq=17, Sk=17, is_causal=True)
    W[25] = plain(Hq=4, Hkv=2, Sq=1, Sk=6, causal_alignment="bottom_right", window=[1, None])
    W[26] = plain(Sk=33)
    W[26]["query"][...], W[26]["key"][...] = f([2, 0, 0, 0]), 0
    W[26]["key"][0, 0, 20, 0] = 3
    W[27] = plain(Sk=300, dtype="bfloat16", causal_alignment="bottom_right", alibi_slopes=np.array([1], ml_dtypes.bfloat16), scale=0.0)
    W[28] = plain(Sk=3, sinks=f([1]))
    W[29] = plain(Sk=1, sinks=f([0]))
    W[30] = plain(Sq=2, Sk=3, mask=np.zeros((2, 3), bool))
    W[31] = plain(Sq=2, Sk=3, E=3, Ev=6)
    return W


def main():
    good = True
    batch = json.loads((HERE / "batch.json").read_text())
    rng = np.random.default_rng(55)
    pool = [drawn(rng, dtype) for dtype in ("float64", "float32", "bfloat16", "float16") for _ in range(120)]
    wanted = [call(base.scaled_dot_product_attention, c) for c in pool]
    for c, want in zip(pool, wanted):
        d = differences(c, naive(c), want)
        if isinstance(want, str) or d:
            good = False
            print("BASE against the formula", want if isinstance(want, str) else d, {k: getattr(v, "shape", v) for k, v in c.items()})
    for path in sorted((HERE / "right").glob("*.py")):
        f = load(path).scaled_dot_product_attention
        bad = [d for c, want in zip(pool, wanted) if (d := differences(c, call(f, c), want))]
        for n, case in witnesses().items():
            for c in case if isinstance(case, list) else [case]:
                d = differences(c, call(f, c), call(base.scaled_dot_product_attention, c))
                if d:
                    bad.append((n, d))
        good &= not bad
        print("right", path.name, "agrees on", len(pool), "and the witnesses" if not bad else bad[:4])
    W = witnesses()
    broad = 0
    for n, entry in enumerate(batch, 1):
        f = load(HERE / entry["file"]).scaled_dot_product_attention
        assert len(inspect.signature(f).parameters) == 19
        share = np.mean([bool(differences(c, call(f, c), want)) for c, want in zip(pool, wanted)])
        f = load(HERE / entry["file"]).scaled_dot_product_attention
        case = W[n] if isinstance(W[n], list) else [W[n]]
        for c in case:
            got, want = call(f, c), call(base.scaled_dot_product_attention, c)
            d = differences(c, got, want)
        shown = bool(d)
        good &= shown
        broad += share > 0.3
        print(("shown " if shown else "NOT SHOWN ") + entry["file"], f"{share:.3f}", [(k, float(f"{e:.2g}")) for k, e in d])
    print("all shown" if good else "SOMETHING IS AMISS", "-", broad, "of", len(batch), "differ on more than 30% of ordinary inputs")
    return 0 if good else 1


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
