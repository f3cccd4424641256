// One square of numbers, cut into heads (chapter 01).

const D_MODEL = 64, KEY = 32, NOISE = 0.7, STREAMS = { keys: 0, noise: 2 };
const NAMES = ["num_heads", "d_k", "tied", "sentence", "text", "query", "seed"];
const divisors = (n) => Array.from({ length: n }, (_, i) => i + 1).filter((i) => n % i === 0);

export const split = (text) => text.split(/\s+/).filter(Boolean);

// The words, their two questions and the right answers; sentence −1 is the reader's own.
export function sentenceOf({ sentence, text }, words) {
  if (sentence >= 0) return words.sentences[sentence];
  const own = split(text), n = own.length;
  const shifted = (by) => own.map((_, i) => Math.min(n - 1, Math.max(0, i + by)));
  return { words: own, questions: words.own_questions, targets: [shifted(1), shifted(-1)] };
}

export function problem(choices, limits, words) {
  const found = beyond(choices, limits, words, NAMES);
  if (found) return found;
  if (choices.tied && D_MODEL % choices.num_heads) {
    return ["num_heads", fill(words.divide, { h: choices.num_heads, d_model: D_MODEL, options: divisors(D_MODEL).join(", ") })];
  }
  const [low, high] = limits.words, n = split(choices.text).length;
  return choices.sentence < 0 && (n < low || n > high) ? ["text", fill(words.text_size, { low, high, n })] : null;
}

// Keys of both questions, (2, n, 32), and the queries that look for the right ones.
function embed(targets, n, seed) {
  const keys = normals(seed, STREAMS.keys, 2 * n * KEY), noise = normals(seed, STREAMS.noise, 2 * n * KEY);
  const queries = noise.map((e, at) => {
    const r = Math.floor(at / (n * KEY)), i = Math.floor(at / KEY) % n;
    return (keys[(r * n + targets[r][i]) * KEY + (at % KEY)] + NOISE * e) / Math.hypot(1, NOISE);
  });
  return { keys, queries };
}

export function compute(choices, words) {
  const { words: tokens, targets } = sentenceOf(choices, words);
  const n = tokens.length, h = choices.num_heads, d = choices.tied ? D_MODEL / h : choices.d_k;
  const width = h * d, half = Math.ceil(width / 2), { keys, queries } = embed(targets, n, choices.seed);
  // Inner coordinate c belongs to question 1 in the first half, to question 2 in the second; beyond 32 it repeats.
  const offset = (c) => (c < width / 2 ? c % KEY : n * KEY + ((c - half) % KEY));
  const maps = new Float64Array(h * n * n);
  let total = 0, squares = 0;
  for (let head = 0; head < h; head++) {
    const at = Array.from({ length: d }, (_, c) => offset(head * d + c));
    for (let i = 0; i < n; i++) {
      const row = (head * n + i) * n;
      for (let j = 0; j < n; j++) {
        let score = 0;
        for (let c = 0; c < d; c++) score += queries[at[c] + i * KEY] * keys[at[c] + j * KEY];
        maps[row + j] = score /= Math.sqrt(d);
        total += score;
        squares += score * score;
      }
      softmax(maps, row, n);
    }
  }
  const mean = total / maps.length;
  return { n, h, d_k: d, maps, variance: squares / maps.length - mean * mean, ...judge(maps, targets, h, d, n), ...price(n, h, d) };
}

// What arrives: the heads that carry a question are added up, as W_o does.
export const serves = (head, r, h, d) => (r === 0 ? head * d < h * d / 2 : (head + 1) * d > h * d / 2);

function judge(maps, targets, h, d, n) {
  const answers = new Float64Array(2 * n * n), onTarget = [0, 0];
  let right = 0, largest = 0, confusion = 0;
  for (let row = 0; row < h * n; row++) {
    let top = 0;
    for (let j = 0; j < n; j++) top = Math.max(top, maps[row * n + j]);
    largest += top / (h * n);
  }
  for (let i = 0; i < n; i++) {
    const asked = [...new Set([targets[0][i], targets[1][i]])];
    for (let r = 0; r < 2; r++) {
      const target = targets[r][i];
      let count = 0, server = 0;
      for (let head = 0; head < h; head++) {
        const row = (head * n + i) * n;
        if (maps[row + target] > maps[(server * n + i) * n + target]) server = head;
        if (!serves(head, r, h, d)) continue;
        count++;
        for (let j = 0; j < n; j++) answers[(r * n + i) * n + j] += maps[row + j];
      }
      for (let j = 0; j < n; j++) answers[(r * n + i) * n + j] /= count;
      const arrived = answers[(r * n + i) * n + target];
      right += arrived > 0.5;
      onTarget[r] += arrived / n;
      const rival = asked.reduce((sum, key) => sum + maps[(server * n + i) * n + key], 0);
      confusion += rival > 0 ? (1 - maps[(server * n + i) * n + target] / rival) / (2 * n) : 1 / (2 * n);
    }
  }
  return { answers, right, largest, confusion, on_target: onTarget };
}

export const price = (n, h, d) => ({ parameters: 4 * D_MODEL * h * d, macs: 4 * n * D_MODEL * h * d + 2 * n * n * h * d, score_bytes: 4 * h * n * n });

export function summary(result, words) {
  const { h, d_k, right, n } = result, all = 2 * n, one = price(n, 1, D_MODEL);
  const told = h === 1 ? words.tell_one : right < 0.7 * all ? words.tell_thin : words.tell_good;
  const cost = { parameters: digits(result.parameters / one.parameters), memory: digits(result.score_bytes / one.score_bytes), d_model: D_MODEL };
  return fill(told, { h, d_k, right, all }) + " " + fill(words.tell_cost, cost);
}
