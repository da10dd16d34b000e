
/* What the words of this report mean: clauses page by page, mistakes, errata. */

const FIRST_CASES = 6;
const exercising = new Map();
for (const about of cases) for (const clause of about.clauses) keep(exercising, clause, about);
const bearing = new Map();
for (const about of cases) for (const erratum of about.errata) keep(bearing, erratum, about);
const catching = new Map();
for (const about of cases) for (const mistake of about.drawn?.targets ?? []) keep(catching, mistake, about);
const breaking = new Map();
for (const [id, { clause }] of Object.entries(data.mistakes)) keep(breaking, clause, id);

function keep(lists, key, value) {
  if (!lists.has(key)) lists.set(key, []);
  lists.get(key).push(value);
}

function showGlossary() {
  const section = byId("glossary");
  const groups = [
    ...Object.entries(data.pages).map(([page, title]) => clausesOf(page, title)),
    group("mistakes", "Mistakes", "Known wrong implementations that the findings weigh, or that a case which went wrong is there to catch.", Object.keys(data.mistakes), mistakeEntry),
    group("errata", "Errata", "Where a document that the suite grew out of contradicts itself.", Object.keys(data.errata), erratumEntry),
  ];
  const shown = groups.filter((found) => found !== null);
  section.hidden = !shown.length;
  section.append(
    make("h2", { id: "glossary-title" }, "Clauses, mistakes and errata"),
    make("p", { class: "muted" }, "What this report names, in the words of the specification, with the cases that exercise it here."),
    ...shown,
  );
}

function clausesOf(page, title) {
  const names = Object.keys(data.clauses).filter((name) => data.clauses[name].page === page);
  const wrong = names.filter((name) => (exercising.get(name) ?? []).some((about) => about.wrong)).length;
  const said = `${title}: ${plural(names.length, "clause")}${wrong ? `, ${wrong} of them in cases that went wrong` : ""}`;
  return group(pageId(page), said, pageId(page), names, clauseEntry);
}

function group(id, title, about, names, entry) {
  if (!names.length) return null;
  return make(
    "details",
    { class: "group", id, tabindex: "-1" },
    make("summary", {}, make("h3", {}, title)),
    make("p", { class: "muted small" }, about.includes(" ") ? about : make("code", {}, about)),
    ...names.map((name) => make("article", { class: "entry", id: name, tabindex: "-1", "aria-labelledby": `name-of-${name}` }, ...entry(name))),
  );
}

function entryName(id) {
  return make("h4", { id: `name-of-${id}` }, make("code", {}, id));
}

function clauseEntry(id) {
  const { text, page } = data.clauses[id];
  const mistakes = breaking.get(id) ?? [];
  return [
    entryName(id),
    make("p", {}, ...prose(text, page)),
    ...pageOfClause(id).map((link) => make("p", { class: "small" }, link)),
    ...(mistakes.length ? [make("p", { class: "small" }, "Broken by ", ...refersTo(mistakes), ".")] : []),
    ...casesLine("Exercised by", exercising.get(id) ?? [], { clause: id }),
  ];
}

function mistakeEntry(id) {
  const { operation, clause, sentence, engineer, remedy, erratum, sources } = data.mistakes[id];
  return [
    entryName(id),
    make("p", {}, ...linked(sentence)),
    ...(engineer ? [make("p", { class: "small" }, `In a kernel: ${engineer}`)] : []),
    ...(remedy ? [make("p", { class: "small" }, make("strong", {}, "What to do: "), remedy)] : []),
    make("p", { class: "small" }, `It is a mistake of ${operation}, and breaks `, refer(clause), "."),
    ...(sources.length ? [make("p", { class: "small" }, "Made in public: ", ...sourceLinks(sources))] : []),
    ...(erratum ? [erratumLine(erratum)] : []),
    ...casesLine("Of the cases that went wrong, there to catch it:", catching.get(id) ?? []),
  ];
}

function erratumEntry(id) {
  const { title, text } = data.errata[id];
  const paragraphs = text === title ? [] : text.split(/\n\n+/);
  return [
    entryName(id),
    make("p", {}, ...prose(title)),
    ...paragraphs.map((paragraph) => make("p", { class: "small" }, ...prose(paragraph))),
    ...casesLine("It bears on", bearing.get(id) ?? []),
  ];
}

/** Cases as links, those that went wrong first, then those that passed; with a filter, a button that shows them all. */
function casesLine(words, found, wanted = null) {
  if (!found.length) return [];
  const wrong = found.filter((about) => about.wrong);
  const passed = found.filter((about) => !about.wrong && about.results.some(({ status }) => status === "pass"));
  const first = [...new Set([...wrong, ...passed, ...found])].slice(0, FIRST_CASES);
  const rest = found.length - first.length;
  const line = make("p", { class: "small" }, `${words} `, ...refersTo(first.map(({ id }) => id)), rest ? ` and ${rest.toLocaleString("en")} more` : "", ".");
  if (wrong.length && wanted) line.append(` ${wrong.length.toLocaleString("en")} of them went wrong.`);
  if (rest && wanted) {
    line.append(" ", make("button", { type: "button", class: "quiet", onclick: () => narrow(wanted) }, `Show all ${found.length.toLocaleString("en")}`));
  }
  return [line];
}
