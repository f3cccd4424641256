// Index arithmetic of views and transposes, as torch does it, and what a causal attention in between would read (chapter 03).

const NAMES = ["batch", "positions", "num_heads", "d_k", "path", "step"];
const SIZES = NAMES.slice(0, 4);
// What the code believes each axis to be: the input, viewed, as attention reads it, merged.
const flat = ["B", "T", "h·d_k"], lanes = ["B", "T", "h", "d_k"], heads = ["B", "h", "T", "d_k"];
export const AXES = {
  right: [flat, lanes, heads, flat],
  split_by_view: [flat, heads, heads, flat],
  split_swapped: [flat, ["T", "B", "h", "d_k"], heads, flat],
  split_untransposed: [flat, lanes, lanes, flat],
  merge_untransposed: [flat, lanes, heads, flat],
  split_interleaved: [["B", "T", "3·h·d_k"], ["B", "T", "h", "3", "d_k"], heads, flat],
};
const LABELS = ["batch", "role", "position", "head", "dim"];

export function problem(choices, limits, words) {
  const found = beyond(choices, limits, words, NAMES);
  if (found) return found;
  if (!(choices.path in AXES)) return ["path", fill(words.choose, { label: words.field_names.path, options: Object.keys(AXES).join(", ") })];
  const sizes = SIZES.map((name) => choices[name]), fused = choices.path === "split_interleaved", most = limits.numbers[1];
  const all = sizes.reduce((a, b) => a * b, fused ? 3 : 1);
  return all <= most ? null : [SIZES[sizes.indexOf(Math.max(...sizes))], fill(fused ? words.too_many_fused : words.too_many, { all, most })];
}

const count = (shape) => shape.reduce((a, b) => a * b, 1);
const dense = (shape) => shape.map((_, k) => count(shape.slice(k + 1)));
export const index = (at, shape) => `[${dense(shape).map((step, k) => Math.floor(at / step) % shape[k]).join(", ")}]`;
export const tensor = (shape, data = null) => ({ shape, strides: dense(shape), offset: 0, data });
export const permute = (x, order) => ({ ...x, shape: order.map((k) => x.shape[k]), strides: order.map((k) => x.strides[k]) });
export const select = (x, axis, i) => ({ ...x, offset: x.offset + i * x.strides[axis], shape: x.shape.filter((_, k) => k !== axis), strides: x.strides.filter((_, k) => k !== axis) });

// The numbers in the order in which the indices count.
export function read({ shape, strides, offset, data }) {
  let places = [offset];
  shape.forEach((size, k) => {
    const next = [];
    for (const at of places) for (let i = 0; i < size; i++) next.push(at + i * strides[k]);
    places = next;
  });
  return data ? places.map((at) => data[at]) : places;
}

// Axes of length 1 don't count, whatever their stride.
export const contiguous = ({ shape, strides }) => shape.every((size, k) => size === 1 || strides[k] === count(shape.slice(k + 1)));

// The strides of `x.view(shape)`, or null where only a copy can have that shape.
export function viewStrides(x, shape) {
  const out = shape.map(() => 0);
  let at = shape.length - 1, base = x.strides.at(-1), numbers = 1, seen = 1;
  for (let k = x.shape.length - 1; k >= 0; k--) {
    numbers *= x.shape[k];
    if (k > 0 && (x.shape[k - 1] === 1 || x.strides[k - 1] === numbers * base)) continue;  // lies in one piece with the next axis
    for (; at >= 0 && (seen < numbers || shape[at] === 1); at--) { out[at] = seen * base; seen *= shape[at]; }
    if (seen !== numbers) return null;
    if (k > 0) { base = x.strides[k - 1]; numbers = seen = 1; }
  }
  return at < 0 ? out : null;
}

export function reshape(x, shape) {
  const strides = viewStrides(x, shape);
  return strides ? { ...x, shape, strides } : { ...tensor(shape, read(x)), copied: true };
}

export function labels(id, { positions, num_heads, d_k, path }) {
  const roles = path === "split_interleaved" ? 3 : 1, wide = num_heads * d_k, rest = Math.floor(id / wide);
  return { batch: Math.floor(rest / roles / positions), role: rest % roles, position: Math.floor(rest / roles) % positions, head: Math.floor(id % wide / d_k), dim: id % d_k };
}
export const number = ({ batch, role, position, head, dim }, { positions, num_heads, d_k, path }) =>
  (((batch * positions + position) * (path === "split_interleaved" ? 3 : 1) + role) * num_heads + head) * d_k + dim;

