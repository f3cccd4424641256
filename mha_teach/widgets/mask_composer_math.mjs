// One mask, five places to put it, three types of numbers (chapter 04).

const MOST = 64, STREAM = 8, NAMES = ["n", "causal", "padding", "side", "window", "drawn", "placement", "sentinel", "float_type", "library", "seed"];
const LISTS = { side: "sides", placement: "placements", sentinel: "sentinels", float_type: "float_types", library: "libraries" };
// Binary digits, smallest exponent and largest number; Python takes them from torch.finfo.
export const TYPES = { float32: [24, -126, 3.4028234663852886e38], float16: [11, -14, 65504], bfloat16: [8, -126, 3.3895313892515355e38] };

export function problem(choices, limits, words) {
  const found = beyond(choices, limits, words, NAMES);
  if (found) return found;
  const choose = (name, options) => [name, fill(words.choose, { label: words.field_names[name], options: options.join(", ") })];
  if (typeof choices.causal !== "boolean") return choose("causal", ["True", "False"]);
  for (const [name, list] of Object.entries(LISTS)) {
    const known = words[list].map(([key]) => key);
    if (!known.includes(choices[name])) return choose(name, known);
  }
  const top = limits.n[1], place = (x) => Number.isInteger(x) && x >= 0 && x < top;
  const good = (cell) => Array.isArray(cell) && cell.length === 3 && place(cell[0]) && place(cell[1]) && (cell[2] === 0 || cell[2] === 1);
  if (Array.isArray(choices.drawn) && choices.drawn.length <= top * top && choices.drawn.every(good)) return null;
  return ["drawn", fill(words.cells, { last: top - 1 })];
}

const exact = new Float64Array(1), parts = new Uint32Array(exact.buffer);
// x as torch stores it in a type: to the nearest number, ties to even, infinite beyond the largest. By way of float32, as torch goes.
export function rounded(x, type) {
  const near = Math.fround(x);
  if (type === "float32" || !Number.isFinite(near) || near === 0) return near;
  const [digits2, least, largest] = TYPES[type];
  exact[0] = near;
  const step = 2 ** (Math.max(((parts[1] >>> 20) & 0x7ff) - 1023, least) - digits2 + 1), whole = 1.5 * 2 ** 52;
  const out = (near / step + whole - whole) * step;
  return Math.abs(out) > largest ? Math.sign(out) * Infinity : out;
}

// What a blocked score has added to it, as the type stores it.
export const added = ({ sentinel, float_type }) => rounded(sentinel === "1e9" ? -1e9 : sentinel === "min" ? -TYPES[float_type][2] : -Infinity, float_type);

// Which rules block the cell; an empty list means that the query may look.
export function blockers({ n, causal, padding, side, window }, i, j) {
  const filler = Math.min(padding, n);
  return [["causal", causal && j > i], ["padding", side === "left" ? j < filler : j >= n - filler], ["window", window > 0 && Math.abs(i - j) >= window]].filter(([, on]) => on).map(([name]) => name);
}

// The mask, 1 = may look: the rules, and over them what is drawn by hand.
export function maskOf(choices) {
  const { n, drawn } = choices, mask = Float64Array.from({ length: n * n }, (_, at) => Number(!blockers(choices, Math.floor(at / n), at % n).length));
  for (const [i, j, look] of drawn) if (i < n && j < n) mask[i * n + j] = look;
  return mask;
}

// The drawing with cell (i, j) set; a cell that the rules give anyway needs no entry.
export function draw(choices, i, j, look) {
  const others = choices.drawn.filter(([a, b]) => a !== i || b !== j);
  return Number(!blockers(choices, i, j).length) === look ? others : [...others, [i, j, look]];
}

const scoresOf = lately((seed) => normals(seed, STREAM, MOST * MOST));

const PULLED = ["before", "after", "added"];  // where a blocked score still stands in the sum of a row

