
/* Drawing tensors as heatmaps. Numbers come from the page's own data; nothing is fetched. */

const LEVELS = 6;
const WIDTH = 272;
const HEIGHT = 340;

/** The two axes that are drawn, and the slices that the axes before them make. */
class Geometry {
  constructor(picture) {
    const rank = picture.shape.length;
    this.picture = picture;
    this.columns = rank > 0 ? picture.lengths[rank - 1] : 1;
    this.rows = rank > 1 ? picture.lengths[rank - 2] : 1;
    this.leading = picture.lengths.slice(0, Math.max(rank - 2, 0));
    this.slices = this.leading.reduce((product, length) => product * length, 1);
    this.cell = Math.max(7, Math.min(32, Math.floor(WIDTH / Math.max(this.columns, 1)), Math.floor(HEIGHT / Math.max(this.rows, 1))));
  }

  get empty() {
    return this.rows * this.columns * this.slices === 0;
  }

  /** Where an element lies in the flat list of numbers. */
  flat(slice, row, column) {
    return (slice * this.rows + row) * this.columns + column;
  }

  /** Indices of a slice along the leading axes, in the whole tensor. */
  leadingIndices(slice) {
    const indices = [];
    let rest = slice;
    for (let axis = this.leading.length - 1; axis >= 0; axis -= 1) {
      indices.unshift((rest % this.leading[axis]) + this.picture.offsets[axis]);
      rest = Math.floor(rest / this.leading[axis]);
    }
    return indices;
  }

  indices(slice, row, column) {
    const { shape, offsets } = this.picture;
    const rank = shape.length;
    if (rank === 0) return [];
    if (rank === 1) return [column + offsets[0]];
    return [...this.leadingIndices(slice), row + offsets[rank - 2], column + offsets[rank - 1]];
  }

  sliceName(slice) {
    const { axes } = this.picture;
    const indices = this.leadingIndices(slice);
    if (axes[0].startsWith("axis")) return `[${indices.join(", ")}, …]`;
    return indices.map((index, axis) => `${axes[axis]} ${index}`).join(", ");
  }

  /** What the drawn axes are, and which part of them is drawn. */
  get caption() {
    const { axes, shape, offsets, lengths } = this.picture;
    const rank = shape.length;
    const said = [];
    if (rank > 1) said.push(`${axes[rank - 2]} ↓`);
    if (rank > 0) said.push(`${axes[rank - 1]} →`);
    const cut = axes
      .map((axis, index) => [axis, offsets[index], offsets[index] + lengths[index] - 1, shape[index]])
      .filter(([, first, last, whole]) => last - first + 1 < whole)
      .map(([axis, first, last, whole]) => `${axis} ${first}-${last} of ${whole}`);
    return said.join("  ") + (cut.length ? ` (cropped: ${cut.join(", ")})` : "");
  }
}

/** Step of the diverging palette, -6 to 6, of a value on a scale that ends at `largest`. */
function level(value, largest) {
  if (largest === 0) return 0;
  const step = Math.round((value / largest) * LEVELS);
  return Math.max(-LEVELS, Math.min(LEVELS, step));
}

function valueClass(value, largest) {
  if (value === "nan") return "nan";
  if (value === "inf") return "infinite plus";
  if (value === "-inf") return "infinite minus";
  const step = level(value, largest);
  return step === 0 ? "zero" : `${step > 0 ? "plus" : "minus"} step${Math.abs(step)}`;
}

/** Largest finite size among some lists of numbers. */
function largestOf(...lists) {
  let largest = 0;
  for (const list of lists) {
    for (const value of list ?? []) {
      if (typeof value === "number") largest = Math.max(largest, Math.abs(value));
    }
  }
  return largest;
}

/** What is said of an element; of an output that is not graded, no element is right or wrong. */
const WORTH = { r: "right", w: "wrong", o: "not graded", a: "not graded, agrees", d: "not graded, differs" };
const isOff = (verdict) => verdict === "w" || verdict === "d";

