// Scores, softmax rows and their Jacobians as d_k grows (chapter 02).

const FULL = 1024, D_MODEL = 1024, MOST = 32, NAMES = ["d_k", "scale", "correlation", "n", "query", "seed"], DEAD = 0.999;
const LADDER = Array.from({ length: 11 }, (_, i) => 2 ** i);
// The widths of the slider: powers of two, and the steps half-way between them.
const WIDTHS = LADDER.flatMap((v) => (v > 1 && v < FULL ? [v, 1.5 * v] : [v]));

export const scaleOf = (kind, d) => ({ none: 1, sqrt_d_k: 1 / Math.sqrt(d), d_k: 1 / d, sqrt_d_model: 1 / Math.sqrt(D_MODEL) })[kind];

export function problem(choices, limits, words) {
  const found = beyond(choices, limits, words, NAMES);
  if (found) return found;
  const known = words.scales.map(([kind]) => kind);
  return known.includes(choices.scale) ? null : ["scale", fill(words.choose, { label: words.field_names.scale, options: known.join(", ") })];
}

// Dot products of the first d coordinates of all rows, for every d in `widths`: q·q, q·e and e·e, each (n, n).
function products(q, e, n, widths) {
  const out = {}, sums = [0, 1, 2].map(() => new Float64Array(n * n));
  let from = 0;
  for (const d of [...widths].sort((a, b) => a - b)) {
    [[q, q], [q, e], [e, e]].forEach(([left, right], which) => {
      for (let i = 0; i < n; i++) {
        for (let j = which === 1 ? 0 : i; j < n; j++) {
          let sum = 0;
          for (let c = from; c < d; c++) sum += left[i * FULL + c] * right[j * FULL + c];
          sums[which][i * n + j] += sum;
          if (which !== 1 && j > i) sums[which][j * n + i] += sum;
        }
      }
    });
    out[d] = sums.map((s) => s.slice());
    from = d;
  }
  return out;
}

const kept = new Map();
// The products of `most` rows, which serve every smaller n: fewer queries are the first ones of more. Four seeds are remembered.
function dots(seed, n, d) {
  const most = Math.max(n, MOST), key = `${seed} ${most}`;
  if (!kept.has(key)) {
    if (kept.size > 3) kept.delete(kept.keys().next().value);
    const q = normals(seed, 4, most * FULL), e = normals(seed, 5, most * FULL);
    kept.set(key, { q, e, sums: products(q, e, most, WIDTHS) });
  }
  const { q, e, sums } = kept.get(key);
  if (!(d in sums)) Object.assign(sums, products(q, e, most, [d]));
  return { most, sums: sums[d] };
}
export const prepare = (seed, n) => dots(seed, n, 1);

let gram = new Float64Array(0);  // keys with keys, written anew by each measure: fresh memory would take as long as the sums
// Scores, weights and gradients of one (d, scale, ρ). Keys are ρ q + √(1−ρ²) e, so their products follow from the cached ones.
function measure({ most, sums: [qq, qe, ee] }, n, rho, scale) {
  const left = Math.sqrt(1 - rho * rho), scores = new Float64Array(n * n);
  if (gram.length < n * n) gram = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      const at = i * most + j;
      scores[i * n + j] = scale * (rho * qq[at] + left * qe[at]);
      gram[i * n + j] = rho * rho * qq[at] + rho * left * (qe[at] + qe[j * most + i]) + left * left * ee[at];
    }
  }
  const weights = scores.slice(), pull = new Float64Array(n);
  let to_scores = 0, to_query = 0;
  for (let i = 0; i < n; i++) {
    const row = i * n;
    softmax(weights, row, n);
    let square = 0, mean = 0, scoresNorm = 0, queryNorm = 0;
    for (let j = 0; j < n; j++) {
      const w = weights[row + j], from = j * n;
      let sum = 0;
      for (let k = 0; k < n; k++) sum += gram[from + k] * weights[row + k];
      pull[j] = sum;
      square += w * w;
      mean += w * sum;
    }
    for (let j = 0; j < n; j++) {
      const w = weights[row + j];
      // 1 − w loses its digits where a row has saturated, so the rest of the row is added up instead.
      let rest = 0;
      if (w > 0.5) { for (let k = 0; k < n; k++) if (k !== j) rest += weights[row + k]; } else rest = 1 - w;
      scoresNorm += w * w * (rest * rest + square - w * w);
      queryNorm += w * w * distance(weights, row, j, n, pull, mean);
    }
    to_scores += Math.sqrt(Math.max(0, scoresNorm)) / n;
    to_query += scale * Math.sqrt(Math.max(0, queryNorm)) / n;
  }
  return { to_scores, to_query, scores, weights };
}

