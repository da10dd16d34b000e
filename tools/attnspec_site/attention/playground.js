"use strict";

/* The playground: a function that was pasted or picked runs in a worker, and the page grades what comes back. */

/** How long a case may take: each is a hundred numbers. */
const TIMEOUT = 3000;

const { cases, mistakes, examples, patches, optionNames, defaults, axes } = window.playground;
const editor = document.getElementById("source");
const picker = document.getElementById("example");
const grade = document.getElementById("grade");
const verdict = document.getElementById("verdict");
const report = document.getElementById("report");
let own = "";
let running = null;

/** The text of a module as that of a script. */
const withoutExports = (source) => source.replace(/^export\s+(?:default\s+)?(?=\S)/gm, "");

/** The name of the function to grade: the default export, one named after attention, or the last that takes as much. */
function functionIn(source) {
  const exported = source.match(/^export\s+default\s+(?:async\s+)?(?:function\s+)?([\w$]+)/m);
  const declared = /^(?:async\s+)?(?:function\s*([\w$]+)|(?:const|let|var)\s+([\w$]+)\s*=\s*(?:async\s*)?(?=function|\(|[\w$]+\s*=>))[^(\n]*(?:\(([^)]*))?/gm;
  const found = [...withoutExports(source).matchAll(declared)].map(([, one, other, parameters]) => [one ?? other, (parameters ?? "").split(",").length]);
  const names = found.map(([name]) => name);
  const attending = names.find((name) => name === "attention") ?? names.find((name) => /attention|sdpa/i.test(name));
  return exported?.[1] ?? attending ?? found.findLast(([, parameters]) => parameters >= 3)?.[0] ?? names.at(-1);
}

/** Run a function in a worker of its own; gives its answers, and a sentence where they came to an end. */
function answersOf(source, name) {
  const lines = source.split("\n").length;
  const serving = `\n;(${serveCalls})(() => ${name}, ${lines}, ${JSON.stringify(optionNames)});`;
  const address = URL.createObjectURL(new Blob([withoutExports(source), serving], { type: "text/javascript" }));
  const worker = new Worker(address);
  const answers = [];
  return new Promise((resolve) => {
    let waiting;
    const end = (sentence = null, line = null) => {
      clearTimeout(waiting);
      worker.terminate();
      URL.revokeObjectURL(address);
      resolve({ answers, sentence, line });
    };
    const wait = () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        const where = answers.length ? `in ${cases[answers.length].id}` : "in its first case";
        end(`It gave no answer within ${TIMEOUT / 1000} seconds ${where}. Does a loop never end?`);
      }, TIMEOUT);
    };
    worker.onmessage = ({ data }) => {
      wait();
      answers.push(data);
      if (answers.length === cases.length) end();
    };
    worker.onerror = (event) => {
      event.preventDefault();
      const message = event.message.replace(/^Uncaught /, "");
      const isSyntax = message.startsWith("SyntaxError");
      if (isSyntax && event.lineno > lines) end("It ends before every bracket, quotation or comment is closed.", null);
      else if (isSyntax) end(`Line ${event.lineno} cannot be read as JavaScript: ${message.replace(/^SyntaxError: /, "")}.`, event.lineno);
      else end(`Line ${event.lineno} ended with ${message}.`, event.lineno);
    };
    running = end;
    wait();
    worker.postMessage(cases.map(({ inputs, options, expected }) => ({ inputs, options, shape: expected.shape })));
  });
}

/** The options without which a function cannot be right in a case: those that differ from their default. */
function stated({ inputs, options }) {
  const other = Object.keys(options).filter((name) => options[name] !== defaults[name]);
  return [...(inputs.mask ? ["mask"] : []), ...other];
}

function list(words) {
  return words.length > 1 ? `${words.slice(0, -1).join(", ")} and ${words.at(-1)}` : words[0];
}

function linkTo(address, text) {
  return make("a", { href: root + address }, make("code", {}, text));
}

/** What a run says at the end, as the command says it. */
function conformance(name, results, ungraded) {
  const wrong = results.filter(({ status }) => status !== "right").length;
  const rest = ungraded ? `, ${ungraded} ungraded` : "";
  if (wrong) return `${name} does not conform: ${wrong} of ${results.length} went wrong, ${results.length - wrong} passed${rest}.`;
  return `${name} conforms${ungraded ? " in part" : ""}: ${results.length} of ${results.length} passed${rest ? `${rest}, nothing wrong` : ""}.`;
}

function shownProblem(problem) {
  const { tested, detail, ratio } = clearest(problem);
  const mistake = mistakes[problem.id];
  const sentence = mistake
    ? `${problem.sure ? "" : "Most likely: "}${mistake.sentence}`
    : (problem.sentence ?? "Nothing in the catalogue explains these numbers.");
  const shown = make("li", { class: "finding" });
  shown.append(make("p", { class: "sentence" }, make("span", { class: "count" }, `${problem.results.length} `), withStop(sentence)));
  if (mistake) {
    shown.append(make("p", {}, `What to do: ${mistake.remedy}`));
    shown.append(make("p", {}, "It breaks ", linkTo(`clauses/${mistake.clause}.html`, mistake.clause), "; the catalogue has it as ", linkTo(`mistakes/${problem.id}.html`, problem.id), "."));
    if (mistake.convention) shown.append(make("p", {}, "Good libraries differ in this: the convention ", linkTo(`conventions.html#${mistake.convention}`, mistake.convention), "."));
    if (problem.alike.length) {
      const others = problem.alike.slice(0, 3).map((id) => mistakes[id].sentence);
      shown.append(make("p", { class: "small" }, `These cases do not distinguish it from: ${others.join(" Or: ")}`));
    }
  }
  const times = Number.isFinite(ratio) && ratio > 1 ? ` (the error is ${inDigits(ratio, 3)} times that)` : "";
  shown.append(make("p", { class: "small" }, "Such as ", linkTo(`cases/${tested.id}.html`, tested.id), detail ? `: ${detail}${times}.` : "."));
  const picture = pictureOf(clearest(problem));
  if (picture) shown.append(make("details", {}, make("summary", {}, "Pictures of that case"), make("div", { class: "run" }, picture)));
  return shown;
}

