"use strict";

/* Grading of the playground: the one rule of the test vectors, and which mistake gives the very numbers that came. */

const STEPS = [0.6180339887498949, 0.41421356237309515];
const OF_NAN = 12.345678;
const OF_INFINITY = 23.456789;

/** Fingerprints agree where they differ by less than this share of the sum of all sizes; rounding differs by far less. */
const AGREEMENT = 1e-9;

/** Cases of which a sure cause gives the numbers, and the share of them that may speak against it. */
const FEWEST_BY_NUMBERS = 2;
const MOST_AGAINST = 0.1;
const MOST_CAUSES = 3;

/** Two sums by which an output is known again, as the site's builder makes them of each mistake's output. */
function fingerprintOf(numbers) {
  return STEPS.map((step) =>
    numbers.reduce((sum, number, index) => {
      const counted = Number.isNaN(number) ? OF_NAN : Number.isFinite(number) ? number : Math.sign(number) * OF_INFINITY;
      return sum + counted * (1 + ((index * step) % 1));
    }, 0),
  );
}

/** Whether a result has the very numbers of a mistake in one of its ways: two sums, behind them a shape that is another. */
function agrees({ tested, prints, shape, size }, ways) {
  return ways.some(([first, second, ...otherShape]) => {
    if (!prints || String(shape) !== String(otherShape.length ? otherShape : tested.expected.shape)) return false;
    return [first, second].every((number, at) => Math.abs(number - prints[at]) <= AGREEMENT * size);
  });
}

/** Error / tolerance of each element; 0 where it is right whatever it holds, above 1 where it is wrong. */
function ratiosOf(got, expected, tolerance) {
  return expected.map((number, at) => {
    if (tolerance[at] === Infinity || got[at] === number || (Number.isNaN(got[at]) && Number.isNaN(number))) return 0;
    const error = Math.abs(got[at] - number);
    if (error <= tolerance[at]) return Math.min(1, error / tolerance[at]);
    return Number.isNaN(error) || tolerance[at] === 0 ? Infinity : Math.max(error / tolerance[at], 1 + Number.EPSILON);
  });
}

/** A number with few digits, as the drawing of reports writes it; NaN and infinities are words. */
const read = (number, digits) => (Number.isFinite(number) ? inDigits(number, digits) : String(number));

/** The verdict on one answer: its status, a sentence on what is wrong, and its numbers where there are any. */
function graded(tested, answer) {
  if (answer.threw) return { tested, status: "threw", sentence: `It threw ${answer.threw}${answer.line ? ` (line ${answer.line})` : ""}` };
  if (answer.malformed) return { tested, status: "malformed", sentence: answer.malformed };
  const expected = tested.expected.data.map(Number);
  const tolerance = tested.tolerance.map(Number);
  const got = answer.data;
  const shape = answer.shape ?? (got.length === expected.length ? tested.expected.shape : [got.length]);
  const known = got.map((number, at) => (got.length === expected.length && tolerance[at] === Infinity ? 0 : number));
  const size = got.reduce((sum, number) => sum + (Number.isFinite(number) ? Math.abs(number) : 1), 0);
  const result = { tested, got, shape, prints: fingerprintOf(known), size };
  if (String(shape) !== String(tested.expected.shape)) {
    const sentence = `The output has another shape than expected.`;
    const detail = `the output has the shape (${shape.join(", ")}); expected (${tested.expected.shape.join(", ")})`;
    return { ...result, status: "wrong", sentence, detail };
  }
  const ratios = ratiosOf(got, expected, tolerance);
  const worst = ratios.indexOf(ratios.reduce((most, ratio) => Math.max(most, ratio), 0));
  const [came, due, within] = [read(got[worst], 9), read(expected[worst], 9), read(tolerance[worst], 2)];
  const detail = `output[${indexOf(worst, shape).join(", ")}] is ${came}; expected ${due} within ${within}`;
  if (!(ratios[worst] <= 1)) return { ...result, status: "wrong", sentence: null, detail, ratios, ratio: ratios[worst] };
  if (answer.changed?.length) {
    return { ...result, status: "changed", sentence: `It changed its argument ${answer.changed.join(", ")}; inputs must stay as they are.`, ratio: ratios[worst] };
  }
  return { ...result, status: "right", detail, ratios, ratio: ratios[worst] ?? 0 };
}

function indexOf(position, shape) {
  let rest = position;
  return shape.reduceRight((indices, length) => {
    indices.unshift(rest % length);
    rest = Math.floor(rest / length);
    return indices;
  }, []);
}

/** Which mistakes give the very numbers of failures, the likeliest first; none that is right or wrong otherwise as often. */
function candidates(failures, results, mistakes) {
  const found = [];
  for (const id of Object.keys(mistakes)) {
    const acts = ({ tested }) => id in tested.prints;
    const explained = failures.filter((result) => acts(result) && agrees(result, result.tested.prints[id]));
    if (!explained.length) continue;
    const against = results.filter((result) => acts(result) && result.status === "right").length;
    const otherwise = failures.filter((result) => acts(result) && !explained.includes(result)).length;
    if (against + otherwise < explained.length) found.push({ id, explained, against, otherwise });
  }
  return found.sort((one, other) => other.explained.length - one.explained.length || one.against + one.otherwise - other.against - other.otherwise);
}

/** Each failure put to one problem, the most frequent first; those that nothing explains last. */
function problemsOf(results, mistakes) {
  let left = results.filter(({ status }) => status !== "right");
  const problems = [];
  const take = (problem, explained) => {
    problems.push({ ...problem, results: explained });
    left = left.filter((result) => !explained.includes(result));
  };
  for (let causes = 0; causes < MOST_CAUSES; causes += 1) {
    const [first, ...others] = candidates(left, results, mistakes);
    if (!first) break;
    const alike = others.filter((each) => each.explained.length === first.explained.length && each.against + each.otherwise === first.against + first.otherwise);
    const sure = first.explained.length >= FEWEST_BY_NUMBERS && first.against + first.otherwise <= MOST_AGAINST * first.explained.length;
    take({ id: first.id, alike: alike.map(({ id }) => id), sure }, first.explained);
  }
  // Sentences that differ in an index or a size alone are one.
  const kind = ({ sentence }) => sentence?.replace(/\d+/g, "0");
  while (left.length) {
    const [{ sentence }] = left;
    take({ sentence }, left.filter((result) => kind(result) === kind({ sentence })));
  }
  return problems.sort((one, other) => (one.id || one.sentence ? 0 : 1) - (other.id || other.sentence ? 0 : 1) || other.results.length - one.results.length);
}

/** The failure that shows a problem best: of a case that is there for the mistake, with few options, and small. */
function clearest({ id, results }) {
  const rank = ({ tested }) => [tested.targets.includes(id) ? 0 : 1, Object.keys({ ...tested.inputs, ...tested.options }).length, tested.expected.data.length];
  const before = (one, other) => {
    const at = one.findIndex((number, index) => number !== other[index]);
    return at >= 0 && one[at] < other[at];
  };
  return results.reduce((first, result) => (before(rank(result), rank(first)) ? result : first));
}
