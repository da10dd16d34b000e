"""Unit roundoffs, and the grades of half precision."""

import ml_dtypes
import numpy as np
import pytest

from attnspec.bounds import precision_of
from attnspec.contract.dtypes import ANY, numpy_dtype


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_the_unit_roundoff_is_half_the_distance_of_one_to_the_next_number(dtype):
    assert precision_of(dtype).output == float(ml_dtypes.finfo(numpy_dtype(dtype)).eps) / 2


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_single_and_double_precision_compute_in_themselves(dtype):
    precision = precision_of(dtype, fused=True)
    assert precision.output == precision.accumulator == precision.stored
    assert not precision.rounds_between_phases


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_accumulates_in_float32_and_stores_by_grade(dtype):
    single = np.finfo(np.float32).eps / 2
    unfused, fused = precision_of(dtype), precision_of(dtype, fused=True)
    assert unfused.accumulator == fused.accumulator == single
    assert (unfused.stored, fused.stored) == (unfused.output, single)
    assert unfused.rounds_between_phases
    assert not fused.rounds_between_phases


def test_a_run_without_a_dtype_is_compared_to_float64():
    assert precision_of(ANY) == precision_of("float64")


def test_float64_may_be_declared_to_be_computed_inside_in_float32():
    declared = precision_of("float64", inside="float32")
    assert declared.output == precision_of("float64").output
    assert declared.accumulator == declared.stored == precision_of("float32").accumulator
    assert precision_of("float32", inside="float32") == precision_of("float32")