const withStop = (sentence) => (/[.!?]$/.test(sentence) ? sentence : `${sentence}.`);

/** Expected, got and error of a failure as heat maps; none where the shapes differ. */
function pictureOf({ tested, got, ratios }) {
  if (!ratios) return null;
  const expected = tested.expected.data.map(Number);
  const worded = (number) => (Number.isFinite(number) ? number : String(number).replace("Infinity", "inf").toLowerCase());
  const layers = [expected, got, got.map((number, at) => Math.abs(number - expected[at])), tested.tolerance.map(Number)];
  const { shape } = tested.expected;
  const worst = ratios.indexOf(Math.max(...ratios));
  const verdicts = ratios.map((ratio, at) => (ratio > 1 ? "w" : tested.tolerance[at] === "Infinity" ? "o" : "r")).join("");
  const drawn = { name: "output", axes, shape, offsets: shape.map(() => 0), lengths: shape, expected: 0, got: 1, error: 2, tolerance: 3 };
  return drawOutput({ ...drawn, verdicts, worst, excluded: null }, layers.map((layer) => layer.map(worded)));
}

function shownCases(results, ungraded) {
  const row = (tested, word, note) => make("tr", {}, make("th", { scope: "row" }, linkTo(`cases/${tested.id}.html`, tested.id)), make("td", {}, word), make("td", {}, note));
  const head = make("tr", {}, ...["case", "verdict", "error / tolerance"].map((title) => make("th", { scope: "col" }, title)));
  const rows = results.map(({ tested, status, ratio }) => row(tested, status === "right" ? "passed" : "wrong", ratio === undefined ? "" : ratio === Infinity ? "∞" : read(ratio, 2)));
  rows.push(...ungraded.map((tested) => row(tested, "not graded", "")));
  const table = make("table", { class: "grid" }, make("thead", {}, head), make("tbody", {}, ...rows));
  const scroll = make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "All cases" }, table);
  return make("details", {}, make("summary", {}, "All cases"), scroll);
}

/** What was not graded, and why, in sentences. */
function reservations(ungraded, unread, byHead) {
  const said = [];
  if (byHead) said.push("It takes one head: the page called it head by head, so how heads share keys was not its task.");
  if (ungraded.length) said.push(`Not graded: ${ungraded.length} ${ungraded.length === 1 ? "case" : "cases"} with ${list(unread)}, which the function never reads.`);
  return said;
}

function show(name, { answers, sentence, line }, source) {
  report.replaceChildren();
  verdict.classList.remove("is-right");
  if (!answers.length) {
    verdict.textContent = sentence;
    if (line) report.append(make("pre", {}, make("code", {}, `${line}: ${source.split("\n")[line - 1] ?? ""}`)));
    return;
  }
  const read = new Set(answers.at(-1).read);
  const isRead = (tested) => stated(tested).every((option) => read.has(option));
  const results = answers.filter(({ index }) => isRead(cases[index])).map((answer) => graded(cases[answer.index], answer));
  const ungraded = sentence ? [] : cases.filter((tested) => !isRead(tested));
  const unread = [...new Set(ungraded.flatMap(stated))].filter((option) => !read.has(option));
  const wrong = results.filter(({ status }) => status !== "right").length;
  verdict.textContent = sentence ?? (wrong ? `${wrong} of ${results.length} went wrong:` : conformance(name, results, ungraded.length));
  verdict.classList.toggle("is-right", !wrong && !sentence);
  const problems = problemsOf(results, mistakes);
  if (wrong) report.append(make("ol", { class: "findings list" }, ...problems.map(shownProblem)));
  if (wrong && !sentence) report.append(make("p", {}, conformance(name, results, ungraded.length)));
  for (const said of reservations(ungraded, unread, answers[0].byHead)) report.append(make("p", { class: "small" }, said));
  report.append(shownCases(results, ungraded));
}

async function gradeSource() {
  running?.("");
  const source = editor.value;
  const name = functionIn(source);
  if (!name) {
    report.replaceChildren();
    verdict.textContent = "No function was found. Write one that begins so: function attention(query, key, value, options) {";
    return;
  }
  verdict.textContent = `${name} is called …`;
  const answered = await answersOf(source, name);
  if (answered.sentence !== "") show(name, answered, source);
}

/** The text of an example; a mistake is the plain function with some of its text replaced. */
function sourceOf(id) {
  return examples[id] ?? Object.entries(patches[id]).reduce((text, [old, other]) => text.replace(old, () => other), examples.plain);
}

function pick(id) {
  if (picker.value !== id) picker.value = id;
  editor.value = id ? sourceOf(id) : own;
}

picker.addEventListener("change", () => {
  pick(picker.value);
  gradeSource();
});
editor.addEventListener("input", () => {
  own = editor.value;
  picker.value = "";
});
editor.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) gradeSource();
});
grade.addEventListener("click", gradeSource);

const linked = decodeURIComponent(location.hash.slice(1));
if (linked in examples || linked in patches) {
  pick(linked);
  gradeSource();
}