/** Whether an output was compared with something, and no element of it is graded. */
const isUngraded = ({ verdicts }) => verdicts !== undefined && verdicts !== "" && !/[rw]/.test(verdicts);
/** Whether the case does not ask for an output. */
const isUnasked = ({ verdicts }) => /[ad]/.test(verdicts ?? "");

function errorClass(verdict, ratio, largest) {
  if (!isOff(verdict)) return "within";
  if (ratio === Infinity || largest <= 1) return `beyond step${LEVELS}`;
  const step = Math.ceil((ratio / largest) * LEVELS);
  return `beyond step${Math.max(1, Math.min(LEVELS, step))}`;
}

/** One panel: a grid of cells, each with a class, over which marks are laid. */
function panel(geometry, title, scale, cellClass, marks) {
  const { rows, columns, cell } = geometry;
  const svg = draw("svg", {
    viewBox: `-1 -1 ${columns * cell + 2} ${rows * cell + 2}`,
    width: columns * cell + 2,
    height: rows * cell + 2,
    "aria-hidden": "true",
    class: "heatmap",
  });
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const box = { x: column * cell, y: row * cell, width: cell, height: cell };
      const at = { "data-row": row, "data-column": column };
      svg.append(draw("rect", { ...box, ...at, class: `cell ${cellClass(row, column)}` }));
      for (const mark of marks(row, column)) {
        if (mark === "hatch" || mark === "dots") {
          svg.append(draw("rect", { ...box, fill: `url(#${mark})`, class: "mark" }));
        } else {
          svg.append(sign(mark, box));
        }
      }
    }
  }
  const cursor = draw("rect", { class: "cursor", width: cell, height: cell, visibility: "hidden" });
  svg.append(cursor);
  const figure = make("div", { class: "panel" }, make("div", { class: "panel-title" }, title), svg, ...(scale ? [scale] : []));
  return { figure, svg, cursor };
}

/** A sign inside a cell, for those who do not see the colour. */
function sign(mark, { x, y, width }) {
  const middle = [x + width / 2, y + width / 2];
  if (mark === "dot") {
    return draw("circle", { cx: middle[0], cy: middle[1], r: width / 9, class: "mark sign" });
  }
  if (["nan", "inf", "-inf"].includes(mark)) {
    const text = { nan: "n", inf: "∞", "-inf": "-∞" }[mark];
    return draw("text", { x: middle[0], y: middle[1], "font-size": width * 0.55, class: "mark word" }, text);
  }
  if (mark === "ring") {
    return draw("circle", { cx: middle[0], cy: middle[1], r: width / 3.2, class: "mark ring" });
  }
  const half = width / 4;
  const [left, right, top, bottom] = [middle[0] - half, middle[0] + half, middle[1] - half, middle[1] + half];
  return draw("path", { d: `M${left} ${top}L${right} ${bottom}M${right} ${top}L${left} ${bottom}`, class: "mark cross" });
}

function scaleBar(kinds, from, to) {
  const bar = make("div", { class: "range", "aria-hidden": "true" }, make("span", {}, from));
  const strip = draw("svg", { width: kinds.length * 6, height: 8, class: "strip" });
  kinds.forEach((kind, index) => {
    strip.append(draw("rect", { x: index * 6, y: 0, width: 6, height: 8, class: `cell ${kind}` }));
  });
  bar.append(strip, make("span", {}, to));
  return bar;
}

function valueScale(largest) {
  const steps = [];
  for (let step = LEVELS; step > 0; step -= 1) steps.push(`minus step${step}`);
  steps.push("zero");
  for (let step = 1; step <= LEVELS; step += 1) steps.push(`plus step${step}`);
  return scaleBar(steps, inDigits(-largest, 3), inDigits(largest, 3));
}

function errorScale(largest) {
  const steps = ["within"];
  for (let step = 1; step <= LEVELS; step += 1) steps.push(`beyond step${step}`);
  return scaleBar(steps, "within", largest > 1 ? `${inDigits(largest, 2)} ×` : "beyond");
}

function legendOf(...entries) {
  return make("div", { class: "legend" }, ...entries);
}

