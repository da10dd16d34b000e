"""For each wrong file an input within the contract on which it differs clearly from base; for each right file agreement.

Also: base against finite differences of a forward pass written as plain loops, and wrong files against base on plain
inputs, where they are right."""

import importlib.util
import json
import math
import pathlib
import sys

import ml_dtypes
import numpy as np

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import base  # noqa: E402

BATCH = json.loads((HERE / "batch.json").read_text())
BACKWARD, MERGE, SOFTMAX = "scaled_dot_product_attention_backward", "merge_states", "softmax"
BASE = {BACKWARD: lambda **a: base.gradients(**a), MERGE: base.combined, SOFTMAX: lambda x, axis=-1: base.shares(x, axis)}
TYPES = {"float64": np.float64, "float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}


def load(path):
    spec = importlib.util.spec_from_file_location("m" + pathlib.Path(path).stem, HERE / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def outputs(found):
    return found if isinstance(found, dict) else {"output": found}


def answer(function, arguments):
    try:
        return outputs(function(**arguments))
    except ValueError as error:
        return error


def gap(found, wanted, skip=()):
    """The largest difference, relative to the largest number of an output; infinite where NaN or a refusal is one-sided."""
    if isinstance(found, Exception) or isinstance(wanted, Exception):
        return 0.0 if isinstance(found, Exception) and isinstance(wanted, Exception) else math.inf
    worst = 0.0
    for name, right in wanted.items():
        if name in skip:
            continue
        a, b = np.asarray(found[name]).astype(float), np.asarray(right).astype(float)
        if a.shape != b.shape or np.asarray(found[name]).dtype != np.asarray(right).dtype:
            return math.inf
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        if same.all():
            continue
        if not (np.isfinite(a) & np.isfinite(b))[~same].all():
            return math.inf
        size = np.abs(b[np.isfinite(b)]).max(initial=0)
        worst = max(worst, np.abs(a - b)[~same].max() / max(size, 1e-300))
    return worst


def attention(seed, B=2, H=4, G=2, Sq=5, Sk=6, E=4, Ev=3, dtype="float64", stored=False, **more):
    rng = np.random.default_rng(seed)
    draw = lambda *shape: rng.normal(size=shape).astype(TYPES[dtype])  # noqa: E731
    found = {"grad_output": draw(B, H, Sq, Ev), "query": draw(B, H, Sq, E), "key": draw(B, G, Sk, E), "value": draw(B, G, Sk, Ev)}
    found |= {name: draw(*value) if isinstance(value, tuple) else value for name, value in more.items()}
    if stored:
        found["output"], found["logsumexp"] = base.forward(found)
    return found


def parts(seed, B=2, H=3, S=5, Ev=4, dtype="float64"):
    rng = np.random.default_rng(seed)
    draw = lambda *shape: rng.normal(size=shape).astype(TYPES[dtype])  # noqa: E731
    return {"output_a": draw(B, H, S, Ev), "logsumexp_a": draw(B, H, S), "output_b": draw(B, H, S, Ev), "logsumexp_b": draw(B, H, S)}


# ---------------------------------------------------------------- inputs that show the mistakes


def inputs():
    """file stem -> list of calls; the last one shows it. Or a function of its own."""
    w = {}
    w["sink_joined_again"] = attention(1, sinks=(4,), stored=True)
    w["sink_gradient_of_padding"] = attention(2, sinks=(4,), query_lengths=np.array([5, 3]))
    w["no_keys_early_return"] = attention(3, Sk=0, sinks=(4,), grad_logsumexp=(2, 4, 5))
    w["square_needs_no_offset"] = attention(
        4, Sq=6, is_causal=True, causal_alignment="bottom_right", key_lengths=np.array([4, 6]), query_lengths=np.array([2, 6])
    )
    w["window_last_tile"] = attention(5, Sq=20, Sk=20, window=[1, 0])
    w["rank_three_mask_of_batch"] = attention(6, B=4, mask=(4, 5, 6))
    w["cap_derivative_of_biased"] = attention(7, softcap=1.5, alibi_slopes=np.array([0.5, 0.25, 0.125, 0.0625]))
    w["delta_with_grad_logsumexp"] = attention(8, grad_logsumexp=(2, 4, 5))
    a = attention(9, B=1, H=3, G=1, Sq=1, Sk=1, E=1, Ev=1, dtype="float16")
    a["grad_output"] = np.array([40000, 40000, -40000], np.float16).reshape(1, 3, 1, 1)
    w["group_added_in_half"] = a
    w["maximum_before_scale"] = attention(10, scale=-2000.0)
    w["length_zero_means_all"] = attention(11, key_lengths=np.array([0, 4]))
    a = attention(12, stored=True)
    a["grad_output"] = np.broadcast_to(np.float64(1.0), a["grad_output"].shape)
    w["strides_of_gradient"] = a
    a = attention(13, Sq=6, is_causal=True)
    a["grad_output"][0, 1, 2, 1] = np.nan
    w["nan_gradient_of_unseeing"] = a
    a = attention(14, dtype="float16")
    a["grad_output"] = (a["grad_output"] * np.float16(300)).astype(np.float16)
    a["value"] = (a["value"] + np.float16(1000)).astype(np.float16)
    a["output"], a["logsumexp"] = base.forward(a)
    w["half_products_for_delta"] = a
    w["last_tile_moved_back"] = attention(15, Sq=35)
    w["grad_logsumexp_repeated"] = attention(16, grad_logsumexp=(2, 1, 5))

    a = parts(20, dtype="float32")
    a["logsumexp_a"] += np.float32(1e6)
    a["logsumexp_b"] += np.float32(1e6)
    w["shares_from_merged"] = a
    a = parts(21)
    a["logsumexp_b"][...] = -np.inf
    a["logsumexp_a"][0, 1, 2] = -np.inf
    a["output_a"][0, 1, 2] = 7.0
    w["other_part_empty_everywhere"] = a
    a = parts(22)
    a["logsumexp_b"] = a["logsumexp_a"] - 21
    a["output_b"] *= 1e8
    w["far_part_dropped"] = a
    a = parts(23)
    a["logsumexp_b"] = np.ascontiguousarray(a["logsumexp_b"].swapaxes(1, 2))
    w["tokens_before_heads_taken"] = a
    a = parts(24)
    a["logsumexp_a"][0, 0, 1] = np.nan
    w["nan_logarithm_is_empty"] = a
    a = parts(25)
    a["logsumexp_a"][1, 0, 1] = -np.inf
    a["output_a"][0, 2, 3, 1] = np.nan
    w["cleaned_for_empty_rows"] = a
    a = parts(26)
    a["logsumexp_a"][:, :, 2] -= 1000
    a["logsumexp_b"][:, :, 2] -= 1000
    w["one_maximum_of_a_head"] = a
    a = parts(27)
    a["logsumexp_a"][0, 0, 0] = a["logsumexp_b"][0, 0, 0] = -1e32
    w["sentinel_for_empty"] = a

    rng = np.random.default_rng(30)
    w["whole_in_memory_order"] = {"x": rng.normal(size=(4, 3)).T, "axis": None}
    w["maximum_from_zero"] = {"x": rng.normal(size=(3, 5)) - 1000}
    w["sum_in_half"] = {"x": np.zeros((1, 384), ml_dtypes.bfloat16)}
    w["tail_not_rescaled"] = {"x": np.linspace(-3, 3, 40)[None]}
    w["log2e_before_difference"] = {"x": (1e7 + np.arange(6)).astype(np.float32)[None]}
    w["axis_begins_a_block"] = {"x": rng.normal(size=(2, 3, 4)), "axis": 1}
    return w


def kept(function):
    first = outputs(function(np.array([[0.0, 1.0, 2.0]])))["output"]
    before = first.copy()
    function(np.array([[3.0, 1.0, 0.0]]))
    return {"output": first}, {"output": before}


def show_wrong():
    calls, failed, shown = inputs(), 0, 0
    for entry in BATCH:
        stem = pathlib.Path(entry["file"]).stem[4:]
        module = load(entry["file"])
        function = getattr(module, entry["operation"])
        if stem == "workspace_handed_out":
            distance = gap(*kept(function))
        else:
            arguments = calls[stem]
            copies = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arguments.items()}
            wanted = answer(BASE[entry["operation"]], arguments)
            distance = gap(answer(function, arguments), wanted)
            for name, value in copies.items():
                if isinstance(value, np.ndarray):
                    assert value.tobytes() == np.asarray(arguments[name]).tobytes(), (stem, name)
            only_refusal = {"grad_logsumexp_repeated", "tokens_before_heads_taken"}
            assert isinstance(wanted, Exception) == (stem in only_refusal), stem
        good = distance > 1e-2
        failed += not good
        shown += good
        print(f"{'shown ' if good else 'NOT   '} {entry['file']:45s} {distance:.3g}")
    return shown, failed


# ---------------------------------------------------------------- random inputs


def random_attention(rng, dtype, rich=True):
    B, G, group = rng.integers(1, 4), rng.integers(1, 3), rng.integers(1, 4)
    H, Sq, Sk = G * group, rng.integers(0, 20), rng.integers(0, 20)
    E, Ev = rng.integers(1, 9, 2)
    seed = int(rng.integers(1 << 30))
    yes = lambda: rich and rng.random() < 0.35  # noqa: E731
    more = {}
    if yes():
        kind = rng.integers(3)
        shape = [(B, H, Sq, Sk), (H, Sq, Sk), (Sq, Sk)][rng.integers(3)]
        shape = tuple(int(n) if rng.random() < 0.7 or at == len(shape) - 1 else 1 for at, n in enumerate(shape))
        if kind == 0:
            more["mask"] = rng.random(shape) < 0.7
        else:
            mask = rng.normal(size=shape)
            if kind == 2:
                mask[rng.random(shape) < 0.3] = -np.inf
            more["mask"] = mask.astype(TYPES[dtype])
    if yes():
        more["key_lengths"] = rng.integers(0, Sk + 1, B)
    if yes():
        more["query_lengths"] = rng.integers(0, Sq + 1, B)
    if yes():
        more["sinks"] = (int(H),)
    if yes():
        more["alibi_slopes"] = rng.random(H).astype(TYPES[dtype])
    if yes():
        more["grad_logsumexp"] = (int(B), int(H), int(Sq))
    if yes():
        more["is_causal"] = True
    if yes():
        more["causal_alignment"] = "bottom_right"
    if yes():
        more["scale"] = float(rng.choice([0.0, 0.5, -0.5, 1.0]))
    if yes():
        more["softcap"] = float(rng.choice([0.0, 0.5, 2.0, 10.0]))
    if yes():
        more["window"] = [[None, 0, 1, 3][rng.integers(4)], [None, 0, 1, 3][rng.integers(4)]]
    stored = bool(yes())
    found = attention(seed, *(int(n) for n in (B, H, G, Sq, Sk, E, Ev)), dtype=dtype, stored=stored, **more)
    if rich and rng.random() < 0.2 and "query_lengths" in more:
        for b, n in enumerate(more["query_lengths"]):
            for name in ("grad_output", "query", "output", "logsumexp", "grad_logsumexp"):
                if name in found and found[name] is not None:
                    found[name][b, :, n:] = np.nan
    return found


def cut(found, arguments):
    """rows that do not count are held to nothing"""
    if isinstance(found, Exception) or arguments.get("query_lengths") is None:
        return found
    found = {name: np.array(value) for name, value in found.items()}
    for b, n in enumerate(arguments["query_lengths"]):
        for name in ("grad_query", "delta", "grad_scores"):
            if name in found:
                found[name][b, :, n:] = 0
    return found


def random_parts(rng, dtype):
    B, H, S, Ev = (int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, 6, 4))
    found = parts(int(rng.integers(1 << 30)), B, H, S, Ev, dtype)
    spread = float(rng.choice([1, 10, 100, 3000]))
    for name in ("logsumexp_a", "logsumexp_b"):
        wide = found[name].astype(float) * spread
        wide[rng.random(wide.shape) < 0.2] = -np.inf
        wide[rng.random(wide.shape) < 0.03] = np.nan
        found[name] = wide.astype(TYPES[dtype])
        out = found[name.replace("logsumexp", "output")]
        out[np.isneginf(wide)] = rng.choice([0, np.nan, np.inf, 100])
        if rng.random() < 0.1:
            out[np.isfinite(wide) & (np.abs(wide) < 10)] = np.nan
    return found