// The steps of a path, and for each output number the row of attention that it comes from.
export const walk = ({ batch, positions, num_heads, d_k, path }) => followed(batch, positions, num_heads, d_k, path);
const followed = lately((B, T, h, d_k, path) => {
  const [first, viewed, read_] = AXES[path];
  const size = { B, T, h, d_k, 3: 3, "h·d_k": h * d_k, "3·h·d_k": 3 * h * d_k }, shape = (axes) => axes.map((name) => size[name]);
  const x = tensor(shape(first)), view = { ...x, shape: shape(viewed), strides: viewStrides(x, shape(viewed)) };
  const fused = viewed.indexOf("3"), split = fused < 0 ? [view] : [0, 1, 2].map((role) => select(view, fused, role));
  const named = viewed.filter((name) => name !== "3"), parts = split.map((part) => permute(part, read_.map((name) => named.indexOf(name))));
  const out = tensor(parts[0].shape);  // attention's output lies densely
  const merged = reshape(path === "split_untransposed" || path === "merge_untransposed" ? out : permute(out, [0, 2, 1, 3]), shape(flat));
  const told = (list) => ({ shape: list[0].shape, strides: list[0].strides, contiguous: contiguous(list[0]), ids: list.flatMap(read) });
  const steps = [[x], [view], parts, [merged]].map(told), from = steps[3].ids, all = from.length, last = steps[2].ids.slice(-all);
  steps[3].ids = from.map((place) => last[place]);
  return { steps, from, copied: Boolean(merged.copied) };
});

// Rows of attention: the first number of its query, key and value, the block it attends in, and where its answer lands.
export function attended(choices, { steps, from } = walk(choices)) {
  const { positions: T, num_heads: h, d_k, path } = choices, all = from.length, L = steps[2].shape[2], causal = path !== "split_untransposed";
  const rows = Array.from({ length: all / d_k }, (_, r) => ({ block: Math.floor(r / L), i: r % L, sees: causal ? r % L + 1 : L,
    origins: [0, 1, 2].map((role) => labels(steps[2].ids[(steps[2].ids.length > all ? role * all : 0) + r * d_k], choices)) }));
  from.forEach((place, o) => { rows[place / d_k | 0].lands = { batch: Math.floor(o / (T * h * d_k)), position: Math.floor(o / (h * d_k)) % T, head: Math.floor(o % (h * d_k) / d_k) }; });
  return { rows, L };
}

// What row r of its block takes from row j: "hidden" by the mask, "foreign" (another sample), "future", "mixed" (another head, question or role), "fine".
export function reading({ rows, L }, r, j, fused = false) {
  const { sees, lands, block, origins: [query] } = rows[r], [, key, value] = rows[block * L + j].origins;
  if (j >= sees) return "hidden";
  if (value.batch !== lands.batch) return "foreign";
  if (value.position > lands.position) return "future";
  const own = ["batch", "position", "head"].every((name) => query[name] === lands[name] && key[name] === value[name]) && value.head === lands.head;
  return own && (!fused || (query.role === 0 && key.role === 1 && value.role === 2)) ? "fine" : "mixed";
}

function leak(size, found, allowed) {
  const pairs = [];
  let silent = true, forbidden = 0;
  for (let i = 0; i < size; i++) for (let j = 0; j < size; j++) {
    if (!allowed(i, j)) forbidden++;
    if (!found.has(i * size + j)) continue;
    if (!allowed(i, j)) pairs.push([i, j]);
    if (i !== j) silent = false;
  }
  return size > 1 ? { asked: true, pairs, forbidden, silent } : { asked: false, pairs: [], forbidden: 0, silent: false };
}

// How many numbers stand at an index unlike their own label; `axes` names the labels that the indices count.
export function misplaced({ shape, ids }, axes, choices, roles) {
  const all = count(shape), out = Object.fromEntries([...(choices.path === "split_interleaved" ? ["role"] : []), ...axes, "any"].map((name) => [name, 0]));
  ids.forEach((id, at) => { for (const name of astray(id, at % all, shape, axes, choices, roles[Math.floor(at / all)])) out[name]++; });
  return out;
}
function astray(id, at, shape, axes, choices, role) {
  const own = labels(id, choices), steps = dense(shape), off = axes.filter((name, k) => own[name] !== Math.floor(at / steps[k]) % shape[k]);
  if (choices.path === "split_interleaved" && own.role !== role) off.push("role");
  return off.length ? [...off, "any"] : off;
}
const READ = ["batch", "head", "position", "dim"], END = ["batch", "position", "head", "dim"];
// The labels under which the number at place `at` of step `k` stands wrongly: [] where the code has promised nothing yet.
export function wrongAt(k, at, state) {
  if (k < 2) return [];
  const { steps, path, batch: B, positions: T, num_heads: h, d_k } = state, { shape, ids } = steps[k], all = count(shape);
  return k === 2 ? astray(ids[at], at % all, shape, READ, state, Math.floor(at / all)) : astray(ids[at], at, [B, T, h, d_k], END, state, path === "split_interleaved" ? 2 : 0);
}