function legendEntry(kind, marks, text) {
  const box = { x: 0.5, y: 0.5, width: 12, height: 12 };
  const picture = draw("svg", { width: 13, height: 13, "aria-hidden": "true" }, draw("rect", { ...box, class: `cell ${kind}` }));
  for (const mark of marks) {
    picture.append(mark === "hatch" || mark === "dots" ? draw("rect", { ...box, fill: `url(#${mark})`, class: "mark" }) : sign(mark, box));
  }
  return make("span", { class: "key" }, picture, text);
}

/** Panels that share one cursor, one slice, one legend and one line of text that says what lies under the cursor. */
function explorer(geometry, label, firstSlice, panelsOf, describe, legend = null, firstIndex = [0, 0]) {
  const root = make("div", { class: "explorer" });
  if (geometry.empty) {
    root.append(make("p", { class: "muted" }, `No elements: the shape is (${geometry.picture.shape.join(", ")}).`));
    return root;
  }
  let slice = firstSlice;
  let [row, column] = firstIndex;
  let panels = [];
  const board = make("div", {
    class: "board",
    tabindex: "0",
    role: "application",
    "aria-roledescription": "heatmap",
    "aria-label": `${label}. Arrow keys move from element to element.`,
  });
  const readout = make("p", { class: "readout", "aria-live": "polite" });

  function point(shown) {
    for (const { cursor } of panels) {
      cursor.setAttribute("x", column * geometry.cell);
      cursor.setAttribute("y", row * geometry.cell);
      cursor.setAttribute("visibility", shown ? "visible" : "hidden");
    }
    readout.textContent = describe(slice, row, column);
  }

  function redraw(shown) {
    panels = panelsOf(slice);
    board.replaceChildren(...panels.map(({ figure }) => figure));
    point(shown);
  }

  board.addEventListener("pointerover", (event) => {
    const at = event.target.dataset;
    if (at.row === undefined) return;
    [row, column] = [Number(at.row), Number(at.column)];
    point(true);
  });
  board.addEventListener("focus", () => point(true));
  board.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    const step = steps[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    row = Math.max(0, Math.min(geometry.rows - 1, row + step[0]));
    column = Math.max(0, Math.min(geometry.columns - 1, column + step[1]));
    point(true);
  });
  if (geometry.slices > 1) {
    const select = make("select", {
      "aria-label": `Slice of ${label}`,
      onchange: () => {
        const name = geometry.sliceName(Number(select.value));
        const all = root.closest(".run")?.querySelectorAll(".explorer") ?? [root];
        for (const other of all) other.dispatchEvent(new CustomEvent("slice", { detail: name }));
      },
    });
    // Pictures of one run turn their pages together.
    root.addEventListener("slice", ({ detail }) => {
      const option = [...select.options].find(({ text }) => text === detail);
      if (!option) return;
      select.value = option.value;
      slice = Number(option.value);
      redraw(false);
    });
    for (let index = 0; index < geometry.slices; index += 1) {
      select.append(make("option", { value: index, selected: index === slice }, geometry.sliceName(index)));
    }
    root.append(make("div", { class: "slices" }, select));
  }
  root.append(board, ...(legend ? [legend] : []), make("p", { class: "axes" }, geometry.caption), readout);
  redraw(false);
  return root;
}

