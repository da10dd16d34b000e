"""What goes wrong in RMS norm: its mean, its root, its weight, and the memory around them."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attnspec_mistakes.misread_memory import as_it_lies_in_memory, overwriting, remembering, without_gaps
from attnspec_mistakes.mistake import Making, of_sizes
from attnspec_mistakes.patches import Computation, altered, ignoring, named_output, patch, through_float16
from attnspec_reference.norms.rms_norm import divide_by_root, mean_square_of, multiply, rms_norm
from attnspec_reference.precision import Array, quietly, result_dtype, round_to, widen


def stepping(**steps: Any) -> Computation:
    """Replace steps of the norm."""
    return named_output(patch(rms_norm, **steps))


def along(axis: int) -> Callable[[Array], Array]:
    """Average the squares along another axis, where there is one."""

    def mean(x: Array) -> Array:
        if x.ndim < -axis:
            raise ValueError(f"x has shape {x.shape}; it has no axis {axis}.")
        return np.mean(x * x, axis=axis, keepdims=True)

    return mean


def of_the_entry(x: Array) -> Array:
    """Average the squares of all that stands below the first axis."""
    return np.mean(x * x, axis=tuple(range(min(1, x.ndim - 1), x.ndim)), keepdims=True)


def of_the_first_token(x: Array) -> Array:
    """Take the mean of the first token for all that stand beside it."""
    mean = mean_square_of(x)
    return mean if x.ndim < 2 else np.broadcast_to(mean[..., :1, :], mean.shape)


def unbiased(x: Array) -> Array:
    """Divide the sum of squares by one less than the number of features, where there are two."""
    return np.sum(x * x, axis=-1, keepdims=True) / max(x.shape[-1] - 1, 1)


def variance_of(x: Array) -> Array:
    """Take the variance for the mean of the squares."""
    return np.var(x, axis=-1, keepdims=True)


def sum_of_squares(x: Array) -> Array:
    """Leave the sum undivided."""
    return np.sum(x * x, axis=-1, keepdims=True)


def whole_tiles_of(size: int) -> Computation:
    """Sum the squares of whole tiles, and leave the rest of the features out of the sum."""

    def mean(x: Array) -> Array:
        whole = x.shape[-1] - x.shape[-1] % size if x.shape[-1] > size else x.shape[-1]
        return np.sum(x[..., :whole] ** 2, axis=-1, keepdims=True) / x.shape[-1]

    return stepping(mean_square_of=mean)


def padded_to(size: int) -> Computation:
    """Divide the sum by the width of the row as it is padded to whole tiles."""
    return stepping(mean_square_of=lambda x: sum_of_squares(x) / (-(-x.shape[-1] // size) * size))


def in_the_dtype(mean: Callable[[Array], Array]) -> Computation:
    """Compute the mean of the squares in half precision, where the inputs come in it."""

    @quietly
    def computed(x: Any, weight: Any, *, epsilon: float, weight_offset: str = "zero") -> Array:
        dtype = result_dtype(x)
        wide = widen(x, dtype)
        of_squares = mean_square_of(wide) if dtype.itemsize > 2 else widen(mean(np.asarray(x)), dtype)
        output = multiply(divide_by_root(wide, of_squares, epsilon), widen(weight, dtype), weight_offset)
        return round_to(dtype, output)

    return named_output(computed)


def squared(x: Array) -> Array:
    """Round each square to half precision, and average in float32."""
    return np.mean((x * x).astype(np.float32), axis=-1, keepdims=True)


def summed(x: Array) -> Array:
    """Add one square after the other, and round each sum to half precision."""
    total = np.zeros_like(x[..., :1])
    for index in range(x.shape[-1]):
        square = x[..., index : index + 1].astype(np.float32) ** 2
        total = (total.astype(np.float32) + square).astype(x.dtype)
    return total.astype(np.float32) / x.shape[-1]


def by_guess(x: Array, mean_square: Array, epsilon: float) -> Array:
    """Take the reciprocal root from a guess by bits and one step of Newton, which leaves three digits."""
    number = (mean_square + np.asarray(epsilon, dtype=x.dtype)).astype(np.float32)
    guess = (np.int32(0x5F3759DF) - (number.view(np.int32) >> 1)).view(np.float32)
    guess = guess * (1.5 - 0.5 * number * guess * guess)
    return x * guess.astype(x.dtype)


def outside(x: Array, mean_square: Array, epsilon: float) -> Array:
    """Add epsilon to the root."""
    return x / (np.sqrt(mean_square) + np.asarray(epsilon, dtype=x.dtype))


def by_reciprocal_in(dtype: Any) -> Callable[[Array, Array, float], Array]:
    """Multiply by one over the root, which is kept in a dtype."""
    return lambda x, mean_square, epsilon: (
        x * (1 / np.sqrt(mean_square + np.asarray(epsilon, dtype=x.dtype))).astype(dtype).astype(x.dtype)
    )


def by_reciprocal_in_half(**arguments: Any) -> Any:
    """Keep one over the root in the dtype of the tokens, where it may overflow."""
    return stepping(divide_by_root=by_reciprocal_in(result_dtype(arguments["x"])))(**arguments)


def as_a_floor(x: Array, mean_square: Array, epsilon: float) -> Array:
    """Let the mean of the squares not fall below epsilon."""
    return x / np.sqrt(np.maximum(mean_square, np.asarray(epsilon, dtype=x.dtype)))


def divided_too(x: Array, mean_square: Array, epsilon: float) -> Array:
    """Add epsilon to the sum, before it is divided."""
    return divide_by_root(x, mean_square, epsilon / x.shape[-1])


def squared_epsilon(x: Array, mean_square: Array, epsilon: float) -> Array:
    """Add the square of epsilon, as the length of one more feature."""
    return divide_by_root(x, mean_square, epsilon * epsilon)


def without_root(x: Array, mean_square: Array, epsilon: float) -> Array:
    """Divide by the mean of the squares itself."""
    return x / (mean_square + np.asarray(epsilon, dtype=x.dtype))


def centred(x: Array, mean_square: Array, epsilon: float) -> Array:
    """Subtract the mean before anything else, as layer norm does."""
    del mean_square
    without_mean = x - np.mean(x, axis=-1, keepdims=True)
    return divide_by_root(without_mean, mean_square_of(without_mean), epsilon)


def weighted_first(x: Any, weight: Any, *, epsilon: float, weight_offset: str = "zero") -> Array:
    """Multiply by the weight, and normalize what comes of it."""
    dtype = result_dtype(x)
    product = multiply(widen(x, dtype), widen(weight, dtype), weight_offset)
    return round_to(dtype, divide_by_root(product, mean_square_of(product), epsilon))


def one_added_after(normalized: Array, weight: Array, weight_offset: str) -> Array:
    """Add 1 to the product."""
    return normalized * weight + (weight_offset == "one")


def offset_twice(normalized: Array, weight: Array, weight_offset: str) -> Array:
    """Add another 1 to weights that a converter has added it to."""
    return normalized * (2 + weight if weight_offset == "one" else weight)


def zeros_for_nonfinite(x: Any, weight: Any, **attributes: Any) -> Array:
    """Replace what comes of NaN and infinity by 0."""
    return np.nan_to_num(rms_norm(x, weight, **attributes), nan=0.0, posinf=0.0, neginf=0.0)


def in_one_row(x: Any, weight: Any, **attributes: Any) -> Array:
    """Lay all tokens behind one another, and leave them so."""
    output = rms_norm(x, weight, **attributes)
    return output.reshape(-1, output.shape[-1])


def weight_fitted(x: Any, weight: Any, **attributes: Any) -> Array:
    """Repeat a weight that is too short, and cut one that is too long."""
    return rms_norm(x, np.resize(np.asarray(weight), np.shape(x)[-1:]), **attributes)


def unknown_as_zero(x: Any, weight: Any, *, epsilon: float, weight_offset: str = "zero") -> Array:
    """Take whatever is not one for zero."""
    return rms_norm(x, weight, epsilon=epsilon, weight_offset="one" if weight_offset == "one" else "zero")


def tiles_alone(size: int) -> Computation:
    """Sum, normalize and write whole tiles; what is behind them stays as it came."""

    @quietly
    def computed(x: Any, weight: Any, *, epsilon: float, weight_offset: str = "zero") -> Array:
        rms_norm(x, weight, epsilon=epsilon, weight_offset=weight_offset)
        dtype = result_dtype(x)
        wide, features = widen(x, dtype), np.shape(x)[-1]
        whole = features - features % size or features
        mean = np.sum(wide[..., :whole] ** 2, axis=-1, keepdims=True) / features
        output = multiply(divide_by_root(wide, mean, epsilon), widen(weight, dtype), weight_offset)
        return round_to(dtype, np.where(np.arange(features) < whole, output, wide))

    return named_output(computed)


def first_feature_of_the_row_before(**arguments: Any) -> Any:
    """Divide the first feature of an odd row of half precision by the root of the row before."""
    shape = np.shape(arguments["x"])
    if result_dtype(arguments["x"]).itemsize > 2 or not shape or shape[-1] % 2 == 0:
        return named_output(rms_norm)(**arguments)

    def divided(x: Array, mean_square: Array, epsilon: float) -> Array:
        roots = mean_square.reshape(-1, 1)
        before = np.concatenate([roots[:1], roots[:-1]]).reshape(mean_square.shape)
        return divide_by_root(x, np.where(np.arange(x.shape[-1]) == 0, before, mean_square), epsilon)

    return stepping(divide_by_root=divided)(**arguments)


FUNCTIONS: Mapping[str, Making] = {
    "rms_norm.mean_subtracted": stepping(divide_by_root=centred),
    "rms_norm.variance": stepping(mean_square_of=variance_of),
    "rms_norm.sum_of_squares": stepping(mean_square_of=sum_of_squares),
    "rms_norm.unbiased_mean": stepping(mean_square_of=unbiased),
    "rms_norm.root_missing": stepping(divide_by_root=without_root),
    "rms_norm.root_of_few_digits": stepping(divide_by_root=by_guess),
    "rms_norm.last_tile_left_out": of_sizes(whole_tiles_of, 4, 2, 8, 16, 32, 64),
    "rms_norm.last_tile_as_it_came": of_sizes(tiles_alone, 4, 2, 8, 16, 32, 64),
    "rms_norm.mean_of_padded_row": of_sizes(padded_to, 4, 2, 8, 16, 32, 64),
    "rms_norm.over_tokens": stepping(mean_square_of=along(-2)),
    "rms_norm.over_entry": stepping(mean_square_of=of_the_entry),
    "rms_norm.root_of_first_token": stepping(mean_square_of=of_the_first_token),
    "rms_norm.first_feature_of_the_row_before": first_feature_of_the_row_before,
    "rms_norm.epsilon_outside_the_root": stepping(divide_by_root=outside),
    "rms_norm.epsilon_ignored": stepping(divide_by_root=lambda x, mean_square, _: x / np.sqrt(mean_square)),
    "rms_norm.epsilon_fixed": altered(named_output(rms_norm), epsilon=lambda _: 1e-6),
    "rms_norm.epsilon_as_floor": stepping(divide_by_root=as_a_floor),
    "rms_norm.epsilon_divided": stepping(divide_by_root=divided_too),
    "rms_norm.epsilon_squared": stepping(divide_by_root=squared_epsilon),
    "rms_norm.squares_in_half_precision": in_the_dtype(squared),
    "rms_norm.sum_in_half_precision": in_the_dtype(summed),
    "rms_norm.reciprocal_in_half_precision": by_reciprocal_in_half,
    "rms_norm.through_float16": stepping(widen=through_float16),
    "rms_norm.weight_ignored": stepping(multiply=lambda normalized, _weight, _offset: normalized),
    "rms_norm.weight_before_norm": named_output(weighted_first),
    "rms_norm.weight_reversed": altered(named_output(rms_norm), weight=lambda weight: np.asarray(weight)[::-1]),
    "rms_norm.offset_ignored": ignoring(named_output(rms_norm), "weight_offset"),
    "rms_norm.offset_always": stepping(multiply=lambda normalized, weight, _: normalized * (1 + weight)),
    "rms_norm.offset_twice": stepping(multiply=offset_twice),
    "rms_norm.one_added_after": stepping(multiply=one_added_after),
    "rms_norm.nonfinite_as_zero": named_output(zeros_for_nonfinite),
    "rms_norm.axes_flattened": named_output(in_one_row),
    "rms_norm.written_in_place": overwriting(
        named_output(rms_norm), "x", lambda _arguments, outputs: outputs["output"]
    ),
    "rms_norm.one_added_in_place": overwriting(
        named_output(rms_norm), "weight", lambda arguments, _outputs: 1 + np.asarray(arguments["weight"])
    ),
    "rms_norm.strides_ignored": altered(named_output(rms_norm), x=as_it_lies_in_memory),
    "rms_norm.weight_strides_ignored": altered(named_output(rms_norm), weight=without_gaps),
    "rms_norm.weight_remembered": remembering(named_output(rms_norm), "weight", "x"),
    "rms_norm.epsilon_remembered": remembering(named_output(rms_norm), "epsilon", "x"),
    "rms_norm.weight_repeated": named_output(weight_fitted),
    "rms_norm.unknown_offset_as_zero": named_output(unknown_as_zero),
}
