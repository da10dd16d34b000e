"""Shows, for each wrong file, one input within the contract on which it differs from base, and that right files agree."""

import importlib.util
import json
import pathlib
import sys

import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
import base  # noqa: E402

OP = "scaled_dot_product_attention"
LAYOUT = {
    "bhse": base.bhse(), "bshe": base.bshe(), "packed": base.packed(), "paged": base.paged(),
    "paged_heads_first": base.paged(base.PagedHeadsFirst), "paged_csr": base.paged_csr(),
    "paged_csr_heads_first": base.paged_csr(base.PagedHeadsFirst),
}
E4, E5 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2


def load(path):
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem.replace(".", "_"), HERE / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def norm(given):
    return given if isinstance(given, dict) else {"output": given}


def differ(one, other, scale=1.0):
    """The names of outputs of `one` that are clearly not those of `other`."""
    names = []
    for name, a in one.items():
        b = other[name]
        if a.shape != b.shape or a.dtype.itemsize < b.dtype.itemsize and name in ("output",):
            names.append(name)
            continue
        half = a.dtype.itemsize == 2 or b.dtype.itemsize == 2
        eps = 0.03 if half else 2e-4 if a.dtype == np.float32 else 1e-11
        x, y = a.astype(np.float64), b.astype(np.float64)
        with np.errstate(all="ignore"):
            far = ~((x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= scale * eps * (1 + np.abs(y))))
        if far.any():
            names.append(name)
    return names


RNG = np.random.default_rng(41)


def n(*shape, dtype=np.float64):
    return RNG.standard_normal(shape).astype(dtype)


def tensors(B, Hq, Hkv, Sq, Sk, E=4, Ev=4, dtype=np.float64):
    return dict(query=n(B, Hq, Sq, E, dtype=dtype), key=n(B, Hkv, Sk, E, dtype=dtype), value=n(B, Hkv, Sk, Ev, dtype=dtype))


def past(B, Hkv, P, E=4, Ev=4, dtype=np.float64):
    return dict(past_key=n(B, Hkv, P, E, dtype=dtype), past_value=n(B, Hkv, P, Ev, dtype=dtype))


def simple(**given):
    def shown(module, right):
        return differ(norm(getattr(module, OP)(**given)), norm(right(**given)))
    return shown


def refused(**given):
    def shown(module, right):
        try:
            right(**given)
        except ValueError:
            getattr(module, OP)(**given)
            return ["taken"]
        return []
    return shown


def second(first, then):
    def shown(module, right):
        assert not differ(norm(getattr(module, OP)(**first)), norm(right(**first))), "the first call is right"
        return differ(norm(getattr(module, OP)(**then)), norm(right(**then)))
    return shown


def overwritten(first, then):
    def shown(module, right):
        given = norm(getattr(module, OP)(**first))
        assert not differ(given, norm(right(**first)))
        getattr(module, OP)(**then)
        return differ(given, norm(right(**first)))
    return shown


def packed_input(queries, keys, Hq=2, Hkv=1, E=4, Ev=4, dtype=np.float64):
    starts = lambda counts: np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return dict(
        query=n(sum(queries), Hq, E, dtype=dtype), key=n(sum(keys), Hkv, E, dtype=dtype),
        value=n(sum(keys), Hkv, Ev, dtype=dtype), query_starts=starts(queries), key_starts=starts(keys),
    )


