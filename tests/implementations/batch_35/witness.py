"""Every wrong file differs from base on an input of its own, within the pages; every right file agrees on many."""
import importlib.util
import json
import pathlib
import sys

import ml_dtypes
import numpy as np

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here))
import base  # noqa: E402

OP = "scaled_dot_product_attention"
DT = {"float64": np.float64, "float32": np.float32, "bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "bfloat16": 2.0**-8, "float16": 2.0**-11}


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem.replace(".", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def qkv(B=1, Hq=2, Hkv=None, Sq=3, Sk=3, E=4, Ev=None, dtype="float64", seed=0, **more):
    r = np.random.default_rng(seed)
    Hkv, Ev = Hq if Hkv is None else Hkv, E if Ev is None else Ev
    d = dict(query=r.normal(size=(B, Hq, Sq, E)), key=r.normal(size=(B, Hkv, Sk, E)), value=r.normal(size=(B, Hkv, Sk, Ev)))
    d = {k: v.astype(DT[dtype]) for k, v in d.items()}
    P = more.pop("P", None)
    if P is not None:
        d["past_key"] = r.normal(size=(B, Hkv, P, E)).astype(DT[dtype])
        d["past_value"] = r.normal(size=(B, Hkv, P, Ev)).astype(DT[dtype])
    for k, v in more.items():
        d[k] = v.astype(DT[dtype]) if isinstance(v, np.ndarray) and v.dtype == np.float64 else v
    return d


def mask_per_head():
    m = np.ones((4, 3, 3), bool)
    m[1, :, 0] = False
    m[3, 0, 2] = False
    return m


def hole():
    m = np.ones((16, 16), bool)
    m[3:9, 4:12] = False
    return m


def dead_one():
    m = np.ones((1, 2, 3, 3), bool)
    m[0, 1, 1] = False
    return m


def one_buffer():
    kv = np.random.default_rng(3).normal(size=(1, 2, 3, 8))
    return dict(qkv(), key=kv[..., :4], value=kv[..., 4:])


def negative_zero():
    d = qkv(P=2)
    d["past_key"][0, 0, 0, 0] = -0.0
    d["value"][0, 0, 0, 0] = -0.0
    return d


def constant(q, k, Sk=3, dtype="float16", **more):
    d = qkv(Hq=1, Sq=1, Sk=Sk, E=1, dtype=dtype, **more)
    d["query"][...] = q
    d["key"][...] = np.reshape(np.asarray(k), (1, 1, -1, 1))
    return d


def divided_otherwise():
    slopes = np.array([0.5, 0.25])
    return [qkv(Sq=2, Sk=5, alibi_slopes=slopes), qkv(Sq=2, Sk=2, P=3, alibi_slopes=slopes)]


W = {  # file -> the input, or the calls in their order; the last one is compared
    1: lambda: qkv(Sq=1, Sk=3, P=2, is_causal=True),
    2: lambda: qkv(Sq=6, Sk=2, window=[2, None]),
    3: lambda: qkv(Sq=5, Sk=2, causal_alignment="bottom_right", alibi_slopes=np.array([0.5, 0.25])),
    4: lambda: qkv(Hq=6, Hkv=2, sinks=np.arange(6.0) - 2),
    5: lambda: qkv(Hq=4, Hkv=2, mask=mask_per_head()),
    6: lambda: constant(512, [2**-9, 2**-8, 2**-7], scale=256.0),
    7: lambda: qkv(mask=np.full((3, 3), -20000.0)),
    8: lambda: qkv(B=2, key_lengths=np.array([3, 0]), sinks=np.array([0.5, 1.0])),
    9: lambda: qkv(Sq=16, Sk=40, window=[2, 1]),
    10: lambda: constant(-264, [264, 264.25, 264], scale=1.0),
    11: lambda: qkv(Sq=1, Sk=40, sinks=np.array([2.0, 3.0])),
    12: lambda: qkv(Ev=80, sinks=np.array([0.0, 1.0])),
    13: lambda: qkv(B=2, Sk=24, key_lengths=np.array([3, 24])),
    14: negative_zero,
    15: lambda: qkv(Sq=300, Sk=300, Hq=1, dtype="bfloat16", is_causal=True, window=[1, 0]),
    16: divided_otherwise,
    17: one_buffer,
    18: lambda: qkv(E=9),
    19: lambda: qkv(Sk=0, Ev=6),
    20: lambda: qkv(P=2, mask=np.tril(np.ones((3, 3), bool))),
    21: lambda: qkv(B=2, Sk=5, causal_alignment="bottom_right", query_lengths=np.array([3, 1]), window=[1, 0]),
    22: lambda: qkv(window=[2, 1], alibi_slopes=np.array([0.5, 1.0])),
    23: lambda: qkv(Hq=4, Hkv=2, Sq=1, Sk=5, causal_alignment="bottom_right", is_causal=True, window=[1, 0]),
    24: lambda: qkv(Sk=9, alibi_slopes=np.array([0.1, 0.3])),
    25: lambda: constant(0, np.zeros(600), Sk=600, dtype="bfloat16"),
    26: lambda: constant(1.0, [0.0, -3e9, -3e9 - 2], dtype="float64", mask=np.array([[False, True, True]])),
    27: lambda: qkv(mask=dead_one()),
    28: lambda: constant(10.0, [-100.0, 3.0, 100.0], dtype="float64", scale=-1.0),
    29: lambda: qkv(Sq=1, Sk=5, causal_alignment="bottom_right", window=[2, 0], mask=np.array([[True, False, True, True, False]])),
    30: lambda: qkv(Sq=16, Sk=16, mask=hole()),
    31: lambda: qkv(B=2, is_causal=True, causal_alignment="bottom_right", key_lengths=np.array([3, 2])),
}


def outcome(function, args):
    try:
        r = function(**args)
    except base.Refused:
        return None
    return r if isinstance(r, dict) else {"output": r}


def differ(got, want, dtype, rows=None):
    """The names of outputs that differ clearly, and by how much."""
    if (got is None) != (want is None):
        return {"refusal": np.inf}
    if got is None:
        return {}
    found = {}
    for name in want:
        g, w = got[name], want[name]
        if g.shape != w.shape or g.dtype != w.dtype:
            found[name] = np.inf
            continue
        if name.startswith("present"):
            if g.tobytes() != w.tobytes():
                found[name] = np.inf
            continue
        g, w = g.astype(np.float64), w.astype(np.float64)
        if rows is not None:  # rows that count
            g, w = g[rows], w[rows]
        same = (g == w) | (np.isnan(g) & np.isnan(w))
        with np.errstate(all="ignore"):
            size = np.abs(w) + (0 if not np.isfinite(w).any() else np.abs(w[np.isfinite(w)]).max())
            off = np.where(same, 0, np.abs(g - w) / (UNIT[dtype] * np.maximum(size, 1e-30)))
        off = np.where(np.isnan(off), np.inf, off)
        if off.size and off.max() > (200 if dtype in ("float64", "float32") else 16):
            found[name] = float(off.max())
    return found


def draw(r, dtype, plain=False):
    B, G, Hkv = r.integers(1, 4), r.integers(1, 4), r.integers(1, 4)
    Sq, Sk, E, Ev = r.integers(1, 8), r.integers(0, 24), r.integers(1, 9), r.integers(1, 9)
    if r.random() < 0.3:
        Sq = 1
    if r.random() < 0.2:
        Sk = Sq
    more = {}
    choice = r.random()
    P = 0
    if choice < 0.3:
        P = more["P"] = int(r.integers(0, 6))
    elif choice < 0.6:
        if r.random() < 0.7:
            more["key_lengths"] = r.integers(0, Sk + 1, size=B)
        if r.random() < 0.7:
            more["query_lengths"] = r.integers(0, Sq + 1, size=B)
    keys = P + Sk
    Hq = G * Hkv
    if r.random() < 0.5:
        shape = [(1, B)[r.integers(2)], (1, Hq)[r.integers(2)], (1, Sq)[r.integers(2)], keys][r.integers(0, 3):]
        more["mask"] = r.random(shape) < 0.7
        if r.random() < 0.5:
            more["mask"] = np.where(r.random(shape) < 0.2, -np.inf, r.normal(size=shape))
    if r.random() < 0.4:
        more["is_causal"] = True
    if r.random() < 0.5:
        more["causal_alignment"] = "bottom_right"
    if r.random() < 0.3:
        more["window"] = [None if r.random() < 0.2 else int(r.integers(0, 5)) for _ in range(2)]
    if r.random() < 0.3:
        more["sinks"] = r.normal(size=Hq) * 3
    if r.random() < 0.3:
        more["alibi_slopes"] = r.normal(size=Hq)
    if r.random() < 0.3:
        more["softcap"] = float(r.choice([0, 0.5, 3, 30]))
    if r.random() < 0.3:
        more["scale"] = float(r.choice([0, -0.5, 1, 3, 0.125]))
    d = qkv(B, Hq, Hkv, Sq, Sk, E, Ev, dtype, int(r.integers(1 << 30)), **more)
    if r.random() < 0.15 and keys:
        d["query"] = d["query"] * np.asarray(200).astype(d["query"].dtype)  # far apart
    if r.random() < 0.1 and Sk:
        d["value"][:, :, -1] = np.nan
        if r.random() < 0.5:
            d["key"][:, :, -1] = np.inf
    rows = None
    if "query_lengths" in d:
        rows = np.broadcast_to((np.arange(Sq) < d["query_lengths"][:, None])[:, None], (B, Hq, Sq))
    return d, rows


def frozen(d):
    return {k: (v.tobytes() if isinstance(v, np.ndarray) else repr(v)) for k, v in d.items()}


def dtype_of(d):
    return d["query"].dtype.name


BAD = [
    lambda d: d.update(query=d["query"][0]),
    lambda d: d.update(value=d["value"][0]),
    lambda d: d.update(key=d["key"][..., :2]),
    lambda d: d.update(key=d["key"][:1], value=d["value"][:1]),
    lambda d: d.update(query=d["query"][:, :3]),
    lambda d: d.update(value=d["value"][:, :1]),
    lambda d: d.update(value=d["value"][:, :, :2]),
    lambda d: d.update(key_lengths=np.array([4, 1])),
    lambda d: d.update(key_lengths=np.array([-1, 1])),
    lambda d: d.update(query_lengths=np.array([4, 1])),
    lambda d: d.update(query_lengths=np.array([1])),
    lambda d: d.update(mask=np.ones((3, 1), bool)),
    lambda d: d.update(mask=np.ones((2, 3), bool)),
    lambda d: d.update(mask=np.ones((3, 3, 3), bool)),
    lambda d: d.update(past_key=d["key"][:1], past_value=d["value"][:1]),
    lambda d: d.update(past_key=d["key"][:, :1], past_value=d["value"][:, :1]),
    lambda d: d.update(past_key=d["key"][..., :2], past_value=d["value"]),
    lambda d: d.update(past_key=d["key"][:, :, :2], past_value=d["value"]),
    lambda d: d.update(key_scale=np.ones(3, np.float32)),
]


def main():
    items = json.loads((here / "batch.json").read_text())
    assert len(items) == 31 == len(list((here / "wrong").glob("*.py"))) and len(W) == 31
    draws = []
    r = np.random.default_rng(35)
    for n in range(300):
        draws.append(draw(r, list(DT)[n % 4]))
    wants = [outcome(base.scaled_dot_product_attention, d) for d, _ in draws]
    failed = []
    for n, item in enumerate(items, 1):
        function = getattr(load(here / item["file"]), OP)
        calls = W[n]()
        calls = calls if isinstance(calls, list) else [calls]
        for args in calls:
            before = frozen(args)
            got = outcome(function, args)
            assert frozen(args) == before, "edited an input"
        want = outcome(base.scaled_dot_product_attention, args)
        found = differ(got, want, dtype_of(args))
        refusals = 0
        for bad in BAD:
            d = qkv(B=2, Hq=4, Hkv=2)
            bad(d)
            refusals += outcome(base.scaled_dot_product_attention, d) is not None
            refusals += outcome(function, d) is not None
        # how far it shows on draws; errors and edits there are no part of a mistake
        shown = 0
        for (d, rows), w in zip(draws, wants):
            before = frozen(d)
            g = outcome(function, d)
            assert frozen(d) == before
            shown += bool(differ(g, w, dtype_of(d), rows))
        ok = bool(found) and not refusals
        if not ok:
            failed.append(item["file"])
        print("ok  " if ok else "FAIL", item["file"], {k: float(f"{v:.3g}") for k, v in found.items()}, f"draws {shown}/{len(draws)}", refusals or "")
    r = np.random.default_rng(53)
    more = draws + [draw(r, list(DT)[n % 4]) for n in range(700)]
    for path in sorted((here / "right").glob("*.py")):
        function = getattr(load(path), OP)
        bad = 0
        for d, rows in more:
            before = frozen(d)
            f = differ(outcome(function, d), outcome(base.scaled_dot_product_attention, d), dtype_of(d), rows)
            assert frozen(d) == before
            if f:
                bad += 1
                if bad < 4:
                    print("   ", f, {k: (v.shape if isinstance(v, np.ndarray) else v) for k, v in d.items()}, dtype_of(d))
        for bad_one in BAD:
            d = qkv(B=2, Hq=4, Hkv=2)
            bad_one(d)
            bad += outcome(function, d) is not None
        print("ok  " if not bad else "FAIL", path.name, f"differs on {bad} of {len(more)}")
        if bad:
            failed.append(path.name)
    print("all shown" if not failed else f"FAILED: {failed}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
