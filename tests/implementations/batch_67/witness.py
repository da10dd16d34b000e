"""Shows every wrong file on one input within the contract, and every right file on many."""
import importlib.util
import json
import pathlib
import sys

import ml_dtypes
import numpy as np

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here))
sys.dont_write_bytecode = True
import base

INF, NAN, BF16 = np.inf, np.nan, ml_dtypes.bfloat16
UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "bfloat16": 2.0**-8, "float16": 2.0**-11}
BACK = "scaled_dot_product_attention_backward"


def load(path):
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem.replace(".", "_"), here / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def far(got, want, unit, floor=0.02):
    """Largest difference, in units of roundoff of the largest number of the output (or of floor); infinite where NaN or shape differ."""
    worst = 0.0
    for name, b in want.items():
        a = got[name]
        if a.shape != b.shape or a.dtype != b.dtype:
            return INF
        a, b = a.astype(float), b.astype(float)
        if (np.isnan(a) != np.isnan(b)).any() or (np.isinf(a) != np.isinf(b)).any():
            return INF
        ok = np.isfinite(a) & np.isfinite(b)
        if (a != b)[~ok & ~np.isnan(a)].any():
            return INF
        if ok.any() and b.size:
            worst = max(worst, np.abs(a[ok] - b[ok]).max() / unit / max(np.abs(b[ok]).max(), floor))
    return float(worst)


def backward_inputs(r, dtype=np.float64, B=2, H=2, G=1, Sq=4, Sk=5, E=3, Ev=2):
    def n(*s):
        return r.standard_normal(s).astype(dtype)
    return dict(grad_output=n(B, H * G, Sq, Ev), query=n(B, H * G, Sq, E), key=n(B, H, Sk, E), value=n(B, H, Sk, Ev))


def forward(a):
    """output and logsumexp of the forward pass, written apart from base."""
    q, k, v = (np.asarray(a[n]).astype(float) for n in ("query", "key", "value"))
    B, H, Sq, E = q.shape
    Sk, Ev = k.shape[2], v.shape[3]
    out, lse = np.zeros((B, H, Sq, Ev)), np.full((B, H, Sq), -INF)
    scale = a.get("scale")
    scale = 1 / np.sqrt(E) if scale is None else scale
    for b in range(B):
        L = Sk if a.get("key_lengths") is None else int(a["key_lengths"][b])
        N = Sq if a.get("query_lengths") is None else int(a["query_lengths"][b])
        for h in range(H):
            g = h // (H // k.shape[1])
            for i in range(N):
                p = i + (L - N if a.get("causal_alignment") == "bottom_right" else 0)
                logits = []
                for j in range(L):
                    s = scale * (q[b, h, i] @ k[b, g, j])
                    if a.get("softcap"):
                        s = a["softcap"] * np.tanh(s / a["softcap"])
                    if a.get("alibi_slopes") is not None:
                        s -= float(a["alibi_slopes"][h]) * abs(p - j)
                    if a.get("mask") is not None:
                        m = np.broadcast_to(a["mask"], (B, H, Sq, Sk))[b, h, i, j]
                        if m.dtype == bool:
                            s = s if m else -INF
                        else:
                            s += float(m)
                    if a.get("is_causal") and j > p:
                        s = -INF
                    if a.get("window") is not None:
                        left, right = a["window"]
                        if left is not None and j < p - left or right is not None and j > p + right:
                            s = -INF
                    logits.append(s)
                every = logits + ([] if a.get("sinks") is None else [float(a["sinks"][h])])
                top = max(every, default=-INF)
                if top == -INF:
                    continue
                lse[b, h, i] = top + np.log(sum(np.exp(s - top) for s in every))
                for j, s in enumerate(logits):
                    out[b, h, i] += np.exp(s - lse[b, h, i]) * v[b, g, j]
    return out, lse


def stored(a, **more):
    out, lse = forward(a | more)
    d = a["query"].dtype
    return a | more | dict(output=out.astype(d), logsumexp=lse.astype(d))


def merge_inputs(r, dtype=np.float64, B=2, H=3, S=4, Ev=2):
    def n(*s):
        return r.standard_normal(s).astype(dtype)
    return dict(output_a=n(B, H, S, Ev), logsumexp_a=n(B, H, S), output_b=n(B, H, S, Ev), logsumexp_b=n(B, H, S))


def copied(a):
    return {n: v.copy(order="K") if isinstance(v, np.ndarray) else v for n, v in a.items()}


