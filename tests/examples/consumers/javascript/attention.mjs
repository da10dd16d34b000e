// Scaled dot-product attention in JavaScript, graded by attnspec's test vectors: node alone is enough.
//
//     node attention.mjs [--mistake NAME] vectors/scaled_dot_product_attention/core.json ...
//
// It offers query, key, value and mask, and the attributes below, in float64 and float32; other tests are skipped.

import { readFileSync } from "node:fs";

const OFFERED = ["query", "key", "value", "mask", "scale", "is_causal", "causal_alignment", "window", "softcap"];
const words = process.argv.slice(2);
const mistake = words[0] === "--mistake" ? words.splice(0, 2)[1] : "";
const wrong = (name) => name === mistake;

// The output, row by row; a tensor is { shape, data, dtype }, its numbers in one row.
function attend({ query, key, value, mask }, attributes) {
  const [batch, heads, rows, width] = query.shape;
  const [, keyHeads, allKeys] = key.shape;
  const features = value.shape[3];
  const keys = allKeys - (wrong("last_key_dropped") ? 1 : 0);
  let scale = attributes.scale ?? null;
  if (scale === null || wrong("stated_scale_ignored")) {
    const root = Math.sqrt(wrong("scale_from_value_width") ? features : width);
    scale = wrong("scale_missing") ? 1 : 1 / (wrong("scale_one_over_width") ? root * root : root);
  }
  let [left, right] = attributes.window ?? [null, null];
  if (wrong("window_sides_swapped")) [left, right] = [right, left];
  if (left !== null && wrong("window_left_one_more")) left += 1;
  const aligned = attributes.causal_alignment === "bottom_right" && !wrong("bottom_right_as_top_left");
  const diagonal = wrong("causal_one_ahead") ? 1 : wrong("causal_strict") ? -1 : 0;
  const cap = wrong("softcap_ignored") ? 0 : (attributes.softcap ?? 0);
  const output = [];
  for (let b = 0; b < batch; b++) {
    for (let h = 0; h < heads; h++) {
      const shared = wrong("heads_tiled") ? h % keyHeads : Math.floor(h / (heads / keyHeads));
      const first = (b * keyHeads + shared) * allKeys;
      for (let row = 0; row < rows; row++) {
        const position = row + (aligned ? allKeys - rows : 0);
        const logits = [];
        for (let j = 0; j < keys; j++) {
          if (attributes.is_causal && j > position + diagonal) continue;
          if ((left !== null && j < position - left) || (right !== null && j > position + right)) continue;
          const bias = mask && !wrong("mask_ignored") ? biasOf(mask, [b, h, row, j]) : 0;
          if (bias === -Infinity) continue;
          let logit = 0;
          for (let e = 0; e < width; e++) {
            logit += query.data[((b * heads + h) * rows + row) * width + e] * key.data[(first + j) * width + e];
          }
          logit *= scale;
          if (cap) logit = Math.tanh(logit / cap) * (wrong("softcap_not_multiplied_back") ? 1 : cap);
          logits.push([j, logit + bias]);
        }
        const largest = logits.reduce((most, [, logit]) => Math.max(most, logit), -Infinity);
        const shift = wrong("no_maximum") || !Number.isFinite(largest) ? 0 : largest;
        const weights = logits.map(([j, logit]) => [j, Math.exp(logit - shift)]);
        let total = weights.reduce((sum, [, weight]) => sum + weight, 0);
        if (wrong("weights_not_normalised")) total = 1;
        for (let f = 0; f < features; f++) {
          const mean = weights.reduce((sum, [j, weight]) => sum + weight * value.data[(first + j) * features + f], 0);
          output.push(total !== 0 ? mean / total : wrong("fully_masked_row_nan") ? NaN : 0);
        }
      }
    }
  }
  return output;
}

// What the mask adds to a logit, minus infinity where it excludes the key; axes of length 1 are broadcast.
function biasOf(mask, index) {
  let position = 0;
  mask.shape.forEach((length, axis) => {
    const first = length === 1 || (wrong("mask_of_first_query") && axis === mask.shape.length - 2);
    position = position * length + (first ? 0 : index[4 - mask.shape.length + axis]);
  });
  const number = mask.data[position];
  if (mask.dtype === "bool") return (number === 1) === wrong("boolean_mask_inverted") ? -Infinity : 0;
  return wrong("mask_subtracted") ? -number : number;
}

// The rule: the index of the first element that breaks it, or -1.
function firstWrong(got, expected, tolerance) {
  if (got.length !== expected.length) return 0;
  return got.findIndex((number, index) => {
    const same = number === expected[index] || (Number.isNaN(number) && Number.isNaN(expected[index]));
    return !same && tolerance[index] !== Infinity && !(Math.abs(number - expected[index]) <= tolerance[index]);
  });
}

const counts = { right: 0, wrong: 0, skipped: 0 };
for (const path of words) {
  for (const test of JSON.parse(readFileSync(path, "utf8")).tests) {
    const names = [...Object.keys(test.inputs), ...Object.keys(test.attributes)];
    const offered = test.result === "valid" && names.every((name) => OFFERED.includes(name));
    const dtypes = test.dtypes.filter((dtype) => offered && ["float64", "float32"].includes(dtype));
    counts.skipped += test.dtypes.length - dtypes.length;
    if (dtypes.length === 0) continue;
    // "NaN", "Infinity" and "-Infinity" are read by Number, as numbers are.
    const inputs = Object.entries(test.inputs).map(([name, t]) => [name, { ...t, data: t.data.map(Number) }]);
    const output = attend(Object.fromEntries(inputs), test.attributes);
    const expected = test.expected.output.data.map(Number);
    for (const dtype of dtypes) {
      const got = dtype === "float64" ? output : output.map(Math.fround);
      const tolerance = test.tolerance[dtype].output.map(Number);
      const index = firstWrong(got, expected, tolerance);
      counts[index < 0 ? "right" : "wrong"] += 1;
      if (index >= 0) {
        const perhaps = (test.flags ?? []).join(", ");
        console.log(`${test.id} in ${dtype}: output[${index}] is ${got[index]}; expected ${expected[index]} within ` +
          `${tolerance[index]}; perhaps ${perhaps}`);
      }
    }
  }
}
console.log(`${counts.right} right, ${counts.wrong} wrong, ${counts.skipped} skipped`);
process.exitCode = counts.wrong > 0 ? 1 : 0;
