
/* The picture of who may attend whom, and did. */

/** Which keys each query may attend; with the weights that came back, also which ones it did attend. */
function drawAttended(picture, shares, arrays) {
  const geometry = new Geometry(picture);
  const same = shares && shares.got !== null && `${shares.lengths}@${shares.offsets}` === `${picture.lengths}@${picture.offsets}`;
  const got = same ? arrays[shares.got] : null;
  const [attending, attended] = picture.axes.slice(-2);
  const attendable = (flat) => picture.attendable[flat] === "1";
  const verdict = (flat) => (same && shares.verdicts ? shares.verdicts[flat] : null);
  const compares = (flat) => got !== null && verdict(flat) !== "o" && got[flat] !== "nan";
  const stray = (flat) => compares(flat) && !attendable(flat) && got[flat] !== 0 && isOff(verdict(flat));
  const missed = (flat) => compares(flat) && attendable(flat) && got[flat] === 0 && isOff(verdict(flat));
  const columns = [...Array(geometry.columns).keys()];
  const indexOf = (column) => column + (picture.offsets.at(-1) ?? 0);

  const named = (ranges) => (ranges === "" ? `no ${attended}` : /^\d+$/.test(ranges) ? `${attended} ${ranges}` : `${attended}s ${ranges}`);

  function describe(slice, row) {
    const at = (column) => geometry.flat(slice, row, column);
    const expected = inRanges(columns.filter((column) => attendable(at(column))).map(indexOf));
    const index = geometry.indices(slice, row, 0).at(-2);
    let said = `${capitalised(attending)} ${index} may attend ${named(expected)}.`;
    if (columns.every((column) => compares(at(column)))) {
      const taken = inRanges(columns.filter((column) => got[at(column)] !== 0).map(indexOf));
      said += ` Its weights went to ${named(taken)}.`;
    }
    return said;
  }

  let first = [0, 0, 0];
  search: for (let slice = 0; slice < geometry.slices; slice += 1) {
    for (let row = 0; row < geometry.rows; row += 1) {
      for (const column of columns) {
        const flat = geometry.flat(slice, row, column);
        if (stray(flat) || missed(flat)) {
          first = [slice, row, column];
          break search;
        }
      }
    }
  }
  const title = got ? "may attend, and did" : "may attend";
  const legend = legendOf(legendEntry("attend", [], "may attend"), legendEntry("barred", ["hatch"], "excluded"));
  if (got) {
    legend.append(legendEntry("stray", ["cross"], "attended, though excluded"), legendEntry("missed", ["ring"], "not attended, though expected"));
  }
  return explorer(
    geometry,
    `${capitalised(attended)}s that each ${attending} may attend`,
    first[0],
    (slice) => [
      panel(
        geometry,
        title,
        null,
        (row, column) => {
          const flat = geometry.flat(slice, row, column);
          return stray(flat) ? "stray" : missed(flat) ? "missed" : attendable(flat) ? "attend" : "barred";
        },
        (row, column) => {
          const flat = geometry.flat(slice, row, column);
          return [...(attendable(flat) ? [] : ["hatch"]), ...(stray(flat) ? ["cross"] : missed(flat) ? ["ring"] : [])];
        },
      ),
    ],
    describe,
    legend,
    first.slice(1),
  );
}
