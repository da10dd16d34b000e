// The operations of attnspec, written to be read beside the pages in spec/operations. All sums are taken in float64.
// A tensor is { shape, data }, with data flat and row by row; a matrix is a tensor of two axes.

import { Rejected, Unsupported } from "./protocol.mjs";

/**
 * Make the operations.
 *
 * @param softmaxOfHead how the logits of one head become weights; the one piece that a test replaces by a wrong one
 */
export function makeOperations(softmaxOfHead = softmaxOverKeys) {
  return {
    softmax,
    causal_mask: causalMask,
    split_heads: ({ x, ...inputs }, { num_heads, ...attributes }) => {
      nothingElse(inputs, attributes);
      return { output: splitHeads(x, num_heads) };
    },
    combine_heads: ({ x, ...inputs }, attributes) => {
      nothingElse(inputs, attributes);
      return { output: combineHeads(x) };
    },
    scaled_dot_product_attention: (inputs, attributes) => scaledDotProductAttention(inputs, attributes, softmaxOfHead),
    single_head_attention: (inputs, attributes) => singleHeadAttention(inputs, attributes, softmaxOfHead),
    multi_head_attention: (inputs, attributes) => multiHeadAttention(inputs, attributes, softmaxOfHead),
    context_vector: contextVector,
    glorot_normal: glorotNormal,
  };
}

// Softmax

function softmax({ x, ...inputs }, { axis = -1, ...attributes }) {
  nothingElse(inputs, attributes);
  const position = axis < 0 ? axis + x.shape.length : axis;
  // The elements of one line lie `step` apart; the whole array is a single line.
  const length = axis === null ? x.data.length : x.shape[position];
  const step = axis === null ? 1 : product(x.shape.slice(position + 1));
  const output = zeros(x.shape);
  for (let start = 0; start < x.data.length; start += length * step) {
    for (let offset = 0; offset < step; offset++) {
      const indices = range(length).map((index) => start + offset + index * step);
      softmaxOfLine(indices.map((index) => x.data[index])).forEach((weight, index) => {
        output.data[indices[index]] = weight;
      });
    }
  }
  return { output };
}

/** Softmax of a list of numbers; the largest is subtracted so that no exponential overflows. */
function softmaxOfLine(logits) {
  const largest = maximum(logits);
  const exponentials = logits.map((logit) => Math.exp(logit - largest));
  const total = sum(exponentials);
  return exponentials.map((exponential) => exponential / total);
}

/** The weights of one head: softmax over the keys that each query may attend, 0 for the others. */
export function softmaxOverKeys(logits, mayAttend) {
  const [queries, keys] = logits.shape;
  const weights = zeros(logits.shape);
  for (let i = 0; i < queries; i++) {
    const live = range(keys).filter((j) => mayAttend(i, j));
    softmaxOfLine(live.map((j) => logits.data[i * keys + j])).forEach((weight, index) => {
      weights.data[i * keys + live[index]] = weight;
    });
  }
  return weights;
}

/** The mistake: softmax over the queries, so that the columns of the weights sum to 1 and the rows do not. */
export function softmaxOverQueries(logits, mayAttend) {
  return transposed(softmaxOverKeys(transposed(logits), (j, i) => mayAttend(i, j)));
}

// Masks

function causalMask(inputs, { query_length, key_length = null, offset = 0, additive = false, ...attributes }) {
  nothingElse(inputs, attributes);
  const keys = key_length ?? query_length;
  const shape = [query_length, keys];
  const attend = range(query_length).flatMap((i) => range(keys).map((j) => j <= i + offset));
  return { output: { shape, data: additive ? attend.map((allowed) => (allowed ? 0 : -Infinity)) : attend } };
}

