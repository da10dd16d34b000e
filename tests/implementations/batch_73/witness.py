"""Shows every wrong file to differ from base on an input within the contract, and right files to agree with it."""
import copy
import importlib.util
import json
import math
import pathlib
import sys

sys.dont_write_bytecode = True
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import base

BATCH = json.loads((HERE / "batch.json").read_text())
DTYPES = {"float64": np.dtype("float64"), "float32": np.dtype("float32"), "float16": np.dtype("float16"), "bfloat16": np.dtype(base.bfloat16)}
EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def call(function, given):
    """Outputs as a dict, or the name of the error."""
    try:
        got = function(**given)
    except Exception as error:
        return type(error).__name__
    return got if isinstance(got, dict) else {"output": got}


def same(one, other, operation, exact=False):
    """Whether two answers agree within generous rounding."""
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and isinstance(other, str)
    if set(one) != set(other):
        return False
    for name in one:
        a, b = np.asarray(one[name]), np.asarray(other[name])
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        eps = EPS.get(a.dtype.name, 0)
        a, b = (a, b) if a.dtype == bool else (a.astype(np.float64), b.astype(np.float64))
        if exact or a.dtype == bool:
            if not np.array_equal(a, b, equal_nan=a.dtype != bool):
                return False
        elif not np.array_equal(np.isfinite(a), np.isfinite(b)) or not np.array_equal(a[~np.isfinite(a)], b[~np.isfinite(b)], equal_nan=True):
            return False
        else:
            keep = np.isfinite(a)
            size = np.abs(b[keep]).max(initial=0.0)
            if operation == "rotary_frequencies":
                near = np.abs(a[keep] - b[keep]) <= 64 * 2.0**-52 * np.abs(b[keep])
            else:
                # phases of up to 5000 radians lose digits in float64
                room = 5000 if operation == "rotary_tables" and eps < 1e-12 else 64
                near = np.abs(a[keep] - b[keep]) <= room * eps * max(size, 1e-30)
            if not np.all(near):
                return False
    return True


rng = np.random.default_rng(73)
normal = lambda *shape: rng.standard_normal(shape)


def rotary(B=2, H=3, S=5, E=8, pairs=4, dtype="float64", pairing="half", positions=None, factor=1.0):
    positions = np.arange(S)[None].repeat(B, 0) + 3 if positions is None else positions
    phases = np.asarray(positions)[..., None] * (0.3 ** np.arange(pairs))
    kind = DTYPES[dtype]
    return dict(x=normal(B, H, S, E).astype(kind), cos=(factor * np.cos(phases)).astype(kind), sin=(factor * np.sin(phases)).astype(kind), pairing=pairing)


def with_tail(value):
    given = rotary(E=8, pairs=2, pairing="interleaved")
    given["x"][0, 0, 1, 4] = value
    given["x"][1, 1, 2, 6] = value
    return given


def one_array():
    given = rotary()
    given["sin"] = given["cos"]
    return given


def swapped():
    given = rotary(B=2, S=3)
    given["cos"], given["sin"] = given["cos"].reshape(3, 2, 4), given["sin"].reshape(3, 2, 4)
    return given


frequencies = lambda theta=1e4, pairs=4: theta ** (-np.arange(pairs) / pairs)
tables = lambda positions, theta=1e4, **more: dict(position_ids=np.array(positions), inverse_frequencies=frequencies(theta), **more)


def alias():
    states = normal(5, 6)
    return dict(encoder_states=states, decoder_state=states[2])


def rising():
    states = normal(40, 4)
    states[35] = 3
    return dict(encoder_states=states, decoder_state=np.full(4, 1.5))


