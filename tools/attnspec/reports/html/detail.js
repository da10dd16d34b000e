
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
      const button = byId(`case-${about.at}`);
      toggle(about, button);
      button.focus();
    },
  });
  if (about.results.length) panel.append(runTabs(about));
  else panel.append(make("div", {}, ...pictures(about, null)));
  if (about.drawn?.inputs) panel.append(calledWith(about.drawn));
  panel.append(clauseList(about), ...(about.drawn?.targets?.length ? [targetList(about.drawn.targets)] : []), reproduction(about));
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
    const command = byId(`command-${about.at}`);
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
  const said = result.message || (result.ratio === null ? "Everything that is expected is right." : "Every graded element lies within its tolerance.");
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
  if (result.problem) parts.push(problemCard(result.problem, false));
  parts.push(...pictures(about, result));
  return parts;
}

/** Expected and returned outputs, and who may attend whom. */
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
  const outputs = run ? run.outputs : drawn.computed;
  const returned = run ? outputs.filter((picture) => picture.got !== null || picture.got_alone) : outputs;
  const silent = outputs.filter((picture) => !returned.includes(picture));
  for (const picture of returned) parts.push(outputFigure(picture));
  if (silent.length) {
    parts.push(
      make("details", {}, make("summary", {}, `Expected, but not returned: ${silent.map(({ name }) => name).join(", ")}`), ...silent.map(outputFigure)),
    );
  }
  if (drawn.attended) {
    const shares = run?.outputs.find(({ name }) => name === drawn.attended.name);
    parts.push(make("section", { class: "figure" }, make("h3", {}, `Attended ${drawn.attended.axes.at(-1)}s`), drawAttended(drawn.attended, shares, data.arrays)));
  }
  return parts;
}

function outputFigure(picture) {
  const heading = make("h3", {}, make("code", {}, picture.name), isUngraded(picture) ? " (not graded)" : "");
  const figure = make("section", { class: "figure" }, heading, drawOutput(picture, data.arrays));
  if (isUnasked(picture)) figure.append(make("p", { class: "muted small" }, "The case does not ask for it. Expected is what float64 arithmetic gives."));
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
  const section = make("section", { class: "called" }, make("h3", {}, "Called with"));
  const layouts = Object.entries(drawn.memory_order).map(([name, layout]) => `${name} ${layout.replaceAll("_", " ")}`);
  if (drawn.refusal) section.append(make("p", {}, make("strong", {}, "Must be refused: "), drawn.refusal[0], " Its valid counterpart is ", refer(drawn.refusal[1]), "."));
  if (Object.keys(drawn.attributes).length) section.append(attributes);
  if (layouts.length) section.append(make("p", { class: "small" }, `Laid out in memory: ${layouts.join(", ")}.`));
  if (drawn.inputs.length) {
    const grid = make("div", { class: "inputs" }, ...drawn.inputs.map((picture) => drawInput(picture, data.arrays)));
    const shapes = drawn.inputs.map(({ name, shape }) => `${name} (${shape.join(", ")})`).join(", ");
    section.append(make("details", {}, make("summary", {}, `Inputs: ${shapes}`), grid));
  }
  section.append(make("p", { class: "muted small" }, "Source: ", ...sourceLinks(drawn.sources)));
  return section;
}

function clauseList(about) {
  const items = about.clauses.map((clause) => make("div", {}, make("dt", {}, refer(clause), " ", ...pageOfClause(clause)), make("dd", {}, ...clauseWords(clause))));
  const section = make("section", {}, make("h3", {}, "Clauses"), make("dl", { class: "clauses" }, ...items));
  for (const erratum of about.errata) section.append(erratumLine(erratum));
  return section;
}

/** The mistakes that a case is there to catch, whatever went wrong in it here. */
function targetList(targets) {
  const items = targets.map((mistake) => make("div", {}, make("dt", {}, refer(mistake)), make("dd", {}, ...linked(data.mistakes[mistake]?.sentence ?? ""))));
  return make("section", {}, make("h3", {}, "There to catch"), make("dl", { class: "clauses" }, ...items));
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
    make("h3", {}, "Run it again"),
    ...lines,
    make("p", { class: "muted small" }, "The second command prints a script that needs NumPy alone."),
  );
}

function commandLine(text, id) {
  const code = make("code", { id }, text);
  const line = make("div", { class: "command" }, code);
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
