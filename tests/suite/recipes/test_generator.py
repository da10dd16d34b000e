"""The portable generator, against numbers computed by hand-written integer arithmetic without NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from attnspec.base.errors import RecipeError
from attnspec_authoring.recipes.generator import fnv1a64, grid, require_exact, splitmix64

# As `by_hand` gives them, written out so that a change of both would show.
VECTORS = {
    ("attention", 0): [1.34375, -2.03125, 0.65625, 0.5625, -0.6875, 1.15625, -1.46875, -0.375],
    ("core/plain/query", 0): [1.03125, -0.15625, 0.78125, 1.03125, -0.59375, 0.53125, 0.75, -0.28125],
    ("core/plain/query", 7): [-0.625, 2.4375, 0.5625, 0.90625, 0.34375, 0.03125, -0.59375, -1.75],
}


def by_hand(name: str, count: int, seed: int = 0) -> list[float]:
    """Follow the description word by word, in Python integers."""
    digest = 14695981039346656037
    for byte in name.encode("utf-8"):
        digest = (digest ^ byte) * 1099511628211 % 2**64

    def mix(state: int) -> int:
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        state = (state ^ state >> 27) * 0x94D049BB133111EB % 2**64
        return state ^ state >> 31

    base = mix(digest ^ seed)
    numbers = []
    for element in range(count):
        hashed = mix((base + element) % 2**64)
        numbers.append((sum(hashed // 2**shift % 64 for shift in (0, 16, 32, 48)) - 126) / 32)
    return numbers


@pytest.mark.parametrize(("name", "seed"), VECTORS)
def test_the_vectors(name, seed) -> None:
    expected = VECTORS[name, seed]
    assert by_hand(name, len(expected), seed) == expected
    assert grid(name, (len(expected),), seed=seed).tolist() == expected


def test_the_published_outputs_of_splitmix64() -> None:
    # The sequence for the seed 1234567 that reference implementations print.
    state, drawn = 1234567, []
    for _ in range(3):
        drawn.append(splitmix64(state))
        state = (state + 0x9E3779B97F4A7C15) % 2**64
    assert drawn == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_the_published_values_of_fnv1a() -> None:
    assert fnv1a64("") == 0xCBF29CE484222325
    assert fnv1a64("a") == 0xAF63DC4C8601EC8C
    assert fnv1a64("foobar") == 0x85944171F73967E8


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0, 2), (2, 3, 4), (7, 11)])
def test_any_shape_is_filled_row_by_row(shape) -> None:
    drawn = grid("shapes", shape)
    assert drawn.shape == shape
    assert drawn.dtype == np.float64
    assert drawn.ravel().tolist() == by_hand("shapes", drawn.size)


def test_every_number_is_exact_in_every_dtype() -> None:
    drawn = grid("exact", (5000,))
    assert np.abs(drawn * 32).max() <= 126
    for dtype in (np.float32, np.float16, ml_dtypes.bfloat16):
        np.testing.assert_array_equal(drawn.astype(dtype).astype(np.float64), drawn)


def test_numbers_are_spread_like_a_bell() -> None:
    drawn = grid("bell", (20000,))
    assert abs(drawn.mean()) < 0.05
    assert drawn.std() == pytest.approx(1.155, abs=0.02)
    assert np.mean(np.abs(drawn) < 1.155) == pytest.approx(0.68, abs=0.03)


def test_a_name_and_a_seed_give_numbers_of_their_own() -> None:
    first = grid("name", (64,))
    assert not np.array_equal(first, grid("names", (64,)))
    assert not np.array_equal(first, grid("name", (64,), seed=1))
    np.testing.assert_array_equal(first, grid("name", (64,)))


def test_exactness_is_required() -> None:
    array = np.array([1.0, -np.inf, np.nan, 0.1])
    with pytest.raises(RecipeError, match=r"float32 does not hold .*0\.1"):
        require_exact(array, ("float64", "float32"), named="x")
    with pytest.raises(RecipeError, match="float16"):
        require_exact(np.array([1e6]), ("float32", "float16"), named="x")
    assert require_exact(array[:3], ("float16", "bfloat16"), named="x") is not None
    assert require_exact(np.array([True]), ("float16",), named="x").dtype == np.bool_
