"use strict";

/* The search: every word that was typed must occur; what they name comes first. */

const MOST_FOUND = 60;
const { kinds, folders, entries } = window.searchIndex;
const field = document.getElementById("words");
const found = document.getElementById("found");
const tally = document.getElementById("tally");
const texts = entries.map(([, title, , words]) => [title.toLowerCase(), words.toLowerCase()]);

/** How well an entry fits, the less the better; null where a word is missing. */
function fit(at, whole, words) {
  const [title, text] = texts[at];
  let missing = 0;
  for (const word of words) {
    if (title.includes(word)) continue;
    if (!text.includes(word)) return null;
    missing += 1;
  }
  if (title === whole) return 0;
  if (title.startsWith(whole)) return 1;
  if (text.split(" ").includes(whole)) return 2;
  if (text.includes(whole)) return 3;
  return 4 + missing;
}

function excerpt(words, text) {
  const lower = text.toLowerCase();
  const first = words.map((word) => lower.indexOf(word)).filter((at) => at >= 0);
  const start = Math.max(0, Math.min(...first, text.length) - 80);
  const end = Math.min(text.length, start + 240);
  return `${start ? "…" : ""}${text.slice(start, end)}${end < text.length ? "…" : ""}`;
}

function search() {
  const whole = field.value.trim().toLowerCase();
  const words = whole.split(/\s+/).filter(Boolean);
  found.replaceChildren();
  if (!words.length) {
    tally.textContent = `${entries.length.toLocaleString("en")} entries.`;
    return;
  }
  const fitting = entries
    .map((entry, at) => [fit(at, whole, words), entry[0], at])
    .filter(([worth]) => worth !== null)
    .sort((one, other) => one[0] - other[0] || one[1] - other[1] || one[2] - other[2]);
  const shown = fitting.slice(0, MOST_FOUND);
  tally.textContent = `${fitting.length.toLocaleString("en")} found${fitting.length > shown.length ? `, the first ${shown.length} shown` : ""}.`;
  for (const [, , at] of shown) {
    const [kind, title, address, text] = entries[at];
    const item = element("li", "");
    const page = address || `${folders[kinds[kind]]}/${title}.html`;
    item.append(element("a", title, { href: root + page }), element("span", kinds[kind], { class: "kind" }));
    if (text) item.append(element("p", excerpt(words, text)));
    found.append(item);
  }
}

field.value = new URLSearchParams(location.search).get("q") ?? "";
field.addEventListener("input", () => {
  const address = field.value ? `?q=${encodeURIComponent(field.value)}` : location.pathname;
  try {
    history.replaceState(null, "", address);
  } catch {
    // Pages of a disk have no history in some browsers.
  }
  search();
});
field.form.addEventListener("submit", (event) => {
  event.preventDefault();
  found.querySelector("a")?.focus();
});
search();
field.focus();
