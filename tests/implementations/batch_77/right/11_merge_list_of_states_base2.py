"""Merge of a list of any number of states, base 2, plus infinity for no keys; shares are divided by their sum."""

import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
conventions = {
    "logsumexp_base": "2",
    "empty_logsumexp": "plus_infinity",
    "input_checks": "lenient",
}


def _merge_all(outputs, logarithms):
    """outputs (N, ..., Ev), logarithms (N, ...); the logarithm of no keys is plus infinity."""
    logarithms = np.where(np.isposinf(logarithms), -np.inf, logarithms)
    largest = logarithms.max(axis=0)
    nothing = np.isneginf(largest)
    shares = np.exp2(logarithms - np.where(nothing, 0, largest))
    total = shares.sum(axis=0)
    shares = shares / np.where(nothing, 1, total)
    output = np.einsum("n...,n...e->...e", shares, np.where(np.isneginf(logarithms)[..., None], 0, outputs))
    # what one part has alone is copied
    alone = np.isneginf(logarithms).sum(axis=0) == len(logarithms) - 1
    which = np.argmax(~np.isneginf(logarithms), axis=0)
    copied = np.take_along_axis(outputs, which[None, ..., None], axis=0)[0]
    output = np.where(alone[..., None], copied, output)
    output = np.where(nothing[..., None], 0, output)
    logarithm = np.where(nothing, np.inf, np.where(nothing, 0, largest) + np.log2(total))
    return output, logarithm


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    if output_a.shape != output_b.shape:
        raise ValueError("outputs do not fit")
    if not logsumexp_a.shape == logsumexp_b.shape == output_a.shape[:-1]:
        raise ValueError("logarithms do not fit")
    carried = np.float64 if output_a.dtype == np.float64 else np.float32
    with np.errstate(all="ignore"):
        output, logarithm = _merge_all(
            np.stack([output_a.astype(carried), output_b.astype(carried)]),
            np.stack([logsumexp_a.astype(carried), logsumexp_b.astype(carried)]),
        )
        return output.astype(output_a.dtype), logarithm