export function compute(choices) {
  const { n, placement, sentinel, float_type: type } = choices, all = scoresOf(choices.seed), to = (x) => rounded(x, type);
  const mask = maskOf(choices), weights = new Float64Array(n * n), low = added(choices), totals = new Float64Array(n * n);
  const bias = (look) => (sentinel === "product" ? (1 - look) * low : look ? 0 : low);
  const put = { before: (s, look) => to(s + to(bias(look))), added: (s, look) => to(s + look), multiplied: (s, look) => to(s * look) }[placement] ?? ((s) => s);
  const late = placement === "after" || placement === "renormalised";
  const [sums, leak, leak_ahead, loose, loose_ahead] = Array.from({ length: 5 }, () => new Float64Array(n));
  for (let i = 0; i < n; i++) {
    const row = i * n;
    for (let j = 0; j < n; j++) weights[row + j] = put(to(all[i * MOST + j]), mask[row + j]);
    softmax(weights, row, n);
    for (let j = 0; j < n; j++) totals[row + j] = weights[row + j] = to(weights[row + j]);
    if (late) for (let j = 0; j < n; j++) weights[row + j] *= mask[row + j];
    if (placement === "renormalised") {
      let sum = 0;
      for (let j = 0; j < n; j++) sum += weights[row + j];
      for (let j = 0; j < n; j++) weights[row + j] = to(weights[row + j] / to(sum));
    }
    let seen = 0, hidden = 0, ahead = 0;
    for (let j = 0; j < n; j++) {
      const p = totals[row + j], w = weights[row + j], blocked = !mask[row + j];
      sums[i] += w;
      if (!blocked) { seen += p; continue; }
      hidden += p;
      loose[i] += w;
      if (j > i) { ahead += p; loose_ahead[i] += w; }
    }
    const pull = PULLED.includes(placement) ? seen : 0;
    leak[i] = pull * hidden;
    leak_ahead[i] = pull * ahead;
    for (const list of [leak, leak_ahead, loose, loose_ahead]) list[i] += 0 * sums[i];  // NaN in a row of NaN
  }
  const open = (row) => mask.subarray(row * n, row * n + n).some(Boolean);
  const rows = Array.from({ length: n }, (_, i) => i), cells = Array.from(mask, (look, at) => [look, at % n > Math.floor(at / n)]);
  return {
    n, mask, weights, sums, leak, leak_ahead, loose, loose_ahead, low: Float64Array.of(low),
    nan: sums.filter(Number.isNaN).length, blind: rows.filter((i) => !open(i)).length, blocked: cells.filter(([look]) => !look).length,
    blocked_ahead: cells.filter(([look, ahead]) => !look && ahead).length, open_ahead: cells.filter(([look, ahead]) => look && ahead).length,
  };
}

// The largest number of a list and its place; rows of NaN don't count.
export const worst = (list) => Array.from(list).reduce((best, x, i) => (x > best[0] ? [x, i] : best), [0, 0]);

// Mean over the rows that are not NaN.
export const mean = (list) => { const good = Array.from(list).filter((x) => !Number.isNaN(x)); return good.length ? good.reduce((a, b) => a + b) / good.length : 0; };

// Places from 0 as people count them: 1–3, 5.
export function ranges(places) {
  const runs = places.reduce((out, i) => (out.at(-1)?.[1] === i - 1 ? (out.at(-1)[1] = i) : out.push([i, i]), out), []);
  return runs.map(([a, b]) => (a === b ? a + 1 : `${a + 1}–${b + 1}`)).join(", ");
}

// −∞ and numbers near it in the fewest characters.
export const big = (x) => (x === -Infinity ? "−∞" : Math.abs(x) < 1e6 ? digits(x) : x.toExponential(Math.abs(x) === 1e9 ? 0 : 2).replace("e+", "e")).replace("-", "−");

