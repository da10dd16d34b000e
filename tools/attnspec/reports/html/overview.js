
/* What there is to see at a glance: verdict, ranking, findings, matrix. */

function countsOf(list) {
  const counts = { pass: 0, wrong: 0, known: 0, ungraded: 0, unsupported: 0, all: list.length };
  for (const { status } of list) counts[isWrong(status) ? "wrong" : status] += 1;
  return { ...counts, tried: counts.pass + counts.wrong + counts.known };
}

function verdictCard(implementation, position) {
  const counts = countsOf(results.filter((result) => result.implementation === position));
  const [sign, kind] = VERDICTS[implementation.conformance];
  const card = make(
    "article",
    { class: `verdict ${kind}` },
    make("div", { class: "seal", "aria-hidden": "true" }, sign),
    make(several ? "h2" : "h1", {}, make("span", { class: "name" }, implementation.name), " ", make("span", { class: "words" }, implementation.words)),
    make("p", { class: "sentence" }, implementation.sentence),
    shareBar(counts),
  );
  const facts = [
    ["passed", counts.pass],
    ["went wrong", counts.wrong],
    ...(counts.known ? [["known failures", counts.known]] : []),
    ["ungraded", counts.ungraded],
    ["not offered", counts.unsupported],
    ["clauses graded", `${implementation.clauses[0]} of ${implementation.clauses[1]}`],
    ["median error / tolerance", implementation.median === null ? "–" : inDigits(implementation.median, 2)],
  ];
  const list = make("dl", { class: "facts" });
  for (const [term, value] of facts) {
    list.append(make("div", {}, make("dt", {}, term), make("dd", {}, typeof value === "number" ? value.toLocaleString("en") : value)));
  }
  card.append(list);
  if (implementation.closing.length) {
    const sentences = implementation.closing.map((said) => make("p", {}, ...prose(said)));
    // Where something is wrong, that comes first.
    const open = implementation.heading === null;
    card.append(make("details", { class: "closing muted small", open }, make("summary", {}, "How close it came"), ...sentences));
  }
  const conventions = Object.entries(implementation.conventions);
  if (conventions.length) {
    card.append(
      make("p", { class: "muted small" }, "Declared conventions: ", ...conventions.map(([name, choice]) => make("code", { class: "chip" }, `${name}=${choice}`))),
    );
  }
  return card;
}

function shareBar(counts) {
  const bar = make("div", { class: "shares", "aria-hidden": "true" });
  for (const kind of ["pass", "wrong", "known", "ungraded", "unsupported"]) {
    if (!counts[kind]) continue;
    const part = make("span", { class: `share ${kind}` });
    part.style.flexGrow = counts[kind];
    bar.append(part);
  }
  return bar;
}

function showVerdicts() {
  const section = byId("verdicts");
  if (several) section.append(make("h1", {}, plural(data.implementations.length, "implementation"), " side by side"));
  section.append(make("div", { class: several ? "cards" : "alone" }, ...data.implementations.map(verdictCard)));
  document.title = several
    ? `${data.implementations.length} implementations | attnspec report`
    : `${data.implementations[0].name} ${data.implementations[0].words} | attnspec report`;
}

function showNotes() {
  for (const note of data.notes) byId("notes").append(make("p", { class: "note", role: "note" }, note));
}

function showRanking() {
  const section = byId("ranking");
  if (!several) return;
  section.hidden = false;
  section.append(make("h2", { id: "ranking-title" }, "Accuracy"));
  if (!data.ranking.length) {
    section.append(make("p", { class: "muted" }, "No run was compared in all of the reports, so there is nothing to rank."));
    return;
  }
  const body = make("tbody");
  data.ranking.forEach((entry, position) => {
    body.append(
      make(
        "tr",
        {},
        make("td", { class: "number" }, `${position + 1}`),
        make("th", { scope: "row" }, data.implementations[entry.implementation].name),
        make("td", { class: "number" }, inDigits(entry.median, 3)),
        make("td", { class: `number${asNumber(entry.worst) > 1 ? " wrong" : ""}` }, inDigits(entry.worst, 3)),
      ),
    );
  });
  const head = ["rank", "implementation", "median", "worst"].map((title) => make("th", { scope: "col" }, title));
  section.append(
    make(
      "p",
      { class: "muted" },
      `Error / tolerance over the ${plural(data.ranking[0].runs, "run")} that all of them had compared. Above 1 fails; who has such an error comes last.`,
    ),
    scrolling("Accuracy of the implementations", make("table", { class: "ranking" }, make("thead", {}, make("tr", {}, ...head)), body)),
  );
}

/** How many problems are shown one by one; the others are folded. */
const PROBLEMS_SHOWN = 5;

function showFindings() {
  const section = byId("findings");
  for (const implementation of data.implementations) {
    if (implementation.heading === null) continue;
    section.hidden = false;
    const heading = several ? `${implementation.name}: ${implementation.heading}` : implementation.heading;
    section.append(make("h2", { id: section.childElementCount ? null : "findings-title" }, heading));
    if (implementation.right) section.append(make("p", { class: "is-right" }, implementation.right));
    if (implementation.offer.length) section.append(offerNote(implementation.offer));
    const cards = implementation.problems.map((problem) => problemCard(problem, true));
    section.append(make("div", { class: "findings" }, ...cards.slice(0, PROBLEMS_SHOWN)));
    if (cards.length <= PROBLEMS_SHOWN) continue;
    const others = implementation.problems.slice(PROBLEMS_SHOWN);
    const count = others.reduce((sum, { failures }) => sum + failures.length, 0);
    const summary = make("summary", {}, `${plural(count, "failure")} more, for ${plural(others.length, "other reason")}`);
    section.append(make("details", { class: "reasons" }, summary, make("div", { class: "findings" }, ...cards.slice(PROBLEMS_SHOWN))));
  }
}

