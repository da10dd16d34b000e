
/* One case: what went wrong, in pictures and in words. */

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
        class: kindOf(result.status),
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
  const said = result.message || "Every element lies within its tolerance.";
  parts.push(
    make(
      "div",
      { class: `message ${kindOf(result.status)}` },
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
    const shares = run?.outputs.find(({ name }) => name === drawn.attended.name);
    parts.push(make("section", { class: "figure" }, make("h4", {}, `Attended ${drawn.attended.axes.at(-1)}s`), drawAttended(drawn.attended, shares, data.arrays)));
  }
  return parts;
}

function outputFigure(picture) {
  const figure = make("section", { class: "figure" }, make("h4", {}, make("code", {}, picture.name)), drawOutput(picture, data.arrays));
  if (picture.got_alone) {
    figure.append(make("p", { class: "small" }, "What came back has another shape:"), drawOutput(picture.got_alone, data.arrays));
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
  const layouts = Object.entries(drawn.presentation).map(([name, layout]) => `${name} ${layout.replaceAll("_", " ")}`);
  if (drawn.refusal) section.append(make("p", {}, make("strong", {}, "Must be refused: "), drawn.refusal));
  if (Object.keys(drawn.attributes).length) section.append(attributes);
  if (layouts.length) section.append(make("p", { class: "small" }, `Laid out in memory: ${layouts.join(", ")}.`));
  if (drawn.inputs.length) {
    const grid = make("div", { class: "inputs" }, ...drawn.inputs.map((picture) => drawInput(picture, data.arrays)));
    const shapes = drawn.inputs.map(({ name, shape }) => `${name} (${shape.join(", ")})`).join(", ");
    section.append(make("details", {}, make("summary", {}, `Inputs: ${shapes}`), grid));
  }
  section.append(make("p", { class: "muted small" }, `Source: ${drawn.source.join(", ")}`));
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
  const [before, after] = implementation.command;
  return `${before} --select ${about.id}${dtype} ${after}`.trim();
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
    make("p", { class: "muted small" }, "The second command prints a script that needs NumPy alone."),
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
