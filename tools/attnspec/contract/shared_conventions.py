"""Conventions that several families share, because they are about arithmetic and callers, not about an operator."""

from attnspec.contract.convention import Convention, Settles

ACCUMULATION = Convention(
    "accumulation",
    ("dtype", "float32"),
    Settles.INNER_PRECISION,
    sentence="whether float64 is computed in float64, or inside in float32",
)
HALF_PRECISION_GRADE = Convention(
    "half_precision_grade",
    ("unfused", "fused"),
    Settles.ROUNDINGS,
    sentence="whether each step may round to half precision, or the last one alone",
    decision="0018-half-precision-grades",
)
HALF_PRECISION_OVERFLOW = Convention(
    "half_precision_overflow",
    ("finite", "open"),
    sentence="whether scaled queries, products, scores and logits beyond the largest number of half precision stay "
    "numbers, or leave open what comes of them",
    decision="0018-half-precision-grades",
)
INPUT_CHECKS = Convention(
    "input_checks",
    ("strict", "lenient"),
    Settles.REFUSALS,
    sentence="whether wrong ranks, batch sizes and lengths are refused, or may be broadcast",
    decision="0003-refusals",
)
OUTPUTS = Convention(
    "outputs",
    ("kept", "until_next_call"),
    Settles.LIFETIME,
    sentence="whether what a call returned stays as it is, or may be overwritten by the next call",
    decision="0025-outputs-belong-to-the-caller",
)
