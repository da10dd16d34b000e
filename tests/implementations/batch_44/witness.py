"""Shows for every wrong file an input within the contract on which it differs from base, and that the right files agree."""

import importlib.util
import json
import pathlib
import sys

import numpy as np
import ml_dtypes

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import base  # noqa: E402

FINE = {"float64": 1e-10, "float32": 2e-4, "bfloat16": 6e-2, "float16": 8e-3}
DTYPE = {"float64": np.float64, "float32": np.float32, "bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
NAMES = "query key value w_query w_key w_value w_output".split()


def load(file):
    spec = importlib.util.spec_from_file_location("x_" + pathlib.Path(file).stem, HERE / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ask(function, arguments):
    try:
        out = function(**arguments)
    except ValueError as error:
        return f"refused: {error}"
    return out


def distance(a, b):
    """The largest difference, relative to max(1, largest number); infinite where shapes, dtypes, or NaN differ."""
    if isinstance(a, str) or isinstance(b, str):
        return 0.0 if isinstance(a, str) and isinstance(b, str) else np.inf
    if set(a) - set(b):
        return np.inf
    worst = 0.0
    for name in a:
        x, y = a[name], b[name]
        if x.shape != y.shape or x.dtype != y.dtype:
            return np.inf
        if not x.size:
            continue
        x, y = x.astype(np.float64), y.astype(np.float64)
        if not (np.isfinite(x) == np.isfinite(y)).all():
            return np.inf
        good = np.isfinite(x)
        if good.any():
            worst = max(worst, np.abs(x[good] - y[good]).max() / max(1.0, np.abs(x[good]).max()))
    return worst


def multi(rng, batch=2, queries=4, keys=5, width=6, heads=2, dtype="float64", biases="", size=1.0, **more):
    shapes = dict(query=(batch, queries, width), key=(batch, keys, width), value=(batch, keys, width))
    shapes |= {"w_" + n: (width, width) for n in ("query", "key", "value", "output")}
    shapes |= {"b_" + n: (width,) for n in ("query", "key", "value", "output") if n[0] in biases}
    given = {n: (rng.standard_normal(s) * size).astype(DTYPE[dtype]) for n, s in shapes.items()}
    return given | dict(num_heads=heads) | more


def single(rng, tokens=5, width=4, d_k=3, d_v=6, out=None, dtype="float64", **more):
    shapes = dict(x=(tokens, width), w_query=(width, d_k), w_key=(width, d_k), w_value=(width, d_v))
    if out:
        shapes["w_output"] = (d_v, out)
    return {n: rng.standard_normal(s).astype(DTYPE[dtype]) for n, s in shapes.items()} | more


def context(rng, tokens=5, width=4, dtype="float64", size=1.0, **more):
    return dict(encoder_states=(rng.standard_normal((tokens, width)) * size).astype(DTYPE[dtype]),
                decoder_state=(rng.standard_normal(width) * size).astype(DTYPE[dtype])) | more


def gaps(array):
    big = np.full(array.shape[:-1] + (array.shape[-1] + 3,), 7.0, array.dtype)
    big[..., : array.shape[-1]] = array
    return big[..., : array.shape[-1]]


# A witness is a list of calls; the last one is compared, or what `kind` says.
def witnesses(rng):
    w = {}
    a = multi(rng, biases="o")
    a["query"][0, 1, 2] = np.nan
    w[1] = [a]
    w[2] = [multi(rng, mask=np.ones((4, 5), bool), is_causal=True)]
    m = np.ones((4, 5), bool)
    m[1] = False
    w[3] = [multi(rng, mask=m, biases="o")]
    m = np.ones((2, 4, 5), bool)
    m[0, 1] = False
    w[4] = [multi(rng, mask=m)]
    m = np.ones((4, 5), bool)
    m[2] = False
    w[5] = [multi(rng, mask=m, biases="v")]
    w[6] = [multi(rng, keys=1, mask=np.array([[True], [False], [True], [True]]))]
    m = np.ones((4, 5), bool)
    m[3] = False
    w[7] = [multi(rng, mask=m)]
    w[8] = [multi(rng, keys=40)]
    w[9] = [multi(rng, queries=2)]
    a = multi(rng)
    a["value"] = gaps(a["value"])
    w[10] = [a]
    a = multi(rng, width=8, heads=2)
    w[11] = [a, a | dict(num_heads=4)]
    a = multi(rng, is_causal=True)
    m = np.ones((4, 5), bool)
    m[:, 1] = False
    w[12] = [a | dict(mask=m), a]
    m = np.ones((2, 1, 4, 5), bool)
    m[0, :, :, 2:] = False
    w[13] = [multi(rng, mask=m)]
    w[14] = [multi(rng, mask=rng.standard_normal((4, 5)))]
    a = multi(rng, queries=4, keys=4, is_causal=True, size=0.5)
    a["key"][:, 3] *= 1e4
    a["query"][:, 0] *= 20
    w[15] = [a]
    a = multi(rng)
    a["value"] = a["value"][0]
    w[16] = [a]
    a = multi(rng, keys=4, biases="qv")
    a["key"] = a["value"] = a["query"]
    w[17] = [a]
    a = single(rng, width=4, d_k=4, d_v=4)
    a["w_query"], a["w_key"] = 40 * np.eye(4), -40 * np.eye(4)
    a["x"] = np.abs(a["x"]) + 1
    w[18] = [a]
    w[19] = [single(rng, out=6)]
    w[20] = [single(rng, scale=-0.5)]
    w[21] = [single(rng, tokens=1)]
    a = single(rng)
    a["w_value"] = np.asfortranarray(a["w_value"])
    w[22] = [a]
    w[23] = [single(rng), single(rng)]
    w[24] = [single(rng, tokens=4)]
    w[25] = [single(rng, tokens=19)]
    w[26] = [context(rng)]
    w[27] = [context(rng, scale=0.0)]
    a = context(rng)
    a["decoder_state"] = a["decoder_state"][:1]
    w[28] = [a]
    a = context(rng)
    a["decoder_state"] = a["decoder_state"][::-1]
    w[29] = [a]
    a = context(rng, scale=1.0)
    a["decoder_state"] = np.array([1.0, 0, 0, 0])
    a["encoder_states"][:, 0] = [1.0, 100, 101, 99, 100.5]
    w[30] = [a]
    a = context(rng, tokens=4, width=4)
    a["encoder_states"] = np.diag([20.0, 1.0, 2.0, 3.0])
    a["decoder_state"] = np.array([2.0, 1, 1, 1])
    w[31] = [a]
    return w


KIND = {2: "input", 23: "earlier"}


def show(number, item, calls):
    function = getattr(load(item["file"]), item["operation"])
    right = getattr(base, item["operation"])
    if KIND.get(number) == "input":
        before = {n: np.array(v) for n, v in calls[0].items() if isinstance(v, np.ndarray)}
        function(**calls[0])
        return float(any(not np.array_equal(before[n], calls[0][n]) for n in before))
    if KIND.get(number) == "earlier":
        first = function(**calls[0])
        assert distance(right(**calls[0]), first) < 1e-10
        kept = {n: v.copy() for n, v in first.items()}
        function(**calls[1])
        return distance(kept, first)
    for call in calls:
        wrong = ask(function, call)
    return distance(ask(right, calls[-1]), wrong)


def random_call(rng, operation, dtype, nonfinite=True):
    pick = lambda *choices: choices[rng.integers(len(choices))]  # noqa: E731
    if operation == "multi_head_attention":
        heads, each = pick(1, 2, 3), pick(1, 2, 4, 5)
        batch, queries, keys = pick(0, 1, 2, 3), pick(0, 1, 2, 3, 7, 18), pick(0, 1, 2, 4, 9, 37)
        a = multi(rng, batch, queries, keys, heads * each, heads, dtype,
                  biases="".join(c for c in "qkvo" if rng.random() < 0.4), size=pick(0.5, 1.0), is_causal=bool(rng.random() < 0.4))
        if rng.random() < 0.2 and queries == keys:
            a["key"] = a["value"] = a["query"]
        if rng.random() < 0.6:
            shape = [pick(1, batch), pick(1, heads), pick(1, queries), keys][rng.integers(3):]
            m = rng.random(shape) < pick(0.3, 0.8)
            a["mask"] = m if rng.random() < 0.5 else np.where(m, rng.standard_normal(shape), -np.inf).astype(DTYPE[dtype])
            if nonfinite and keys > 1 and batch and rng.random() < 0.3:
                a["value"] = a["value"].copy()
                a["value"][0, 0, 0] = np.nan
        if rng.random() < 0.3:
            a["scale"] = pick(0.0, 1.0, -0.7, 0.3)
        if rng.random() < 0.3:
            name = pick(*NAMES)
            a[name] = pick(gaps, np.asfortranarray, lambda x: np.array(x[::-1])[::-1])(a[name])
        return a
    if operation == "single_head_attention":
        a = single(rng, pick(0, 1, 2, 5, 16, 33), pick(1, 3, 5), pick(1, 4, 5), pick(1, 3), pick(None, 1, 3, 7), dtype)
    else:
        a = context(rng, pick(1, 2, 7, 40), pick(1, 3, 7, 20), dtype, size=pick(0.5, 1.0, 6.0))
    if rng.random() < 0.4:
        a["scale"] = pick(0.0, 1.0, -0.7, 0.3)
    return a


def main():
    batch = json.loads((HERE / "batch.json").read_text())
    rng = np.random.default_rng(44)
    calls = witnesses(rng)
    bad = []
    for number, item in enumerate(batch, 1):
        far = show(number, item, calls[number])
        ok = far > 1e-10
        # how often it differs from base on random valid inputs of the ordinary kind, each in a module of its own state
        module, right, seen = load(item["file"]), getattr(base, item["operation"]), 0
        for _ in range(150):
            a = random_call(rng, item["operation"], "float64", nonfinite=False)
            expected = right(**a)
            seen += distance(expected, ask(getattr(module, item["operation"]), a)) > 1e-11
        print(f"{item['file']:52} differs {far:10.3g}  random {seen / 150:5.0%}  {'ok' if ok else 'NOT SHOWN'}")
        bad += [] if ok else [item["file"]]
    for file in sorted(p.relative_to(HERE) for p in (HERE / "right").glob("*.py")):
        module = load(str(file))
        operation = next(n for n in ("multi_head_attention", "single_head_attention", "context_vector") if hasattr(module, n))
        worst = {}
        for dtype in module.dtypes:
            for _ in range(150):
                a = random_call(rng, operation, dtype)
                before = {n: np.array(v) for n, v in a.items() if isinstance(v, np.ndarray)}
                d = distance(getattr(base, operation)(**a), getattr(module, operation)(**a))
                worst[dtype] = max(worst.get(dtype, 0), d / FINE[dtype])
                same = all(before[n].tobytes() == np.array(a[n]).tobytes() for n in before)
                if d > FINE[dtype] or not same:
                    bad.append(f"{file} {dtype} {d}")
        refused = {"multi_head_attention": lambda: [multi(rng, width=7, heads=2), {**multi(rng), "query": np.ones((4, 6))}],
                   "single_head_attention": lambda: [{**single(rng), "w_key": np.ones((4, 9))}],
                   "context_vector": lambda: [{**context(rng), "decoder_state": np.ones(1)}]}[operation]()
        for a in refused:
            if not isinstance(ask(getattr(module, operation), a), str):
                bad.append(f"{file} takes what must be refused")
        print(f"{str(file):52} error / allowance " + "  ".join(f"{n} {v:.2g}" for n, v in worst.items()))
    print(f"{len(batch)} wrong, 4 right:", "all shown" if not bad else f"PROBLEMS {bad[:10]} ({len(bad)})")
    return bool(bad)


sys.exit(main())