def paged_input(lengths, size, Sq=1, Hq=2, Hkv=1, E=4, Ev=4, heads_first=False, csr=False, spare=3, dtype=np.float64):
    counts = [-(-length // size) for length in lengths]
    pages = sum(counts) + spare
    order = RNG.permutation(pages)
    shape = (pages, Hkv, size) if heads_first else (pages, size, Hkv)
    given = dict(query=n(len(lengths), Hq, Sq, E, dtype=dtype), key_pool=n(*shape, E, dtype=dtype), value_pool=n(*shape, Ev, dtype=dtype))
    if csr:
        given |= dict(
            page_starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), page_indices=order.astype(np.int64),
            last_page_length=np.array([length - (c - 1) * size if c else 1 for length, c in zip(lengths, counts)], np.int64),
        )
    else:
        table = np.full((len(lengths), max(counts, default=0) + 1), order[-1])
        at = 0
        for b, c in enumerate(counts):
            table[b, :c] = order[at : at + c]
            at += c
        given |= dict(block_table=table, key_lengths=np.array(lengths, np.int64))
    return given


def negative_zero(module, right):
    given = tensors(1, 1, 1, 2, 2) | past(1, 1, 2)
    given["past_key"][0, 0, 0, 0] = given["value"][0, 0, 1, 1] = -0.0
    one, other = getattr(module, OP)(**given), right(**given)
    assert not differ(one, other)
    return [x for x in ("present_key", "present_value") if one[x].tobytes() != other[x].tobytes()]


def strided(module, right):
    given = tensors(2, 2, 2, 3, 5)
    given["key"] = np.ascontiguousarray(given["key"].swapaxes(1, 2)).swapaxes(1, 2)
    return differ(getattr(module, OP)(**given), right(**given))


def nan_value():
    given = tensors(1, 2, 1, 1, 24)
    given["value"][0, 0, 20, 1] = np.nan
    return given


def shared_page():
    given = paged_input([6, 8], 4)
    given["block_table"][1, :2] = given["block_table"][0, :2]
    return given


W = [
    second(a := tensors(1, 2, 1, 2, 2) | past(1, 1, 3), a | {"past_value": n(1, 1, 3, 4)}),
    simple(**tensors(1, 1, 1, 3, 3), **past(1, 1, 4), is_causal=True, window=[2, 0]),
    refused(query=n(1, 1, 2, 4), key=n(1, 1, 4, 4), value=n(1, 1, 3, 4), past_key=n(1, 1, 3, 4), past_value=n(1, 1, 4, 4)),
    negative_zero,
    simple(**tensors(1, 2, 1, 1, 3), **past(1, 1, 4), is_causal=True),
    second(tensors(1, 1, 1, 2, 5) | past(1, 1, 1) | {"is_causal": True}, tensors(1, 1, 1, 2, 3) | past(1, 1, 3) | {"is_causal": True}),
    simple(**tensors(3, 1, 1, 2, 4), key_lengths=np.array([2, 1, 3])),
    simple(query=n(1, 1, 1, 4, dtype=np.float16), key=n(1, 1, 40, 4, dtype=np.float16), value=(n(1, 1, 40, 4) * 100 + 30000).astype(np.float16)),
    simple(**tensors(2, 1, 1, 2, 6), key_lengths=np.array([6, 3]), window=[1, 0], causal_alignment="bottom_right", is_causal=True),
    simple(**tensors(2, 1, 1, 2, 6), key_lengths=np.array([4, 3])),
    simple(**packed_input([2, 0, 2], [3, 2, 4])),
    simple(**packed_input([1, 1], [3, 5])),
    simple(**packed_input([2, 3], [5, 4]), window=[1, 1]),
    simple(**packed_input([3, 2], [2, 4]), is_causal=True, causal_alignment="bottom_right"),
    simple(**paged_input([3, 6], 4), mask=n(1, 6)),
    simple(**paged_input([3, 6], 4), alibi_slopes=np.array([0.5, 0.25]), causal_alignment="bottom_right"),
    simple(**shared_page()),
    simple(**paged_input([17, 22, 30], 12)),
    simple(**paged_input([9, 6], 4, Hq=4, Hkv=2)),
    simple(**paged_input([18, 5], 4, csr=True)),
    simple(**paged_input([6, 7], 4, heads_first=True, Ev=6)),
    overwritten(paged_input([5, 6], 4), paged_input([7, 3], 4)),
    simple(query=n(2, 2, 2, 4), key=RNG.integers(-9, 9, (2, 2, 3, 4)).astype(np.int8), value=n(2, 2, 3, 4), key_scale=np.array([[0.1], [0.3]], np.float32)),
    refused(query=RNG.integers(-9, 9, (1, 4, 2, 4)).astype(np.int8), key=n(1, 2, 3, 4), value=n(1, 2, 3, 4), query_scale=np.array([0.1, 0.2, 0.3, 0.4], np.float32), output_dtype="float64"),
    simple(query=n(1, 2, 1, 4), key=n(1, 1, 20, 4), value=n(1, 1, 20, 4).astype(E4), value_scale=np.float32(0.5)),
    simple(query=n(1, 2, 2, 4), key=n(1, 1, 5, 4).astype(E5), value=n(1, 1, 5, 4), key_scale=np.float32(0.7)),
    simple(**nan_value()),
    simple(**tensors(1, 1, 1, 4, 4), **past(1, 1, 14), is_causal=True),
    simple(**tensors(1, 4, 2, 3, 3), is_causal=True),
    simple(query=n(1, 3, 2, 4), key=n(1, 3, 1, 4), value=n(1, 3, 1, 4), is_causal=True),
    strided,
]


# many random inputs


def extras(B, Hq, Sq, K, dtype, dense_mask=True):
    given = {}
    if RNG.random() < 0.4:
        given["is_causal"] = True
    if RNG.random() < 0.5:
        given["causal_alignment"] = "bottom_right"
    if RNG.random() < 0.3:
        given["window"] = [None if RNG.random() < 0.3 else int(RNG.integers(0, 4)) for _ in "lr"]
    if RNG.random() < 0.3:
        given["scale"] = float(RNG.choice([0.0, -0.5, 0.3, 2.0]))
    if RNG.random() < 0.3:
        given["softcap"] = float(RNG.choice([0.0, 0.5, 2.0]))
    if RNG.random() < 0.3:
        given["sinks"] = n(Hq, dtype=dtype)
    if RNG.random() < 0.3:
        given["alibi_slopes"] = np.abs(n(Hq, dtype=dtype))
    if RNG.random() < 0.4:
        if dense_mask:
            shape = [(Sq, K), (Hq, Sq, K), (B, 1, Sq, K), (B, Hq, 1, K)][RNG.integers(4)]
        else:
            shape = [(1, K), (Hq, 1, K), (1, Hq, 1, K)][RNG.integers(3)]
        given["mask"] = RNG.random(shape) < 0.7 if RNG.random() < 0.5 else n(*shape, dtype=dtype)
        if given["mask"].dtype != bool:
            given["mask"][RNG.random(shape) < 0.2] = -np.inf
    return given


def draw(layout):
    dtype = np.dtype(getattr(ml_dtypes, "bfloat16")) if RNG.random() < 0.1 else np.dtype(RNG.choice(["float64", "float64", "float32", "float16"]))
    B, Hkv, group = (int(RNG.integers(1, 4)) for _ in range(3))
    Hq, Sq, Sk, E, Ev = Hkv * group, int(RNG.integers(0, 6)), int(RNG.integers(0, 24)), int(RNG.integers(1, 8)), int(RNG.integers(1, 5))
    if layout in ("bhse", "bshe"):
        given = tensors(B, Hq, Hkv, Sq, Sk, E, Ev, dtype)
        P, which = 0, RNG.random()
        if which < 0.35:
            P = int(RNG.integers(0, 9))
            given |= past(B, Hkv, P, E, Ev, dtype)
        elif which < 0.7:
            given["key_lengths"] = RNG.integers(0, Sk + 1, B)
            if RNG.random() < 0.5:
                given["query_lengths"] = RNG.integers(0, Sq + 1, B)
        given |= extras(B, Hq, Sq, P + Sk, dtype)
        if RNG.random() < 0.3:
            kinds = [E4, E5, np.int8]
            scales = lambda: np.asarray(RNG.uniform(0.1, 2, [(), (1,), (Hkv,), (B, Hkv), (B, 1)][RNG.integers(5)]), np.float32)
            for name, parts in (("query", ["query"]), ("key", ["key", "past_key"]), ("value", ["value", "past_value"])):
                if RNG.random() < 0.6:
                    kind = kinds[RNG.integers(3)]
                    for part in parts:
                        if part in given:
                            given[part] = (given[part].astype(np.float32) * 3).astype(kind)
                    given[name + "_scale"] = scales()
                    if name == "query":
                        given["output_dtype"] = dtype.name
        if RNG.random() < 0.15 and given["value"].dtype == dtype and Sk:
            given[("key", "value")[RNG.integers(2) if given["key"].dtype == dtype else 1]][0, 0, RNG.integers(Sk), 0] = RNG.choice([np.nan, np.inf])
        if layout == "bshe":
            for name in ("query", "key", "value", "past_key", "past_value"):
                if name in given:
                    given[name] = given[name].swapaxes(1, 2)
        return given
    lengths = [int(RNG.integers(0, 24)) if RNG.random() < 0.85 else 0 for _ in range(B)]
    if layout == "packed":
        given = packed_input([int(RNG.integers(0, 5)) for _ in range(B)], lengths, Hq, Hkv, E, Ev, dtype)
    else:
        given = paged_input(lengths, int(RNG.integers(1, 8)), Sq, Hq, Hkv, E, Ev, "heads_first" in layout, "csr" in layout, dtype=dtype)
        if RNG.random() < 0.5:
            given["query_lengths"] = RNG.integers(0, Sq + 1, B)
    return given | extras(B, Hq, Sq, max(lengths), dtype, dense_mask=False)


def counted(given, name, out):
    """Rows that count alone."""
    if given.get("query_lengths") is None or name not in ("output", "logsumexp", "weights", "scores", "logits"):
        return out
    out = out.copy()
    for b, length in enumerate(given["query_lengths"]):
        out[b, :, length:] = 0
    return out


def agreement(module, layout, draws):
    right, same, first = LAYOUT[layout], 0, None
    for _ in range(draws):
        given = draw(layout)
        before = {name: a.tobytes() for name, a in given.items() if isinstance(a, np.ndarray)}
        one, other = norm(getattr(module, OP)(**given)), norm(right(**given))
        assert all(given[name].tobytes() == old for name, old in before.items()), "inputs were changed"
        wrong = differ(*({k: counted(given, k, v) for k, v in o.items()} if layout != "bshe" else o for o in (one, other)))
        assert one["output"].dtype == other["output"].dtype
        same += not wrong
        if wrong and first is None:
            first = (wrong, given)
    return same, first


def examples():
    """The worked examples of the page."""
    value = np.array([1.0, 2, 4, 8]).reshape(1, 1, 4, 1)
    z = np.zeros_like(value)
    a = base.attention
    got = a(z, z, value, is_causal=True, window=[1, 0])["output"].ravel()
    assert np.allclose(got, [1, 1.5, 3, 6])
    got = a(z[:, :, :2], z[:, :, :2], value[:, :, :2] * 8, past_key=z[:, :, :3], past_value=value[:, :, :3], is_causal=True)
    assert np.allclose(got["output"].ravel(), [3.75, 6.2])
    two = lambda x: np.repeat(x, 2, axis=0)
    got = a(two(z[:, :, :2]), two(z), two(value), key_lengths=np.array([4, 2]), query_lengths=np.array([2, 1]), is_causal=True, causal_alignment="bottom_right")["output"]
    assert np.allclose(got[0].ravel(), [7 / 3, 3.75]) and np.isclose(got[1, 0, 0, 0], 1.5)
    got = a(np.ones((1, 1, 1, 1)), np.array([8.0, 0]).reshape(1, 1, 2, 1), value[:, :, :2], scale=1, softcap=2)["weights"]
    assert np.allclose(got.ravel(), [0.8807, 0.1193], atol=1e-4)
    got = a(z[:, :, :3], z[:, :, :3], value[:, :, :3], is_causal=True, alibi_slopes=np.array([0.25]))
    assert np.isclose(got["output"].ravel()[-1], 2.5842, atol=1e-4)
    got = a(z[:, :, :1], z[:, :, :1], value[:, :, 1:2], sinks=np.array([np.log(3)]), mask=np.zeros((1, 1), bool))
    assert got["output"].ravel()[0] == 0 and np.isclose(got["logsumexp"].ravel()[0], np.log(3))
    got = a(
        np.ones((1, 2, 1, 1)), np.array([[4, 2], [4, 2]], np.int8).reshape(1, 2, 2, 1),
        np.array([[10, 30], [10, 30]], np.int8).reshape(1, 2, 2, 1), scale=1,
        key_scale=np.array([0.5, 0.25], np.float32), value_scale=np.array([0.1, 2], np.float32),
    )["output"].ravel()
    assert np.allclose(got, [1.5379, 35.1016], atol=1e-4)


def main():
    examples()
    batch = json.loads((HERE / "batch.json").read_text())
    assert len(batch) == len(W) == 31 and [b["file"] for b in batch] == sorted(str(p.relative_to(HERE)) for p in HERE.glob("wrong/*.py"))
    passed = True
    for entry, shown in zip(batch, W):
        module = load(entry["file"])
        layout = getattr(module, "layout", "bhse")
        names = shown(module, LAYOUT[layout])
        same, _ = agreement(load(entry["file"]), layout, 60)
        print(f"{entry['file']:48} shown in {names}; agrees on {same} of 60 random inputs")
        passed &= bool(names)
    for path in sorted(HERE.glob("right/*.py")):
        module = load(path.relative_to(HERE))
        same, first = agreement(module, getattr(module, "layout", "bhse"), 400)
        print(f"{path.relative_to(HERE)}: agrees on {same} of 400 random inputs")
        if first is not None:
            print(first[0], str(first[1])[:3000])
        passed &= same == 400
    for layout in ("packed", "paged"):
        assert layout in LAYOUT
    print("witness passed for all" if passed else "NOT PASSED")
    return not passed


if __name__ == "__main__":
    sys.exit(main())
