"""Conventions that several families share, because they are about arithmetic and callers, not about an operator."""

from attnspec.convention import Convention, Settles

ACCUMULATION = Convention("accumulation", ("dtype", "float32"), Settles.INNER_PRECISION)
HALF_PRECISION_GRADE = Convention("half_precision_grade", ("unfused", "fused"), Settles.ROUNDINGS)
INPUT_CHECKS = Convention("input_checks", ("strict", "lenient"), Settles.REFUSALS)
OUTPUTS = Convention("outputs", ("kept", "until_next_call"), Settles.LIFETIME)
