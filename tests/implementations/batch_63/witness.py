"""Shows that each wrong file differs from base on an input within the contract, and each right one agrees."""
import importlib.util
import json
import math
import pathlib
import warnings

import ml_dtypes
import numpy as np

import base

warnings.simplefilter("ignore")
here = pathlib.Path(__file__).resolve().parent
bf16 = ml_dtypes.bfloat16
rng = np.random.default_rng(63)


def load(file):
    spec = importlib.util.spec_from_file_location("m_" + pathlib.Path(file).stem, here / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ask(function, args):
    try:
        given = function(**args)
    except Exception as error:
        return ("refused", type(error).__name__)
    return given if isinstance(given, dict) else {"output": given}


TOL = {"float64": 1e-9, "float32": 2e-4, "float16": 2e-2, "bfloat16": 1e-1}


def differs(one, two, exact=False):
    """Words that say how, or None."""
    if isinstance(one, tuple) or isinstance(two, tuple):
        if isinstance(one, tuple) and isinstance(two, tuple):
            return None
        return f"base {'refused' if isinstance(one, tuple) else 'answered'}, wrong {'refused ' + two[1] if isinstance(two, tuple) else 'answered'}"
    if one.keys() != two.keys():
        return "names"
    for name in one:
        a, b = np.asarray(one[name]), np.asarray(two[name])
        if a.shape != b.shape:
            return f"{name}: shape {a.shape} {b.shape}"
        if a.dtype != b.dtype:
            return f"{name}: dtype {a.dtype} {b.dtype}"
        tol = TOL.get(a.dtype.name, 0)
        a, b = a.astype(float), b.astype(float)
        if not np.array_equal(np.isnan(a), np.isnan(b)):
            return f"{name}: NaN elsewhere"
        a, b = np.nan_to_num(a, nan=0.5, posinf=1e300, neginf=-1e300), np.nan_to_num(b, nan=0.5, posinf=1e300, neginf=-1e300)
        least = 0 if name in ("inverse_frequencies", "attention_factor") else 1
        bad = a != b if exact else np.abs(a - b) > tol * np.maximum(least, np.maximum(np.abs(a), np.abs(b)))
        if bad.any():
            return f"{name}: {int(bad.sum())} of {a.size} elements, worst {np.abs(a - b).max():.3g}"
    return None


def angles(b, s, half, dtype):
    t = rng.uniform(-3, 3, (b, s, half))
    return {"cos": np.cos(t).astype(dtype), "sin": np.sin(t).astype(dtype)}


def rot(b, h, s, e, half, dtype=np.float64, **more):
    return {"x": rng.standard_normal((b, h, s, e)).astype(dtype), **angles(b, s, half, dtype), **more}


def put(args, name, place, number):
    args[name][place] = number
    return args


f4 = 10.0 ** -np.arange(4.0)
packed = rng.standard_normal((2, 3, 3 * 4 * 5))  # query, key and value of 4 heads
queries = packed.reshape(2, 3, 3, 4, 5)[:, :, 0].transpose(0, 2, 1, 3)
D = dict(scaling="dynamic", width=8, factor=4.0, original_length=128)
st = rng.standard_normal

# one input, or a row of them of which the last is compared
CASES = {
    2: rot(2, 2, 3, 4, 2),
    3: put(rot(1, 1, 2, 8, 3), "x", (0, 0, 0, 1), np.inf),
    4: put(rot(1, 1, 2, 8, 2), "x", (0, 0, 0, 5), np.inf),
    5: rot(1, 1, 2, 8, 3, pairing="interleaved"),
    6: rot(1, 2, 2, 5, 3),
    7: {"position_ids": np.array([[0, 1, 2], [0, 0, 1]]), "inverse_frequencies": f4},
    8: {"position_ids": np.array([[257, 301]]), "inverse_frequencies": f4.astype(bf16)},
    9: {"position_ids": np.array([[0, 1, 2]]), "inverse_frequencies": f4, "attention_factor": 0.5},
    10: [{"position_ids": np.array([[0, 1, 5]]), "inverse_frequencies": f4}, {"position_ids": np.array([[3, 2]]), "inverse_frequencies": f4 / 2}],
    11: [D | {"sequence_length": 512}, D],
    12: dict(width=8, scaling="yarn", factor=4.0, original_length=65536),
    13: dict(width=8, scaling="yarn", factor=4.0, original_length=4096, magnitude_scaling=0.7),
    14: dict(width=8, scaling="linear", factor=4.0, attention_factor=1.5),
    15: dict(width=10, scaling="proportional", proportion=0.35),
    16: dict(query_length=3, key_length=3, offset=-1, additive=True),
    17: dict(query_length=3, key_length=0),
    18: [dict(query_length=5, key_length=5, offset=0), dict(query_length=2, key_length=4, offset=2)],
    19: dict(query_length=33),
    20: {"x": st((1, 4, 5)), "num_heads": 2},
    21: {"x": np.asfortranarray(st((2, 3, 4))), "num_heads": 2},
    22: {"x": np.array([[[1.0, 1e6, 1e-9, 2.0]]]).astype(bf16), "num_heads": 2},
    23: {"x": queries},
    27: {"encoder_states": st((4, 3)) * 30, "decoder_state": st(3) * 30, "scale": -1.0},
    28: {"encoder_states": st((4, 3)), "decoder_state": st(3), "scale": 1.0},
    29: {"encoder_states": st((1, 4)), "decoder_state": st(4)},
    30: {"encoder_states": -np.ones((3, 4)) * [[400.0], [401], [402]], "decoder_state": np.ones(4)},
    31: {"encoder_states": np.array([[200.0] * 4, [201.0] * 4], dtype=np.float16), "decoder_state": np.full(4, 100.0, dtype=np.float16), "scale": 2.0**-9},
}

# ordinary calls, on which the mistakes that show in some condition only should not show
PLAIN = {
    "apply_rotary": [rot(1, 2, 3, 6, 2), rot(1, 2, 3, 4, 2, np.float32), rot(1, 1, 2, 5, 2, bf16, pairing="interleaved")],
    "rotary_tables": [{"position_ids": np.array([[0, 1, 2]]), "inverse_frequencies": f4}, {"position_ids": np.array([[7, 3]]), "inverse_frequencies": f4.astype(np.float32), "attention_factor": 1.2}],
    "rotary_frequencies": [dict(width=8), dict(width=8, scaling="linear", factor=2.0), D, D | {"sequence_length": 300}, dict(width=8, scaling="yarn", factor=4.0, original_length=4096),
        dict(width=8, scaling="llama3", factor=8.0, original_length=8192, low_frequency_factor=1.0, high_frequency_factor=4.0), dict(width=8, scaling="proportional", proportion=0.5),
        dict(width=4, scaling="longrope", factor=4.0, original_length=64, short_factors=[1.0, 1.1], long_factors=[1.5, 3.0])],
    "causal_mask": [dict(query_length=4), dict(query_length=2, key_length=4, offset=2), dict(query_length=4, additive=True)],
    "split_heads": [{"x": st((2, 3, 4)), "num_heads": 2}, {"x": st((1, 1, 6)).astype(np.float16), "num_heads": 3}],
    "combine_heads": [{"x": st((2, 2, 3, 4))}, {"x": st((1, 1, 3, 4)).astype(bf16)}],
    "glorot_normal": [],
    "context_vector": [{"encoder_states": st((4, 4)), "decoder_state": st(4)}, {"encoder_states": st((5, 3)).astype(bf16), "decoder_state": st(3).astype(bf16), "scale": 0.0}],
}


def witness(number, entry):
    name = entry["operation"]
    module = load(entry["file"])
    wrong, right = getattr(module, name), getattr(base, name)
    if number == 1:
        args = rot(1, 2, 3, 4, 2)
        before = args["x"].copy()
        ask(right, args)
        assert np.array_equal(before, args["x"])
        ask(wrong, args)
        return None if np.array_equal(before, args["x"]) else "x was changed"
    if number == 24:
        results = []
        for function in (right, wrong):
            first = ask(function, {"x": np.ones((1, 2, 3, 4))})["output"]
            ask(function, {"x": np.zeros((1, 2, 3, 4))})
            results.append({"output": first.copy()})
        return differs(*results)
    if number == 25:
        pair = [np.array_equal(*(ask(f, dict(fan_in=64, fan_out=64, seed=0))["output"] for _ in "12")) for f in (right, wrong)]
        return "another matrix for seed 0" if pair == [True, False] else None
    if number == 26:
        want = math.sqrt(2 / (256 + 32))
        errors = [abs(ask(f, dict(fan_in=256, fan_out=32, seed=1))["output"].std() / want - 1) * math.sqrt(2 * 8192) for f in (right, wrong)]
        return f"standard errors off: base {errors[0]:.1f}, wrong {errors[1]:.1f}" if errors[0] < 3 and errors[1] > 12 else None
    calls = CASES[number]
    calls = calls if isinstance(calls, list) else [calls]
    for call in calls:
        keep = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in call.items()}
        one, two = ask(right, call), ask(wrong, call)
        for k, v in keep.items():
            assert not isinstance(v, np.ndarray) or v.tobytes() == call[k].tobytes(), f"{entry['file']} edits {k}"
    return differs(one, two, exact=name in ("split_heads", "combine_heads", "causal_mask"))