/** Expected, got and error of one output, side by side; or what there is of them. */
function drawOutput(picture, arrays) {
  const geometry = new Geometry(picture);
  const read = (name) => (picture[name] === null || picture[name] === undefined ? null : arrays[picture[name]]);
  const [expected, got, error, tolerance] = ["expected", "got", "error", "tolerance"].map(read);
  const { verdicts, worst = null } = picture;
  const excluded = (flat) => picture.excluded !== null && picture.excluded[flat] === "1";
  const ratios = error?.map((value, flat) => (isOff(verdicts[flat]) ? asNumber(value) / asNumber(tolerance[flat]) : 0));
  const largestValue = largestOf(expected ?? got);
  const area = geometry.rows * geometry.columns;

  function panelsOf(slice) {
    const flat = (row, column) => geometry.flat(slice, row, column);
    const over = (row, column) => (excluded(flat(row, column)) ? ["hatch"] : []);
    const worded = (value) => (typeof value === "string" ? [value] : []);
    const panels = [];
    for (const [title, values] of [["expected", expected], ["got", got]]) {
      if (values === null) continue;
      const cellClass = (row, column) => valueClass(values[flat(row, column)], largestValue);
      const marks = (row, column) => [...over(row, column), ...worded(values[flat(row, column)])];
      panels.push(panel(geometry, title, valueScale(largestValue), cellClass, marks));
    }
    if (ratios) {
      const finite = ratios.filter((ratio) => ratio !== Infinity && !Number.isNaN(ratio));
      const largest = finite.reduce((most, ratio) => Math.max(most, ratio), 0);
      const cellClass = (row, column) => errorClass(verdicts[flat(row, column)], ratios[flat(row, column)], largest);
      const marks = (row, column) => {
        const index = flat(row, column);
        if (verdicts[index] === "o") return ["dots"];
        return [...over(row, column), ...(isOff(verdicts[index]) ? [index === worst ? "ring" : "dot"] : [])];
      };
      panels.push(panel(geometry, "error / tolerance", errorScale(largest), cellClass, marks));
    }
    return panels;
  }

  function describe(slice, row, column) {
    const flat = geometry.flat(slice, row, column);
    const said = [];
    if (expected) said.push(`expected ${inDigits(expected[flat])}`);
    if (got) said.push(`got ${inDigits(got[flat])}`);
    if (ratios) {
      const measured = verdicts[flat] === "o" ? "" : `error ${inDigits(error[flat], 3)}, tolerance ${inDigits(tolerance[flat], 3)}: `;
      said.push(measured + WORTH[verdicts[flat]]);
    }
    if (excluded(flat)) said.push(`${picture.axes.at(-1)} excluded`);
    return `${picture.name}[${geometry.indices(slice, row, column).join(", ")}]: ${said.join(" · ")}`;
  }

  const first = worst ?? 0;
  const within = first % Math.max(area, 1);
  const index = [Math.floor(within / Math.max(geometry.columns, 1)), within % Math.max(geometry.columns, 1)];
  const slice = area ? Math.floor(first / area) : 0;
  return explorer(geometry, `Heatmaps of ${picture.name}`, slice, panelsOf, describe, outputLegend(picture), index);
}

/** What the marks of an output mean, of those that it has. */
function outputLegend({ verdicts = "", worst = null, excluded, axes }) {
  const off = isUnasked({ verdicts }) ? "differs" : "wrong";
  const entries = [];
  if (worst !== null) entries.push(legendEntry("beyond step6", ["ring"], `${off}, by the most`));
  if ([...verdicts].filter(isOff).length > 1) entries.push(legendEntry("beyond step1", ["dot"], off));
  if (verdicts.includes("o")) entries.push(legendEntry("within", ["dots"], "not graded"));
  if (excluded?.includes("1")) entries.push(legendEntry("zero", ["hatch"], `${axes.at(-1)} excluded`));
  return entries.length ? legendOf(...entries) : null;
}

/** One input. */
function drawInput(picture, arrays) {
  const geometry = new Geometry(picture);
  const values = arrays[picture.values];
  const largestValue = largestOf(values);
  return explorer(
    geometry,
    `Heatmap of ${picture.name}`,
    0,
    (slice) => [
      panel(
        geometry,
        `${picture.name} (${picture.shape.join(", ")})`,
        valueScale(largestValue),
        (row, column) => valueClass(values[geometry.flat(slice, row, column)], largestValue),
        (row, column) => {
          const value = values[geometry.flat(slice, row, column)];
          return typeof value === "string" ? [value] : [];
        },
      ),
    ],
    (slice, row, column) =>
      `${picture.name}[${geometry.indices(slice, row, column).join(", ")}]: ` +
      inDigits(values[geometry.flat(slice, row, column)]),
  );
}
