import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { furthest, view, words } from "./load.mjs";

const gallery = await view("head_gallery"), say = words("head_gallery");
const { baked, cases, limits: models } = JSON.parse(readFileSync(new URL("recorded_gallery.json", import.meta.url), "utf8"));
const limits = { layer: [0, 5, 1], head: [0, 11, 1], sentence: [-1, 2, 1], words: [1, 24], models };
const usual = { model: "minilm", layer: 0, head: 2, sentence: 0, text: "", closed: false };
const STATED = Number(say.map_note.match(/at most (0\.\d+)/)[1]);

test(`the page's maps are torch's within the stated error, ${STATED}, on ${cases.length} heads`, () => {
  assert.ok(cases.length >= 200 && STATED <= 0.002);
  let far = 0;
  for (const { sentence, model, layer, head, row, values } of cases) {
    const result = gallery.compute({ sentence, baked }), n = values.length, maps = gallery.mapsOf(result, model);
    const scene = result.scenes[model], heads = scene.harm[0].length, from = ((layer * heads + head) * n + row) * n;
    assert.equal(maps.length, scene.harm.length * heads * n * n);
    assert.equal(scene.tokens.length, n);
    far = Math.max(far, furthest(Array.from(maps.subarray(from, from + n)), values)[0]);
  }
  assert.ok(far <= STATED && far > 1e-4, `${far}`);
});

test("the comparison notices a map that is one step off, and a neighbour's", () => {
  const { sentence, model, layer, head, row, values } = cases.find(({ model }) => model === "minilm"), n = values.length;
  const maps = gallery.mapsOf(gallery.compute({ sentence, baked }), model), from = ((layer * 12 + head) * n + row) * n;
  const got = Array.from(maps.subarray(from, from + n)), other = Array.from(maps.subarray(from + n, from + 2 * n));
  assert.ok(furthest(got.map((x) => x + 1 / 255), values)[0] > STATED);
  assert.ok(furthest(other, values)[0] > STATED);
});

test("bytes from Python and base64 from the page are one map, unpacked once", () => {
  const scene = { tokens: ["a", "b"], harm: [[0]] }, bytes = Uint8Array.of(9, 255, 0, 51, 204).buffer;
  const live = gallery.mapsOf({ scenes: { toy: scene }, maps_toy: new DataView(bytes, 1) }, "toy");
  const page = gallery.mapsOf({ scenes: { toy: { ...scene, maps: btoa(String.fromCharCode(255, 0, 51, 204)) } } }, "toy");
  assert.deepEqual([...live], [...page]);
  assert.deepEqual([...live].map((x) => Math.round(1000 * x)), [1000, 0, 200, 800]);
  assert.equal(gallery.mapsOf({ scenes: { toy: scene } }, "toy"), live);
});

test("choices that can't be are refused in words", () => {
  const judge = (change, within = limits) => gallery.problem({ ...usual, ...change }, within, say);
  assert.equal(judge({}), null);
  assert.match(judge({ layer: 6 })[1], /from 0 to 5/);
  assert.match(judge({ head: NaN })[1], /from 0 to 11/);
  assert.match(judge({ model: "gpt" })[1], /choose one of minilm, random/);
  assert.match(judge({ sentence: -1 })[1], /1 to 24 words; there are 0/);
  assert.equal(judge({ sentence: -1, text: " two  words " }), null);
  const toys = { ...limits, models: [["toy", 2, 4]] };
  assert.deepEqual(judge({}, toys), ["model", say.missing]);
  assert.match(judge({ model: "toy", layer: 2 }, toys)[1], /layer: type a whole number from 0 to 1/);
  assert.equal(judge({ model: "toy", sentence: -1, text: "x", head: 0 }, toys)[1], say.toy_words);
});

test("a head's harm stands beside those of its layer, in thin layers beside all others", () => {
  assert.deepEqual(gallery.standing([[5, 1, 2, 4, 3], [9, 7, 3, 1, 1]], 0, 2), { own: 2, thin: false, usual: 3.5, count: 4, rank: 4, others: 3, all: 9 });
  assert.deepEqual(gallery.standing([[5, 1, 2], [9, 7, 3]], 1, 0), { own: 9, thin: true, usual: 3, count: 5, rank: 1, others: 3, all: 5 });
  assert.equal(gallery.median([3, 1, 2]), 2);
});

test("the axis of harms runs from 0.00001 to 1 in equal decades, that of shares evenly", () => {
  assert.deepEqual([0, 1e-5, 1].map((x) => gallery.alongHarm(x, false)), [0, 0, 1]);
  assert.ok(Math.abs(gallery.alongHarm(1e-2, false) - 0.6) < 1e-12);
  assert.deepEqual([-0.1, 0.25, 2].map((x) => gallery.alongHarm(x, true)), [0, 0.25, 1]);
});