def draws(file):
    number = int(pathlib.Path(file).stem[:2])
    for turn in range(400):
        dtype = [np.float64, np.float32, np.float16, bf16][turn % 4]
        if number == 1:
            b, h, s, half = (int(rng.integers(1, n)) for n in (3, 4, 9, 9))
            args = rot(b, h, s, 2 * half + int(rng.integers(0, 4)), half, dtype, pairing=["half", "interleaved"][int(rng.integers(2))])
            if turn % 5 == 0:
                args["x"].reshape(-1)[int(rng.integers(args["x"].size))] = [np.nan, np.inf, -np.inf][turn % 3]
            if turn % 7 == 0:
                args["x"] = np.asfortranarray(args["x"])[:, :, ::-1]
            yield "apply_rotary", args
        elif number == 2:
            s, d = int(rng.integers(1, 30)), int(rng.integers(1, 12))
            args = {"encoder_states": (st((s, d)) * 2).astype(dtype), "decoder_state": (st(d) * 2).astype(dtype)}
            yield "context_vector", args | ([{}, {"scale": 0.0}, {"scale": -1.5}, {"scale": 3.0}][int(rng.integers(4))])
        elif number == 3:
            shape = (int(rng.integers(1, 4)), int(rng.integers(1, 9)))
            f = (10000.0 ** -np.sort(rng.uniform(0, 1, int(rng.integers(1, 7))))).astype(dtype)
            yield "rotary_tables", {"position_ids": rng.integers(0, 500, shape), "inverse_frequencies": f, "attention_factor": float(rng.uniform(0.5, 2))}
        else:
            width = 2 * int(rng.integers(2, 40))
            lists = [list(rng.uniform(1, 9, width // 2)) for _ in "12"]
            args = dict(width=width, theta=float(rng.choice([100.0, 10000.0, 500000.0])), factor=float(rng.uniform(1, 9)), original_length=int(rng.integers(300, 9000)))
            args["scaling"] = base.SCALINGS[turn % 7]
            if turn % 3:
                args["sequence_length"] = int(rng.integers(1, 20000))
            args |= dict(low_frequency_factor=1.0, high_frequency_factor=4.0, short_factors=lists[0], long_factors=lists[1], proportion=float(rng.uniform(0, 1)))
            args |= [{}, {"truncate": False}, {"magnitude_scaling": 0.7}, {"magnitude_scaling": 0.7, "magnitude_scaling_all_dimensions": 1.3}, {"attention_factor": 1.2}][turn % 5]
            yield "rotary_frequencies", args


REFUSED = {
    "apply_rotary": [rot(1, 1, 2, 4, 3), rot(1, 1, 2, 4, 2, pairing="both"), {**rot(1, 1, 2, 4, 2), **angles(1, 1, 2, float)}, {**rot(2, 1, 2, 4, 2), **angles(1, 2, 2, float)},
        {**rot(1, 1, 2, 4, 2), "sin": np.zeros((1, 2, 1))}, {"x": st((2, 2, 4)), **angles(1, 2, 2, float)}, {"x": st((1, 1, 2, 4)), "cos": np.zeros((2, 2)), "sin": np.zeros((2, 2))}],
    "rotary_tables": [{"position_ids": np.arange(3), "inverse_frequencies": f4}, {"position_ids": np.zeros((1, 3), int), "inverse_frequencies": f4[None]}],
    "rotary_frequencies": [dict(width=7), dict(width=0), dict(width=8, scaling="ntk"), dict(width=8, scaling="linear"), dict(width=2, scaling="dynamic", factor=2.0, original_length=9), dict(width=8, theta=0.0),
        dict(width=8, scaling="linear", factor=0.0), dict(width=8, scaling="proportional", proportion=1.5), dict(width=8, scaling="yarn", theta=1.0, factor=2.0, original_length=64), dict(width=8, scaling="yarn", factor=2.0),
        dict(width=8, scaling="longrope", factor=2.0, original_length=64, short_factors=[1.0] * 4, long_factors=[1.0]), dict(width=8, scaling="llama3", factor=2.0, original_length=64, low_frequency_factor=4.0, high_frequency_factor=4.0)],
    "causal_mask": [],
    "split_heads": [{"x": st((1, 3, 7)), "num_heads": 2}],
    "combine_heads": [],
    "glorot_normal": [],
    "context_vector": [{"encoder_states": st((3, 4)), "decoder_state": st(1)}, {"encoder_states": st((3, 1)), "decoder_state": st(4)}],
}

good = True
for number, entry in enumerate(json.loads((here / "batch.json").read_text()), 1):
    how = witness(number, entry)
    name = entry["operation"]
    function = getattr(load(entry["file"]), name)
    plain = [differs(ask(getattr(base, name), a), ask(function, {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in a.items()})) for a in PLAIN[name]]
    taken = [i for i, a in enumerate(REFUSED[name]) if not isinstance(ask(function, a), tuple)]
    print(entry["file"], "|", how or "NOT SHOWN", "| plain:", sum(p is not None for p in plain), "of", len(plain), [p for p in plain if p], "| taken:", taken)
    good &= how is not None and (not taken)
for file in sorted((here / "right").glob("*.py")):
    module, bad, count = load(file), [], 0
    for name, args in draws(file):
        count += 1
        one = ask(getattr(base, name), args)
        assert not isinstance(one, tuple), args
        how = differs(one, ask(getattr(module, name), args))
        bad += [how] if how else []
    taken = [a for a in REFUSED[name] if not isinstance(ask(getattr(module, name), a), tuple)]
    taken += [a for a in REFUSED[name] if not isinstance(ask(getattr(base, name), a), tuple)]
    print(f"right/{file.name}", "|", count, "draws,", len(bad), "differ", bad[:3], "| taken:", len(taken))
    good &= not bad and not taken
print("ALL SHOWN" if good else "NOT ALL SHOWN")
raise SystemExit(not good)