/** Broadcast a mask to (batch, heads, queries, keys): what to add for each pair, -Infinity excluding the key. */
function biasOf(mask, [batch, heads, queries, keys]) {
  if (mask === undefined) return () => 0;
  const rank = mask.shape.length;
  if (rank < 2 || rank > 4) throw new Rejected(`mask has rank ${rank}; it must be 2, 3 or 4`);
  const shape = [...Array(4 - rank).fill(1), ...mask.shape];
  const fits = [batch, heads, queries].every((length, axis) => shape[axis] === 1 || shape[axis] === length);
  if (!fits || shape[3] !== keys) {
    throw new Rejected(`mask of shape [${mask.shape}] does not broadcast to [${[batch, heads, queries, keys]}]`);
  }
  return (...position) => {
    const index = position.reduce((flat, at, axis) => flat * shape[axis] + (shape[axis] === 1 ? 0 : at), 0);
    const entry = mask.data[index];
    return entry === true ? 0 : entry === false ? -Infinity : entry;
  };
}

// Heads

function splitHeads(x, numHeads) {
  demandRank("x", x, 3);
  const [batch, length, width] = x.shape;
  if (width % numHeads !== 0) throw new Rejected(`width ${width} is not divisible by ${numHeads} heads`);
  const headWidth = width / numHeads;
  // (B, S, H * E) holds head h in the columns h * E to h * E + E.
  return build([batch, numHeads, length, headWidth], (b, h, s, e) => {
    return x.data[(b * length + s) * width + h * headWidth + e];
  });
}

function combineHeads(x) {
  demandRank("x", x, 4);
  const [batch, heads, length, headWidth] = x.shape;
  return build([batch, length, heads * headWidth], (b, s, column) => {
    const h = Math.floor(column / headWidth);
    return x.data[((b * heads + h) * length + s) * headWidth + (column % headWidth)];
  });
}

// Attention

/**
 * Attention of one head: (Sq, E), (Sk, E) and (Sk, Ev) to the steps and the output (Sq, Ev).
 *
 * @param bias (i, j) => what is added to the score of query i and key j; -Infinity excludes the key
 */
function attendOneHead(query, key, value, scale, bias, softmaxOfHead) {
  const mayAttend = (i, j) => bias(i, j) !== -Infinity;
  const scores = scaled(matrixProduct(query, transposed(key)), scale);
  const [queries, keys] = scores.shape;
  const logits = build(scores.shape, (i, j) => {
    return mayAttend(i, j) ? scores.data[i * keys + j] + bias(i, j) : -Infinity;
  });
  const weights = softmaxOfHead(logits, mayAttend);
  const logsumexp = build([queries], (i) => {
    return logSumExp(range(keys).filter((j) => mayAttend(i, j)).map((j) => logits.data[i * keys + j]));
  });
  const width = value.shape[1];
  // An excluded key contributes nothing, not even 0 times an infinity.
  const output = build([queries, width], (i, e) => {
    const live = range(keys).filter((j) => mayAttend(i, j));
    return sum(live.map((j) => weights.data[i * keys + j] * value.data[j * width + e]));
  });
  return { output, weights, logsumexp, scores, logits };
}

/** Attention of (B, Hq, Sq, E), (B, Hkv, Sk, E) and (B, Hkv, Sk, Ev), head by head. */
function attendAllHeads({ query, key, value, mask }, isCausal, offset, scale, softmaxOfHead) {
  const [batch, heads, queries] = query.shape;
  const [keyHeads, keys] = [key.shape[1], key.shape[2]];
  const masked = biasOf(mask, [batch, heads, queries, keys]);
  const results = range(batch).flatMap((b) => {
    return range(heads).map((h) => {
      const keyHead = Math.floor(h / (heads / keyHeads));
      const bias = (i, j) => (isCausal && j > i + offset ? -Infinity : masked(b, h, i, j));
      return attendOneHead(
        headOf(query, b, h), headOf(key, b, keyHead), headOf(value, b, keyHead), scale, bias, softmaxOfHead,
      );
    });
  });
  const shapes = {
    output: [batch, heads, queries, value.shape[3]],
    weights: [batch, heads, queries, keys],
    logsumexp: [batch, heads, queries],
    scores: [batch, heads, queries, keys],
    logits: [batch, heads, queries, keys],
  };
  return Object.fromEntries(Object.entries(shapes).map(([name, shape]) => {
    return [name, { shape, data: results.flatMap((result) => Array.from(result[name].data)) }];
  }));
}