def random_backward(r, dtype):
    B, H, G = int(r.integers(1, 4)), int(r.integers(1, 3)), int(r.integers(1, 4))
    Sq, Sk = int(r.integers(0, 7)), int(r.integers(0, 8))
    if r.random() < .1:
        Sq, Sk = 19, 23
    a = backward_inputs(r, dtype, B, H, G, Sq, Sk, int(r.integers(1, 6)), int(r.integers(1, 6)))
    Hq = H * G
    if r.random() < .4:
        a["is_causal"] = True
    if r.random() < .5:
        a["causal_alignment"] = "bottom_right"
    if r.random() < .3:
        a["window"] = [None if r.random() < .3 else int(r.integers(0, 4)), None if r.random() < .3 else int(r.integers(0, 4))]
    if r.random() < .3:
        a["key_lengths"] = r.integers(0, Sk + 1, B)
    if r.random() < .3:
        a["query_lengths"] = r.integers(0, Sq + 1, B)
    if r.random() < .4:
        a["sinks"] = r.standard_normal(Hq).astype(dtype)
    if r.random() < .3:
        a["alibi_slopes"] = r.random(Hq).astype(dtype)
    if r.random() < .3:
        a["softcap"] = float(r.choice([0.0, 1.5, 4.0]))
    if r.random() < .3:
        a["scale"] = float(r.choice([0.0, 0.5, -0.75]))
    if r.random() < .4:
        a["grad_logsumexp"] = r.standard_normal((B, Hq, Sq)).astype(dtype)
    if r.random() < .5:
        full = [B, Hq, Sq, Sk]
        shape = [n if r.random() < .7 else 1 for n in full[:3]] + [Sk]
        shape = tuple(shape[int(r.integers(0, 3)):])
        if r.random() < .4:
            a["mask"] = r.random(shape) < .7
        else:
            m = r.standard_normal(shape)
            m[r.random(shape) < .2] = -INF
            a["mask"] = m.astype(dtype)
    return a


def random_merge(r, dtype):
    a = merge_inputs(r, dtype, *(int(n) for n in r.integers(1, 5, 4)))
    for n in ("a", "b"):
        l = a["logsumexp_" + n].astype(float) * r.choice([1, 10, 1000])
        l[r.random(l.shape) < .2] = -INF
        a["logsumexp_" + n] = l.astype(dtype)
        o = a["output_" + n]
        if r.random() < .3:
            o[l == -INF] = NAN
    return a


def random_softmax(r, dtype):
    shape = tuple(int(n) for n in r.integers(1, 6, int(r.integers(1, 5))))
    if r.random() < .3:
        shape = (int(r.integers(1, 4)), int(r.integers(10, 70)))
    x = (r.standard_normal(shape) * r.choice([1, 10, 3000])).astype(dtype)
    if r.random() < .3 and x.ndim > 1:
        x = x.swapaxes(0, -1)
    axis = None if r.random() < .2 else int(r.integers(-x.ndim, x.ndim))
    return dict(x=x, axis=axis)


RANDOM = {BACK: random_backward, "merge_states": random_merge, "softmax": random_softmax}
R = np.random.default_rng(67)


def differ(name, operation, module, a, unit=UNIT["float64"], least=1e4, floor=0.02):
    """One call on which outputs differ clearly; the inputs stay as they were."""
    want = getattr(base, operation)(**copied(a))
    before = copied(a)
    got = getattr(module, operation)(**a)
    for n, v in before.items():
        if isinstance(v, np.ndarray):
            assert v.tobytes() == a[n].tobytes(), f"{name} edits {n}"
    d = far(got, want, unit, floor)
    assert d > least, (name, d)
    print(f"{name}: differs by {d:.3g} units of roundoff")


def edits(name, operation, module, a):
    before = copied(a)
    want = getattr(base, operation)(**a)
    for n, v in before.items():
        if isinstance(v, np.ndarray):
            assert v.tobytes() == a[n].tobytes(), "base edits"
    got = getattr(module, operation)(**a)
    assert far(got, want, UNIT["float64"]) < 1e3, name
    assert any(isinstance(v, np.ndarray) and v.tobytes() != a[n].tobytes() for n, v in before.items()), name
    print(f"{name}: edits an input")


def takes(name, operation, module, a):
    try:
        getattr(base, operation)(**a)
    except ValueError:
        pass
    else:
        raise AssertionError("base takes it")
    getattr(module, operation)(**a)
    print(f"{name}: takes what is refused")