export function compute(choices) {
  const { batch, positions, num_heads, d_k, path } = choices, size = { batch, positions, num_heads, d_k, path };
  const found = walk(size), table = attended(size, found), { rows, L } = table, fused = path === "split_interleaved";
  const across = new Set(), between = new Set();
  for (const { block, sees, lands } of rows) for (let j = 0; j < sees; j++) {
    const from = rows[block * L + j].origins[2];
    across.add(lands.position * positions + from.position);
    between.add(lands.batch * batch + from.batch);
  }
  const trace = { attended: misplaced(found.steps[2], READ, size, fused ? [0, 1, 2] : [0]),
    merged: misplaced({ shape: [batch, positions, num_heads, d_k], ids: found.steps[3].ids }, END, size, [fused ? 2 : 0]) };
  return { ...size, steps: found.steps, copied: found.copied, causal: leak(positions, across, (i, j) => j <= i), foreign: leak(batch, between, (i, j) => i === j),
    trace, equal: trace.attended.any === 0 && trace.merged.any === 0 };
}

// Where cells and captions stand, in letters and lines of a type of one width: cells [x, y], captions [x, y, text].
export function plan({ shape, ids }, axes, fused, part = () => "") {
  const deep = shape.length > 3, pitch = fused ? 6 : 5, [blocks, rows, columns] = (deep ? shape : [1, ...shape.slice(1)]).slice(-3);
  const lead = deep ? shape.slice(0, -2) : shape.slice(0, 1), each = columns * pitch, cells = [], captions = [], bands = ids.length / (blocks * rows * columns);
  const left = (block) => 5 + block * (each + 1), top = (band) => band * (2 * rows + 1);
  ids.forEach((_, at) => {
    const line = Math.floor(at / columns), block = Math.floor(line / rows) % blocks;
    cells.push([left(block) + at % columns * pitch, top(Math.floor(line / rows / blocks)) + 1 + 2 * (line % rows)]);
  });
  for (let band = 0; band < bands; band++) {
    for (let row = 0; row < rows; row++) captions.push([0, top(band) + 1 + 2 * row, axes.at(-2) === "3" ? "qkv"[row] : `${axes.at(-2)}=${row}`]);
    for (let block = 0; block < blocks; block++) {
      const at = band * blocks + block, names = lead.map((size, k) => [axes[k], Math.floor(at / count(lead.slice(k + 1))) % size]), first = part(Math.floor(at / count(lead)));
      const said = (equal, space) => [...(first ? [first] : []), ...names.map((pair) => pair.join(equal))].join(space);
      captions.push([left(block), top(band), [said("=", " "), said("", " ")].find((text) => text.length <= each) || said("", "")]);
    }
  }
  return { width: left(blocks), height: top(bands), cells, captions, columns, pitch };
}

// Lines of text with each of the pieces [x, y, text] at its place; a text may have two lines, and may reach over the width.
export function typed(width, height, pieces) {
  const wide = pieces.reduce((most, [x, , text]) => Math.max(most, x + text.length), width), letters = new Uint16Array(wide * height).fill(32);
  for (const [x, y, text] of pieces) {
    for (let i = 0, at = y * wide + x, line = y; i < text.length; i++) {
      if (text[i] === "\n") at = ++line * wide + x;
      else letters[at++] = text.charCodeAt(i);
    }
  }
  return Array.from({ length: height }, (_, y) => String.fromCharCode.apply(null, letters.subarray(y * wide, (y + 1) * wide)).trimEnd()).join("\n");
}

// The words of a state.
const list = (shape) => `(${shape.join(", ")})`;
const pairsOf = ({ asked, pairs, forbidden, silent }, words) =>
  !asked ? words.unasked : pairs.length ? fill(words.pairs, { found: pairs.length, all: forbidden, list: pairs.map(([o, i]) => `${o}←${i}`).join(", ") }) : silent ? words.silent : fill(words.none_of, { all: forbidden });
