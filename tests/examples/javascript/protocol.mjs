// The attnspec process protocol for Node.js: one JSON message a line over stdin and stdout (spec/protocol.md).
// A tensor here is { shape, data }, with data flat and row by row: numbers, or booleans for a Boolean tensor.

import { createInterface } from "node:readline";

/** Throw this for an input that is wrong in itself. */
export class Rejected extends Error {}

/** Throw this for what the implementation does not offer. */
export class Unsupported extends Error {}

const WORDS = { inf: Infinity, "-inf": -Infinity, nan: NaN };

/**
 * Answer the harness until it says stop.
 *
 * @param declaration name, version and dtypes of the implementation
 * @param operations functions by operation name, each (inputs, attributes) => outputs by name
 */
export function serve(declaration, operations) {
  // stdout belongs to the protocol; whatever an operation prints goes to stderr.
  console.log = console.error;
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (line) => {
    const message = JSON.parse(line);
    if (message.type === "start") {
      send(answerStart(message, declaration, operations));
    } else if (message.type === "run") {
      send({ seq: message.seq, ...answerRun(message, operations) });
    } else if (message.type === "stop") {
      process.stdin.destroy();
    }
  });
}

function send(message) {
  process.stdout.write(JSON.stringify(message) + "\n");
}

function answerStart({ versions }, declaration, operations) {
  if (!versions.includes(1)) {
    return { type: "error", message: `it speaks protocol 1 only, and the harness offers ${versions}` };
  }
  return { type: "started", protocol: 1, ...declaration, operations: Object.keys(operations), encoding: "list" };
}

function answerRun({ operation, dtype, inputs, attributes }, operations) {
  try {
    const tensors = mapValues(inputs, decodeTensor);
    const outputs = operations[operation](tensors, attributes);
    return { type: "outputs", outputs: mapValues(outputs, (tensor) => encodeTensor(tensor, dtype)) };
  } catch (error) {
    if (error instanceof Unsupported) return { type: "unsupported", message: error.message };
    if (error instanceof Rejected) return { type: "rejected", message: error.message };
    return { type: "error", message: String(error) };
  }
}

function decodeTensor({ shape, data }) {
  return { shape, data: [data].flat(Infinity).map((item) => WORDS[item] ?? item) };
}

function encodeTensor({ shape, data }, runDtype) {
  if (typeof data[0] === "boolean") return { dtype: "bool", shape, data: nest(data, shape) };
  // A run with no float input leaves the dtype to us.
  const dtype = runDtype === "float32" ? "float32" : "float64";
  const items = Array.from(data, (number) => toJson(dtype === "float32" ? Math.fround(number) : number));
  return { dtype, shape, data: nest(items, shape) };
}

function toJson(number) {
  if (Number.isFinite(number)) return number;
  return Number.isNaN(number) ? "nan" : number > 0 ? "inf" : "-inf";
}

function nest(items, shape) {
  if (shape.length === 0) return items[0];
  const [length, ...rest] = shape;
  const size = rest.reduce((product, axis) => product * axis, 1);
  return Array.from({ length }, (_, index) => nest(items.slice(index * size, (index + 1) * size), rest));
}

function mapValues(object, change) {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]));
}
