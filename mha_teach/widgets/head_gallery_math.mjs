// What is said about one head: its pattern, the control's, and its place among the knock-outs (chapter 06).

const NAMES = ["model", "layer", "head", "sentence", "text", "closed"], CLEAR = 0.5, FAR = 2, THIN = 4, TWIN = 0.8, FLOOR = 1e-5;
const CONTROL = { minilm: "random", random: "random", toy: "toy_random", toy_random: "toy_random" };
const TRAINED = { minilm: "minilm", random: "minilm", toy: "toy", toy_random: "toy" };
export const isToy = (model) => TRAINED[model] === "toy";

export const split = (text) => String(text).split(/\s+/).filter(Boolean);

// Layers and heads of a model that can be shown here, or undefined.
export const sizeOf = (model, limits) => limits.models.find(([name]) => name === model)?.slice(1);

export function problem(choices, limits, words) {
  const found = beyond(choices, limits, words, NAMES), size = sizeOf(choices.model, limits);
  if (found) return found;
  if (!size) {
    const options = limits.models.map(([name]) => name).join(", "), known = words.models.some(([name]) => name === choices.model);
    return ["model", known ? words.missing : fill(words.choose, { label: words.field_names.model, options })];
  }
  const place = ["layer", "head"].reduce((bad, name, at) => bad || outside(name, choices[name], { [name]: [0, size[at] - 1, 1] }, words, words.field_names), null);
  if (place || choices.sentence >= 0) return place;
  if (isToy(choices.model)) return ["sentence", words.toy_words];
  const [low, high] = limits.words, n = split(choices.text).length;
  return n < low || n > high ? ["text", fill(words.text_size, { low, high, n })] : null;
}

// On a page: the scenes of one sentence, as Python baked them in.
export const compute = ({ sentence, baked }) => ({ sentence, scenes: baked[sentence] });

const hung = new WeakMap();
// The maps of a scene as numbers, (layer, head, query, key): steps of 1/255, as base64 on a page, as bytes from Python.
export function mapsOf(result, model) {
  const scene = result.scenes[model];
  if (!hung.has(scene)) {
    const sent = scene.maps ?? result[`maps_${model}`];
    hung.set(scene, typeof sent === "string" ? Float32Array.from(atob(sent), (c) => c.charCodeAt(0) / 255) : floats(sent, true));
  }
  return hung.get(scene);
}

export function median(list) {
  const sorted = [...list].sort((a, b) => a - b), half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

// Two digits that matter, also of small numbers.
export const fine = (x) => (x === 0 || Math.abs(x) >= 0.1 ? digits(x) : String(Number(x.toPrecision(2))));

// A head's harm beside that of its peers, the other heads of its layer, or of the whole model where layers are thin; rank 1 harms most.
export function standing(harm, layer, head) {
  const own = harm[layer][head], mates = harm[layer].filter((_, h) => h !== head), others = [...mates, ...harm.flatMap((row, l) => (l === layer ? [] : row))];
  const thin = mates.length < THIN, peers = thin ? others : mates;
  return { own, thin, usual: median(peers), count: peers.length, rank: 1 + peers.filter((x) => x > own).length, others: median(others), all: others.length };
}

// The role of which a head has most, its score, the same head's in the control, and the most that any control head has;
// `twin` is the other head that has most of it, if that is nearly as much: it may take over the work.
export function pattern(scene, control, layer, head) {
  const scores = scene.roles[layer][head].slice(0, -1).map((x) => x ?? 0), role = scores.indexOf(Math.max(...scores));
  const most = Math.max(...control.roles.flat().map((row) => row[role] ?? 0));
  const rivals = scene.roles.flatMap((row, l) => row.map((at, h) => [at[role] ?? 0, nameOf(l, h)])).filter(([, name]) => name !== nameOf(layer, head));
  const [next, twin] = rivals.reduce((best, rival) => (rival[0] > best[0] ? rival : best));
  return { role, score: scores[role], control: control.roles[layer][head][role] ?? 0, most, twin: next >= TWIN * scores[role] ? twin : null };
}

// Names like L0H2; the three highest of a role or of the harm, for the note under the small squares.
export const nameOf = (layer, head) => `L${layer}H${head}`;
export function leaders(scene, kind) {
  const value = (layer, head) => (kind < 0 ? scene.harm[layer][head] : scene.roles[layer][head][kind] ?? 0);
  const all = scene.harm.flatMap((row, layer) => row.map((_, head) => [value(layer, head), nameOf(layer, head)]));
  return { values: all.map(([x]) => x), top: [...all].sort((a, b) => b[0] - a[0]).slice(0, 3).map(([x, name]) => `${name} ${fine(x)}`).join(", ") };
}

// From 0 to 1 on the axis of harms: logarithmic for drifts, plain for shares.
export const alongHarm = (x, toy) => Math.min(1, Math.max(0, toy ? x : 1 + Math.log10(Math.max(x, FLOOR)) / -Math.log10(FLOOR)));

export function summary(result, { model, layer, head, closed }, words) {
  const scene = result.scenes[model], control = result.scenes[CONTROL[model]], harm = standing(scene.harm, layer, head);
  const seen = pattern(scene, control, layer, head), clear = seen.score >= CLEAR, lacks = seen.most < seen.score / 2, hurts = harm.own > FAR * harm.usual;
  const values = { name: nameOf(layer, head), layer, role: words.roles[seen.role], score: percent(seen.score), twin: seen.twin, control: percent(seen.control), most: percent(seen.most),
    own: fine(harm.own), usual: fine(harm.usual), peers: fill(harm.thin ? words.peers_all : words.peers, { count: harm.count, layer }) };
  const untrained = CONTROL[model] === model;
  const first = untrained ? words.tell_untrained : !clear ? words.tell_none : lacks ? words.tell_lacks : words.tell_has;
  const then = !closed ? words.tell_guess : isToy(model) ? words.tell_drop : words.tell_drift;
  const verdict = clear && lacks ? (hurts ? words.verdict_role : seen.twin ? words.verdict_twin : words.verdict_pattern) : hurts ? words.verdict_harm : words.verdict_nothing;
  return [first, then, ...(closed && !untrained ? [verdict] : [])].map((text) => fill(text, values)).join(" ");
}
