"use strict";

/* Tables of tensors as heat maps, whose numbers stay, folded up; and the sentences of clauses. */

const asValue = (text) => (Number.isNaN(Number(text)) ? text : Number(text));

/** The tensor of a table, as the drawing of reports takes it: its numbers, and the tolerances under them. */
function pictureOf(table) {
  const caption = table.caption.textContent;
  const shape = caption.match(/\(([\d, ]*)\)/)[1].split(",").map(Number);
  const name = table.caption.querySelector("b").textContent;
  const rows = [...table.rows];
  const slice = rows.findLast(({ cells }) => cells[0].textContent.includes(",")) ?? rows[0];
  const above = slice.cells[0].textContent.split(",").slice(0, -1);
  const row = Number(rows.at(-1).cells[0].textContent.split(",").at(-1));
  const lengths = [...[...above, row].map((at) => Number(at) + 1), rows[0].cells.length - 1].slice(-shape.length);
  const known = window.axes[document.body.dataset.operation][name.split(" ")[0]] ?? [];
  const axes = known.length >= shape.length ? known.slice(known.length - shape.length) : shape.map((_, axis) => `axis ${axis}`);
  const layers = [];
  for (const cell of table.querySelectorAll("td")) {
    [...cell.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE).forEach(({ data }, layer) => (layers[layer] ??= []).push(asValue(data.trim())));
  }
  return [{ name, axes, shape, offsets: lengths.map(() => 0), lengths, values: 0 }, layers];
}

/** The numbers beside their tolerances. */
function drawExpected(picture, [values, tolerance]) {
  const geometry = new Geometry(picture);
  const drawn = [[`${picture.name}, expected`, values], ["tolerance", tolerance]].map(([title, layer]) => [title, layer, largestOf(layer)]);
  const panels = (slice) =>
    drawn.map(([title, layer, largest]) => {
      const at = (row, column) => layer[geometry.flat(slice, row, column)];
      const worded = (row, column) => (typeof at(row, column) === "string" ? [at(row, column)] : []);
      return panel(geometry, title, valueScale(largest), (row, column) => valueClass(at(row, column), largest), worded);
    });
  const describe = (slice, row, column) => {
    const flat = geometry.flat(slice, row, column);
    return `${picture.name}[${geometry.indices(slice, row, column).join(", ")}]: ${inDigits(values[flat])} ± ${inDigits(tolerance[flat], 2)}`;
  };
  return explorer(geometry, `Heatmaps of ${picture.name}`, 0, panels, describe);
}

function drawTables() {
  for (const table of document.querySelectorAll("main table.t")) {
    const scroll = make("div", { class: "scroll" });
    table.before(scroll);
    scroll.append(table);
    const [picture, layers] = pictureOf(table);
    const around = make("div", { class: "drawn run" });
    scroll.replaceWith(around);
    const drawn = layers.length > 1 ? drawExpected(picture, layers) : drawInput(picture, layers);
    around.append(drawn, make("details", {}, make("summary", {}, `Numbers of ${picture.name}`), scroll));
  }
}

/** A clause has its sentence on its own page and in one list for all cases: it binds hundreds of them. */
function quoteClauses() {
  const named = document.querySelector("#clauses");
  const quoted = make("dl", { class: "clauses" });
  for (const link of named.querySelectorAll("a")) {
    const sentence = make("dd");
    sentence.innerHTML = window.clauses[link.textContent];
    quoted.append(make("dt", {}, link), sentence);
  }
  named.replaceWith(quoted);
}

drawTables();
quoteClauses();