function scaledDotProductAttention({ query, key, value, mask, ...inputs }, attributes, softmaxOfHead) {
  const { is_causal = false, causal_alignment = "top_left", scale = null, ...others } = attributes;
  nothingElse(inputs, others);
  Object.entries({ query, key, value }).forEach(([name, tensor]) => demandRank(name, tensor, 4));
  const [batch, heads, queries, width] = query.shape;
  const [keyBatch, keyHeads, keys, keyWidth] = key.shape;
  const [valueBatch, valueHeads, valueKeys] = value.shape;
  demandEqual("the width of query and key", width, keyWidth);
  demandEqual("the batch of query and key", batch, keyBatch);
  demandEqual("the batch of query and value", batch, valueBatch);
  demandEqual("the heads of key and value", keyHeads, valueHeads);
  demandEqual("the length of key and value", keys, valueKeys);
  if (heads % keyHeads !== 0) throw new Rejected(`${heads} query heads cannot share ${keyHeads} key heads evenly`);
  const offset = causal_alignment === "bottom_right" ? keys - queries : 0;
  const tensors = { query, key, value, mask };
  return attendAllHeads(tensors, is_causal, offset, scale ?? 1 / Math.sqrt(width), softmaxOfHead);
}

function singleHeadAttention({ x, w_query, w_key, w_value, w_output, ...inputs }, attributes, softmaxOfHead) {
  const { scale = null, ...others } = attributes;
  nothingElse(inputs, others);
  demandRank("x", x, 2);
  const query = matrixProduct(x, w_query);
  const key = matrixProduct(x, w_key);
  const value = matrixProduct(x, w_value);
  const factor = scale ?? 1 / Math.sqrt(key.shape[1]);
  const { output, weights, scores } = attendOneHead(query, key, value, factor, () => 0, softmaxOfHead);
  const projected = w_output === undefined ? output : matrixProduct(output, w_output);
  return { output: projected, weights, scores, query, key, value };
}

function multiHeadAttention({ query, key, value, mask, ...parameters }, attributes, softmaxOfHead) {
  const { w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, ...inputs } = parameters;
  const { num_heads, is_causal = false, scale = null, ...others } = attributes;
  nothingElse(inputs, others);
  Object.entries({ query, key, value }).forEach(([name, tensor]) => demandRank(name, tensor, 3));
  demandEqual("the batch of query and key", query.shape[0], key.shape[0]);
  demandEqual("the batch of query and value", query.shape[0], value.shape[0]);
  demandEqual("the length of key and value", key.shape[1], value.shape[1]);
  const heads = {
    query: splitHeads(projected(query, w_query, b_query), num_heads),
    key: splitHeads(projected(key, w_key, b_key), num_heads),
    value: splitHeads(projected(value, w_value, b_value), num_heads),
    mask,
  };
  const factor = scale ?? 1 / Math.sqrt(heads.query.shape[3]);
  const { output, weights } = attendAllHeads(heads, is_causal, 0, factor, softmaxOfHead);
  return { output: projected(combineHeads(output), w_output, b_output), weights };
}

/** x @ weight + bias for x of shape (B, S, D). */
function projected(x, weight, bias) {
  const [batch, length, width] = x.shape;
  const rows = matrixProduct({ shape: [batch * length, width], data: x.data }, weight);
  const columns = weight.shape[1];
  if (bias !== undefined) demandEqual("the length of a bias and the width that it is added to", bias.data.length, columns);
  return {
    shape: [batch, length, columns],
    data: rows.data.map((entry, index) => entry + (bias === undefined ? 0 : bias.data[index % columns])),
  };
}

