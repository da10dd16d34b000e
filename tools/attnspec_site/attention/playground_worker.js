"use strict";

/* The worker's side of the playground: it calls the visitor's function, behind whose text it stands in the worker. */

/**
 * Answer calls with rows of numbers, or with a sentence on what came instead.
 *
 * `find` gives the function, whose text has so many `lines`; `options` are the names that may stand behind the tensors.
 */
function serveCalls(find, lines, options) {
  const aliases = { attn_mask: "mask", attention_mask: "mask", causal: "is_causal" };
  const read = new Set();
  let positional = [];
  let byHead = false;

  class Malformed extends Error {}

  const asWritten = (name) => {
    const spelled = typeof name === "string" ? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) : name;
    return Object.hasOwn(aliases, spelled) ? aliases[spelled] : spelled;
  };

  /** The options behind the tensors, where a function takes them by their names; none where it takes an object. */
  function namedParameters(attention) {
    const listed = String(attention).match(/^(?:async\s+)?(?:function\b[^(]*)?\(([^()[\]{}]*)\)/);
    const names = (listed ? listed[1] : "").split(",").map((each) => asWritten(each.split("=")[0].trim()));
    return options.includes(names[3]) ? names.slice(3) : [];
  }

  function nested({ shape, data, truth }) {
    let rows = truth ? data.map(Boolean) : data.map(Number);
    for (const length of shape.slice(1).reverse()) {
      rows = Array.from({ length: rows.length / length }, (_, at) => rows.slice(at * length, (at + 1) * length));
    }
    return rows;
  }

  function noteReads(given) {
    return new Proxy(given, {
      get(target, name) {
        const known = asWritten(name);
        if (options.includes(known)) read.add(known);
        return target[known];
      },
      has: (target, name) => asWritten(name) in target,
    });
  }

  const argumentsOf = (given) => {
    for (const name of positional) if (options.includes(name)) read.add(name);
    return positional.length ? positional.map((name) => given[name]) : [noteReads(given)];
  };

  const described = (value) => (value === null || value === undefined ? String(value) : `a ${typeof value}`);

  /** The numbers of a result in one row, and its shape; without one where it came as a row. */
  function numbersOf(result) {
    const found = result && !Array.isArray(result) && !ArrayBuffer.isView(result) && result.output ? result.output : result;
    const data = [];
    const walk = (value, at) => {
      const name = `output${at.map((index) => `[${index}]`).join("")}`;
      if (value instanceof Float32Array) {
        throw new Malformed(`${name} is a Float32Array; numbers are graded in float64 here, as Float64Array or plain arrays have them.`);
      }
      if (Array.isArray(value) || ArrayBuffer.isView(value)) {
        const shapes = Array.from(value, (each, index) => walk(each, [...at, index]));
        const odd = shapes.findIndex((shape) => String(shape) !== String(shapes[0]));
        if (odd >= 0) throw new Malformed(`${name}[${odd}] has another shape than ${name}[0].`);
        return [value.length, ...(shapes[0] ?? [])];
      }
      if (typeof value !== "number") throw new Malformed(`${name} is ${described(value)}, not a number.`);
      data.push(value);
      return [];
    };
    if (!Array.isArray(found) && !ArrayBuffer.isView(found)) {
      const missing = found === undefined ? " Is a `return` missing?" : "";
      throw new Malformed(`It returned ${described(found)}, not an array.${missing}`);
    }
    const shape = walk(found, []);
    return { data, shape: shape.length > 1 ? shape : null };
  }

  /** The outputs of all heads, of which the function takes one at a time. */
  async function callByHead(attention, { query, key, value }, given, [batch, heads, ...rest]) {
    const data = [];
    for (let b = 0; b < batch; b += 1) {
      for (let h = 0; h < heads; h += 1) {
        const at = Math.floor((h * key[b].length) / heads);
        const own = given.mask ? { ...given, mask: given.mask[b][h] } : given;
        const one = numbersOf(await attention(query[b][h], key[b][at], value[b][at], ...argumentsOf(own)));
        if (one.data.length !== rest[0] * rest[1] || (one.shape && String(one.shape) !== String(rest))) {
          throw new Malformed(`The output of one head has the shape (${(one.shape ?? [one.data.length]).join(", ")}); expected (${rest.join(", ")}).`);
        }
        data.push(...one.data);
      }
    }
    return { data, shape: [batch, heads, ...rest] };
  }

  const callWhole = async (attention, { query, key, value }, given) =>
    numbersOf(await attention(query, key, value, ...argumentsOf(given)));

  function tensorsOf(inputs) {
    const { mask, ...tensors } = Object.fromEntries(Object.entries(inputs).map(([name, tensor]) => [name, nested(tensor)]));
    return [tensors, mask];
  }

  /** Whether the function takes one head: all heads at once give it nothing of the right shape, one gives it numbers. */
  async function takesOneHead(attention, { inputs, options: stated, shape }) {
    const [tensors, mask] = tensorsOf(inputs);
    const given = mask ? { ...stated, mask } : { ...stated };
    try {
      const whole = await callWhole(attention, tensors, given);
      if (!whole.shape || whole.shape.length === shape.length) return false;
    } catch {
      // One head decides.
    }
    try {
      return (await callByHead(attention, tensors, given, shape)).data.every(Number.isFinite);
    } catch {
      return false;
    }
  }

  function lineOf(error) {
    const found = [...String(error?.stack).matchAll(/blob:[^\s()]*:(\d+):\d+/g)].map(([, line]) => Number(line));
    return found.find((line) => line <= lines) ?? null;
  }

  async function answer(attention, { inputs, options: stated, shape }) {
    const [tensors, mask] = tensorsOf(inputs);
    const given = mask ? { ...stated, mask } : { ...stated };
    try {
      const call = byHead ? callByHead : callWhole;
      const output = await call(attention, tensors, given, shape);
      const after = { ...tensors, ...(mask ? { mask } : {}) };
      const changed = Object.keys(after).filter((name) => JSON.stringify(after[name]) !== JSON.stringify(nested(inputs[name])));
      return { ...output, changed };
    } catch (error) {
      if (error instanceof Malformed) return { malformed: error.message };
      return { threw: `${error?.name ?? "an error"}: ${error?.message ?? error}`, line: lineOf(error) };
    }
  }

  self.onmessage = async ({ data: calls }) => {
    const attention = find();
    positional = namedParameters(attention);
    byHead = await takesOneHead(attention, calls[0]);
    for (const [index, call] of calls.entries()) {
      const answered = await answer(attention, call);
      self.postMessage({ index, ...answered, byHead, read: [...read] });
    }
  };
}