W = {
    1: [rotary(E=8, pairs=2)],
    2: [rotary(positions=[[0, 1, 2, 3, 4], [0, 0, 1, 1, 2]])],
    3: [rotary(H=4, S=4)],
    4: [rotary(positions=[[0, 1, 2, 3, 4]] * 2, factor=1.25)],
    5: [rotary(E=9, pairs=4)],
    6: [with_tail(np.inf), with_tail(np.nan)],
    7: [one_array()],
    8: [swapped()],
    9: [tables([[0, 1, 2], [5, 6, 7]])],
    10: [tables([[0, 2, 1, 3], [0, 0, 1, 2]])],
    11: [tables([[0, 1, 2]], attention_factor=0.8)],
    12: [[tables([[0, 1, 2, 3]]), tables([[0, 1, 2, 3]], theta=500.0)]],
    13: [dict(width=8, theta=10000.0, scaling="yarn", factor=4.0, original_length=4, beta_fast=32.0, beta_slow=1.0)],
    14: [dict(width=8, scaling="yarn", factor=4.0, original_length=4096, magnitude_scaling=0.7, magnitude_scaling_all_dimensions=0)],
    15: [dict(width=8, scaling="longrope", factor=4.0, original_length=64, short_factors=[1.0, 1.1, 1.2, 1.3], long_factors=[1.0, 2.0, 3.0])],
    16: [dict(query_length=4, key_length=4, offset=-2, additive=True)],
    17: [dict(query_length=1, key_length=5, offset=2)],
    18: [dict(query_length=4, key_length=6, offset=-3)],
    19: [dict(query_length=4, key_length=6, offset=200), dict(query_length=100, key_length=120, offset=60)],
    20: [dict(x=np.asfortranarray(normal(2, 3, 8)), num_heads=2)],
    21: [dict(x=normal(1, 3, 4), num_heads=3)],
    22: ["kept"],
    23: [dict(x=np.asfortranarray(normal(2, 3, 4, 5))), dict(x=normal(2, 3, 4, 5)[:, :, ::2]), dict(x=normal(2, 3, 5, 4).swapaxes(2, 3))],
    24: [dict(x=np.zeros((2, 3, 0, 4))), dict(x=np.zeros((0, 3, 2, 4), np.float32))],
    25: ["seed 0"],
    26: ["seed 7"],
    27: [dict(encoder_states=normal(5, 4) * 20, decoder_state=normal(4) * 30, scale=-1.0), dict(encoder_states=normal(5, 4).astype(np.float32) * 8, decoder_state=normal(4).astype(np.float32) * 12, scale=-2.0)],
    28: [dict(encoder_states=normal(5, 4), decoder_state=normal(4), scale=0.0)],
    29: [alias(), dict(encoder_states=normal(5, 4), decoder_state=normal(4), scale=0.0)],
    30: [rising()],
    31: [dict(encoder_states=normal(5, 4), decoder_state=normal(1))],
}


def shows(number, entry, given):
    module = load(HERE / entry["file"])
    operation = entry["operation"]
    wrong, right = getattr(module, operation), getattr(base, operation)
    if given == "kept":
        one, other = normal(2, 3, 4, 5), normal(2, 3, 4, 5)
        first = call(wrong, dict(x=one))
        before = copy.deepcopy(first)
        assert same(first, call(right, dict(x=one)), operation, True)
        call(wrong, dict(x=other))
        return not same(first, before, operation, True)
    if isinstance(given, str):
        seed = int(given.split()[1])
        one, other = (call(wrong, dict(fan_in=64, fan_out=64, seed=seed)) for _ in range(2))
        return not same(one, other, operation)
    if isinstance(given, list):
        for earlier in given[:-1]:
            assert same(call(wrong, earlier), call(right, earlier), operation)
        given = given[-1]
    want = call(right, given)
    held = {name: copy.deepcopy(value) for name, value in given.items()}
    got = call(wrong, given)
    unchanged = all(np.array_equal(held[n], given[n], equal_nan=True) if isinstance(given[n], np.ndarray) else True for n in given)
    return not same(got, want, operation) or not unchanged


# ordinary inputs, on which nearly all files must agree ---------------------------------------------------------------


