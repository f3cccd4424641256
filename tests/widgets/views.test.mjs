import assert from "node:assert/strict";
import test from "node:test";
import { view, words } from "./load.mjs";

const heads = await view("head_splitter"), saturation = await view("saturation");
const limits = { num_heads: [1, 64, 1], d_k: [1, 64, 1], sentence: [-1, 2, 1], query: [0, 255, 1], seed: [0, 9999, 1], words: [2, 24] };
const usual = { num_heads: 2, d_k: 32, tied: true, sentence: 0, text: "", query: 6, seed: 0 };
const split = words("head_splitter");

test("a number of heads that does not divide d_model is refused with those that do", () => {
  const [field, text] = heads.problem({ ...usual, num_heads: 3 }, limits, split);
  assert.equal(field, "num_heads");
  assert.match(text, /h = 3 does not divide d_model = 64.*1, 2, 4, 8, 16, 32, 64/);
  assert.equal(heads.problem({ ...usual, num_heads: 3, tied: false }, limits, split), null);
});

test("own words are counted", () => {
  const own = (text) => heads.problem({ ...usual, sentence: -1, text }, limits, split);
  assert.match(own("one")[1], /2 to 24 words; there are 1/);
  assert.match(own("x ".repeat(25))[1], /there are 25/);
  assert.equal(own(" two  words "), null);
  assert.equal(heads.sentenceOf({ sentence: -1, text: "a b c" }, split).targets.join("|"), "1,2,2|0,0,1");
});

test("one head can satisfy at most half, two heads nearly all, 64 none", () => {
  const right = (num_heads) => heads.compute({ ...usual, num_heads }, split).right;
  assert.ok(right(1) <= 9 && right(2) >= 15 && right(64) === 0, [1, 2, 64].map(right).join());
});

test("parameters and multiply-adds don't move with h, score memory does", () => {
  const [one, eight] = [1, 8].map((num_heads) => heads.compute({ ...usual, num_heads }, split));
  assert.deepEqual([one.parameters, one.macs], [eight.parameters, eight.macs]);
  assert.equal(one.parameters, 4 * 64 * 64);
  assert.equal(one.macs, 4 * 9 * 64 * 64 + 2 * 9 * 9 * 64);
  assert.deepEqual([one.score_bytes, eight.score_bytes], [4 * 81, 8 * 4 * 81]);
});

test("a head that straddles both halves serves both questions", () => {
  const served = [0, 1, 2].map((head) => [0, 1].map((r) => heads.serves(head, r, 3, 5)));
  assert.deepEqual(served, [[true, false], [true, true], [false, true]]);
});

test("the summary changes with the state", () => {
  const told = [1, 2, 64].map((num_heads) => heads.summary(heads.compute({ ...usual, num_heads }, split), split));
  assert.match(told[0], /One head/);
  assert.match(told[1], /2 heads of width 32.*Parameters ×1, score memory ×2/);
  assert.match(told[2], /faintly/);
  for (const text of told) assert.doesNotMatch(text, /[{}]|NaN|undefined/);
});

const wide = { d_k: [1, 1024, 1], correlation: [0, 1, 0], n: [2, 32, 1], query: [1, 256, 1], seed: [0, 9999, 1] };
const plain = { d_k: 64, scale: "none", correlation: 0, n: 32, query: 1, seed: 0 };
const saying = words("saturation");

test("saturation refuses an unknown scale and numbers out of range", () => {
  assert.equal(saturation.problem(plain, wide, saying), null);
  for (const [name, bad] of [["scale", "sqrt"], ["d_k", 1025], ["d_k", NaN], ["n", 10 ** 9], ["correlation", 1.5]]) {
    assert.equal(saturation.problem({ ...plain, [name]: bad }, wide, saying)[0], name);
  }
});

test("bins hold every score, and those beyond the edge stand in the outermost", () => {
  const { all, own, beyond } = saturation.histogram([-7, -0.5, 0.5, 99], 2, 6, 4);
  assert.deepEqual([...all], [0.25, 0.25, 0.25, 0.25]);
  assert.deepEqual([...own], [0.25, 0, 0, 0.25]);
  assert.equal(beyond, 0.5);
});

test("without scale the row dies and the gradient to the scores with it; 1/√d_k keeps both alive", () => {
  const at = (d_k, scale) => saturation.compute({ ...plain, d_k, scale }).now;
  assert.ok(at(1024, "none").max_weight > 0.9 && at(1024, "none").to_scores < at(4, "none").to_scores);
  assert.ok(at(1024, "none").to_query > at(1024, "sqrt_d_k").to_query);
  assert.ok(Math.abs(at(1024, "sqrt_d_k").variance - 1) < 0.1);
  const told = ["none", "sqrt_d_k", "d_k"].map((scale) => saturation.summary(saturation.compute({ ...plain, d_k: 1024, scale }), plain, saying));
  assert.deepEqual(told.map((text) => text.split(":")[0]), ["Saturated", "Alive", "Flat"]);
});
