// One head, as a textbook has it: the page calls it head by head, and takes the arguments by their names.
function attention(q, k, v, mask = null) {
  const d = q[0].length;
  const scores = q.map((qi) => k.map((kj) => qi.reduce((sum, x, e) => sum + x * kj[e], 0) / Math.sqrt(d)));
  if (mask !== null) {
    mask.forEach((row, i) =>
      row.forEach((entry, j) => {
        if (entry === false) scores[i][j] = -Infinity;
        else if (entry !== true) scores[i][j] += entry;
      }),
    );
  }
  return scores.map((row) => {
    const most = Math.max(...row);
    const powers = row.map((score) => (most === -Infinity ? 0 : Math.exp(score - most)));
    const total = powers.reduce((sum, power) => sum + power, 0);
    return v[0].map((_, f) => (total ? powers.reduce((sum, power, j) => sum + power * v[j][f], 0) / total : 0));
  });
}