def random_softmax(rng, dtype):
    shape = tuple(int(n) for n in rng.integers(1, 24, rng.integers(1, 4)))
    x = rng.normal(size=shape) * float(rng.choice([1, 30, 1000])) + float(rng.choice([0, -500, 500]))
    if rng.random() < 0.3:
        x = np.where(rng.random(shape) < 0.2, -np.inf, x)
        x[(0,) * len(shape)] = 1.0
        x = x if np.isfinite(x.max(axis=-1)).all() else np.where(np.isfinite(x), x, 0)
    axis = [None, -1, int(rng.integers(-len(shape), len(shape)))][rng.integers(3)]
    x = x.astype(TYPES[dtype])
    if axis not in (None, -1):
        x = np.where(np.isfinite(x.astype(float)), x, np.zeros((), x.dtype))
    x = x.T if rng.random() < 0.3 else x
    return {"x": x[::-1] if rng.random() < 0.3 else x, "axis": axis}


RIGHT = {
    "right/01_backward_tiled_base_two.py": BACKWARD,
    "right/02_backward_gathered.py": BACKWARD,
    "right/03_merge_by_sigmoid.py": MERGE,
    "right/04_softmax_online.py": SOFTMAX,
}


def show_right(draws=150):
    failed = 0
    for path, operation in RIGHT.items():
        function = getattr(load(path), operation)
        worst = dict.fromkeys(TYPES, 0.0)
        for at in range(draws):
            for dtype in TYPES:
                rng = np.random.default_rng([at, len(dtype), ord(dtype[0])])
                if operation == BACKWARD:
                    arguments = random_attention(rng, dtype)
                    # what comes from a logsumexp in half precision is as rounded as that is
                    room = 20 if dtype in ("float16", "bfloat16") else 100
                    found, wanted = (cut(answer(f, arguments), arguments) for f in (function, BASE[operation]))
                    if arguments.get("scale") == 0 and not isinstance(found, Exception):
                        assert not found["grad_query"].astype(float).any()
                else:
                    arguments = (random_parts if operation == MERGE else random_softmax)(rng, dtype)
                    # the distance below the largest is as exact as the numbers are large
                    room = 2 if dtype in ("float16", "bfloat16") else 50
                    found, wanted = answer(function, arguments), answer(BASE[operation], arguments)
                distance = absolute(found, wanted) / UNIT[dtype] / room
                if distance > 1:
                    failed += 1
                    print("DIFFERS", path, dtype, at, distance, {k: getattr(v, "shape", v) for k, v in arguments.items()})
                worst[dtype] = max(worst[dtype], distance)
        print("agrees", path, {name: f"{value:.2g}" for name, value in worst.items()}, "of what is allowed")
    return failed


