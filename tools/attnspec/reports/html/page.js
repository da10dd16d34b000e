
/* The page itself: verdict, matrix, filters, list of cases, and the detail of one case. */

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const place = (id) => document.getElementById(id);
  const SIGNS = { pass: "✓", fail: "✗", error: "!", crash: "‼", timeout: "∞", malformed: "?", unsupported: "–" };
  const VERDICTS = {
    conforms: ["✓", "conforms", "good"],
    "conforms in part": ["◐", "conforms in part", "part"],
    "does not conform": ["✗", "does not conform", "bad"],
  };
  const ROWS_AT_FIRST = 200;
  const several = data.implementations.length > 1;
  const isWrong = (status) => data.wrong.includes(status);
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
    })),
  );
  const cases = data.cases.map((about, at) => ({ ...about, at, results: [], drawn: data.drawn[at] ?? null }));
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

  const filter = { statuses: new Set(), profile: "", dtype: "", operation: "", implementation: "", words: "" };

  /* ---- verdict ------------------------------------------------------------------------------------------- */

  function countsOf(list) {
    const counts = { pass: 0, wrong: 0, unsupported: 0, all: list.length };
    for (const { status } of list) counts[isWrong(status) ? "wrong" : status] += 1;
    return { ...counts, tried: counts.all - counts.unsupported };
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
    if (counts.wrong) return `${plural(counts.wrong, "result")} of ${counts.tried.toLocaleString("en")} tried went wrong.`;
    if (implementation.conformance === "conforms") return "Everything passed, and every clause was graded.";
    if (implementation.conformance === "conforms in part") return "Nothing went wrong; some clauses could not be graded.";
    return "Nothing could be graded, so nothing is shown to be right.";
  }

  function shareBar(counts) {
    const bar = make("div", { class: "shares", "aria-hidden": "true" });
    for (const kind of ["pass", "wrong", "unsupported"]) {
      if (!counts[kind]) continue;
      const part = make("span", { class: `share ${kind}` });
      part.style.flexGrow = counts[kind];
      bar.append(part);
    }
    return bar;
  }

  function showVerdicts() {
    const section = place("verdicts");
    if (several) section.append(make("h1", {}, plural(data.implementations.length, "implementation"), " side by side"));
    section.append(make("div", { class: several ? "cards" : "alone" }, ...data.implementations.map(verdictCard)));
    document.title = several
      ? `${data.implementations.length} implementations – attnspec report`
      : `${data.implementations[0].name} ${data.implementations[0].conformance} – attnspec report`;
  }

  function showNotes() {
    for (const note of data.notes) place("notes").append(make("p", { class: "note", role: "note" }, note));
  }

  function showRanking() {
    const section = place("ranking");
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
    const head = ["", "implementation", "median", "worst"].map((title) => make("th", { scope: "col" }, title));
    section.append(
      make(
        "p",
        { class: "muted" },
        `Error / tolerance over the ${plural(data.ranking[0].runs, "run")} that all of them had compared. Above 1 fails; who has such an error comes last.`,
      ),
      make("div", { class: "scroll" }, make("table", { class: "ranking" }, make("thead", {}, make("tr", {}, ...head)), body)),
    );
  }

  /* ---- what went wrong ----------------------------------------------------------------------------------- */

  function showFindings() {
    const found = data.implementations.flatMap((implementation, position) =>
      implementation.diagnosis.map((entry) => ({ ...entry, position })),
    );
    if (!found.length) return;
    const section = place("findings");
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
            }),
        },
        "Show these cases",
      ),
    );
    return card;
  }

  function diagnosisCard(entry) {
    const share = `${entry.explains} of ${plural(entry.of, "failure")} of ${entry.operation}`;
    const card = make("article", { class: `finding ${entry.clause === null ? "unknown" : "known"}` });
    if (several) card.append(make("p", { class: "muted small" }, data.implementations[entry.position].name));
    if (entry.clause === null) {
      card.append(make("p", { class: "sentence" }, entry.sentence || `No known mistake reproduces ${share}.`));
      return card;
    }
    card.append(
      make("p", { class: "sentence" }, entry.sentence),
      make("p", { class: "muted small" }, "The mistake ", make("code", {}, entry.mistake), ` reproduces ${share}.`),
      make("p", { class: "small" }, make("code", {}, entry.clause), " ", ...prose(data.clauses[entry.clause] ?? "")),
    );
    if (entry.remedy) card.append(make("p", { class: "remedy" }, make("strong", {}, "What to do: "), entry.remedy));
    if (entry.erratum) card.append(erratumLine(entry.erratum));
    return card;
  }

  function erratumLine(erratum) {
    return make("p", { class: "muted small" }, "A source document errs here: ", make("code", {}, erratum), ` ${data.errata[erratum] ?? ""}`);
  }

  /** Text of the spec, in which words between backticks are code. */
  function prose(text) {
    return text.split("`").map((part, position) => (position % 2 ? make("code", {}, part) : part));
  }

  /* ---- matrix -------------------------------------------------------------------------------------------- */

  function showMatrix() {
    const section = place("matrix");
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
      make("p", { class: "muted" }, "Passed of tried. ✓ nothing wrong, ✗ something wrong, – nothing offered. Choose a cell to see its cases."),
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Matrix of profiles and dtypes" }, make("table", { class: "matrix" }, head, body)),
    );
  }

  function matrixCell(profile, implementation, dtype, counts) {
    const kind = counts.wrong ? "bad" : counts.pass ? "good" : "none";
    const sign = { bad: "✗", good: "✓", none: "–" }[kind];
    const who = several ? `${data.implementations[implementation].name}, ` : "";
    const label = `${who}${profile}, ${dtypeName(dtype)}: ${counts.pass} of ${counts.tried} passed, ${counts.wrong} wrong, ${counts.unsupported} not offered`;
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

  /* ---- filters ------------------------------------------------------------------------------------------- */

  const controls = {};

  function choice(name, label, options) {
    const select = make("select", {
      id: `filter-${name}`,
      onchange: () => {
        filter[name] = select.value;
        showCases();
      },
    });
    select.append(make("option", { value: "" }, `all ${label}`));
    for (const [value, text] of options) select.append(make("option", { value }, text));
    controls[name] = select;
    return make("label", { class: "choice" }, make("span", { class: "hidden" }, label), select);
  }

  function showFilters(section) {
    const search = make("input", {
      id: "search",
      type: "search",
      placeholder: "Search id, title, clause, message",
      "aria-label": "Search the cases",
      "aria-keyshortcuts": "/",
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => {
        filter.words = search.value.trim().toLowerCase();
        showCases();
      },
    });
    controls.search = search;
    const chips = make("div", { class: "chips", role: "group", "aria-label": "Filter by status" });
    controls.statuses = new Map();
    for (const status of [...data.wrong, "pass", "unsupported"]) {
      const count = results.filter((result) => result.status === status).length;
      if (!count) continue;
      const chip = make(
        "button",
        {
          type: "button",
          class: `chip-button ${isWrong(status) ? "bad" : status === "pass" ? "good" : "none"}`,
          "aria-pressed": "false",
          onclick: () => {
            if (!filter.statuses.delete(status)) filter.statuses.add(status);
            showCases();
          },
        },
        make("span", { "aria-hidden": "true" }, SIGNS[status]),
        ` ${status} `,
        make("span", { class: "count" }, count.toLocaleString("en")),
      );
      controls.statuses.set(status, chip);
      chips.append(chip);
    }
    const choices = make(
      "div",
      { class: "choices" },
      choice("profile", "profiles", profiles.map((profile) => [profile, profile])),
      choice("dtype", "dtypes", dtypes.map((dtype) => [dtype, dtypeName(dtype)])),
      choice("operation", "operations", operations.map((operation) => [operation, operation])),
      several ? choice("implementation", "implementations", data.implementations.map(({ name }, at) => [String(at), name])) : null,
    );
    controls.clear = make("button", { type: "button", class: "quiet", onclick: () => narrow({}, false) }, "Clear");
    section.append(
      make("div", { class: "filters", role: "search" }, make("div", { class: "search" }, search, make("kbd", { "aria-hidden": "true" }, "/")), choices, chips),
    );
  }

  /** Set the filters to these and no others, and go to the list. */
  function narrow(wanted, go = true) {
    Object.assign(filter, { statuses: new Set(), profile: "", dtype: "", operation: "", implementation: "", words: "" }, wanted);
    controls.search.value = filter.words;
    for (const name of ["profile", "dtype", "operation", "implementation"]) {
      if (controls[name]) controls[name].value = filter[name];
    }
    showCases();
    if (go) {
      place("results").scrollIntoView();
      list.querySelector(".case")?.focus({ preventScroll: true });
    }
  }

  /** The results of a case that the filters let through. */
  function passing(about) {
    if (filter.profile && about.profile !== filter.profile) return [];
    if (filter.operation && about.operation !== filter.operation) return [];
    if (filter.words && !filter.words.split(/\s+/).every((word) => about.words.includes(word))) return [];
    return about.results.filter(
      (result) =>
        (!filter.statuses.size || filter.statuses.has(result.status)) &&
        (!filter.dtype || result.dtype === filter.dtype) &&
        (!filter.implementation || result.implementation === Number(filter.implementation)),
    );
  }

  /* ---- list of cases ------------------------------------------------------------------------------------- */

  const list = make("ol", { class: "cases", "aria-label": "Cases" });
  const tally = make("p", { class: "tally", role: "status" });
  const more = make("div", { class: "more" });
  const asked = (about) => about.drawn !== null && !about.wrong;
  const ordered = [...cases].sort((one, other) => rank(one) - rank(other) || one.at - other.at);
  let rowsShown = ROWS_AT_FIRST;
  let lastFilter = "";

  /** Failing cases that are drawn come first, then the other failing ones, then those asked for. */
  function rank(about) {
    if (about.wrong) return about.drawn ? 0 : 1;
    if (asked(about)) return 2;
    return about.results.some(({ status }) => status === "pass") ? 3 : 4;
  }

  function showCases() {
    const state = JSON.stringify({ ...filter, statuses: [...filter.statuses] });
    if (state !== lastFilter) rowsShown = ROWS_AT_FIRST;
    lastFilter = state;
    for (const [status, chip] of controls.statuses) chip.setAttribute("aria-pressed", String(filter.statuses.has(status)));
    const isFiltered = filter.statuses.size || filter.profile || filter.dtype || filter.operation || filter.implementation || filter.words;
    const free = !isFiltered;
    const matching = ordered.filter((about) => passing(about).length || (free && asked(about)));
    list.replaceChildren(...matching.slice(0, rowsShown).map(row));
    tally.replaceChildren(`${matching.length.toLocaleString("en")} of ${plural(cases.length, "case")}`);
    if (isFiltered) tally.append(" ", controls.clear);
    more.replaceChildren();
    if (matching.length > rowsShown) {
      const rest = matching.length - rowsShown;
      const button = make(
        "button",
        {
          type: "button",
          onclick: () => {
            const next = rowsShown;
            rowsShown = Infinity;
            showCases();
            list.children[next]?.querySelector(".case").focus();
          },
        },
        `Show the other ${rest.toLocaleString("en")}`,
      );
      more.append(button);
    }
    if (!matching.length) list.append(make("li", { class: "empty muted" }, "No case matches."));
  }

  function row(about) {
    const lit = new Set(passing(about));
    const kind = about.wrong ? "bad" : about.results.some(({ status }) => status === "pass") ? "good" : "none";
    const sign = about.wrong ? "✗" : kind === "good" ? "✓" : "–";
    const said = about.wrong ? `${about.wrong} wrong` : kind === "good" ? "passed" : "not graded";
    const button = make(
      "button",
      {
        type: "button",
        class: `case ${kind}`,
        id: `case-${about.at}`,
        "aria-expanded": "false",
        "data-case": about.id,
        onclick: () => toggle(about, button),
      },
      make("span", { class: "sign", "aria-hidden": "true" }, sign),
      make(
        "span",
        { class: "what" },
        make("span", { class: "id" }, about.id),
        make("span", { class: "hidden" }, `, ${said}. `),
        about.title ? make("span", { class: "title" }, about.title) : null,
      ),
      make("span", { class: "badges" }, ...(several ? implementationBadges(about, lit) : dtypeBadges(about.results, lit))),
    );
    return make("li", { class: kind }, button);
  }

  function dtypeBadges(found, lit) {
    return found.map((result) => badge(result.status, dtypeName(result.dtype), lit.has(result), `${dtypeName(result.dtype)}: ${result.status}`));
  }

  function implementationBadges(about, lit) {
    return data.implementations.flatMap(({ name }, position) => {
      const own = about.results.filter((result) => result.implementation === position);
      if (!own.length) return [];
      const counts = countsOf(own);
      const status = own.find((result) => isWrong(result.status))?.status ?? (counts.pass ? "pass" : "unsupported");
      const text = counts.wrong ? `${name} ${counts.wrong}/${counts.tried}` : name;
      return [badge(status, text, own.some((result) => lit.has(result)), `${name}: ${counts.wrong} wrong of ${counts.tried} tried`)];
    });
  }

  function badge(status, text, lit, label) {
    const kind = isWrong(status) ? "bad" : status === "pass" ? "good" : "none";
    return make("span", { class: `badge ${kind}${lit ? "" : " dim"}`, title: label }, make("span", { "aria-hidden": "true" }, SIGNS[status]), ` ${text}`);
  }

  function toggle(about, button) {
    const item = button.parentElement;
    const open = item.querySelector(".detail");
    if (open) {
      open.remove();
      button.setAttribute("aria-expanded", "false");
      button.removeAttribute("aria-controls");
      if (location.hash === `#${about.id}`) history.replaceState(null, "", "#results");
      return;
    }
    const panel = detail(about);
    item.append(panel);
    button.setAttribute("aria-expanded", "true");
    button.setAttribute("aria-controls", panel.id);
    history.replaceState(null, "", `#${about.id}`);
  }

  /* ---- one case ------------------------------------------------------------------------------------------ */

  function detail(about) {
    const panel = make("div", {
      class: "detail",
      id: `detail-${about.at}`,
      role: "region",
      "aria-labelledby": `case-${about.at}`,
      onkeydown: (event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        const button = place(`case-${about.at}`);
        toggle(about, button);
        button.focus();
      },
    });
    if (about.results.length) panel.append(runTabs(about));
    else panel.append(make("div", {}, ...pictures(about, null)));
    if (about.drawn?.inputs) panel.append(calledWith(about.drawn));
    panel.append(clauseList(about), reproduction(about));
    return panel;
  }

  /** One tab for each (implementation, dtype). */
  function runTabs(about) {
    const body = make("div", { class: "run", role: "tabpanel", tabindex: "-1", id: `run-${about.at}` });
    const bar = make("div", { class: "tabs", role: "tablist", "aria-label": "Runs" });
    const tabs = about.results.map((result, position) => {
      const who = several ? `${data.implementations[result.implementation].name}, ` : "";
      return make(
        "button",
        {
          type: "button",
          role: "tab",
          "aria-controls": body.id,
          class: isWrong(result.status) ? "bad" : result.status === "pass" ? "good" : "none",
          onclick: () => choose(position),
        },
        make("span", { "aria-hidden": "true" }, SIGNS[result.status]),
        ` ${who}${dtypeName(result.dtype)}`,
      );
    });
    function choose(position) {
      tabs.forEach((tab, at) => {
        tab.setAttribute("aria-selected", String(at === position));
        tab.setAttribute("tabindex", at === position ? "0" : "-1");
      });
      const result = about.results[position];
      body.replaceChildren(...runBody(about, result));
      const command = place(`command-${about.at}`);
      if (command) command.textContent = validateCommand(about, result);
    }
    bar.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      const next = (tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length;
      choose(next);
      tabs[next].focus();
    });
    bar.append(...tabs);
    choose(about.results.indexOf(firstRun(about)));
    return make("div", { class: "runs" }, bar, body);
  }

  /** The run that is looked at first: a wrong one, if possible one that the filters let through. */
  function firstRun(about) {
    const lit = passing(about);
    const wrong = ({ status }) => isWrong(status);
    return lit.find(wrong) ?? about.results.find(wrong) ?? lit[0] ?? about.results[0];
  }

  function runBody(about, result) {
    const parts = [];
    const kind = isWrong(result.status) ? "bad" : result.status === "pass" ? "good" : "none";
    const said = result.message || "Every element lies within its tolerance.";
    parts.push(
      make(
        "div",
        { class: `message ${kind}` },
        make("strong", {}, result.status, result.check ? ` (${result.check.replaceAll("_", " ")})` : ""),
        make("pre", {}, said),
        result.step ? make("p", {}, result.step) : null,
        result.under ? make("p", { class: "muted small" }, `Graded under the declared ${result.under}.`) : null,
        result.status === "pass" && result.ratio !== null ? make("p", { class: "muted small" }, `Largest error / tolerance: ${inDigits(result.ratio, 3)}.`) : null,
      ),
    );
    if (result.check === "values" || result.check === "shape") {
      const found = data.implementations[result.implementation].diagnosis
        .filter((entry) => entry.operation === about.operation && entry.clause !== null)
        .map((entry) => ({ ...entry, position: result.implementation }));
      parts.push(...found.map(diagnosisCard));
    }
    parts.push(...pictures(about, result));
    return parts;
  }

  /** What is owed and what came back, and who may attend whom. */
  function pictures(about, result) {
    const drawn = about.drawn;
    if (!drawn) {
      if (!result || !isWrong(result.status)) return [];
      return [
        make(
          "p",
          { class: "muted small" },
          `Only ${data.failing[1]} of ${plural(data.failing[0], "failing case")} are drawn. Draw this one with `,
          make("code", {}, `attnspec report … --html … --detail ${about.id}`),
          ".",
        ),
      ];
    }
    if (!drawn.inputs) return [];
    const at = result && data.dtypes.indexOf(result.dtype);
    const run = result && drawn.runs.find((entry) => entry.implementation === result.implementation && entry.dtype === at);
    const parts = [];
    const outputs = run ? run.outputs : drawn.owed;
    const returned = run ? outputs.filter((picture) => picture.got !== null || picture.got_alone) : outputs;
    const silent = outputs.filter((picture) => !returned.includes(picture));
    for (const picture of returned) parts.push(outputFigure(picture));
    if (silent.length) {
      parts.push(
        make("details", {}, make("summary", {}, `Owed, but not returned: ${silent.map(({ name }) => name).join(", ")}`), ...silent.map(outputFigure)),
      );
    }
    if (drawn.attended) {
      const weights = run?.outputs.find(({ name }) => name === "weights");
      parts.push(make("section", { class: "figure" }, make("h4", {}, "Attended keys"), Heatmaps.attended(drawn.attended, weights, data.arrays)));
    }
    return parts;
  }

  function outputFigure(picture) {
    const figure = make("section", { class: "figure" }, make("h4", {}, make("code", {}, picture.name)), Heatmaps.output(picture, data.arrays));
    if (picture.got_alone) {
      figure.append(make("p", { class: "small" }, "What came back has another shape:"), Heatmaps.output(picture.got_alone, data.arrays));
    }
    return figure;
  }

  function calledWith(drawn) {
    const attributes = make("dl", { class: "attributes" });
    for (const [name, value] of Object.entries(drawn.attributes)) {
      const stated = drawn.stated.includes(name);
      attributes.append(
        make("div", { class: stated ? "" : "muted" }, make("dt", {}, make("code", {}, name)), make("dd", {}, stated ? JSON.stringify(value) : "default")),
      );
    }
    const section = make("section", { class: "called" }, make("h4", {}, "Called with"));
    if (drawn.refusal) section.append(make("p", {}, make("strong", {}, "Must be refused: "), drawn.refusal));
    if (Object.keys(drawn.attributes).length) section.append(attributes);
    if (drawn.inputs.length) {
      const grid = make("div", { class: "inputs" }, ...drawn.inputs.map((picture) => Heatmaps.input(picture, data.arrays)));
      const shapes = drawn.inputs.map(({ name, shape }) => `${name} (${shape.join(", ")})`).join(", ");
      section.append(make("details", {}, make("summary", {}, `Inputs: ${shapes}`), grid));
    }
    return section;
  }

  function clauseList(about) {
    const items = about.clauses.map((clause) => make("div", {}, make("dt", {}, make("code", {}, clause)), make("dd", {}, ...prose(data.clauses[clause] ?? ""))));
    const section = make("section", {}, make("h4", {}, "Clauses"), make("dl", { class: "clauses" }, ...items));
    for (const erratum of about.errata) section.append(erratumLine(erratum));
    return section;
  }

  function validateCommand(about, result) {
    const implementation = data.implementations[result.implementation];
    const dtype = result.dtype === "any" ? "" : ` --dtype ${result.dtype}`;
    return `attnspec validate ${implementation.target} --select ${about.id}${dtype}`;
  }

  function reproduction(about) {
    const lines = [];
    const first = firstRun(about);
    if (first) lines.push(commandLine(validateCommand(about, first), `command-${about.at}`));
    lines.push(commandLine(`attnspec show ${about.id} --python`, null));
    return make(
      "section",
      {},
      make("h4", {}, "Run it again"),
      ...lines,
      make("p", { class: "muted small" }, "Add the options of the first run, such as --layout, --rename or --convention. The second command prints a script that needs NumPy alone."),
    );
  }

  function commandLine(text, id) {
    const code = make("code", { id }, text);
    const line = make("div", { class: "command" }, make("div", { class: "scroll" }, code));
    if (navigator.clipboard) {
      const button = make(
        "button",
        {
          type: "button",
          class: "quiet",
          "aria-label": "Copy the command",
          onclick: async () => {
            const copied = await navigator.clipboard.writeText(code.textContent).then(() => true, () => false);
            button.textContent = copied ? "Copied" : "Not allowed";
          },
        },
        "Copy",
      );
      line.append(button);
    }
    return line;
  }

  /* ---- keyboard, theme, foot ----------------------------------------------------------------------------- */

  function listenToKeys() {
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target.closest("input, select, textarea")) return;
      event.preventDefault();
      controls.search.focus();
      controls.search.select();
    });
    controls.search.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowDown" && event.key !== "Enter") return;
      event.preventDefault();
      list.querySelector(".case")?.focus();
    });
    list.addEventListener("keydown", (event) => {
      if (!event.target.classList.contains("case")) return;
      const buttons = [...list.querySelectorAll(".case")];
      const at = buttons.indexOf(event.target);
      const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
      if (next === undefined) return;
      event.preventDefault();
      (next < 0 ? controls.search : buttons[Math.min(next, buttons.length - 1)]).focus();
    });
  }

  function listenToTheme() {
    const button = place("theme");
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
    const say = () => {
      button.textContent = isDark() ? "Light" : "Dark";
      button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
    };
    button.addEventListener("click", () => {
      document.documentElement.dataset.theme = isDark() ? "light" : "dark";
      say();
    });
    dark.addEventListener("change", say);
    say();
  }

  function showAbout() {
    const suites = new Set(data.implementations.map(({ suite }) => `suite ${suite.version} (${suite.digest.slice(0, 12)})`));
    const places = new Set(data.implementations.map(({ environment }) => `Python ${environment.python}, NumPy ${environment.numpy}, ${environment.platform}`));
    place("about").append(
      make("p", {}, `attnspec ${[...suites].join("; ")} · ${[...places].join("; ")}`),
      make("p", {}, "Keys: / searches, ↑ ↓ move through the cases, Enter opens one, Escape closes it; inside a heatmap the arrows move the cursor."),
    );
  }

  /** Open the case that the address names. */
  function followAddress() {
    let wanted = location.hash.slice(1);
    try {
      wanted = decodeURIComponent(wanted);
    } catch {
      return;
    }
    const about = cases.find(({ id }) => id === wanted);
    if (!about) return;
    if (!place(`case-${about.at}`)) {
      rowsShown = Infinity;
      showCases();
    }
    const button = place(`case-${about.at}`);
    toggle(about, button);
    button.focus();
    button.scrollIntoView();
  }

  showNotes();
  showVerdicts();
  showRanking();
  showFindings();
  showMatrix();
  place("results").append(make("h2", { id: "results-title" }, "Cases"));
  showFilters(place("results"));
  place("results").append(tally, list, more);
  showCases();
  listenToKeys();
  listenToTheme();
  showAbout();
  followAddress();
})();
