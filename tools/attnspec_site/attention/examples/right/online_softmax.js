// Key after key, with the largest logit so far: what was summed before is scaled down when a larger one comes.
function attention(query, key, value, options) {
  const group = query[0].length / key[0].length;
  return query.map((heads, b) =>
    heads.map((rows, h) => {
      const [keys, values] = [key, value].map((tensor) => tensor[b][Math.floor(h / group)]);
      return rows.map((row, i) => {
        let largest = -Infinity;
        let total = 0;
        const sums = values[0].map(() => 0);
        keys.forEach((column, j) => {
          const logit = logitOf(row, column, b, h, i, j, rows.length, keys.length, options);
          if (logit === -Infinity) return;
          const now = Math.max(largest, logit);
          const [kept, added] = [Math.exp(largest - now), Math.exp(logit - now)];
          total = total * kept + added;
          values[j].forEach((number, f) => (sums[f] = sums[f] * kept + added * number));
          largest = now;
        });
        return sums.map((sum) => (total > 0 ? sum / total : 0));
      });
    }),
  );
}

function logitOf(row, column, b, h, i, j, queries, keys, { mask, is_causal, causal_alignment, scale, softcap, window }) {
  const position = causal_alignment === "bottom_right" ? i + keys - queries : i;
  const [left, right] = window ?? [null, null];
  if ((is_causal && j > position) || (left !== null && j < position - left)) return -Infinity;
  if (right !== null && j > position + right) return -Infinity;
  const entry = mask ? mask[b][h][i][j] : true;
  if (entry === false) return -Infinity;
  let logit = row.reduce((sum, number, e) => sum + number * column[e], 0) * (scale ?? 1 / Math.sqrt(row.length));
  if (softcap) logit = softcap * Math.tanh(logit / softcap);
  return entry === true ? logit : logit + entry;
}