function contextVector({ encoder_states, decoder_state, ...inputs }, { scale = null, ...attributes }) {
  nothingElse(inputs, attributes);
  demandRank("encoder_states", encoder_states, 2);
  demandRank("decoder_state", decoder_state, 1);
  const [states, width] = encoder_states.shape;
  demandEqual("the width of encoder_states and decoder_state", width, decoder_state.shape[0]);
  const column = matrixProduct(encoder_states, { shape: [width, 1], data: decoder_state.data });
  const raw_scores = { shape: [states], data: column.data };
  const scores = scaled(raw_scores, scale ?? 1 / Math.sqrt(width));
  const weights = { shape: [states], data: softmaxOfLine(Array.from(scores.data)) };
  const row = matrixProduct({ shape: [1, states], data: weights.data }, encoder_states);
  return { context: { shape: [width], data: row.data }, weights, scores, raw_scores };
}

// Initialisation

function glorotNormal(inputs, { fan_in, fan_out, seed, ...attributes }) {
  nothingElse(inputs, attributes);
  const deviation = Math.sqrt(2 / (fan_in + fan_out));
  const uniform = seededUniform(seed);
  const normal = () => {
    // 1 - uniform is never 0, whose logarithm is infinite.
    return Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  };
  return { output: build([fan_in, fan_out], () => deviation * normal()) };
}

/** Numbers in [0, 1) from a 32-bit counter whose bits are mixed by two multiplications. */
function seededUniform(seed) {
  let counter = seed >>> 0;
  return () => {
    counter = (counter + 0x9e3779b9) >>> 0;
    let bits = counter;
    bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
    bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
    return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32;
  };
}

// Checks

/** Ignoring an argument would compute something else, so that an unknown one is declined. */
function nothingElse(inputs, attributes) {
  const [unknown] = [...Object.keys(inputs), ...Object.keys(attributes)];
  if (unknown !== undefined) throw new Unsupported(`it has no argument ${unknown}`);
}

function demandRank(name, tensor, rank) {
  if (tensor.shape.length !== rank) throw new Rejected(`${name} has rank ${tensor.shape.length}, not ${rank}`);
}

function demandEqual(what, one, other) {
  if (one !== other) throw new Rejected(`${what} differ: ${one} and ${other}`);
}

// Arithmetic

const range = (length) => Array.from({ length }, (_, index) => index);
const product = (numbers) => numbers.reduce((total, number) => total * number, 1);
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const maximum = (numbers) => numbers.reduce((largest, number) => Math.max(largest, number), -Infinity);
const zeros = (shape) => ({ shape, data: new Float64Array(product(shape)) });

function logSumExp(logits) {
  const largest = maximum(logits);
  // An infinite maximum decides alone; subtracting it from itself would give NaN.
  if (Math.abs(largest) === Infinity) return largest;
  return largest + Math.log(sum(logits.map((logit) => Math.exp(logit - largest))));
}

/** Fill a tensor from a function of its indices. */
function build(shape, entry) {
  const data = new Float64Array(product(shape));
  const index = Array(shape.length).fill(0);
  for (let element = 0; element < data.length; element++) {
    data[element] = entry(...index);
    for (let axis = shape.length - 1; axis >= 0 && ++index[axis] === shape[axis]; axis--) index[axis] = 0;
  }
  return { shape, data };
}

/** The matrix (S, E) of one head of (B, H, S, E). */
function headOf(tensor, b, h) {
  const [, heads, length, width] = tensor.shape;
  const start = (b * heads + h) * length * width;
  return { shape: [length, width], data: tensor.data.slice(start, start + length * width) };
}

function transposed({ shape: [rows, columns], data }) {
  return build([columns, rows], (column, row) => data[row * columns + column]);
}

function scaled({ shape, data }, factor) {
  return { shape, data: data.map((entry) => entry * factor) };
}

function matrixProduct(left, right) {
  const [rows, inner] = left.shape;
  const [rightInner, columns] = right.shape;
  demandEqual("the inner widths of a matrix product", inner, rightInner);
  return build([rows, columns], (i, j) => {
    let total = 0;
    for (let k = 0; k < inner; k++) total += left.data[i * inner + k] * right.data[k * columns + j];
    return total;
  });
}
