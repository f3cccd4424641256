// One query, three keys, and m words with a key of zeros (chapter 00).

const NAMES = ["angle", "length", "others"];

export const problem = (choices, limits, words) => beyond(choices, limits, words, NAMES);

export function compute({ angle, length, others }, { tokens }) {
  const turn = angle * Math.PI / 180, query = [length * Math.cos(turn), length * Math.sin(turn)];
  const scores = tokens.map(({ key }) => (query[0] * key[0] + query[1] * key[1]) / Math.SQRT2);
  const top = Math.max(...scores, ...(others ? [0] : [])), powers = scores.map((s) => Math.exp(s - top));
  const crowd = others * Math.exp(-top), sum = powers.reduce((a, b) => a + b, crowd), weights = powers.map((p) => p / sum);
  const output = [0, 1].map((c) => tokens.reduce((all, { value }, j) => all + weights[j] * value[c], 0));
  return { query, scores, weights, crowd: crowd / sum, output };
}

export function summary({ weights, crowd, output }, { length, others }, words) {
  const max = Math.max(...weights, 0), word = words.tokens[weights.indexOf(max)].word;
  const told = length === 0 ? words.tell_flat : crowd > max ? words.tell_crowd : max > 0.95 ? words.tell_sharp : words.tell_soft;
  return fill(told, { word, max: percent(max), crowd: percent(crowd), m: others, x: output[0].toFixed(2), y: output[1].toFixed(2) });
}

// A point of the drawing as angle and length, both rounded to what a slider shows.
export function polar(x, y, longest) {
  const length = Math.min(longest, Math.round(20 * Math.hypot(x, y)) / 20);
  return { angle: length ? Math.round(Math.atan2(y, x) * 180 / Math.PI) : 0, length };
}
