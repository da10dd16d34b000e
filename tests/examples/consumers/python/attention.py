"""Scaled dot-product attention in plain Python, graded by attnspec's test vectors: the standard library is enough.

    python attention.py [--mistake NAME] vectors/scaled_dot_product_attention/core.json ...

It offers query, key, value and mask, and the attributes below, in float64 and float32; other tests are skipped.
"""

import json
import math
import struct
import sys
from itertools import product
from pathlib import Path

OFFERED = {"query", "key", "value", "mask", "scale", "is_causal", "causal_alignment", "window", "softcap"}
MISTAKE = ""


def wrong(name):
    return name == MISTAKE


def exp(x):
    return math.inf if x > 709.78 else math.exp(x)


def attend(tensors, attributes):
    """Return the output, row by row; a tensor is (shape, numbers in one row)."""
    (shape, query), (key_shape, key), (value_shape, value) = (tensors[name] for name in ("query", "key", "value"))
    batch, heads, rows, width = shape
    key_heads, keys, features = key_shape[1], key_shape[2] - wrong("last_key_dropped"), value_shape[3]
    scale = attributes.get("scale")
    if scale is None or wrong("stated_scale_ignored"):
        root = math.sqrt(features if wrong("scale_from_value_width") else width) or 1
        scale = 1 if wrong("scale_missing") else 1 / (root * root if wrong("scale_one_over_width") else root)
    left, right = attributes.get("window") or (None, None)
    if wrong("window_sides_swapped"):
        left, right = right, left
    if left is not None:
        left += wrong("window_left_one_more")
    aligned = attributes.get("causal_alignment") == "bottom_right" and not wrong("bottom_right_as_top_left")
    diagonal = (wrong("causal_one_ahead") - wrong("causal_strict")) if attributes.get("is_causal") else None
    cap = 0 if wrong("softcap_ignored") else attributes.get("softcap") or 0
    output = []
    for b, h, row in product(range(batch), range(heads), range(rows)):
        shared = h % key_heads if wrong("heads_tiled") else h // (heads // key_heads)
        position = row + (key_shape[2] - rows if aligned else 0)
        first, logits = (b * key_heads + shared) * key_shape[2], {}
        for j in range(keys):
            if diagonal is not None and j > position + diagonal:
                continue
            if (left is not None and j < position - left) or (right is not None and j > position + right):
                continue
            q, k = ((b * heads + h) * rows + row) * width, (first + j) * width
            logit = scale * sum(query[q + e] * key[k + e] for e in range(width))
            if cap:
                logit = math.tanh(logit / cap) * (1 if wrong("softcap_not_multiplied_back") else cap)
            excluded, bias = mask_at(tensors, b, h, row, j)
            if not excluded:
                logits[j] = logit + bias
        largest = max(logits.values(), default=0.0)
        shift = 0.0 if wrong("no_maximum") or math.isinf(largest) else largest
        weights = {j: exp(logit - shift) for j, logit in logits.items()}
        total = sum(weights.values())
        if wrong("weights_not_normalised"):
            total = 1.0
        for f in range(features):
            mean = sum(weight * value[(first + j) * features + f] for j, weight in weights.items())
            empty = math.nan if wrong("fully_masked_row_nan") else 0.0
            output.append(mean / total if total else empty)
    return output


def mask_at(tensors, *index):
    """Return whether the mask excludes a key, and what it adds to the logit; axes of length 1 are broadcast."""
    if "mask" not in tensors or wrong("mask_ignored"):
        return False, 0.0
    shape, numbers, dtype = tensors["mask"]
    position = 0
    for axis, (length, i) in enumerate(zip(shape, index[4 - len(shape) :], strict=True)):
        first = length == 1 or (wrong("mask_of_first_query") and axis == len(shape) - 2)
        position = position * length + (0 if first else i)
    if dtype == "bool":
        return bool(numbers[position]) == wrong("boolean_mask_inverted"), 0.0
    bias = -numbers[position] if wrong("mask_subtracted") else numbers[position]
    return bias == -math.inf, bias


def first_wrong(got, expected, tolerance):
    """The rule: the index of the first element that breaks it, or None."""
    if len(got) != len(expected):
        return 0
    for index, (g, e, t) in enumerate(zip(got, expected, tolerance, strict=True)):
        if not (math.isinf(t) or g == e or (math.isnan(g) and math.isnan(e)) or abs(g - e) <= t):
            return index
    return None


def in_float32(number):
    try:
        return struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)


def main(*words):
    global MISTAKE
    if words[:1] == ("--mistake",):
        MISTAKE, words = words[1], words[2:]
    counts = {"right": 0, "wrong": 0, "skipped": 0}
    for path in words:
        tests = json.loads(Path(path).read_text(encoding="utf-8"))["tests"]
        for test in tests:
            inputs = test["inputs"]
            offered = test["result"] == "valid" and {*inputs, *test["attributes"]} <= OFFERED
            dtypes = [dtype for dtype in test["dtypes"] if offered and dtype in ("float64", "float32")]
            counts["skipped"] += len(test["dtypes"]) - len(dtypes)
            if not dtypes:
                continue
            tensors = {name: (t["shape"], [*map(float, t["data"])]) for name, t in inputs.items()}
            if "mask" in inputs:
                tensors["mask"] += (inputs["mask"]["dtype"],)
            output = attend(tensors, test["attributes"])
            expected = [*map(float, test["expected"]["output"]["data"])]
            for dtype in dtypes:
                got = output if dtype == "float64" else [*map(in_float32, output)]
                tolerance = [*map(float, test["tolerance"][dtype]["output"])]
                index = first_wrong(got, expected, tolerance)
                counts["right" if index is None else "wrong"] += 1
                if index is not None:
                    print(
                        f"{test['id']} in {dtype}: output[{index}] is {got[index]}; expected {expected[index]}"
                        f" within {tolerance[index]}; perhaps {', '.join(test.get('flags', ()))}"
                    )
    print(", ".join(f"{count} {word}" for word, count in counts.items()))
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
