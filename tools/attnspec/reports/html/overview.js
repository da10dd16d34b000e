
/* What there is to see at a glance: verdict, ranking, findings, matrix. */

function countsOf(list) {
  const counts = { pass: 0, wrong: 0, known: 0, ungraded: 0, unsupported: 0, all: list.length };
  for (const { status } of list) counts[isWrong(status) ? "wrong" : status] += 1;
  return { ...counts, tried: counts.pass + counts.wrong + counts.known };
}

function verdictCard(implementation, position) {
  const counts = countsOf(results.filter((result) => result.implementation === position));
  const [sign, words, kind] = VERDICTS[implementation.conformance];
  const card = make(
    "article",
    { class: `verdict ${kind}` },
    make("div", { class: "seal", "aria-hidden": "true" }, sign),
    make(several ? "h2" : "h1", {}, make("span", { class: "name" }, implementation.name), " ", make("span", { class: "words" }, words)),
    make("p", { class: "sentence" }, verdictSentence(implementation, counts)),
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
  const conventions = Object.entries(implementation.conventions);
  if (conventions.length) {
    card.append(
      make("p", { class: "muted small" }, "Declared conventions: ", ...conventions.map(([name, choice]) => make("code", { class: "chip" }, `${name}=${choice}`))),
    );
  }
  return card;
}

function verdictSentence(implementation, counts) {
  if (implementation.gate) return implementation.gate;
  if (counts.wrong) return `${plural(counts.wrong, "result")} of ${counts.tried.toLocaleString("en")} tried went wrong.`;
  if (implementation.conformance === "conforms") return "Everything passed, and every clause was graded.";
  if (implementation.conformance === "conforms in part") return "Nothing went wrong; some clauses could not be graded.";
  return "Nothing could be graded, so nothing is shown to be right.";
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
    : `${data.implementations[0].name} ${data.implementations[0].conformance} | attnspec report`;
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

function showFindings() {
  const found = data.implementations.flatMap((implementation, position) =>
    implementation.diagnosis.map((entry) => ({ ...entry, position })),
  );
  if (!found.length) return;
  const section = byId("findings");
  section.hidden = false;
  section.append(make("h2", { id: "findings-title" }, "What went wrong"));
  const known = found.filter(({ clause }) => clause !== null);
  const unknown = found.filter(({ clause }) => clause === null);
  section.append(make("div", { class: "findings" }, ...[...known, ...unknown].map(finding)));
}

function finding(entry) {
  const card = diagnosisCard(entry);
  card.append(
    make(
      "button",
      {
        type: "button",
        class: "quiet",
        onclick: () =>
          narrow({
            statuses: new Set(data.wrong),
            operation: entry.operation,
            implementation: several ? String(entry.position) : "",
            clause: entry.of_clause ?? "",
          }),
      },
      entry.of_clause ? "Show these cases" : `Show all of ${entry.operation} that went wrong`,
    ),
  );
  return card;
}

function diagnosisCard(entry) {
  const card = make("article", { class: `finding ${entry.clause === null ? "unknown" : "known"}` });
  if (several) card.append(make("p", { class: "muted small" }, data.implementations[entry.position].name));
  if (entry.clause === null) {
    card.append(make("p", { class: "sentence" }, ...linked(entry.sentence)), ...observations(entry));
    return card;
  }
  card.append(
    make("p", { class: "sentence" }, ...linked(entry.sentence)),
    ...(entry.engineer ? [make("p", { class: "small" }, entry.engineer)] : []),
    make("p", { class: "muted small" }, "The mistake ", refer(entry.mistake), ` reproduces ${entry.share}.`),
    make("p", { class: "small" }, refer(entry.clause), " ", ...clauseWords(entry.clause)),
  );
  if (entry.remedy) card.append(make("p", { class: "remedy" }, make("strong", {}, "What to do: "), entry.remedy));
  if (entry.erratum) card.append(erratumLine(entry.erratum));
  card.append(...observations(entry));
  return card;
}

/** Which keys were attended, and what the failures have in common. */
function observations(entry) {
  const sentences = [...entry.attended, ...entry.facts];
  return sentences.length ? [make("ul", { class: "small" }, ...sentences.map((sentence) => make("li", {}, ...linked(sentence))))] : [];
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
