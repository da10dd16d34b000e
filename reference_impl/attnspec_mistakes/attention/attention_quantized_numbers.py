"""What goes wrong with quantized numbers of attention: how their bits are read."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.quantized_products import tensors_of
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_mistakes.departures import Computation, Outputs
    from attnspec_reference.precision import Array

OPERATION = "scaled_dot_product_attention"
_LEAST_NORMAL = {"float8_e4m3fn": 2.0**-6, "float8_e5m2": 2.0**-14}
_FLOAT8 = tuple(_LEAST_NORMAL)


def reading(read: Callable[[Array], Array]) -> Computation:
    """Make an attention that reads the numbers of quantized tensors in another way."""

    def attend(**arguments: Any) -> Outputs:
        for name, numbers in tensors_of(arguments).items():
            arguments[name] = read(np.asarray(numbers))
        return scaled_dot_product_attention(**arguments)

    return attend


def with_other_exponents(numbers: Array) -> Array:
    """Take the bits of one format of float8 for those of the other."""
    if numbers.dtype.name not in _FLOAT8:
        return numbers
    (other,) = (name for name in _FLOAT8 if name != numbers.dtype.name)
    return numbers.view(np.dtype(other))


def e4m3_as_e5m2(numbers: Array) -> Array:
    """Take the bits of float8_e4m3fn for those of float8_e5m2."""
    return with_other_exponents(numbers) if numbers.dtype.name == "float8_e4m3fn" else numbers


def e5m2_as_e4m3(numbers: Array) -> Array:
    """Take the bits of float8_e5m2 for those of float8_e4m3fn."""
    return with_other_exponents(numbers) if numbers.dtype.name == "float8_e5m2" else numbers


def as_unsigned(numbers: Array) -> Array:
    """Take the bits of int8 for those of whole numbers without a sign."""
    return numbers.view(np.uint8).astype(np.float64) if numbers.dtype == np.int8 else numbers


def with_a_zero_point(numbers: Array) -> Array:
    """Subtract the zero point of unsigned formats from numbers that have a sign."""
    return numbers.astype(np.float64) - 128 if numbers.dtype == np.int8 else numbers


def with_half_the_bias(numbers: Array) -> Array:
    """Take the bits of float8_e4m3fn for those of float8_e4m3fnuz, whose numbers are half as large."""
    return numbers.view(np.dtype("float8_e4m3fnuz")) if numbers.dtype.name == "float8_e4m3fn" else numbers


def up_to_240(numbers: Array) -> Array:
    """Saturate at the largest number of float8_e4m3fnuz."""
    return np.clip(numbers.astype(np.float64), -240, 240) if numbers.dtype.name == "float8_e4m3fn" else numbers


def bits_as_whole_numbers(numbers: Array) -> Array:
    """Take the bits of float8 for a whole number."""
    return numbers.view(np.uint8).astype(np.float64) if numbers.dtype.name in _FLOAT8 else numbers


def not_a_number_as_number(numbers: Array) -> Array:
    """Go on counting where the format has NaN."""
    if numbers.dtype.name != "float8_e4m3fn":
        return numbers
    wide = numbers.astype(np.float64)
    return np.where(np.isnan(wide), np.copysign(480.0, wide), wide)


def without_the_least(numbers: Array) -> Array:
    """Take numbers below the least normal one for 0."""
    if numbers.dtype.name not in _FLOAT8:
        return numbers
    least = _LEAST_NORMAL[numbers.dtype.name]
    wide = numbers.astype(np.float64)
    return np.where(np.abs(wide) < least, 0, wide)


def least_of_int8_turned(numbers: Array) -> Array:
    """Clip int8 to a range that is the same on both sides, on which scales are computed."""
    return np.clip(numbers, -127, 127) if numbers.dtype == np.int8 else numbers


mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="sdpa.e4m3_as_e5m2",
        clause="sdpa.quantized.numbers",
        sentence="The bits of float8_e4m3fn were read as those of float8_e5m2.",
        engineer="The fp8 type of the kernel is fixed to e5m2.",
        remedy="Read numbers in the format that the tensor has: 4 bits of exponent, 3 of mantissa.",
        function=reading(e4m3_as_e5m2),
    ),
    mistake(
        id="sdpa.e5m2_as_e4m3",
        clause="sdpa.quantized.numbers",
        sentence="The bits of float8_e5m2 were read as those of float8_e4m3fn.",
        engineer="The fp8 type of the kernel is fixed to e4m3.",
        remedy="Read numbers in the format that the tensor has: 5 bits of exponent, 2 of mantissa.",
        function=reading(e5m2_as_e4m3),
    ),
    mistake(
        id="sdpa.e4m3_as_fnuz",
        clause="sdpa.quantized.numbers",
        sentence="The bits of float8_e4m3fn were read as those of float8_e4m3fnuz, which count half.",
        engineer="The fnuz variant of the hardware has an exponent bias of 8 instead of 7.",
        remedy="Double the scale where the hardware has the fnuz format, and mind 240, -0 and NaN.",
        function=reading(with_half_the_bias),
    ),
    mistake(
        id="sdpa.float8_saturated_at_240",
        clause="sdpa.quantized.numbers",
        sentence="Numbers of float8_e4m3fn beyond 240 were taken for 240.",
        engineer="Numbers are clamped to the range of the fnuz variant.",
        remedy="float8_e4m3fn goes up to 448.",
        function=reading(up_to_240),
    ),
    mistake(
        id="sdpa.float8_subnormals_flushed",
        clause="sdpa.quantized.numbers",
        sentence="Numbers of float8 below the least normal one were taken for 0.",
        engineer="The conversion puts exponent and mantissa in place, and skips an exponent of 0.",
        remedy="An exponent of 0 has no leading one: the number is the mantissa times the least unit.",
        function=reading(without_the_least),
    ),
    mistake(
        id="sdpa.float8_nan_as_number",
        clause="sdpa.quantized.numbers",
        sentence="NaN of float8_e4m3fn was taken for the number 480.",
        engineer="The conversion by shifts does not look for the one code of NaN, 0x7F.",
        remedy="Where all bits but the sign are set, the number is NaN.",
        function=reading(not_a_number_as_number),
    ),
    mistake(
        id="sdpa.float8_bits_as_integers",
        clause="sdpa.quantized.numbers",
        sentence="The bytes of float8 were taken for whole numbers.",
        engineer="The cache is typed uint8, and cast instead of bit-cast.",
        remedy="View the bytes as float8 before they are widened.",
        function=reading(bits_as_whole_numbers),
    ),
    mistake(
        id="sdpa.int8_as_unsigned",
        clause="sdpa.quantized.numbers",
        sentence="Numbers of int8 were taken for numbers without a sign, from 0 to 255.",
        engineer="The load zero-extends where it must sign-extend.",
        remedy="int8 goes from -128 to 127.",
        function=reading(as_unsigned),
    ),
    mistake(
        id="sdpa.int8_with_zero_point",
        clause="sdpa.quantized.numbers",
        sentence="A zero point of 128 was subtracted from numbers of int8.",
        engineer="The dequantizer of an asymmetric format is used.",
        remedy="The zero of int8 is 0: multiply by the scale, and subtract nothing.",
        function=reading(with_a_zero_point),
    ),
    mistake(
        id="sdpa.int8_clipped_to_127",
        clause="sdpa.quantized.numbers",
        sentence="The number -128 of int8 was taken for -127.",
        engineer="Numbers are clamped to the symmetric range on load.",
        remedy="Take numbers as they are; -128 is one.",
        function=reading(least_of_int8_turned),
    ),
)
