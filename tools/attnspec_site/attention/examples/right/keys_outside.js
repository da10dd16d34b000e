// Other loops: keys outside, queries inside, and each score summed from its last feature to its first.
function attention(query, key, value, options = {}) {
  const { mask = null, scale } = options;
  const output = [];
  for (let b = 0; b < query.length; b += 1) {
    output.push([]);
    for (let h = 0; h < query[b].length; h += 1) {
      const at = Math.floor(h / (query[b].length / key[b].length));
      const rows = query[b][h];
      const sums = rows.map(() => 0);
      const result = rows.map(() => value[b][at][0].map(() => 0));
      const scores = key[b][at].map((column, j) =>
        rows.map((row, i) => {
          let score = 0;
          for (let e = row.length - 1; e >= 0; e -= 1) score += row[e] * column[e];
          score *= scale === undefined ? row.length ** -0.5 : scale;
          const entry = mask === null ? 0 : mask[b][h][i][j];
          return typeof entry === "number" ? score + entry : entry ? score : -Infinity;
        }),
      );
      const largest = rows.map((_, i) => Math.max(-1e300, ...scores.map((column) => column[i])));
      for (let j = scores.length - 1; j >= 0; j -= 1)
        for (let i = 0; i < rows.length; i += 1) {
          const power = Math.exp(scores[j][i] - largest[i]);
          sums[i] += power;
          for (let f = 0; f < result[i].length; f += 1) result[i][f] += power * value[b][at][j][f];
        }
      output[b].push(result.map((row, i) => row.map((sum) => (sums[i] > 0 ? sum / sums[i] : 0))));
    }
  }
  return output;
}
