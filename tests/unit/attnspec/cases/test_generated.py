"""Generated inputs: the algorithm of the page, parts of a tensor, digests, and what a case with them may not have."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from attnspec.base.errors import FixtureError
from attnspec.cases import Inputs, case_from_json, check_file, in_run_dtype, load_suite
from attnspec.cases.consistency import contradiction
from attnspec.cases.generator import Generated, Rise, bell, fnv1a64, splitmix64
from attnspec_authoring.recipes import sampled_cases

PAGE = (Path(__file__).parents[4] / "spec" / "generator.md").read_text(encoding="utf-8")
WORDS = 2**64
SMALL = Generated("bell", "attention", (1, 1, 4, 2), 2, 0.25, rise=Rise(2, 0.5))
CASE = "long/thousands/causal_1000"


def by_hand(seed: str, count: int, bits: int, unit: float) -> list[float]:
    """Follow the page word by word, in Python integers."""
    digest = 0xCBF29CE484222325
    for byte in seed.encode("utf-8"):
        digest = (digest ^ byte) * 0x100000001B3 % WORDS

    def mix(state: int) -> int:
        state = (state + 0x9E3779B97F4A7C15) % WORDS
        state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % WORDS
        state = (state ^ state >> 27) * 0x94D049BB133111EB % WORDS
        return state ^ state >> 31

    base = mix(digest)
    words = [mix((base + element) % WORDS) for element in range(count)]
    sums = [sum(word // 2**field % 2**bits for field in (0, 16, 32, 48)) for word in words]
    return [(total - 2 * (2**bits - 1)) * unit for total in sums]


def test_the_words_of_the_page():
    word = r"`(\w{16})`"
    row = rf"^\| `([a-z0-9_/]+)` \| {word} \| {word} \| {word} {word} {word} \|$"
    rows = re.findall(row, PAGE, re.MULTILINE)
    assert len(rows) == 2
    for seed, hashed, base, *words in rows:
        assert fnv1a64(seed) == int(hashed, 16)
        assert splitmix64(fnv1a64(seed)) == int(base, 16)
        assert [splitmix64((int(base, 16) + i) % WORDS) for i in range(3)] == [int(word, 16) for word in words]


def test_the_numbers_of_the_page():
    drawn = Generated("bell", "attention", (1, 1, 1, 8), 2, 0.25).rows(0, 1)[0].tolist()
    assert ", ".join(f"{number:g}" for number in drawn) in PAGE
    assert drawn == by_hand("attention", 8, 2, 0.25)
    assert SMALL.digest() in PAGE


@pytest.mark.parametrize("bits", [1, 2, 4, 6])
def test_numbers_are_those_of_the_algorithm(bits):
    tensor = Generated("bell", "some/seed", (2, 3, 5, 4), bits, 0.5)
    assert tensor.whole().ravel().tolist() == by_hand("some/seed", 120, bits, 0.5)
    assert np.abs(bell(7, 0, 1000, bits=bits)).max() <= 2 * (2**bits - 1)


def test_a_part_is_a_part_of_the_whole():
    tensor = replace_rise(Generated("bell", "parts", (2, 3, 700, 5), 3, 0.25))
    whole = tensor.whole("float32").reshape(-1, 5)
    for start, stop in ((0, 1), (699, 702), (1399, 4200), (0, 4200)):
        assert np.array_equal(tensor.rows(start, stop, "float32"), whole[start:stop])


def replace_rise(tensor):
    return tensor._replace(rise=Rise(64, 0.125))


def test_the_first_feature_rises_to_nothing():
    drawn = SMALL.whole()[0, 0]
    assert drawn[:, 0].tolist() == [-0.5, -0.5, 0.0, 0.0]
    assert drawn[:, 1].tolist() == by_hand("attention", 8, 2, 0.25)[1::2]
    assert SMALL._replace(rise=None, first=2.0).whole()[0, 0, :, 0].tolist() == [2.0] * 4


def test_the_digest_is_that_of_the_page():
    numbers = SMALL.whole().ravel().tolist()
    assert SMALL.digest() == hashlib.sha256(struct.pack("<8f", *numbers)).hexdigest()


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_every_dtype_holds_what_long_cases_draw(dtype):
    for case in sampled_cases():
        for tensor in case.inputs.generated.values():
            few = min(tensor.size // tensor.shape[-1], 300)
            rows = [tensor.rows(start, start + few, each) for start in (0,) for each in (dtype, "float64")]
            assert np.array_equal(rows[0].astype(np.float64), rows[1])
            if tensor.rise is not None:
                steps = (tensor.shape[-2] - 1) // tensor.rise.tokens
                assert steps < 256


def test_other_numbers_than_the_digest_says_are_refused():
    with pytest.raises(FixtureError, match="made other numbers from the seed 'attention'"):
        SMALL._replace(sha256="0" * 64).whole()


def test_inputs_are_drawn_when_they_are_read():
    inputs = Inputs({"sinks": np.zeros(2)}, {"query": SMALL._replace(sha256="0" * 64)})
    assert set(inputs) == {"query", "sinks"}
    assert "query" in inputs
    assert inputs["sinks"].tolist() == [0, 0]
    with pytest.raises(FixtureError):
        inputs["query"]


def test_a_case_knows_its_shapes_without_drawing():
    case = load_suite(select=(CASE,)).cases[CASE]
    assert case.shapes["query"] == (1, 2, 1000, 32)
    assert case.size == (2 + 1 + 1) * 1000 * 32
    assert case.thinned == {"output": (1, 2, 1000, 32), "logsumexp": (1, 2, 1000)}
    assert case.golden("float32")["output"].shape == case.sample["output"].shape
    assert {array.dtype.name for array in in_run_dtype(case.inputs, "float32").values()} == {"float32"}


def document():
    path = Path(__file__).parents[4] / "golden" / f"{CASE}.json"
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"changed_argument": {"name": "is_causal", "value": False}}, "/changed_argument"),
        ({"presentation": {"query": "broadcast"}}, "/presentation/query"),
        ({"sample": {}}, "/sample"),
    ],
)
def test_what_a_generated_case_cannot_have(change, pointer):
    found = contradiction({**document(), **change})
    assert found is not None
    assert found[0] == pointer


def test_an_unknown_generator_is_named(tmp_path):
    changed = document()
    changed["inputs"]["query"]["generator"] = "normal"
    with pytest.raises(ValueError, match="/inputs/query/generator: there is no generator 'normal'"):
        case_from_json(changed)


def test_a_sampled_file_follows_the_schema():
    check_file(Path(__file__).parents[4] / "golden" / f"{CASE}.json")


def test_check_draws_what_is_generated_for_its_digest(tmp_path):
    changed = document()
    digest = changed["inputs"]["query"]["sha256"]
    changed["inputs"]["query"]["sha256"] = digest[::-1]
    file = tmp_path / "changed.json"
    file.write_text(json.dumps(changed))
    with pytest.raises(FixtureError, match=f"at /inputs/query/sha256: .* {digest}"):
        check_file(file)


def test_cases_on_request_are_left_out_unless_they_are_requested():
    assert not any(case_id.startswith("long/") for case_id in load_suite().cases)
    assert not any(case_id.startswith("long/") for case_id in load_suite(select=("*1000*",)).cases)
    assert (
        len(load_suite(profiles=("long",)).cases) == len(load_suite(select=("long/*",)).cases) == len(sampled_cases())
    )
    assert len(load_suite(whole=True).cases) == len(load_suite().cases) + len(sampled_cases())


def test_authored_digests_are_left_to_be_filled():
    case = sampled_cases()[0]
    assert all(not tensor.sha256 for tensor in replace(case, title="x").inputs.generated.values())
