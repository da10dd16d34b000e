"""Shows every wrong file wrong by an input of its own, and the right ones right on many random ones."""
import importlib.util
import json
import math
import pathlib
import sys

import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import base

BF16 = np.dtype(ml_dtypes.bfloat16)
TOL = {"float64": 1e-9, "float32": 1e-4, "bfloat16": 3e-2, "float16": 4e-3}


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def differs(module, case, names=None):
    """Names of outputs that differ from base, by more than rounding."""
    case = dict(case)
    try:
        want = base.scaled_dot_product_attention(**case)
    except ValueError:
        want = None
    try:
        got = module.scaled_dot_product_attention(**case)
    except ValueError as error:
        return [] if want is None else [f"refused: {error}"]
    if want is None:
        return ["not refused"]
    conventions = getattr(module, "conventions", {})
    N = case.get("query_lengths")
    found = []
    for name in got:
        if names and name not in names:
            continue
        a, b = got[name], want[name]
        if a.shape != b.shape or a.dtype != b.dtype:
            found.append(f"{name}: {a.shape} {a.dtype}, not {b.shape} {b.dtype}")
            continue
        if name.startswith("present"):
            if a.tobytes() != b.tobytes():
                found.append(name)
            continue
        a, b = a.astype(np.float64), b.astype(np.float64)
        if name == "logsumexp":
            if conventions.get("logsumexp_base") == "2":
                a = a * math.log(2)
            if conventions.get("empty_logsumexp") == "plus_infinity":
                a = np.where(a == np.inf, -np.inf, a)
        if N is not None:
            for n in range(len(N)):
                a[n, :, N[n]:] = b[n, :, N[n]:] = 0
        tol = TOL[str(want["output"].dtype)]
        big = np.abs(b[np.isfinite(b)]).max(initial=1.0)
        with np.errstate(all="ignore"):
            same = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= tol * big)
        if not same.all():
            found.append(name)
    return found


def draw(r, large=False):
    dtype = r.choice([np.dtype("float64"), np.dtype("float32"), BF16, np.dtype("float16")])
    B, Hkv, G = int(r.integers(1, 4)), int(r.integers(1, 3)), int(r.integers(1, 4))
    E, Ev = int(r.integers(1, 6)), int(r.integers(1, 5))
    Sq, Sk = int(r.choice([0, 1, 2, 3, 5, 8, 13, 20, 30, 40])), int(r.choice([0, 1, 2, 3, 5, 8, 13, 20, 33, 40, 50]))
    if large:
        B, Hkv, G, Sq, Sk = 1, 1, int(r.integers(1, 3)), int(r.integers(1, 60)), int(r.integers(60, 200))
    if r.random() < 0.2:
        Sk = Sq
    Hq = Hkv * G
    amount = r.choice([0.5, 1, 3])
    f = lambda *s: (r.standard_normal(s) * amount).astype(dtype)
    c = dict(query=f(B, Hq, Sq, E), key=f(B, Hkv, Sk, E), value=f(B, Hkv, Sk, Ev))
    P = 0
    if r.random() < 0.3:
        P = int(r.integers(0, 7))
        c.update(past_key=f(B, Hkv, P, E), past_value=f(B, Hkv, P, Ev))
    else:
        if r.random() < 0.35:
            c["key_lengths"] = r.integers(0, Sk + 1, B)
        if r.random() < 0.35:
            c["query_lengths"] = r.integers(0, Sq + 1, B)
    T = P + Sk
    if r.random() < 0.5:
        c["is_causal"] = True
    c["causal_alignment"] = str(r.choice(["top_left", "bottom_right"]))
    if r.random() < 0.4:
        side = lambda: None if r.random() < 0.3 else int(r.integers(0, 8))
        c["window"] = [side(), side()]
    if r.random() < 0.6:
        shape = [B if r.random() < 0.6 else 1, Hq if r.random() < 0.6 else 1, Sq if r.random() < 0.7 else 1, T]
        shape = shape[int(r.integers(0, 3)):]
        keep = r.random(shape) < r.choice([0.2, 0.6, 0.95])
        if r.random() < 0.4:  # whole blocks
            keep = np.repeat(keep[..., ::16], 16, axis=-1)[..., :T] if T else keep
        if r.random() < 0.3 and Sq:
            keep = keep.copy()
            keep[..., int(r.integers(0, keep.shape[-2])) if keep.shape[-2] else slice(None), :] = False
        if r.random() < 0.5:
            c["mask"] = keep
        else:
            c["mask"] = np.where(keep, r.standard_normal(shape), -np.inf).astype(dtype)
        if r.random() < 0.2:
            c["mask"] = np.asfortranarray(c["mask"])
    if r.random() < 0.25:
        c["sinks"] = r.standard_normal(Hq).astype(dtype)
    if r.random() < 0.2:
        c["alibi_slopes"] = (r.random(Hq) / 4).astype(dtype)
    if r.random() < 0.2:
        c["softcap"] = float(r.choice([0, 2.0, 10.0]))
    if r.random() < 0.3:
        c["scale"] = float(r.choice([0, 1, -0.5, 0.3]))
    if r.random() < 0.15 and "past_key" not in c:
        for n, s in (("key", "key_scale"), ("value", "value_scale")):
            c[n] = r.integers(-128, 128, c[n].shape).astype(np.int8)
            c[s] = (r.random([(), (Hkv,), (B, Hkv)][int(r.integers(0, 3))]) / 50).astype(np.float32)
        if r.random() < 0.5:
            c["query"] = c["query"].astype(ml_dtypes.float8_e4m3fn)
            c["query_scale"] = np.float32(0.5) * np.ones((), np.float32)
            c["output_dtype"] = str(r.choice(["float32", "bfloat16"]))
    if r.random() < 0.15 and Sk and c["value"].dtype.kind not in "i":  # what may not be finite
        n = str(r.choice(["key", "value"]))
        c[n] = c[n].copy()
        c[n][int(r.integers(0, B)), int(r.integers(0, Hkv)), int(r.integers(0, Sk)), 0] = r.choice([np.nan, np.inf])
    return c