/** What could be declared, each option in one piece, so that it can be copied. */
function offerNote([sentence, ...options]) {
  return make("div", { class: "offer" }, make("p", {}, sentence), ...options.map((option) => commandLine(option, null)));
}

/** A problem, with the number of its failures; `leads`: with a button to its cases. */
function problemCard(problem, leads) {
  const [first, ...others] = problem.lines;
  const card = make(
    "article",
    { class: "finding" },
    make("p", { class: "sentence" }, make("span", { class: "count" }, problem.failures.length.toLocaleString("en")), " ", ...linked(first)),
    ...others.map(problemLine),
  );
  if (problem.mistakes.length) card.append(make("div", { class: "muted small" }, "Known as ", ...refersTo(problem.mistakes), "."));
  if (problem.beside.length) {
    const list = make("ul", {}, ...problem.beside.map((said) => make("li", {}, ...linked(said))));
    card.append(make("details", { class: "small" }, make("summary", {}, "More about it"), list));
  }
  if (leads) card.append(make("button", { type: "button", class: "quiet", onclick: () => narrow({ problem }) }, "Show these cases"));
  return card;
}

function problemLine(line) {
  const remedy = "What to do: ";
  if (!line.startsWith(remedy)) return make("p", { class: "small" }, ...linked(line));
  return make("p", { class: "remedy" }, make("strong", {}, remedy), ...linked(line.slice(remedy.length)));
}

/** The words of a clause; none for one of another version of the spec. */
function clauseWords(id) {
  const clause = data.clauses[id];
  return clause ? prose(clause.text, clause.page) : [];
}

function erratumLine(erratum) {
  return make("p", { class: "muted small" }, "A source document errs here: ", refer(erratum), " ", ...prose(data.errata[erratum]?.title ?? ""));
}

/** Why what was not graded was not, one line a reason. */
function showUnsupported() {
  const reasons = new Map();
  for (const { status, message, implementation } of results) {
    if (!["ungraded", "unsupported"].includes(status)) continue;
    const reason = several ? `${data.implementations[implementation].name}: ${message}` : message;
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  if (!reasons.size) return;
  const total = [...reasons.values()].reduce((sum, count) => sum + count, 0);
  const items = [...reasons].sort((one, other) => other[1] - one[1]).map(([reason, count]) =>
    make("li", {}, make("span", { class: "count" }, count.toLocaleString("en")), " ", reason),
  );
  const summary = make("summary", {}, `${plural(total, "result")} not graded, by reason`);
  byId("verdicts").append(make("details", { class: "reasons" }, summary, make("ul", {}, ...items)));
}

/** What may be wider than the screen, and is then scrolled by keyboard, too. */
function scrolling(label, content) {
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, content);
}

function showMatrix() {
  const section = byId("matrix");
  const columns = data.implementations.flatMap((_, implementation) =>
    dtypes
      .filter((dtype) => results.some((result) => result.implementation === implementation && result.dtype === dtype && result.status !== "unsupported"))
      .map((dtype) => ({ implementation, dtype })),
  );
  const gap = (at) => (at > 0 && columns[at].implementation !== columns[at - 1].implementation ? "gap" : null);
  const bins = new Map();
  for (const result of results) {
    const key = `${cases[result.at].profile} ${result.implementation} ${result.dtype}`;
    if (!bins.has(key)) bins.set(key, []);
    bins.get(key).push(result);
  }
  const head = make("thead");
  if (several) {
    const groups = make("tr", {}, make("td"));
    data.implementations.forEach((implementation, position) => {
      const span = columns.filter((column) => column.implementation === position).length;
      if (span) groups.append(make("th", { scope: "colgroup", colspan: span, class: "group" }, implementation.name));
    });
    head.append(groups);
  }
  head.append(
    make("tr", {}, make("th", { scope: "col" }, "profile"), ...columns.map(({ dtype }, at) => make("th", { scope: "col", class: gap(at) }, dtypeName(dtype)))),
  );
  const body = make("tbody");
  for (const profile of profiles) {
    const row = make("tr", {}, make("th", { scope: "row" }, profile));
    for (const [at, { implementation, dtype }] of columns.entries()) {
      const list = bins.get(`${profile} ${implementation} ${dtype}`);
      row.append(make("td", { class: gap(at) }, list ? matrixCell(profile, implementation, dtype, countsOf(list)) : ""));
    }
    body.append(row);
  }
  section.append(
    make("h2", { id: "matrix-title" }, "Profiles and dtypes"),
    make("p", { class: "muted" }, "Passed of tried. ✓ nothing wrong, ✗ something wrong, – nothing graded. Choose a cell to see its cases."),
    scrolling("Matrix of profiles and dtypes", make("table", { class: "matrix" }, head, body)),
  );
}

function matrixCell(profile, implementation, dtype, counts) {
  const kind = counts.wrong ? "bad" : counts.pass ? "good" : "none";
  const sign = { bad: "✗", good: "✓", none: "–" }[kind];
  const who = several ? `${data.implementations[implementation].name}, ` : "";
  const label = `${who}${profile}, ${dtypeName(dtype)}: ${counts.pass} of ${counts.tried} passed, ${counts.wrong} wrong, ${counts.ungraded} ungraded, ${counts.unsupported} not offered`;
  return make(
    "button",
    {
      type: "button",
      class: `cell-button ${kind}`,
      title: label,
      "aria-label": label,
      onclick: () => narrow({ profile, dtype, implementation: several ? String(implementation) : "" }),
    },
    make("span", { "aria-hidden": "true" }, sign),
    counts.tried ? make("span", {}, `${counts.pass}/${counts.tried}`) : null,
  );
}