test("small numbers keep two digits", () => {
  assert.deepEqual([0, 0.00121, 0.00023, 0.0736, 0.512, -0.004, 1e-9].map(gallery.fine), ["0", "0.0012", "0.00023", "0.074", "0.512", "-0.004", "1e-9"]);
});

// A made-up model of one layer and two heads: head 0 plays `score` of a role, its closing costs `own`.
const made = (score, most, own, extra = {}) => {
  const scene = (top, harm) => ({ tokens: ["a"], roles: [[[0.01, top, null, 0.2, 0, 0.9], [0.3, 0.1, null, 0, 0, 0.8]]], harm: [[harm, 0.01]] });
  return { scenes: { minilm: scene(score, own), random: scene(most, 0.01), toy: scene(score, own), toy_random: scene(most, 0.01) }, ...extra };
};
const told = (result, change = {}) => gallery.summary(result, { ...usual, head: 0, ...change }, say);

test("the pattern is the role with the highest score, and broadness is none", () => {
  const { minilm, random } = made(0.9, 0.1, 0.05).scenes;
  assert.deepEqual(gallery.pattern(minilm, random, 0, 0), { role: 1, score: 0.9, control: 0.1, most: 0.1, twin: null });
});

test("no verdict before the knock-out", () => {
  const text = told(made(0.9, 0.1, 0.05));
  assert.match(text, /90 % of its weight to “next token”.*came with training.*Close it/);
  for (const verdict of ["verdict_role", "verdict_pattern", "verdict_harm", "verdict_nothing"]) assert.ok(!text.includes(say[verdict]));
});

test("a role needs all three: a pattern, a control without it, a loss", () => {
  const cases = [[0.9, 0.1, 0.05, "verdict_role"], [0.9, 0.1, 0.019, "verdict_pattern"], [0.9, 0.46, 0.05, "verdict_harm"], [0.4, 0.1, 0.05, "verdict_harm"], [0.4, 0.1, 0.01, "verdict_nothing"]];
  for (const [score, most, own, verdict] of cases) {
    const text = told(made(score, most, own), { closed: true });
    assert.ok(text.endsWith(say[verdict]), `${score} ${most} ${own}: ${text}`);
    assert.doesNotMatch(text, /[{}]|NaN|undefined/);
  }
  assert.match(told(made(0.9, 0.46, 0.05), { closed: true }), /nobody trained that/);
  assert.match(told(made(0.4, 0.1, 0.05), { closed: true }), /none of these patterns/);
});

test("a head with the same pattern may have taken over, and is named", () => {
  const result = made(0.9, 0.1, 0.019);
  result.scenes.minilm.roles[0][1][1] = 0.75;
  assert.match(told(result, { closed: true }), /L0H1 has the same pattern/);
  result.scenes.minilm.roles[0][1][1] = 0.7;
  assert.ok(told(result, { closed: true }).endsWith(say.verdict_pattern));
});

test("the control gets no verdict, and the toy speaks of accuracy", () => {
  const control = told(made(0.9, 0.8, 0.05), { model: "random", closed: true });
  assert.match(control, /Nobody trained these weights.*drift by 0\.01/);
  assert.ok(!Object.keys(say).filter((key) => key.startsWith("verdict")).some((key) => control.includes(say[key])));
  assert.match(told(made(0.9, 0.1, 0.5), { model: "toy", closed: true }), /costs 0\.500 of the accuracy/);
});

test("the highest three are named for every kind of square", () => {
  const scene = baked[0].minilm, roles = gallery.leaders(scene, 0), harms = gallery.leaders(scene, -1);
  assert.match(roles.top, /^L0H2 1, L\d+H\d+ 0\.\d+, L\d+H\d+/);
  assert.equal(harms.values.length, 72);
  assert.equal(Math.max(...harms.values), Math.max(...scene.harm.flat()));
});

test("on the real heads the verdicts differ, so that there is something to find", () => {
  const all = new Set();
  baked.forEach((scenes) => scenes.minilm.harm.forEach((row, layer) => row.forEach((_, head) => {
    const text = gallery.summary({ scenes }, { ...usual, layer, head, closed: true }, say);
    all.add(["role", "pattern", "harm", "nothing"].find((kind) => text.endsWith(say["verdict_" + kind])) ?? (/has the same pattern/.test(text) && "twin"));
  })));
  assert.deepEqual([...all].sort(), ["harm", "nothing", "pattern", "role", "twin"]);
});
