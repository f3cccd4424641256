import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { view, words } from "./load.mjs";

const composer = await view("mask_composer"), saying = words("mask_composer");
const { usual, roundings, cases } = JSON.parse(readFileSync(new URL("recorded_mask_composer.json", import.meta.url), "utf8"));
const limits = { n: [2, 12, 1], padding: [0, 12, 1], window: [0, 12, 1], seed: [0, 9999, 1] };
const number = (x) => (typeof x === "string" ? { nan: NaN, inf: Infinity, "-inf": -Infinity }[x] : x);
// How far two numbers lie apart, relative to 1 or to their size; NaN agrees with NaN, ∞ with ∞, and with nothing else.
const apart = (found, wanted) => {
  if (Object.is(found, wanted) || found === wanted) return 0;
  const far = Math.abs(found - wanted) / Math.max(1, Math.abs(wanted));
  return Number.isNaN(far) ? Infinity : far;
};
const furthest = (found, wanted) => (found.length === wanted.length ? Math.max(...wanted.map((x, i) => apart(found[i], number(x)))) : Infinity);

test(`JavaScript agrees with torch within 1e-5 on ${cases.length} cases, every weight and every sum`, () => {
  assert.ok(cases.length >= 200);
  for (const { choices, counts, mask, at, weights, rows } of cases) {
    const found = composer.compute({ ...usual, ...choices }), where = JSON.stringify(choices);
    for (const [name, count] of Object.entries(counts)) assert.equal(found[name], count, `${name} ${where}`);
    assert.equal(Array.from(found.mask).join(""), mask, where);
    assert.ok(furthest(at.map((k) => found.weights[k]), weights) < 1e-5, `weights ${where}`);
    for (const [name, list] of Object.entries(rows)) assert.ok(furthest(Array.from(found[name]), list) < 1e-5, `${name} ${where}`);
  }
});

test("the comparison notices 2e-5, NaN, ∞ and a missing number", () => {
  assert.ok(furthest([0.5 + 2e-5], [0.5]) > 1e-5);
  assert.equal(furthest([NaN], ["nan"]), 0);
  assert.equal(furthest([-Infinity], ["-inf"]), 0);
  for (const [a, b] of [[[NaN], [0.5]], [[0.5], ["nan"]], [[-Infinity], ["inf"]], [[undefined], [1]], [[1, 2], [1]]]) assert.equal(furthest(a, b), Infinity);
});

test(`float16 and bfloat16 are rounded as torch rounds them, ${roundings.length} numbers to the last bit`, () => {
  for (const [x, half, brain] of roundings) {
    assert.ok(composer.rounded(x, "float16") === number(half), `float16 of ${x}: ${composer.rounded(x, "float16")}, not ${half}`);
    assert.ok(composer.rounded(x, "bfloat16") === number(brain), `bfloat16 of ${x}`);
  }
  assert.equal(composer.rounded(0.1, "float32"), Math.fround(0.1));
  assert.ok(Number.isNaN(composer.rounded(NaN, "float16")));
});

test("what is added to a blocked score depends on the type: −1e9 is −∞ in float16 alone", () => {
  const added = (sentinel) => Object.keys(composer.TYPES).map((float_type) => composer.added({ sentinel, float_type }));
  assert.deepEqual(added("1e9"), [-1e9, -Infinity, -998244352]);
  assert.deepEqual(added("min"), [-3.4028234663852886e38, -65504, -3.3895313892515355e38]);
  assert.deepEqual(added("inf"), [-Infinity, -Infinity, -Infinity]);
});

test("rules block cells, and a cell drawn by hand overrides them until it says the same", () => {
  const state = { ...usual, n: 5, padding: 1, window: 3 };
  assert.deepEqual(composer.blockers(state, 0, 4), ["causal", "padding", "window"]);
  assert.deepEqual(composer.blockers(state, 3, 2), []);
  assert.deepEqual(composer.blockers({ ...state, side: "left" }, 2, 0), ["padding"]);
  const drawn = composer.draw(state, 0, 4, 1);
  assert.deepEqual(drawn, [[0, 4, 1]]);
  assert.equal(composer.maskOf({ ...state, drawn })[4], 1);
  assert.deepEqual(composer.draw({ ...state, drawn }, 0, 4, 0), []);
  assert.deepEqual(state.drawn, []);  // a new list each time: an old one may be what another host still holds
});

test("choices that can't be are refused in words", () => {
  const judge = (wish) => composer.problem({ ...usual, ...wish }, limits, saying);
  assert.equal(judge({}), null);
  assert.equal(judge({ drawn: [[11, 0, 1]] }), null);
  const bad = { n: 13, padding: NaN, window: 1.5, seed: -1, causal: 1, side: "up", placement: "during", sentinel: null, float_type: "float8", library: "x", drawn: [[12, 0, 1]] };
  for (const [name, value] of Object.entries(bad)) {
    const [field, text] = judge({ [name]: value });
    assert.equal(field, name);
    assert.match(text, /The picture still shows the last good value/);
    assert.doesNotMatch(text, /[{}]|undefined/);
  }
  for (const drawn of [null, "x", [[0, 0]], [[0, 0, 2]], [[0.5, 0, 1]], [[-1, 0, 1]], Array(145).fill([0, 0, 1])]) assert.equal(judge({ drawn })[0], "drawn");
});

