
/* What the page knows, read once. */

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const SIGNS = { pass: "✓", fail: "✗", error: "!", crash: "‼", timeout: "∞", malformed: "?", ungraded: "≈", unsupported: "–", known: "○" };
const VERDICTS = {
  conforms: ["✓", "good"],
  "conforms in part": ["◐", "part"],
  "does not conform": ["✗", "bad"],
  "nothing graded": ["–", "none"],
  "passes the gate": ["✓", "good"],
  "does not pass the gate": ["✗", "bad"],
};
const ROWS_AT_FIRST = 200;
const several = data.implementations.length > 1;
const isWrong = (status) => data.wrong.includes(status);
/** How a status is coloured. */
const kindOf = (status) => (isWrong(status) ? "bad" : status === "pass" ? "good" : "none");
const dtypeName = (dtype) => (dtype === "any" ? "no floats" : dtype);
const plural = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

/** Every result as an object. */
const results = data.results.flatMap((rows, implementation) =>
  rows.map(([at, dtype, status, message, ratio, check, step, under]) => ({
    implementation,
    at,
    dtype: data.dtypes[dtype],
    status: data.statuses[status],
    message: data.texts[message],
    ratio,
    check: data.texts[check],
    step: data.texts[step],
    under: data.texts[under],
    problem: null,
  })),
);
/** Each failure belongs to one problem of its implementation. */
let before = 0;
for (const [position, { problems }] of data.implementations.entries()) {
  for (const problem of problems) for (const at of problem.failures) if (results[before + at]) results[before + at].problem = problem;
  before += data.results[position].length;
}
const cases = data.cases.map((about, at) => ({ ...about, at, results: [], drawn: data.drawn[at] ?? null, panel: null }));
for (const result of results) cases[result.at].results.push(result);
for (const about of cases) {
  about.wrong = about.results.filter(({ status }) => isWrong(status)).length;
  about.words = [about.id, about.title ?? "", about.operation, ...about.clauses, ...about.results.map((result) => result.message)]
    .join("\n")
    .toLowerCase();
}
const dtypes = data.dtypes.filter((dtype) => results.some((result) => result.dtype === dtype));
const profiles = [...new Set(cases.map(({ profile }) => profile))];
const operations = [...new Set(cases.map(({ operation }) => operation))];

const filter = { statuses: new Set(), profile: "", dtype: "", operation: "", implementation: "", clause: "", problem: null, words: "" };