def show(file, operation, module):
    key = file[6:9]
    def d(a, **k):
        differ(file, operation, module, a, **k)
    b, m = lambda **k: backward_inputs(R, **k), lambda **k: merge_inputs(R, **k)
    if key == "001":
        d(b() | dict(softcap=2.0, alibi_slopes=np.array([.5, .25])))
        d(b() | dict(softcap=2.0, mask=R.standard_normal((4, 5))))
    elif key == "002":
        d(b() | dict(softcap=1.0, grad_logsumexp=R.standard_normal((2, 2, 4))))
    elif key == "003":
        d(b() | dict(mask=R.standard_normal((2, 4, 5))))
    elif key == "004":
        d(b(Sk=0) | dict(sinks=np.array([0.5, 1]), grad_logsumexp=R.standard_normal((2, 2, 4))))
    elif key == "005":
        d(b() | dict(is_causal=True, causal_alignment="bottom_right", query_lengths=np.array([2, 3])))
    elif key == "006":
        d(b(Sq=20, Sk=20) | dict(window=[3, None]))
        d(b(Sq=20, Sk=20) | dict(window=[3, 0], is_causal=True))
    elif key == "007":
        a = backward_inputs(R, BF16, 1, 1, 1, 600, 1, 1, 1)
        a["grad_output"][...] = 1
        d(a, unit=UNIT["bfloat16"], least=50)
        a = backward_inputs(R, np.float16, 1, 1, 1, 64, 3, 2, 2)
        print("   with 64 queries in float16:", far(getattr(module, operation)(**a), getattr(base, operation)(**a), UNIT["float16"]))
    elif key == "008":
        d(stored(b(), sinks=np.array([0.5, 1])))
    elif key == "009":
        edits(file, operation, module, b() | dict(query_lengths=np.array([2, 3])))
    elif key == "010":
        a = b()
        a["query"] *= 40
        a["key"] *= 40
        d(a | dict(scale=-1.0))
        a = b(dtype=np.float32)
        a["query"] *= 10
        a["key"] *= 10
        d(a | dict(scale=-1.0), unit=UNIT["float32"])
    elif key == "011":
        a = b() | dict(causal_alignment="bottom_right", alibi_slopes=np.array([.5, .25]))
        getattr(module, operation)(**a)
        d(a | dict(key_lengths=np.array([3, 4])))
    elif key == "012":
        a = b()
        a["grad_output"] = np.ascontiguousarray(a["grad_output"].swapaxes(1, 2)).swapaxes(1, 2)
        d(a)
    elif key == "013":
        d(b(Sk=1) | dict(sinks=np.array([0.5, 1])))
        d(b(Sk=1) | dict(grad_logsumexp=R.standard_normal((2, 2, 4))))
    elif key == "014":
        d(b(Sq=1) | dict(is_causal=True))
    elif key == "015":
        d(b(Sq=6, Sk=3) | dict(is_causal=True, causal_alignment="bottom_right"))
    elif key == "016":
        mask = np.zeros((4, 5))
        mask[1] = -20000
        d(b() | dict(mask=mask))
        d(b(dtype=np.float16) | dict(mask=mask.astype(np.float16)), unit=UNIT["float16"], least=100)
    elif key == "017":
        a = m(dtype=np.float32)
        a["logsumexp_a"] += 1e5
        a["logsumexp_b"] += 1e5
        d(a, unit=UNIT["float32"], least=1e3)
        a = m()
        a["logsumexp_a"] += 1e13
        a["logsumexp_b"] += 1e13
        d(a)
    elif key == "018":
        a = m()
        a["logsumexp_a"][0, 1, 2] = a["logsumexp_b"][0, 1, 2] = -INF
        d(a)
    elif key == "019":
        a = m()
        a["logsumexp_a"] += 22
        a["logsumexp_b"] -= 2
        d(a)
        a["output_b"] *= 1e9
        d(a)
    elif key == "020":
        a = m()
        a["logsumexp_a"][0, 1, 2] = NAN
        d(a)
    elif key == "021":
        a = m()
        a["logsumexp_a"][0, 1, 2] = -INF
        edits(file, operation, module, a)
    elif key == "022":
        a = m()
        takes(file, operation, module, a | dict(logsumexp_a=a["logsumexp_a"].swapaxes(1, 2)))
        takes(file, operation, module, a | dict(logsumexp_a=a["logsumexp_a"][..., None]))
    elif key == "023":
        a = m(dtype=np.float16)
        a["output_a"][...] = 40000
        a["output_b"][...] = 50000
        d(a, unit=UNIT["float16"])
    elif key == "024":
        a = m()
        a["logsumexp_a"] -= 1000
        a["logsumexp_b"] -= 1000
        d(a)
        a = m(dtype=np.float32)
        a["logsumexp_a"] -= 200
        a["logsumexp_b"] -= 200
        d(a, unit=UNIT["float32"])
    elif key == "025":
        d(dict(x=R.standard_normal((2, 3, 4)), axis=0))
        d(dict(x=R.standard_normal((3, 3, 3)), axis=0))
    elif key == "026":
        x = R.standard_normal((2, 20))
        x[1, :16] = -INF
        d(dict(x=x))
    elif key == "027":
        x, y = R.standard_normal((2, 3)), R.standard_normal((2, 3))
        first = module.softmax(x)["output"]
        kept = first.copy()
        module.softmax(y)
        assert (first != kept).any()
        assert far({"o": kept}, {"o": base.softmax(x)["output"]}, UNIT["float64"]) < 10
        first = base.softmax(x)["output"]
        kept = first.copy()
        base.softmax(y)
        assert (first == kept).all()
        print(f"{file}: overwrites what it returned before")
    elif key == "028":
        d(dict(x=np.zeros((2, 400), BF16)), unit=UNIT["bfloat16"], least=50, floor=1e-6)
        x = R.standard_normal((3, 40)).astype(BF16)
        print("   with 40 numbers:", far(module.softmax(x), base.softmax(x), UNIT["bfloat16"]))
    elif key == "029":
        d(dict(x=np.array([0.0, -INF, 1.0])))
        d(dict(x=np.array([0.0, -30.0, 1.0])))
    elif key == "030":
        d(dict(x=np.array([-1000.0, -1001.0])))
        d(dict(x=np.array([-200.0, -201.0], np.float32)), unit=UNIT["float32"])
    elif key == "031":
        d(dict(x=R.standard_normal((3, 4)).T, axis=None))
    else:
        raise AssertionError(key)