// ‖k_j − Σ w_l k_l‖² = Σ_l Σ_m u_l u_m k_l·k_m with u = w − e_j; the short form cancels where one weight is nearly 1, and gives 12 digits up to here.
const NEARLY_ONE = 0.99;
function distance(weights, row, j, n, pull, mean) {
  const short = gram[j * n + j] - 2 * pull[j] + mean;
  if (weights[row + j] < NEARLY_ONE) return short;
  let rest = 0, sum = 0;
  for (let k = 0; k < n; k++) if (k !== j) rest += weights[row + k];
  for (let l = 0; l < n; l++) {
    const u = l === j ? -rest : weights[row + l];
    if (u === 0) continue;
    for (let m = 0; m < n; m++) sum += u * (m === j ? -rest : weights[row + m]) * gram[l * n + m];
  }
  return sum;
}

// The curve doesn't depend on d_k, and a slider of d_k is what moves most.
const curveOf = lately((scale, correlation, n, seed) => LADDER.map((d) => {
  const { to_scores, to_query } = measure(dots(seed, n, d), n, correlation, scaleOf(scale, d));
  return [to_scores, to_query];
}));

export function compute({ d_k, scale, correlation, n, seed }) {
  const now = measure(dots(seed, n, d_k), n, correlation, scaleOf(scale, d_k));
  const reference = scale === "sqrt_d_k" ? now : measure(dots(seed, n, d_k), n, correlation, scaleOf("sqrt_d_k", d_k));
  const curve = curveOf(scale, correlation, n, seed);
  const numbers = ({ to_scores, to_query, scores, weights }) => ({ to_scores, to_query, ...rows(weights, n), ...spread(scores, n) });
  return { n, d_k, scores: now.scores, weights: now.weights, curve, now: numbers(now), reference: numbers(reference) };
}

// Largest weight and entropy of a row, as means over the rows, and how many rows one weight has for itself.
function rows(weights, n) {
  const out = { max_weight: 0, entropy: 0, dead: 0 };
  for (let i = 0; i < n; i++) {
    let top = 0, entropy = 0;
    for (const w of weights.subarray(i * n, i * n + n)) {
      top = Math.max(top, w);
      if (w > 0) entropy -= w * Math.log(w);
    }
    out.max_weight += top / n;
    out.entropy += entropy / n;
    out.dead += top > DEAD ? 1 : 0;
  }
  return out;
}

// Variance of the scores off the diagonal (a query with another's key), and the mean on it (with its own).
function spread(scores, n) {
  let own = 0, sum = 0, squares = 0;
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      const s = scores[i * n + j];
      if (i === j) own += s / n;
      else { sum += s; squares += s * s; }
    }
  }
  const count = n * n - n, mean = sum / count;
  return { variance: squares / count - mean * mean, own_mean: own };
}

// Shares of scores in bins of width `2 edge / count`; the outermost bins take everything further out.
export function histogram(scores, n, edge, count) {
  const all = new Float64Array(count), own = new Float64Array(count);
  let beyond = 0;
  scores.forEach((s, at) => {
    const bin = Math.min(count - 1, Math.max(0, Math.floor(((s + edge) / (2 * edge)) * count)));
    all[bin] += 1 / scores.length;
    if (at % (n + 1) === 0) own[bin] += 1 / scores.length;
    beyond += Math.abs(s) > edge ? 1 / scores.length : 0;
  });
  return { all, own, beyond };
}

export function summary({ n, now }, { correlation }, words) {
  const most = digits(Math.log(n)), flat = now.max_weight < 2.2 / n;
  const told = now.max_weight > 0.7 ? words.tell_dead : flat ? words.tell_flat : words.tell_fine;
  const values = { n, most, variance: digits(now.variance), max: percent(now.max_weight), dead: now.dead, entropy: digits(now.entropy), own: digits(now.own_mean), to_scores: digits(now.to_scores), to_query: digits(now.to_query) };
  return [told, ...(correlation ? [words.tell_own] : []), words.tell_gradient].map((text) => fill(text, values)).join(" ");
}
