
/* The filters and the list of cases. */

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
  for (const status of [...data.wrong, "known", "pass", "ungraded", "unsupported"]) {
    const count = results.filter((result) => result.status === status).length;
    if (!count) continue;
    const chip = make(
      "button",
      {
        type: "button",
        class: `chip-button ${kindOf(status)}`,
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
  Object.assign(filter, { statuses: new Set(), profile: "", dtype: "", operation: "", implementation: "", clause: "", problem: null, words: "" }, wanted);
  controls.search.value = filter.words;
  for (const name of ["profile", "dtype", "operation", "implementation"]) {
    if (controls[name]) controls[name].value = filter[name];
  }
  showCases();
  if (go) {
    byId("results").scrollIntoView();
    list.querySelector(".case")?.focus({ preventScroll: true });
  }
}

/** The results of a case that the filters let through. */
function passing(about) {
  if (filter.profile && about.profile !== filter.profile) return [];
  if (filter.operation && about.operation !== filter.operation) return [];
  if (filter.clause && !about.clauses.includes(filter.clause)) return [];
  if (filter.words && !filter.words.split(/\s+/).every((word) => about.words.includes(word))) return [];
  return about.results.filter(
    (result) =>
      (!filter.statuses.size || filter.statuses.has(result.status)) &&
      (!filter.dtype || result.dtype === filter.dtype) &&
      (!filter.problem || result.problem === filter.problem) &&
      (!filter.implementation || result.implementation === Number(filter.implementation)),
  );
}

const list = make("ol", { class: "cases", "aria-label": "Cases" });
const tally = make("p", { class: "tally", role: "status" });
const more = make("div", { class: "more" });
const requested = (about) => about.drawn !== null && !about.wrong;
const ordered = [...cases].sort((one, other) => rank(one) - rank(other) || one.at - other.at);
let rowsShown = ROWS_AT_FIRST;
let lastFilter = "";

/** Failing cases that are drawn come first, then the other failing ones, then those requested. */
function rank(about) {
  if (about.wrong) return about.drawn ? 0 : 1;
  if (requested(about)) return 2;
  return about.results.some(({ status }) => status === "pass") ? 3 : 4;
}

function showCases() {
  const state = JSON.stringify({ ...filter, statuses: [...filter.statuses], problem: filter.problem?.failures });
  if (state !== lastFilter) rowsShown = ROWS_AT_FIRST;
  lastFilter = state;
  for (const [status, chip] of controls.statuses) chip.setAttribute("aria-pressed", String(filter.statuses.has(status)));
  const isFiltered = filter.statuses.size || filter.profile || filter.dtype || filter.operation || filter.implementation || filter.clause || filter.problem || filter.words;
  const free = !isFiltered;
  const matching = ordered.filter((about) => passing(about).length || (free && requested(about)));
  list.replaceChildren(...matching.slice(0, rowsShown).map(row));
  tally.replaceChildren(`${matching.length.toLocaleString("en")} of ${plural(cases.length, "case")}`);
  if (filter.clause) tally.append(make("span", {}, " that exercise ", refer(filter.clause)));
  if (filter.problem) tally.append(make("span", {}, ` with ${plural(filter.problem.failures.length, "failure")} of one kind: `, ...linked(filter.problem.lines[0])));
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
  const item = make("li", { class: kind }, button);
  // What was open stays open, and on the same run, when the filters change.
  if (about.panel) unfold(about, button);
  return item;
}

function dtypeBadges(found, lit) {
  return found.map((result) => badge(result.status, dtypeName(result.dtype), lit.has(result), `${dtypeName(result.dtype)}: ${result.status}`));
}

function implementationBadges(about, lit) {
  return data.implementations.flatMap(({ name }, position) => {
    const own = about.results.filter((result) => result.implementation === position);
    if (!own.length) return [];
    const counts = countsOf(own);
    const status = own.find((result) => isWrong(result.status))?.status ?? ["pass", "known", "ungraded", "unsupported"].find((one) => counts[one]);
    const text = counts.wrong ? `${name} ${counts.wrong}/${counts.tried}` : name;
    return [badge(status, text, own.some((result) => lit.has(result)), `${name}: ${counts.wrong} wrong of ${counts.tried} tried`)];
  });
}

function badge(status, text, lit, label) {
  return make("span", { class: `badge ${kindOf(status)}${lit ? "" : " dim"}`, title: label }, make("span", { "aria-hidden": "true" }, SIGNS[status]), ` ${text}`);
}

function unfold(about, button) {
  button.parentElement.append(about.panel);
  button.setAttribute("aria-expanded", "true");
  button.setAttribute("aria-controls", about.panel.id);
}

function toggle(about, button) {
  if (about.panel) {
    about.panel.remove();
    about.panel = null;
    button.setAttribute("aria-expanded", "false");
    button.removeAttribute("aria-controls");
    if (location.hash === `#${about.id}`) history.replaceState(null, "", "#results");
    return;
  }
  about.panel = detail(about);
  unfold(about, button);
  history.replaceState(null, "", `#${about.id}`);
}