def numeric():
    """base against differences of the forward pass above."""
    r = np.random.default_rng(1)
    shown = 0
    for _ in range(60):
        a = random_backward(r, np.float64)
        if a["query"].shape[2] > 8 or a["query"].size == 0 or a["key"].size == 0:
            continue
        a.setdefault("grad_logsumexp", np.zeros(a["query"].shape[:3]))
        got = base.scaled_dot_product_attention_backward(**a)

        def loss(c):
            out, lse = forward(c)
            if c.get("query_lengths") is not None:
                for b, n in enumerate(c["query_lengths"]):
                    out[b, :, n:], lse[b, :, n:] = 0, 0
            return (out * c["grad_output"]).sum() + (np.where(lse == -INF, 0, lse) * c["grad_logsumexp"]).sum()

        for name in ("query", "key", "value", "mask", "sinks"):
            if a.get(name) is None or a[name].dtype == bool or not a[name].size:
                continue
            for _ in range(2):
                at = tuple(int(r.integers(n)) for n in a[name].shape)
                if a[name][at] == -INF:
                    assert got["grad_" + name][at] == 0
                    continue
                up, down = copied(a), copied(a)
                up[name][at] += 1e-5
                down[name][at] -= 1e-5
                slope = (loss(up) - loss(down)) / 2e-5
                assert abs(slope - got["grad_" + name][at]) < 1e-7 * (1 + abs(slope)), (name, slope, got["grad_" + name][at])
                shown += 1
    print(f"base agrees with {shown} numeric derivatives")


def main():
    numeric()
    batch = json.loads((here / "batch.json").read_text())
    assert len(batch) == 31 and [e["file"] for e in batch] == sorted(f"wrong/{p.name}" for p in (here / "wrong").glob("*.py"))
    for entry in batch:
        show(entry["file"], entry["operation"], load(entry["file"]))
    print("all", len(batch), "wrong files are shown")

    # how often each wrong file shows on inputs that nobody chose
    r = np.random.default_rng(5)
    for entry in batch:
        module, bad = load(entry["file"]), 0
        for _ in range(100):
            a = RANDOM[entry["operation"]](r, np.float64)
            bad += far(getattr(module, entry["operation"])(**copied(a)), getattr(base, entry["operation"])(**a), UNIT["float64"]) > 1e4
        print(f"   {entry['file']}: differs on {bad} of 100 random inputs")

    rights = sorted(p.name for p in (here / "right").glob("*.py"))
    for name in rights:
        module = load("right/" + name)
        operation = next(o for o in RANDOM if hasattr(module, o))
        for dtype, many in ((np.float64, 300), (np.float32, 200), (BF16, 150), (np.float16, 150)):
            unit, worst = UNIT[np.dtype(dtype).name], 0
            for n in range(many):
                a = RANDOM[operation](r, dtype)
                if operation == BACK and n % 2 and dtype in (np.float64, np.float32) and a["query"].shape[2] < 8:
                    a = stored(a)
                d = far(getattr(module, operation)(**copied(a)), getattr(base, operation)(**a), unit)
                limit = 3000 if operation == BACK else 200 if dtype in (np.float64, np.float32) else 4
                assert d < limit, (name, dtype, d, a)
                worst = max(worst, d)
            print(f"right/{name} {np.dtype(dtype).name}: {many} inputs, worst {worst:.3g} units")
    assert len(rights) == 4
    print("all", len(rights), "right files agree")


if __name__ == "__main__":
    main()