def plain(r, B=1, Hq=1, Hkv=1, Sq=4, Sk=6, E=4, Ev=3, dtype="float32", **more):
    f = lambda *s: r.standard_normal(s).astype(dtype)
    return dict(query=f(B, Hq, Sq, E), key=f(B, Hkv, Sk, E), value=f(B, Hkv, Sk, Ev), **more)


def witnesses(r):
    tri = np.tri(6, 6, dtype=bool)
    late = np.ones((1, 1, 1, 40), bool)
    late[..., :16] = False
    gap = np.ones((1, 1, 1, 64), bool)
    gap[..., :32] = False
    nan_key = plain(r)
    nan_key["key"][0, 0, 2, 1] = np.nan
    far = plain(r, Sq=3, Sk=12, mask=np.arange(12)[None, :].repeat(3, 0) >= 8, scale=1.0)
    far["query"][:], far["key"][:] = 10, -10 - np.arange(12)[:, None] / 100
    low = plain(r, Sq=1, Sk=16, E=1, scale=1.0)
    low["query"][:] = 1
    low["key"][0, 0, :, 0] = np.where(np.arange(16) < 8, 7, 0)
    rise = plain(r, Sq=1, Sk=32, E=1, scale=1.0)
    rise["query"][:] = 1
    rise["key"][0, 0, :, 0] = np.where(np.arange(32) < 16, 0, 3)
    first = np.zeros((5, 5), bool)
    first[:, 4] = True
    dead = np.ones((8, 6), bool)
    dead[4:] = False
    past = dict(past_key=r.standard_normal((1, 1, 2, 4)).astype("float32"), past_value=r.standard_normal((1, 1, 2, 3)).astype("float32"))
    return {
        1: plain(r, Sq=6, mask=tri),
        2: plain(r, window=[0, None]),
        3: nan_key,
        4: plain(r, B=2, Sq=6, query_lengths=np.array([6, 3])),
        5: plain(r, Sq=6, is_causal=True, window=[2, 1]),
        6: plain(r, mask=r.random((4, 1)) < 0.7),
        7: plain(r, Sq=1, is_causal=True),
        8: plain(r, Sq=6, Sk=4, is_causal=True, **past),
        9: plain(r, Sk=40, mask=late),
        10: far,
        11: plain(r, Sk=64, mask=gap),
        12: plain(r, Sq=20, Sk=7, mask=np.arange(7)[None, :] < 4),
        13: plain(r, Sk=7, mask=r.standard_normal((4, 7)).astype("float32")),
        14: rise,
        15: low,
        16: plain(r, B=2, Sk=40, key_lengths=np.array([40, 9])),
        17: plain(r, Sq=4, Sk=4, is_causal=True, **past),
        18: plain(r, Sq=16, Sk=20, mask=np.ones((16, 20), bool)),
        19: plain(r, Sk=33, mask=np.ones((4, 33), bool)),
        20: plain(r, Sq=5, Sk=5, is_causal=True, mask=first),
        21: plain(r, Sq=20, Sk=20, is_causal=True),
        22: plain(r, B=2, Sq=4, is_causal=True, causal_alignment="bottom_right", key_lengths=np.array([5, 5]), query_lengths=np.array([4, 2])),
        23: plain(r, Sk=40),
        24: plain(r, Sq=6, mask=np.asfortranarray(tri)),
        25: plain(r, Sq=8, mask=dead),
        26: plain(r, Sq=1, Sk=160, is_causal=True, causal_alignment="bottom_right"),
    }


def main():
    r = np.random.default_rng(41)
    cases = witnesses(r)
    bad = 0
    for entry in json.loads((HERE / "batch.json").read_text()):
        module = load(HERE / entry["file"])
        number = int(entry["file"][6:9])
        if number == 17:
            module.scaled_dot_product_attention(**plain(r, Sq=4, Sk=6, is_causal=True))
        found = differs(module, cases[number])
        print(entry["file"], found or "NOT SHOWN", flush=True)
        bad += not found
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 150
    for path in sorted((HERE / "right").glob("*.py")):
        module, failed = load(path), 0
        for n in range(many):
            case = draw(np.random.default_rng([7, n]), large=n % 10 == 9)
            found = differs(module, case)
            failed += bool(found)
            if found and failed < 4:
                print("   ", path.name, n, found, {k: getattr(v, "shape", v) for k, v in case.items()})
        print(path.name, f"{failed} of {many} differ", flush=True)
        bad += failed
    print("all shown" if not bad else f"{bad} PROBLEMS")


if __name__ == "__main__":
    main()