def ordinary(operation, dtype):
    kind = DTYPES[dtype]
    pick = lambda *choices: choices[rng.integers(len(choices))]
    if operation == "apply_rotary":
        E = int(rng.integers(2, 12))
        pairs = int(rng.integers(0, E // 2 + 1))
        B, H, S = (int(rng.integers(0 if rng.random() < 0.1 else 1, 5)) for _ in range(3))
        given = rotary(B, H, S, E, pairs, dtype, pick("half", "interleaved"), rng.integers(0, 50, (B, S)), pick(1.0, 1.25))
        if given["x"].size and rng.random() < 0.3:
            given["x"].reshape(-1)[rng.integers(given["x"].size)] = pick(np.nan, np.inf, -np.inf)
        if rng.random() < 0.3:
            given["x"] = np.asfortranarray(given["x"])
        return given
    if operation == "rotary_tables":
        B, S, n = (int(rng.integers(0 if rng.random() < 0.1 else 1, 6)) for _ in range(3))
        positions = rng.integers(0, pick(8, 300, 5000), (B, S)).astype(pick(np.int64, np.int32))
        return dict(position_ids=positions, inverse_frequencies=frequencies(pick(1e4, 5e5), n).astype(kind) if n else np.zeros(0, kind), attention_factor=pick(1.0, 1.25, 0.8))
    if operation == "rotary_frequencies":
        width = 2 * int(rng.integers(2, 65))
        ones = lambda: list(1 + 3 * rng.random(width // 2))
        given = dict(width=width, theta=pick(1e4, 5e5, 1e6), scaling=pick(*base.NEEDS), factor=pick(2.0, 4.0, 8.0), original_length=pick(64, 2048, 8192),
            sequence_length=pick(None, 32, 64, 5000, 20000), low_frequency_factor=1.0, high_frequency_factor=4.0, short_factors=ones(), long_factors=ones(),
            proportion=pick(0.25, 0.5, 1.0), truncate=pick(True, False), magnitude_scaling=pick(None, 0, 0.7), magnitude_scaling_all_dimensions=pick(None, 0, 1.0),
            attention_factor=pick(None, 1.1))
        low, high = base.yarn_range(dict(given, beta_fast=32.0, beta_slow=1.0))
        if low > high:
            given["original_length"] = 8192
        return given
    if operation == "causal_mask":
        return dict(query_length=int(rng.integers(0, 8)), key_length=pick(None, int(rng.integers(0, 9))), offset=int(rng.integers(-6, 7)), additive=pick(True, False))
    if operation == "glorot_normal":
        return dict(fan_in=int(rng.integers(1, 9)), fan_out=int(rng.integers(1, 9)), seed=int(rng.integers(0, 5)))
    if operation == "split_heads":
        B, S, H, E = (int(rng.integers(0 if rng.random() < 0.1 else 1, 5)) for _ in range(4))
        x = normal(B, S, max(H, 1) * E).astype(kind)
        return dict(x=np.asfortranarray(x) if rng.random() < 0.2 else x, num_heads=max(H, 1))
    if operation == "combine_heads":
        x = normal(*(int(rng.integers(0 if rng.random() < 0.1 else 1, 5)) for _ in range(4))).astype(kind)
        return dict(x=x[:, ::-1] if rng.random() < 0.2 else x)
    S, D = int(rng.integers(1, 80)), int(rng.integers(1, 9))
    return dict(encoder_states=normal(S, D).astype(kind), decoder_state=(normal(D) * pick(1, 3)).astype(kind), scale=pick(None, 1.0, 0.3, -0.5, 0.0))


REFUSED = {
    "apply_rotary": lambda: [
        dict(rotary(), x=normal(2, 3, 5)), dict(rotary(), cos=normal(5, 4), sin=normal(5, 4)), dict(rotary(), sin=normal(2, 5, 3)),
        rotary(E=7), rotary(E=4), dict(rotary(), pairing="other"), dict(rotary(), cos=normal(2, 4, 4), sin=normal(2, 4, 4)),
        dict(rotary(), cos=normal(3, 5, 4), sin=normal(3, 5, 4)), dict(rotary(), cos=normal(1, 5, 4), sin=normal(1, 5, 4)),
        dict(rotary(), cos=normal(2, 5, 1), sin=normal(2, 5, 4)), dict(rotary(), cos=normal(2, 1, 4), sin=normal(2, 1, 4)), rotary(E=1, pairs=1)],
    "rotary_tables": lambda: [dict(tables([[0, 1]]), position_ids=np.arange(3)), dict(tables([[0, 1]]), inverse_frequencies=normal(1, 4)), dict(tables([[0, 1]]), position_ids=np.zeros((1, 1, 3), int))],
    "rotary_frequencies": lambda: [
        dict(width=7), dict(width=0), dict(width=8, scaling="ntk"), dict(width=8, scaling="linear"), dict(width=8, theta=0.0), dict(width=8, scaling="linear", factor=0.0),
        dict(width=8, scaling="yarn", factor=2.0), dict(width=8, scaling="yarn", factor=2.0, original_length=64, theta=1.0), dict(width=2, scaling="dynamic", factor=2.0, original_length=64),
        dict(width=8, scaling="llama3", factor=2.0, original_length=64, low_frequency_factor=4.0, high_frequency_factor=4.0),
        dict(width=8, scaling="llama3", factor=2.0, original_length=64, low_frequency_factor=4.0),
        dict(width=8, scaling="proportional", proportion=1.5), dict(width=8, scaling="longrope", factor=2.0, original_length=64, short_factors=[1.0] * 4),
        dict(width=8, scaling="longrope", factor=2.0, original_length=64, short_factors=[1.0], long_factors=[1.0] * 4),
        dict(width=8, scaling="longrope", factor=2.0, original_length=64, short_factors=[1.0] * 3, long_factors=[1.0] * 4)],
    "split_heads": lambda: [dict(x=normal(2, 3, 7), num_heads=2), dict(x=normal(2, 3, 63), num_heads=4), dict(x=normal(2, 4, 6), num_heads=8)],
    "context_vector": lambda: [dict(encoder_states=normal(5, 4), decoder_state=normal(3)), dict(encoder_states=normal(4, 5), decoder_state=normal(4))],
}


def main():
    bad = 0
    assert len(BATCH) == 31 and sorted(W) == list(range(1, 32))
    assert [e["file"] for e in BATCH] == sorted(f"wrong/{p.name}" for p in (HERE / "wrong").glob("*.py"))
    for number, entry in enumerate(BATCH, 1):
        shown = all(shows(number, entry, given) for given in W[number])
        module, operation = load(HERE / entry["file"]), entry["operation"]
        agreed = tried = 0
        for k in range(240):
            given = ordinary(operation, list(DTYPES)[k % 4])
            held = copy.deepcopy(given)
            for value in given.values():
                if isinstance(value, np.ndarray) and k % 3 == 0:
                    value.flags.writeable = False
            got = call(getattr(module, operation), given)
            tried += 1
            agreed += same(got, call(getattr(base, operation), held), operation)
        refused = [isinstance(call(getattr(module, operation), given), str) for given in REFUSED.get(operation, list)()]
        note = "" if shown else "  NOT SHOWN"
        note += "" if all(refused) else f"  takes refused {[i for i, r in enumerate(refused) if not r]}"
        print(f"{entry['file']:45s} shown={shown} agrees {agreed}/{tried}{note}")
        bad += not shown
    rights = {"01_complex_gather": "apply_rotary", "02_angle_addition": "rotary_tables", "03_split_tokens_base_two": "context_vector", "04_frequencies_by_logarithms": "rotary_frequencies"}
    assert sorted(rights) == sorted(p.stem for p in (HERE / "right").glob("*.py"))
    for stem, operation in rights.items():
        module = load(HERE / "right" / f"{stem}.py")
        agreed = 0
        for k in range(600):
            given = ordinary(operation, list(DTYPES)[k % 4])
            held = copy.deepcopy(given)
            agreed += same(call(getattr(module, operation), given), call(getattr(base, operation), held), operation)
        refused = all(isinstance(call(getattr(module, operation), g), str) for g in REFUSED[operation]())
        print(f"right/{stem:39s} agrees {agreed}/600 refuses {refused}")
        bad += agreed != 600 or not refused
    for operation, inputs in REFUSED.items():
        assert all(isinstance(call(getattr(base, operation), g), str) for g in inputs()), operation
    # the pages' own examples
    a = base.apply_rotary(np.arange(1.0, 6).reshape(1, 1, 1, 5), np.array([[[0.0, 1]]]), np.array([[[1.0, 0]]]))["output"].ravel()
    assert a.tolist() == [-3, 2, 1, 4, 5]
    y = base.rotary_frequencies(8, scaling="yarn", factor=4, original_length=4096)
    assert np.allclose(y["inverse_frequencies"], [1, 0.1, 0.00625, 0.00025]) and abs(y["attention_factor"] - 1.1386) < 1e-4
    states = np.array([[0.64, -0.27, 0.89, -0.12], [-0.45, 0.33, 0.71, 0.08], [0.19, -0.94, 0.56, 0.37], [0.03, 0.85, -0.41, 0.76]])
    c = base.context_vector(states, np.array([0.45, 0.11, -0.88, 0.67]))
    assert np.allclose(c["context"], [0.09578694, 0.14982156, 0.24673243, 0.38854995])
    print("PASSED" if not bad else f"{bad} FAILED")
    return bad


if __name__ == "__main__":
    sys.exit(main())