def absolute(found, wanted):
    """As gap, relative to the largest number or 1."""
    if isinstance(found, Exception) or isinstance(wanted, Exception):
        return gap(found, wanted)
    worst = 0.0
    for name, right in wanted.items():
        a, b = np.asarray(found[name]).astype(float), np.asarray(right).astype(float)
        if a.shape != b.shape or np.asarray(found[name]).dtype != np.asarray(right).dtype:
            return math.inf
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        if same.all():
            continue
        if not (np.isfinite(a) & np.isfinite(b))[~same].all():
            return math.inf
        worst = max(worst, np.abs(a - b)[~same].max() / max(np.abs(b[np.isfinite(b)]).max(initial=0), 1.0))
    return worst


# ---------------------------------------------------------------- base itself


def plain(a):
    """output and logsumexp by loops, after the forward page"""
    q, k, v = a["query"], a["key"], a["value"]
    B, H, Sq, E = q.shape
    Sk, group = k.shape[2], H // k.shape[1]
    out, lse = np.zeros((B, H, Sq, v.shape[3])), np.full((B, H, Sq), -np.inf)
    scale = a.get("scale")
    scale = 1 / math.sqrt(E) if scale is None else scale
    mask = None if a.get("mask") is None else np.broadcast_to(a["mask"], (B, H, Sq, Sk))
    for b in range(B):
        L = Sk if a.get("key_lengths") is None else a["key_lengths"][b]
        N = Sq if a.get("query_lengths") is None else a["query_lengths"][b]
        for h in range(H):
            for i in range(N):
                p = i + L - N if a.get("causal_alignment") == "bottom_right" else i
                logits, values = [], []
                for j in range(L):
                    left, right = a.get("window") or (None, None)
                    if a.get("is_causal") and j > p or left is not None and j < p - left or right is not None and j > p + right:
                        continue
                    if mask is not None and (mask[b, h, i, j] == -np.inf if mask.dtype != bool else not mask[b, h, i, j]):
                        continue
                    s = scale * float(q[b, h, i] @ k[b, h // group, j])
                    s = a["softcap"] * math.tanh(s / a["softcap"]) if a.get("softcap") else s
                    if a.get("alibi_slopes") is not None:
                        s -= a["alibi_slopes"][h] * abs(p - j)
                    if mask is not None and mask.dtype != bool:
                        s += mask[b, h, i, j]
                    logits.append(s), values.append(v[b, h // group, j])
                sums = [math.exp(s) for s in logits]
                total = sum(sums) + (math.exp(a["sinks"][h]) if a.get("sinks") is not None else 0)
                if total:
                    lse[b, h, i] = math.log(total)
                    for s, value in zip(sums, values):
                        out[b, h, i] += s / total * value
    return out, lse


def loss(a):
    out, lse = plain(a)
    total = (out * a["grad_output"]).sum()
    if a.get("grad_logsumexp") is not None:
        fine = np.isfinite(lse)
        total += (lse[fine] * a["grad_logsumexp"][fine]).sum()
    return total


def show_base(draws=40):
    worst = 0.0
    for at in range(draws):
        rng = np.random.default_rng([7, at])
        a = random_attention(rng, "float64")
        if any(np.isnan(np.asarray(v, float)).any() for v in a.values() if isinstance(v, np.ndarray)):
            continue
        if a.get("query_lengths") is not None:
            for b, n in enumerate(a["query_lengths"]):
                a["grad_output"][b, :, n:] = 0
        found = base.gradients(**a)
        pairs = [("query", "grad_query"), ("key", "grad_key"), ("value", "grad_value"), ("mask", "grad_mask"), ("sinks", "grad_sinks")]
        for name, gradient in pairs:
            if gradient not in found or found[gradient].size == 0:
                continue
            for _ in range(4):
                spot = tuple(int(rng.integers(n)) for n in a[name].shape)
                if not np.isfinite(a[name][spot]):
                    assert found[gradient][spot] == 0
                    continue
                old, step, sums = a[name][spot], 1e-5, []
                for sign in (1, -1):
                    a[name][spot] = old + sign * step
                    sums.append(loss(a))
                a[name][spot] = old
                difference = abs((sums[0] - sums[1]) / (2 * step) - found[gradient][spot])
                worst = max(worst, difference / max(1, abs(found[gradient][spot])))
        out, lse = plain(a)
        for mine, theirs in zip(base.forward(a), (out, lse)):
            if a.get("query_lengths") is None:
                assert np.allclose(mine, theirs, rtol=1e-12, atol=1e-12)
    print("base against finite differences:", worst)
    assert worst < 1e-6


def show_refusals():
    """Every file refuses what the pages refuse, but for the two whose mistake it is, and handles every dtype."""
    good, merged = attention(50, mask=(4, 5, 6), grad_logsumexp=(2, 4, 5), key_lengths=np.array([3, 6])), parts(51)
    z = np.zeros
    bad = [
        {"query": z((4, 5, 4))}, {"key": z((2, 2, 6, 5))}, {"value": z((1, 2, 6, 3))}, {"value": z((2, 1, 6, 3))},
        {"value": z((2, 2, 5, 3))}, {"key_lengths": np.array([3])}, {"key_lengths": np.array([3, 7])},
        {"key_lengths": np.array([-1, 6])}, {"query_lengths": np.array([6, 1])}, {"mask": z((4, 5, 1))}, {"mask": z((3, 5, 6))},
        {"mask": z(6)}, {"grad_output": z((2, 4, 5, 1))}, {"grad_logsumexp": z((2, 5, 4))},
        {"query": z((2, 3, 5, 4)), "grad_output": z((2, 3, 5, 3)), "mask": None, "grad_logsumexp": None},
    ]
    bad_parts = [
        {"output_a": z((3, 5, 4))}, {"logsumexp_b": z((2, 3, 5, 1))}, {"output_b": z((2, 3, 5, 1))}, {"logsumexp_a": z((2, 1, 5))},
        {"logsumexp_b": z((1, 3, 5))}, {"logsumexp_b": z((2, 3, 4))},
    ]
    for path in [entry["file"] for entry in BATCH] + list(RIGHT):
        operation = RIGHT.get(path) or next(entry["operation"] for entry in BATCH if entry["file"] == path)
        function = getattr(load(path), operation)
        for changes, fine in ((bad, good), (bad_parts, merged)):
            if (operation, fine is good) in ((BACKWARD, True), (MERGE, False)):
                for change in changes:
                    assert isinstance(answer(function, fine | change), ValueError), (path, list(change))
        for dtype in TYPES:
            for seed in range(5):
                rng = np.random.default_rng(seed)
                plain_x = {"x": rng.normal(size=(3, 4)).astype(TYPES[dtype])}
                a = {BACKWARD: attention(seed, dtype=dtype), MERGE: parts(seed, dtype=dtype), SOFTMAX: plain_x}[operation]
                assert absolute(answer(function, a), answer(BASE[operation], a)) < 8 * UNIT[dtype] * (
                    8 if dtype in ("float64", "float32") else 1
                ), (path, dtype)
    print("refusals and dtypes as the pages ask")


def show_plain(draws=40):
    """Wrong files on plain inputs: how many of them differ there"""
    for entry in BATCH:
        function = getattr(load(entry["file"]), entry["operation"])
        rates = []
        for rich in (False, True):
            differs = 0
            for at in range(draws):
                rng = np.random.default_rng([11, at])
                if entry["operation"] == BACKWARD:
                    a = random_attention(rng, "float64", rich=rich)
                elif entry["operation"] == MERGE:
                    a = random_parts(rng, "float64") if rich else parts(at)
                else:
                    a = random_softmax(rng, "float64") if rich else {"x": rng.normal(size=(3, 4))}
                differs += absolute(cut(answer(function, a), a), cut(answer(BASE[entry["operation"]], a), a)) > 1e-9
            rates.append(differs)
        print(f"{entry['file']:45s} plain {rates[0]:3d} rich {rates[1]:3d} of {draws}")


if __name__ == "__main__":
    np.seterr(all="ignore")
    if sys.argv[1:] == ["plain"]:
        show_plain()
        sys.exit()
    show_base()
    show_refusals()
    shown, failed = show_wrong()
    failed += show_right()
    print(shown, "wrong shown,", failed, "failures")
    sys.exit(failed > 0)
