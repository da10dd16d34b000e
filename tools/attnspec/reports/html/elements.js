"use strict";

/* Making elements and words. */

/** Make an HTML element; strings among the children become text, never markup. */
function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Make an SVG element. */
function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A number as it is read: seven digits at most, with a power of ten where it is very large or small. */
function inDigits(value, digits = 7) {
  if (typeof value !== "number") return String(value);
  const fewer = Number(value.toPrecision(digits));
  // The largest number of float64 has none above it that it could be rounded to.
  const rounded = Number.isFinite(fewer) ? fewer : value;
  const size = Math.abs(rounded);
  if (size === 0 || (size >= 1e-4 && size < 1e7)) return String(rounded);
  const [digit, power] = rounded.toExponential().split("e");
  return `${digit}e${power.replace("+", "")}`;
}

/** A number of any size as JavaScript computes with it. */
function asNumber(value) {
  if (typeof value === "number") return value;
  return { inf: Infinity, "-inf": -Infinity }[value] ?? NaN;
}

/** A word as a sentence begins with it. */
function capitalised(word) {
  return word[0].toUpperCase() + word.slice(1);
}

/** Numbers such as 0, 1, 2, 5 in words: "0-2, 5". */
function inRanges(indices) {
  const ranges = [];
  for (const index of indices) {
    const last = ranges.at(-1);
    if (last && last[1] === index - 1) last[1] = index;
    else ranges.push([index, index]);
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(", ");
}
