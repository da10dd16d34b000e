"""Shows every mistake on one input within the contract, and that the right files agree with base on many."""

import importlib.util
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import base  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402

E4, E5 = np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2)
BF16 = np.dtype(ml_dtypes.bfloat16)
F16, F32, F64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
rng = np.random.default_rng(66)


def load(file):
    spec = importlib.util.spec_from_file_location("file_" + file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def right_answer(layout, a):
    if layout == "packed":
        return base.packed(a)
    if layout == "paged":
        return base.paged(a)
    if layout == "paged_csr":
        return base.paged(a, csr=True)
    if layout == "bshe":
        swapped = {n: v.swapaxes(1, 2) if n in ("query", "key", "value") else v for n, v in a.items()}
        return {"output": base.scaled_dot_product_attention(**swapped)["output"].swapaxes(1, 2)}
    return base.scaled_dot_product_attention(**a)


def call(function, a):
    try:
        return function(a)
    except base.Refused:
        return "refused"
    except Exception as error:  # noqa: BLE001
        return f"error {type(error).__name__}: {error}"


def counted(name, array, a, layout):
    """Rows that count alone."""
    if a.get("query_lengths") is None or name.startswith("present"):
        return array
    array = array.swapaxes(1, 2) if layout == "bshe" else array
    rows = np.arange(array.shape[2]) < np.asarray(a["query_lengths"])[:, None]
    return np.where(rows.reshape(rows.shape[0], 1, rows.shape[1], *[1] * (array.ndim - 3)), array.astype(np.float64), 0.0)


def differs(found, wanted, a, layout, share):
    """What differs clearly, as words; nothing if the two agree."""
    if isinstance(found, str) or isinstance(wanted, str):
        return "" if isinstance(found, str) and found == wanted else f"{words(found)} instead of {words(wanted)}"
    if not isinstance(found, dict):
        found = {"output": found}
    for name, array in found.items():
        other = wanted[name]
        if array.shape != other.shape:
            return f"{name} has shape {array.shape} instead of {other.shape}"
        if name in ("output", "present_key", "present_value") and array.dtype != other.dtype:
            return f"{name} has dtype {array.dtype} instead of {other.dtype}"
        x, y = (counted(name, one, a, layout).astype(np.float64) for one in (array, other))
        if x.size == 0:
            continue
        finite = np.isfinite(x) & np.isfinite(y)
        with np.errstate(all="ignore"):
            same = np.where(finite, True, (x == y) | (np.isnan(x) & np.isnan(y)))
            if not same.all():
                return f"{name}: {x[~same].flat[0]} instead of {y[~same].flat[0]}"
            gap = np.where(finite, np.abs(x - y), 0)
            size = np.abs(np.where(finite, y, 0)).max() + 1e-300
            if gap.max() > share * max(size, 1.0):
                return f"{name}: off by {gap.max():.3g}, where the largest is {size:.3g}"
    return ""


def words(found):
    return found if isinstance(found, str) else "an answer"


def normal(*shape, dtype=F64):
    return rng.standard_normal(shape).astype(dtype)


def plain(B=2, Hq=4, Hkv=2, Sq=3, Sk=5, E=4, Ev=3, P=None, dtype=F64, **more):
    a = {"query": normal(B, Hq, Sq, E, dtype=dtype), "key": normal(B, Hkv, Sk, E, dtype=dtype), "value": normal(B, Hkv, Sk, Ev, dtype=dtype)}
    if P is not None:
        a |= {"past_key": normal(B, Hkv, P, E, dtype=dtype), "past_value": normal(B, Hkv, P, Ev, dtype=dtype)}
    return a | more


def starts(*lengths):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def packed(queries, keys, Hq=4, Hkv=2, E=4, Ev=3, dtype=F64, **more):
    return {
        "query": normal(sum(queries), Hq, E, dtype=dtype), "key": normal(sum(keys), Hkv, E, dtype=dtype),
        "value": normal(sum(keys), Hkv, Ev, dtype=dtype), "query_starts": starts(*queries), "key_starts": starts(*keys),
    } | more


def paged(table, lengths, size=4, Sq=2, Hq=4, Hkv=2, E=4, Ev=3, dtype=F64, pages=12, **more):
    table = np.array(table)
    return {
        "query": normal(len(table), Hq, Sq, E, dtype=dtype), "key_pool": normal(pages, size, Hkv, E, dtype=dtype),
        "value_pool": normal(pages, size, Hkv, Ev, dtype=dtype), "block_table": table, "key_lengths": np.array(lengths),
    } | more


def listed(counts, last, size=4, Sq=2, Hq=4, Hkv=2, E=4, Ev=3, dtype=F64, pages=12, **more):
    begin = starts(*counts)
    return {
        "query": normal(len(counts), Hq, Sq, E, dtype=dtype), "key_pool": normal(pages, size, Hkv, E, dtype=dtype),
        "value_pool": normal(pages, size, Hkv, Ev, dtype=dtype), "page_starts": begin,
        "page_indices": rng.permutation(pages)[: begin[-1]], "last_page_length": np.array(last),
    } | more


def numbers(dtype, *shape):
    if dtype == np.int8:
        return rng.integers(-128, 128, shape).astype(np.int8)
    return (rng.standard_normal(shape) * 2).astype(dtype)


def eights(B=2, Hq=4, Hkv=2, Sq=3, Sk=5, E=4, Ev=3, dtype=np.int8, **more):
    return {
        "query": numbers(dtype, B, Hq, Sq, E), "key": numbers(dtype, B, Hkv, Sk, E), "value": numbers(dtype, B, Hkv, Sk, Ev),
        "query_scale": np.float32(0.02), "key_scale": np.float32(0.02), "value_scale": np.float32(0.02), "output_dtype": "float64",
    } | more


def witnesses():
    """By number: a list of calls, the last of which shows the mistake."""
    w = {}
    w[1] = [plain(Sk=0, P=4)]
    w[2] = [plain(Sq=1, Sk=3, P=2, is_causal=True)]
    w[3] = [plain(Sq=1, Sk=1, P=5, is_causal=True, window=[2, 0])]
    w[4] = [plain(Sq=2, Sk=2, P=3, is_causal=True), plain(Sq=2, Sk=4, P=1, is_causal=True)]
    one = plain(B=2, P=3)
    w[5] = [one | {"past_key": one["past_key"][:1], "past_value": one["past_value"][:1]}]
    one = plain(P=3)
    w[6] = [one | {"past_value": np.ascontiguousarray(one["past_value"].swapaxes(1, 2)).swapaxes(1, 2)}]
    w[7] = [plain(is_causal=True, causal_alignment="bottom_right", query_lengths=np.array([2, 3]))]
    w[8] = [plain(B=3, key_lengths=np.array([2, 5, 4]))]
    w[9] = [plain(Sq=1, Sk=6, key_lengths=np.array([6, 4]), is_causal=True, causal_alignment="bottom_right", window=[2, None])]
    one = plain()
    w[10] = [one | {"key": np.broadcast_to(one["key"][:, :1], one["key"].shape)}]
    w[11] = [plain(Sq=5, Sk=2, causal_alignment="bottom_right", alibi_slopes=np.array([0.5, 0.25, 1, 0.125]), sinks=np.zeros(4))]
    w[12] = [packed([3, 1], [1, 3])]
    w[13] = [packed([2, 0, 0, 1], [2, 2, 1, 2])]
    w[14] = [packed([2, 1], [2, 4], mask=np.array([[0, 1.0, -1.0, 2.0]]))]
    w[15] = [packed([2, 1], [2, 0], sinks=np.array([0.5, 1, 2, 3]))]
    w[16] = [paged([[3, 1], [3, 7]], [3, 7])]
    w[17] = [paged([[3, 1], [3, 1]], [2, 8])]
    w[18] = [paged([[3, 1], [5, 7]], [6, 6], Sq=3, causal_alignment="bottom_right", is_causal=True, window=[1, None])]
    w[19] = [listed([1, 0, 2], [3, 11, 4])]
    one = paged([[3, 1], [5, 7]], [2, 2], size=1)
    one["query"] = np.abs(one["query"])
    one["key_pool"][3] = -np.inf
    w[20] = [one]
    w[21] = [plain(Sq=2, Sk=300, dtype=BF16, causal_alignment="bottom_right", alibi_slopes=np.array([0.5, 1, 2, 1]).astype(BF16), is_causal=True)]
    w[22] = [eights(query_scale=np.array([0.02, 0.1], np.float32))]
    w[23] = [eights(key_scale=np.array([[0.02], [0.01]], np.float32))]
    one = eights(query_scale=np.float32(0.01), key_scale=np.float32(0.01))
    one["key"][0, 0, 0, 0], one["query"][0, 0, 0, 0] = -128, -100
    w[24] = [one]
    big = {n: numbers(E4, *s) * E4.type(64) for n, s in (("query", (1, 2, 2, 8)), ("key", (1, 2, 3, 8)), ("value", (1, 2, 3, 3)))}
    big["query"][:], big["key"][0, :, 0] = E4.type(256), E4.type(256)
    w[25] = [big | {n: np.float32(2**-9) for n in ("query_scale", "key_scale", "value_scale")} | {"output_dtype": "float16"}]
    one = eights(value_scale=np.array([[0.01], [0.05]], np.float32))
    w[26] = [one | {"past_key": numbers(np.int8, 2, 2, 3, 4), "past_value": numbers(np.int8, 2, 2, 3, 3)}]
    one = plain(Sq=1, Sk=8, key_lengths=np.array([3, 8]))
    w[27] = [one | {"mask": np.full((1, 8), -2000.0)}]
    one = plain(Sq=1, Sk=4, dtype=F16)
    w[28] = [one | {"query": one["query"] * F16.type(0), "value": np.full_like(one["value"], 30000)}]
    w[29] = [plain(Sq=1), plain(Sq=1)]
    w[30] = [{n: np.ascontiguousarray(v.swapaxes(1, 2)) for n, v in plain(Sq=1).items()}]
    w[31] = [plain(sinks=np.array([0.0, 1, 2, 3]))]
    return w


def drawn(layout):
    """Any input of a layout, with a few features."""
    chance = lambda p=0.4: rng.random() < p  # noqa: E731
    dtype = [F64, F64, F32, BF16, F16][rng.integers(5)]
    Hkv, group = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    Hq, E, Ev, B = Hkv * group, int(rng.integers(1, 9)), int(rng.integers(1, 9)), int(rng.integers(1, 4))
    a = {}
    if chance():
        a["is_causal"] = True
    if chance(0.5):
        a["causal_alignment"] = "bottom_right"
    if chance(0.3):
        a["scale"] = float(rng.choice([0.5, -0.25, 0.0, 1.0]))
    if chance(0.3):
        a["softcap"] = float(rng.choice([0.0, 1.5, 4.0]))
    if chance(0.4):
        a["window"] = [None if chance(0.3) else int(rng.integers(0, 4)) for _ in range(2)]
    if chance(0.3):
        a["sinks"] = normal(Hq, dtype=dtype)
    if chance(0.3):
        a["alibi_slopes"] = np.abs(normal(Hq, dtype=dtype))
    size = lambda most: int(rng.integers(0, most))  # noqa: E731

    def a_mask(*shape):
        mask = rng.random(shape) < 0.7
        return mask if chance(0.5) else np.where(mask, rng.standard_normal(shape), -np.inf if chance(0.5) else 0).astype(dtype)

    if layout in (None, "bshe"):
        Sq, Sk = int(rng.choice([1, 1, 2, 3, 5])), size(24)
        P = size(6) if layout is None and chance() else None
        a |= plain(B, Hq, Hkv, Sq, Sk, E, Ev, P, dtype)
        if P is None and chance():
            a["key_lengths"] = rng.integers(0, Sk + 1, B)
        if P is None and chance(0.3):
            a["query_lengths"] = rng.integers(0, Sq + 1, B)
        if chance(0.3):
            shape = [length if chance(0.7) else 1 for length in (B, Hq, Sq)][int(rng.integers(0, 3)) :]
            a["mask"] = a_mask(*shape, Sk + (P or 0))
        if chance(0.25):
            kinds = (np.dtype(np.int8), E4, E5)
            for name in ("query", "key", "value"):
                if chance(0.7):
                    kind = kinds[rng.integers(3)]
                    for full in (name, "past_" + name):
                        if full in a:
                            a[full] = numbers(kind, *a[full].shape)
                    shape = [(), (Hkv,), (B, Hkv), (B, 1), (1, Hkv), (1,)][rng.integers(6)]
                    a[name + "_scale"] = (0.01 + 0.02 * rng.random(shape)).astype(np.float32)
                    if name == "query":
                        a["output_dtype"] = dtype.name
        if layout == "bshe":
            for name in ("query", "key", "value"):
                a[name] = np.ascontiguousarray(a[name].swapaxes(1, 2))
    elif layout == "packed":
        queries, keys = [size(4) for _ in range(B)], [size(9) for _ in range(B)]
        a |= packed(queries, keys, Hq, Hkv, E, Ev, dtype)
        if chance(0.3):
            a["mask"] = a_mask(Hq if chance() else 1, 1, max(keys) + size(3))
    else:
        page, Sq = int(rng.integers(1, 6)), int(rng.integers(1, 4))
        counts = [size(4) for _ in range(B)]
        if layout == "paged_csr":
            a |= listed(counts, [int(rng.integers(1, page + 1)) for _ in counts], page, Sq, Hq, Hkv, E, Ev, dtype)
            most = 3 * page
        else:
            table = rng.integers(0, 12, (B, 3))
            a |= paged(table, [size(3 * page + 1) for _ in range(B)], page, Sq, Hq, Hkv, E, Ev, dtype)
            most = 3 * page
        if chance(0.3):
            a["mask"] = a_mask(Hq if chance() else 1, 1, most)
        if chance(0.3):
            a["query_lengths"] = rng.integers(0, Sq + 1, B)
    return a, dtype


SHARE = {F64: 1e-12, F32: 2e-5, BF16: 2e-2, F16: 2e-3}


def main():
    entries = json.loads((HERE / "batch.json").read_text())
    assert [entry["file"] for entry in entries] == [f"wrong/{f.name}" for f in sorted((HERE / "wrong").glob("*.py"))]
    assert len(entries) == 31
    calls, failed = witnesses(), 0
    draws = {layout: [drawn(layout) for _ in range(150)] for layout in (None, "bshe", "packed", "paged", "paged_csr")}
    answers = {layout: [call(lambda a: right_answer(layout, a), a) for a, _ in many] for layout, many in draws.items()}
    for layout, many in answers.items():
        assert not any(isinstance(one, str) for one in many), (layout, [one for one in many if isinstance(one, str)][:2])
    for entry in entries:
        module = load(HERE / entry["file"])
        layout = getattr(module, "layout", None)
        number = int(entry["file"].split("/")[1][:3])
        for earlier in calls[number][:-1]:
            kept = call(lambda a: module.scaled_dot_product_attention(**a), earlier)
            last = earlier
        a = calls[number][-1]
        found = call(lambda a: module.scaled_dot_product_attention(**a), a)
        if number == 29:  # it is the earlier output that changes
            a, found = last, kept
        how = differs(found, call(lambda a: right_answer(layout, a), a), a, layout, 1e-3)
        wrong = []
        for (a, dtype), wanted in zip(draws[layout], answers[layout]):
            if layout == "bshe":
                a = {n: v for n, v in a.items() if not n.startswith("past")}
            before = {n: v.tobytes() for n, v in a.items() if isinstance(v, np.ndarray)}
            said = differs(call(lambda a: module.scaled_dot_product_attention(**a), a), wanted, a, layout, SHARE[dtype])
            assert all(a[n].tobytes() == v for n, v in before.items()), "an input was edited"
            wrong += [said] if said else []
        failed += not how
        print(f"{entry['file']:52} {'ok' if how else 'NOT SHOWN'}  {how}   [{len(wrong)} of {len(draws[layout])} draws]")
    for file in sorted((HERE / "right").glob("*.py")):
        module = load(file)
        layout = getattr(module, "layout", None)
        said = []
        more = [drawn(layout) for _ in range(250)]
        for a, dtype in draws[layout] + more:
            wanted = right_answer(layout, a)
            share = SHARE[dtype] * (30 if "scale" in a or "query_scale" in a else 1)
            said.append(differs(call(lambda a: module.scaled_dot_product_attention(**a), a), wanted, a, layout, share))
        bad = [one for one in said if one]
        failed += bool(bad)
        print(f"{'right/' + file.name:52} {'ok' if not bad else 'WRONG'}  {len(said) - len(bad)} of {len(said)} agree {bad[:3]}")
    print("all shown" if not failed else f"{failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(bool(main()))
