"""For every wrong file an input on which it differs from base, for every right file many on which it agrees."""

import importlib.util, json, pathlib, sys

import ml_dtypes
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))
sys.dont_write_bytecode = True
import base

BW, MG, SM = "scaled_dot_product_attention_backward", "merge_states", "softmax"
TYPES = {"float64": np.float64, "float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
ROUND = {"float64": 1e-13, "float32": 2e-5, "float16": 2e-3, "bfloat16": 1.6e-2}


def load(file, operation):
    spec = importlib.util.spec_from_file_location("impl_" + pathlib.Path(file).stem, ROOT / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, operation)


def answers(function, args):
    try:
        result = function(**args)
    except ValueError as error:
        return "refused", str(error)
    return "ok", result if isinstance(result, dict) else {"output": result}


def gap(first, second):
    """The largest difference, relative to the size of the tensor; infinite where NaN, infinity, shape or dtype differ."""
    if first.shape != second.shape or first.dtype != second.dtype:
        return np.inf
    a, b = first.astype(np.float64), second.astype(np.float64)
    if not a.size:
        return 0.0
    if (np.isnan(a) != np.isnan(b)).any() or (np.isinf(a) != np.isinf(b)).any():
        return np.inf
    fine = np.isfinite(a)
    if (a[~fine & ~np.isnan(a)] != b[~fine & ~np.isnan(a)]).any():
        return np.inf
    a, b = np.where(fine, a, 0), np.where(fine, b, 0)
    return float(np.abs(a - b).max() / max(np.abs(a).max(), 0.05))


def frozen(args):
    return {k: (v.copy() if isinstance(v, np.ndarray) else v) for k, v in args.items()}


def unchanged(args, before):
    for name, value in args.items():
        if isinstance(value, np.ndarray):
            if not ((value == before[name]) | ((value != value) & (before[name] != before[name]))).all():
                return False
        elif isinstance(value, list) and value != before[name]:
            return False
    return True


def compare(expected, actual, rows=None):
    if expected[0] != actual[0]:
        return np.inf
    if expected[0] == "refused":
        return 0.0
    if set(expected[1]) != set(actual[1]):
        return np.inf
    worst = 0.0
    for name in expected[1]:
        a, b = np.array(expected[1][name]), np.array(actual[1][name])
        if rows is not None and name in ("grad_query", "delta", "grad_scores") and a.shape == b.shape:
            for entry, number in enumerate(rows):
                a[entry, :, number:], b[entry, :, number:] = 0, 0
        worst = max(worst, gap(a, b))
    return worst


# random inputs -----------------------------------------------------------------------------------------------------------


def forward(args):
    """Output and logsumexp by a computation of its own, for checks of the gradients and as what was stored."""
    q, k, v = (np.asarray(args[n], dtype=np.float64) for n in ("query", "key", "value"))
    B, H, S, E = q.shape
    T, G = k.shape[2], H // k.shape[1]
    out, lse = np.zeros((B, H, S, v.shape[3])), np.full((B, H, S), -np.inf)
    scale = args.get("scale")
    scale = E ** -0.5 if scale is None else scale
    cap, window = args.get("softcap"), args.get("window") or [None, None]
    mask = args.get("mask")
    if mask is not None:
        mask = np.broadcast_to(mask, (B, H, S, T))
    for b in range(B):
        L = T if args.get("key_lengths") is None else int(args["key_lengths"][b])
        N = S if args.get("query_lengths") is None else int(args["query_lengths"][b])
        for h in range(H):
            for i in range(N):
                p = i + (L - N if args.get("causal_alignment") == "bottom_right" else 0)
                logits, seen = [], []
                for j in range(L):
                    if args.get("is_causal") and j > p or window[0] is not None and j < p - window[0]:
                        continue
                    if window[1] is not None and j > p + window[1]:
                        continue
                    s = float(np.dot(q[b, h, i], k[b, h // G, j])) * scale
                    s = cap * np.tanh(s / cap) if cap else s
                    if args.get("alibi_slopes") is not None:
                        s -= float(args["alibi_slopes"][h]) * abs(p - j)
                    if mask is not None:
                        if mask.dtype == bool:
                            if not mask[b, h, i, j]:
                                continue
                        elif np.isneginf(float(mask[b, h, i, j])):
                            continue
                        else:
                            s += float(mask[b, h, i, j])
                    logits.append(s)
                    seen.append(j)
                sink = [] if args.get("sinks") is None else [float(args["sinks"][h])]
                both = np.array(logits + sink)
                if len(both):
                    lse[b, h, i] = both.max() + np.log(np.exp(both - both.max()).sum())
                if seen:
                    out[b, h, i] = np.exp(np.array(logits) - lse[b, h, i]) @ v[b, h // G, seen]
    return out, lse


def layouts(rng, x):
    kind = rng.integers(5)
    if kind == 0 and x.ndim == 4:
        return np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2)
    if kind == 1:
        return np.ascontiguousarray(x[..., ::-1])[..., ::-1]
    if kind == 2:
        big = np.zeros(tuple(2 * n for n in x.shape), dtype=x.dtype)
        view = big[tuple(slice(None, None, 2) for _ in x.shape)]
        view[...] = x
        return view
    if kind == 3:
        return np.asfortranarray(x)
    return x


def random_backward(rng, dtype, plain=False):
    pick = lambda *choices: choices[rng.integers(len(choices))]
    maybe = lambda chance: not plain and rng.random() < chance
    B, Hkv, G = pick(1, 2, 3), pick(1, 2), pick(1, 2, 3)
    S, T, E, Ev = pick(0, 1, 2, 3, 5, 7), pick(0, 1, 2, 4, 6, 9, 13), pick(1, 2, 3, 4, 8), pick(1, 2, 5)
    if plain:
        S, T = max(S, 1), max(T, 1)
    H = Hkv * G
    t = TYPES[dtype]
    draw = lambda *shape: layouts(rng, rng.standard_normal(shape).astype(t))
    args = dict(grad_output=draw(B, H, S, Ev), query=draw(B, H, S, E), key=draw(B, Hkv, T, E), value=draw(B, Hkv, T, Ev))
    if rng.random() < 0.5:
        args["is_causal"] = True
    if rng.random() < 0.5:
        args["causal_alignment"] = "bottom_right"
    if rng.random() < 0.3:
        args["scale"] = pick(0.0, -0.7, 1.5)
    if rng.random() < 0.3:
        args["softcap"] = pick(0.0, 0.8, 3.0)
    if rng.random() < 0.4:
        args["window"] = [pick(None, 0, 1, 3), pick(None, 0, 2)]
    if rng.random() < 0.4:
        args["grad_logsumexp"] = draw(B, H, S)
    if rng.random() < 0.4:
        args["sinks"] = draw(H)
    if rng.random() < 0.3:
        args["alibi_slopes"] = np.abs(draw(H))
    if rng.random() < 0.4:
        args["key_lengths"] = rng.integers(0, T + 1, B)
    if rng.random() < 0.4:
        args["query_lengths"] = rng.integers(0, S + 1, B)
    if rng.random() < 0.6:
        shape = pick((S, T), (1, T), (H, S, T), (1, S, T), (B, 1, 1, T), (B, H, S, T), (1, H, S, T), (B, 1, S, T))
        if rng.random() < 0.5:
            args["mask"] = rng.random(shape) < 0.7
        else:
            mask = rng.standard_normal(shape)
            mask[rng.random(shape) < 0.2] = -np.inf
            args["mask"] = mask.astype(t)
    return args


def poisoned(rng, args):
    """NaN in what does not count."""
    args = dict(args)
    B, H, S, _ = args["query"].shape
    if args.get("key_lengths") is not None:
        for name in ("key", "value"):
            args[name] = args[name].copy()
            for b, number in enumerate(args["key_lengths"]):
                args[name][b, :, number:] = np.nan
    if args.get("query_lengths") is not None:
        for name in ("query", "grad_output", "grad_logsumexp", "output", "logsumexp"):
            if args.get(name) is not None:
                args[name] = args[name].copy()
                for b, number in enumerate(args["query_lengths"]):
                    args[name][b, :, number:] = np.nan
    return args


def check_base(rng):
    """The gradients of base against differences, in float64."""
    for _ in range(25):
        args = random_backward(rng, "float64", plain=True)
        args = {k: (np.array(v) if isinstance(v, np.ndarray) else v) for k, v in args.items()}
        got = base.scaled_dot_product_attention_backward(**args)
        N = args.get("query_lengths")

        def loss(a):
            out, lse = forward(a)
            total = 0.0
            for b in range(out.shape[0]):
                n = out.shape[2] if N is None else int(N[b])
                total += (out[b, :, :n] * args["grad_output"][b, :, :n]).sum()
                if "grad_logsumexp" in args:
                    l, g = lse[b, :, :n], args["grad_logsumexp"][b, :, :n]
                    total += (np.where(np.isneginf(l), 0.0, l) * g).sum()
            return total

        for name in ("query", "key", "value", "mask", "sinks"):
            if name not in args or args[name].dtype == bool or not args[name].size:
                continue
            grad = got["grad_" + name]
            assert grad.shape == args[name].shape
            for _ in range(3):
                where = tuple(rng.integers(n) for n in grad.shape)
                if name == "query" and N is not None and where[2] >= N[where[0]]:
                    continue
                if not np.isfinite(args[name][where]):
                    assert grad[where] == 0
                    continue
                ends = []
                for step in (1e-5, -1e-5):
                    other = dict(args)
                    other[name] = args[name].copy()
                    other[name][where] += step
                    ends.append(loss(other))
                slope = (ends[0] - ends[1]) / 2e-5
                assert abs(slope - grad[where]) < 1e-6 * max(1, abs(slope)), (name, where, slope, grad[where])
    print("base: gradients agree with differences")


# witnesses ---------------------------------------------------------------------------------------------------------------


def bw(seed=0, B=1, Hq=1, Hkv=None, Sq=3, Sk=3, E=2, Ev=2, dtype="float64", **more):
    rng = np.random.default_rng(seed)
    Hkv = Hkv or Hq
    t = TYPES[dtype]
    draw = lambda *shape: rng.standard_normal(shape).astype(t)
    args = dict(grad_output=draw(B, Hq, Sq, Ev), query=draw(B, Hq, Sq, E), key=draw(B, Hkv, Sk, E), value=draw(B, Hkv, Sk, Ev))
    for name, value in more.items():
        args[name] = value(draw) if callable(value) else value
    return args


def mg(seed=0, B=1, H=2, S=3, Ev=3, dtype="float64", **more):
    rng = np.random.default_rng(seed)
    t = TYPES[dtype]
    draw = lambda *shape: rng.standard_normal(shape).astype(t)
    args = dict(output_a=draw(B, H, S, Ev), logsumexp_a=draw(B, H, S), output_b=draw(B, H, S, Ev), logsumexp_b=draw(B, H, S))
    for name, change in more.items():
        args[name] = change(args[name])
    return args


def at(where, value):
    def change(array):
        array = array.copy()
        array[where] = value
        return array
    return change


def turned(array):
    return np.ascontiguousarray(array.swapaxes(1, 2)).swapaxes(1, 2)


def same_array():
    args = bw()
    args["key"] = args["query"]
    return args


def transposed_gradient():
    args = bw(Hq=2, Sq=3)
    args["grad_output"] = np.ascontiguousarray(args["grad_output"].swapaxes(1, 2))
    return args


def stored():
    args = bw(Sq=3, Sk=4, sinks=lambda draw: draw(1))
    out, lse = forward(args)
    return dict(args, output=out, logsumexp=lse)


E = np.array
WITNESS = {
    1: bw(Sq=8, Sk=3, window=[3, None]),
    2: bw(Hq=4, Hkv=2, Sq=1, Sk=4, mask=lambda draw: draw(1, 4, 1, 4)),
    3: bw(Sq=3, Sk=3, sinks=lambda draw: draw(1), query_lengths=E([2]), grad_logsumexp=lambda draw: draw(1, 1, 3)),
    4: bw(Sq=3, Sk=4, softcap=2.0, alibi_slopes=E([0.25])),
    5: bw(B=2, Hq=2, Sq=3, Sk=4, mask=lambda draw: draw(2, 3, 4)),
    6: bw(B=2, Sq=3, Sk=4, is_causal=True, causal_alignment="bottom_right", query_lengths=E([1, 2])),
    7: (lambda a: dict(a, grad_output=np.zeros_like(a["grad_output"])))(bw(grad_logsumexp=lambda draw: draw(1, 1, 3))),
    8: bw(Sk=1, grad_logsumexp=lambda draw: draw(1, 1, 3)),
    9: stored(),
    10: bw(Sq=2, Sk=3, mask=np.full((2, 3), -1e9)),
    11: bw(Sq=20, Sk=20, is_causal=True, causal_alignment="bottom_right", query_lengths=E([4])),
    12: bw(B=2, Sq=2, Sk=3, mask=lambda draw: np.broadcast_to(draw(1, 1, 2, 3), (2, 1, 2, 3))),
    13: same_array(),
    14: transposed_gradient(),
    15: [bw(B=2, key_lengths=E([1, 3])), bw(B=2, key_lengths=E([3, 1]))],
    16: bw(B=2, query_lengths=E([0, 3])),
    17: mg(logsumexp_a=at((0, 0, 1), np.nan)),
    18: mg(logsumexp_a=at((0, 0, 1), -np.inf), output_a=at((0, 0, 1), 1e20)),
    19: mg(output_a=turned),
    20: mg(logsumexp_a=lambda x: np.ascontiguousarray(x.swapaxes(1, 2))),
    21: mg(logsumexp_a=lambda x: 0 * x, logsumexp_b=lambda x: 0 * x - 22.0),
    22: mg(logsumexp_b=at((0, slice(None), 0), -np.inf)),
    23: mg(Ev=12),
    24: mg(logsumexp_a=at((0, 0, 1), 2000.0)),
    25: dict(x=E([-1000.0, -1001.0, -1003.0])),
    26: dict(x=E([np.finfo(np.float32).min, -np.inf], dtype=np.float32)),
    27: dict(x=np.concatenate([np.linspace(400, 401, 16), np.linspace(-400, -401, 16)])),
    28: dict(x=np.random.default_rng(0).standard_normal((2, 3, 4)), axis=0),
    29: dict(x=np.random.default_rng(0).standard_normal((4, 3)).T, axis=None),
    30: dict(x=E([0.0, 40.0])),
    31: dict(x=E(3.0), axis=None),
}
BASE = {BW: base.scaled_dot_product_attention_backward, MG: base.merge_states, SM: base.softmax}


def relative(expected, actual):
    """For softmax and logarithms, of which each number has its own size."""
    worst = 0.0
    for name in expected[1]:
        a, b = np.asarray(expected[1][name]), np.asarray(actual[1][name])
        if a.shape != b.shape:
            return np.inf
        a, b = a.astype(np.float64), b.astype(np.float64)
        with np.errstate(all="ignore"):
            off = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b) / np.abs(a))
        worst = max(worst, np.inf if np.isnan(off).any() else float(off.max(initial=0.0)))
    return worst


def random_merge(rng, dtype):
    pick = lambda *choices: choices[rng.integers(len(choices))]
    B, H, S, Ev = pick(0, 1, 2), pick(1, 2, 3), pick(0, 1, 4, 5), pick(1, 3, 8, 12, 17)
    t = TYPES[dtype]
    args = {}
    size = pick(1, 5, 30)
    for part in "ab":
        args["output_" + part] = layouts(rng, rng.standard_normal((B, H, S, Ev)).astype(t))
        numbers = rng.standard_normal((B, H, S)) * size
        empty = rng.random((B, H, S)) < 0.25
        numbers[empty] = -np.inf
        out = np.array(args["output_" + part])
        out[empty & (rng.random((B, H, S)) < 0.5)] = pick(0.0, np.nan, np.inf, 1000.0)
        args["output_" + part] = layouts(rng, out)
        args["logsumexp_" + part] = layouts(rng, numbers.astype(t))
    return args


def random_softmax(rng, dtype):
    pick = lambda *choices: choices[rng.integers(len(choices))]
    shape = pick((5,), (3, 4), (2, 3, 4), (1,), (2, 1, 3), (40,), (2, 70), (0, 3), (2, 33), ())
    axis = pick(None, *range(-len(shape), len(shape)))
    x = (rng.standard_normal(shape) * pick(1, 10, 100)).astype(TYPES[dtype])
    return dict(x=layouts(rng, np.asarray(x)) if shape else np.asarray(x), axis=axis)


DRAW = {BW: random_backward, MG: random_merge, SM: random_softmax}


def main():
    rng = np.random.default_rng(57)
    check_base(rng)
    batch = json.loads((ROOT / "batch.json").read_text())
    failed = 0
    for number, entry in enumerate(batch, 1):
        operation = entry["operation"]
        function, right = load(entry["file"], operation), BASE[operation]
        calls = WITNESS[number]
        calls = calls if isinstance(calls, list) else [calls]
        for args in calls:
            actual, expected = answers(function, dict(args)), answers(right, dict(args))
        rows = calls[-1].get("query_lengths")
        worst = compare(expected, actual, rows)
        if actual[0] == expected[0] == "ok" and operation != BW:
            worst = max(worst, relative(expected, actual))
        # how often it differs on random inputs, and that it is right otherwise (information only)
        seen, wrongs = 0, 0
        for _ in range(60):
            dtype = list(TYPES)[rng.integers(4)]
            args = DRAW[operation](rng, dtype)
            before = frozen(args)
            got, owed = answers(function, args), answers(right, args)
            seen += 1
            wrongs += compare(owed, got, args.get("query_lengths")) > ROUND[dtype]
            assert unchanged(args, before), entry["file"]
        shown = worst > 1e-6
        failed += not shown
        print(f"{entry['file']:42} witness {worst:9.2g} {'shown' if shown else 'NOT SHOWN'}   random {wrongs}/{seen}")
    for file, operation in (
        ("right/01_gathered_keys.py", BW), ("right/02_tiles_base_two.py", BW),
        ("right/03_merge_by_ratio.py", MG), ("right/04_softmax_tree.py", SM),
    ):
        function, right = load(file, operation), BASE[operation]
        worst = {}
        for turn in range(400):
            dtype = list(TYPES)[turn % 4]
            args = DRAW[operation](rng, dtype)
            if operation == BW and args["query"].size < 300 and rng.random() < 0.4:
                out, lse = forward(args)
                args["output"], args["logsumexp"] = out.astype(TYPES[dtype]), lse.astype(TYPES[dtype])
            if operation == BW and turn % 3 == 0:
                args = poisoned(rng, args)
            if operation == BW and turn % 7 == 0 and "window" not in args:
                # NaN in one key and value, which later queries alone attend to
                args = {k: v for k, v in args.items() if k not in ("output", "logsumexp")}
                args = dict(args, is_causal=True, key=np.array(args["key"]), value=np.array(args["value"]))
                args["key"][:, :, 2:3], args["value"][:, :, 1:2] = 0.5, np.nan
            before = frozen(args)
            owed, got = answers(right, args), answers(function, args)
            difference = compare(owed, got, args.get("query_lengths"))
            assert unchanged(args, before), file
            limit = ROUND[dtype] * (8 if "output" in args else 1)
            if difference > limit:
                failed += 1
                print("DISAGREES", file, dtype, difference, {k: getattr(v, "shape", v) for k, v in args.items()})
            worst[dtype] = max(worst.get(dtype, 0), difference)
        # what is refused
        if operation == BW:
            for change in refusals():
                assert answers(function, change)[0] == answers(right, change)[0] == "refused", file
        print(f"{file:42} " + " ".join(f"{k} {v:.1e}" for k, v in worst.items()))
    refused_by_all(batch)
    print("FAILED" if failed else "all shown", failed)
    return failed


def refusals():
    good = bw(B=2, Hq=2, Sq=3, Sk=4)
    key, value = good["key"], good["value"]
    yield dict(good, query=good["query"][0])
    yield dict(good, key=key[..., :1])
    yield dict(good, key=key[:1])
    yield dict(good, value=value[:1])
    yield dict(good, key=key[:, :1])
    yield dict(good, value=value[:, :, :2])
    yield dict(good, key_lengths=E([1]))
    yield dict(good, key_lengths=E([-1, 2]))
    yield dict(good, key_lengths=E([5, 2]))
    yield dict(good, query_lengths=E([4, 2]))
    yield dict(good, mask=np.ones((3, 1), bool))
    yield dict(good, mask=np.ones((2, 4), bool))
    yield dict(good, mask=np.ones((3, 2, 3, 4), bool))
    yield dict(good, grad_output=good["grad_output"][:, :, :1])
    yield dict(good, grad_logsumexp=np.zeros((2, 2, 1)))


def refused_by_all(batch):
    for entry in batch:
        if entry["operation"] == BW:
            function = load(entry["file"], BW)
            for args in refusals():
                assert answers(function, args)[0] == "refused", entry["file"]
        if entry["operation"] == MG:
            function = load(entry["file"], MG)
            good = mg(B=2)
            for args in (
                dict(good, output_a=good["output_a"][0]), dict(good, output_b=good["output_b"][:1]),
                dict(good, logsumexp_a=good["logsumexp_a"][:1]), dict(good, logsumexp_b=good["logsumexp_b"][..., None]),
            ):
                assert answers(function, args)[0] == "refused", entry["file"]


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