const told = (wish) => { const choices = { ...usual, ...wish }; return composer.summary(composer.compute(choices), choices, saying); };

test("the words say what happens, for every state", () => {
  const blind = { padding: 2, side: "left" };
  for (const [wish, pattern] of [
    [{}, /Masked before the softmax: every row sums to 1/], [{ causal: false }, /36 of 36 cells may look, 15 of them ahead.*Nothing is blocked/],
    [blind, /2 of 6 rows are NaN: these queries are blind.*other rows are in order/], [{ ...blind, sentinel: "min" }, /2 queries are blind, they may look at nothing, and yet/],
    [{ ...blind, sentinel: "1e9", float_type: "float16" }, /−1e9 does not fit into float16: it becomes −∞. 2 of 6 rows are NaN/],
    [{ ...blind, sentinel: "1e9", float_type: "bfloat16" }, /and yet their rows sum to 1/], [{ sentinel: "product" }, /6 of 6 rows are NaN.*0 · −∞/],
    [{ placement: "after" }, /row sums fall to 0\.\d+.*Leak 0\.\d+: raise every blocked score of query \d by 0\.01/], [{ placement: "renormalised" }, /divided by the row sums: the same weights/],
    [{ ...blind, placement: "renormalised" }, /2 of 6 rows are NaN: the mask left nothing/], [{ placement: "added" }, /masks nothing: up to \d+ % .*Leak/], [{ placement: "multiplied" }, /0 is a score like any other/],
  ]) assert.match(told(wish), pattern);
  for (const { choices } of cases) assert.doesNotMatch(told(choices), /[{}]|undefined|Infinity|NaN[^:\s,.]/);
});

test("nothing leaks before the softmax or after it with renormalising; the leak after it is sum · (1 − sum)", () => {
  const found = (placement) => composer.compute({ ...usual, placement });
  for (const placement of ["before", "renormalised", "multiplied"]) assert.ok(found(placement).leak.every((x) => x === 0));
  const { sums, leak } = found("after");
  leak.forEach((x, i) => assert.ok(Math.abs(x - sums[i] * (1 - sums[i])) < 1e-6));
  assert.ok(found("added").leak.some((x) => x > 0.1));
  const before = found("before").weights;
  assert.ok(furthest(Array.from(found("renormalised").weights), Array.from(before)) < 1e-6);
});

test("the largest of a list, its mean, rows as people count them, and large numbers in few characters", () => {
  assert.deepEqual([[], [0], [0, 1, 2, 4], [3, 5]].map(composer.ranges), ["", "1", "1–3, 5", "4, 6"]);
  assert.deepEqual(composer.worst([0.1, NaN, 0.4, 0.2]), [0.4, 2]);
  assert.deepEqual(composer.worst([NaN]), [0, 0]);
  assert.equal(composer.mean([0.25, NaN, 0.75]), 0.5);
  assert.equal(composer.mean([NaN]), 0);
  assert.deepEqual([-Infinity, -1e9, -65504, -3.4028e38, -998244352].map(composer.big), ["−∞", "−1e9", "−65,504", "−3.40e38", "−9.98e8"]);
});

test("filler stands where it's said, and positions beyond the words have numbers", () => {
  assert.deepEqual(composer.labelsOf({ n: 3, padding: 1, side: "left" }, saying), ["filler", "the", "cat"]);
  assert.deepEqual(composer.labelsOf({ n: 14, padding: 1, side: "right" }, saying).slice(-3), ["soft", "13", "filler"]);
  assert.deepEqual(composer.labelsOf({ n: 2, padding: 9, side: "right" }, saying), ["filler", "filler"]);
});

test("a mask that differs between queries has no form over keys alone, and a long one is cut", () => {
  const write = (wish) => { const choices = { ...usual, ...wish }; return composer.literal(composer.compute(choices), choices, saying); };
  assert.equal(write({ library: "transformers.attention_mask" }), null);
  assert.equal(write({ library: "transformers.attention_mask", causal: false, padding: 2 }), "attention_mask = [[1, 1, 1, 1, 0, 0]]");
  assert.equal(write({ library: "mha.key_padding_mask", causal: false, padding: 2, n: 3, side: "left" }), "key_padding_mask = [[ True,  True, False]]");
  assert.match(write({ n: 9, library: "additive", float_type: "float16" }), /^bias = \[\[ +0\., -3\.28e4, .*…\],\n[^]*…\]$/);
  assert.equal(write({ library: "flex.mask_mod", padding: 2, window: 3 }), "def mask_mod(b, h, q, k):\n    return (k <= q) & (k < 4) & (abs(q - k) < 3)");
});