// What the state means, in sentences.
export function summary(found, choices, words) {
  const { n, blind, nan, blocked, open_ahead } = found, { placement, sentinel, float_type: type } = choices;
  const [leak, at] = worst(found.leak), [loose] = worst(found.loose), low = Math.min(...Array.from(found.sums).filter((x) => !Number.isNaN(x)), 1);
  const values = { n, blind, nan, open: n * n - blocked, all: n * n, open_ahead, leak: digits(leak), row: at + 1, shift: (leak / 100).toPrecision(2), loose: percent(loose), sum: digits(low), type, low: big(found.low[0]) };
  const said = [open_ahead ? words.tell_mask_ahead : words.tell_mask];
  if (!blocked) return fill([...said, words.tell_free].join(" "), values);
  const even = placement === "before" && blind > nan;
  if (placement === "before" && sentinel === "1e9" && found.low[0] === -Infinity) said.push(words.tell_overflow);
  if (nan) said.push(placement === "renormalised" ? words.tell_nan_left : sentinel === "product" ? words.tell_nan_product : words.tell_nan_blind);
  if (even) said.push(words.tell_even);
  if (nan < n) said.push({ before: nan || even ? words.tell_others : words.tell_before, after: words.tell_after, renormalised: words.tell_renormalised, added: words.tell_added, multiplied: words.tell_multiplied }[placement]);
  if (leak > 0) said.push(words.tell_leak);
  return fill(said.join(" "), values);
}

// The mask as a library wants it: text of at most `most` rows and columns, or null where its form can't say this mask.
export function literal(found, choices, words, most = 6) {
  const [, , argument, entries, axes] = words.libraries.find(([id]) => id === choices.library), mask = floats(found.mask), { n } = found;
  if (entries === "rule") return rule(choices, found);
  if (axes === "keys" && mask.some((look, at) => look !== mask[at % n])) return null;
  const lines = axes === "keys" ? 1 : n, cut = n > most ? ["…"] : [];
  const write = entryOf(entries, choices.float_type);
  const row = (i) => "[" + [...Array.from({ length: Math.min(n, most) }, (_, j) => write(mask[i * n + j])), ...cut].join(", ") + "]";
  const rows = [...Array.from({ length: Math.min(lines, most) }, (_, i) => row(i)), ...(lines > most ? cut : [])];
  return `${argument} = [${rows.join(",\n" + " ".repeat(argument.length + 4))}]`;
}

// One entry as Python prints it.
export function entryOf(entries, type) {
  const low = entries === "finite" ? rounded(-TYPES[type][2] / 2, type).toExponential(2).replace("e+", "e") : "-inf";
  return { look: (x) => (x ? " True" : "False"), block: (x) => (x ? "False" : " True"), one: (x) => (x ? "1" : "0"), add: (x) => (x ? "0." : low).padStart(low.length), finite: (x) => (x ? "0." : low).padStart(low.length) }[entries];
}

function rule({ n, causal, padding, side, window, drawn }, found) {
  const filler = Math.min(padding, n), seen = drawn.some(([i, j]) => i < n && j < n);
  if (seen) return "def mask_mod(b, h, q, k):\n    return look[q, k]";
  const tests = [causal && "k <= q", filler && (side === "left" ? `k >= ${filler}` : `k < ${n - filler}`), window && `abs(q - k) < ${window}`].filter(Boolean);
  return `def mask_mod(b, h, q, k):\n    return ${tests.length > 1 ? tests.map((t) => `(${t})`).join(" & ") : tests[0] ?? "k >= 0"}`;
}

// A word for every position, and a sign for filler.
export function labelsOf({ n, padding, side }, words) {
  const filler = Math.min(padding, n), empty = Array(filler).fill(words.pad), real = Array.from({ length: n - filler }, (_, k) => words.tokens[k] ?? String(k + 1));
  return side === "left" ? [...empty, ...real] : [...real, ...empty];
}