const strayed = ({ any, ...by }, all, words) =>
  any ? fill(words.astray, { off: any, all, list: Object.entries(by).filter(([, off]) => off).map(([name, off]) => `${words.axis[name]} ${off}`).join(", ") }) : fill(words.astray_none, { all });

export const address = (own, { path }, words) => (path === "split_interleaved" ? words.roles[own.role] + ": " : "") + fill(words.address, own);

// One note under each of the five steps.
export function describe(state, words) {
  const { steps, copied, path } = state, told = (k) => {
    const { shape, strides, contiguous: whole } = steps[k], values = { shape: list(shape), strides: list(strides), kind: whole ? words.dense : words.sparse };
    return fill(k === 2 && path === "split_interleaved" ? words.three : words.layout, values) + ".";
  };
  const off = (any, all) => (any ? " " + fill(words.off, { off: any, all }) : ""), { attended: read_, merged } = state.trace;
  return [told(0), told(1), told(2) + off(read_.any, steps[2].ids.length), words.attend_note + (path === "split_untransposed" ? " " + words.attend_free : ""),
    `${told(3)} ${copied ? words.copied : words.viewed}.` + off(merged.any, steps[3].ids.length)];
}

export function verdicts({ causal, foreign, trace, steps, equal }, words) {
  return [[words.causal, pairsOf(causal, words)], [words.foreign, pairsOf({ ...foreign, silent: false }, words)],
    [words.attended, strayed(trace.attended, steps[2].ids.length, words)], [words.merged, strayed(trace.merged, steps[3].ids.length, words)], [words.equal, equal ? words.yes : words.no]];
}

export function readings({ rows, L }, fused) {
  const sum = { fine: 0, mixed: 0, future: 0, foreign: 0, hidden: 0 };
  rows.forEach((_, r) => { for (let j = 0; j < L; j++) sum[reading({ rows, L }, r, j, fused)]++; });
  return sum;
}

export function summary(state, step, words) {
  const { steps, path, trace, causal, foreign, equal } = state, fused = path === "split_interleaved";
  if (step === 4) {
    const table = state.table ?? attended(state), sum = readings(table, fused);
    return fill(words.tell_attend, { blocks: table.rows.length / table.L, rows: table.L, all: table.rows.length * table.L - sum.hidden, future: sum.future, foreign: sum.foreign, mixed: sum.mixed });
  }
  if (step < 4) {
    const { shape, strides, contiguous: whole, ids } = steps[step - 1], values = { step, name: words.steps[step - 1], shape: list(shape), strides: list(strides), kind: whole ? words.dense : words.sparse };
    return fill(words.step_says, values) + " " + fill([words.tell_memory, words.tell_view, words.tell_read][step - 1], { off: trace.attended.any, all: ids.length });
  }
  const all = steps[3].ids.length;
  if (equal) return fill(path === "right" ? words.tell_right : words.tell_lucky, { all, path, why: words.lucky[path], elsewhere: words.elsewhere[path] });
  const by = [[causal, causal.silent ? words.by_silent : words.by_causal], [foreign, words.by_batch]].filter(([probe]) => probe.pairs.length || (probe === causal && probe.silent))
    .map(([probe, text]) => fill(text, { found: probe.pairs.length, all: probe.forbidden }));
  const named = (test) => [["causal", causal], ["foreign", foreign]].filter(([, probe]) => test(probe)).map(([name]) => name);
  const missed = named((probe) => probe.asked && !probe.pairs.length && !(probe === causal && probe.silent)).map((name) => words.probe_names[name]).join(words.or);
  return [fill(words.tell_wrong, { attended: trace.attended.any, read: steps[2].ids.length, merged: trace.merged.any, all, by: [...by, words.by_trace].join(words.and) }),
    missed && fill(words.tell_missed, { missed }), ...named((probe) => !probe.asked).map((name) => words.tell_unasked[name])].filter(Boolean).join(" ");
}

// Where one number stands in the first `step` steps, in words; `at` is undefined where it is not.
export function story(id, at, state, step, words) {
  const place = (k) => at[k] === undefined ? words.trail_gone : index(at[k] % count(state.steps[k].shape), state.steps[k].shape) + (wrongAt(k, at[k], state).length ? words.trail_off : "");
  const told = [words.trail_memory, words.trail_view, words.trail_read, "", words.trail_merged].slice(0, step);
  return [address(labels(id, state), state, words) + ".", ...told.map((text, k) => fill(text, { memory: id, place: k && text ? place(k > 3 ? 3 : k) : "" }))].filter(Boolean).join(" ");
}
