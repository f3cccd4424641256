import assert from "node:assert/strict";
import test from "node:test";
import { view, words } from "./load.mjs";

const lanes = await view("lane_tracer"), saying = words("lane_tracer");
const usual = { batch: 2, positions: 3, num_heads: 2, d_k: 2, path: "right", step: 5 };
const limits = { batch: [1, 5, 1], positions: [1, 5, 1], num_heads: [1, 5, 1], d_k: [1, 5, 1], step: [1, 5, 1], numbers: [1, 150] };
const { plan, typed, tensor, permute, viewStrides, reshape, read, labels, number, attended, reading, compute, summary, story, verdicts, wrongAt, problem } = lanes;

test("a view of a dense tensor has dense strides, a transposed one has none", () => {
  const x = tensor([2, 3, 4]), turned = permute(tensor([2, 3, 2, 5]), [0, 2, 1, 3]);
  assert.deepEqual(viewStrides(x, [2, 3, 2, 2]), [12, 4, 2, 1]);
  assert.deepEqual([turned.shape, turned.strides], [[2, 2, 3, 5], [30, 5, 10, 1]]);
  assert.equal(viewStrides(turned, [2, 3, 10]), null);
  assert.equal(viewStrides(x, [5, 5]), null);
  assert.deepEqual(viewStrides(turned, [4, 3, 5]), null);
  assert.deepEqual(viewStrides(permute(tensor([3, 5]), [1, 0]), [5, 1, 3]), [1, 15, 5]);
});

test("reshape copies only where it must, and reads in the order of the indices", () => {
  const turned = permute(tensor([2, 3]), [1, 0]), flat = reshape(turned, [6]);
  assert.deepEqual([flat.copied, flat.strides, read(flat)], [true, [1], [0, 3, 1, 4, 2, 5]]);
  assert.equal(reshape(tensor([2, 3]), [6]).copied, undefined);
});

test("an address and a number are two names of one thing", () => {
  for (const path of ["right", "split_interleaved"]) {
    const size = { ...usual, positions: 5, num_heads: 3, path };
    for (let id = 0; id < 60; id++) assert.equal(number(labels(id, size), size), id);
  }
  assert.deepEqual(labels(23, usual), { batch: 1, role: 0, position: 2, head: 1, dim: 1 });
});

test("what a row reads is judged by where its answer lands", () => {
  const seen = (path) => { const table = attended({ ...usual, path }); return table.rows.map((_, r) => Array.from({ length: table.L }, (_, j) => reading(table, r, j, path === "split_interleaved"))); };
  assert.deepEqual(seen("right")[1], ["fine", "fine", "hidden"]);
  assert.deepEqual(seen("split_by_view").slice(3, 5), [["future", "hidden", "hidden"], ["mixed", "future", "hidden"]]);
  assert.ok(seen("split_swapped").flat().includes("foreign"));
  assert.deepEqual(seen("split_untransposed")[0], ["fine", "mixed"]);
  assert.ok(!seen("split_interleaved").flat().includes("fine"));
});

test("bad choices are answered with what is allowed", () => {
  assert.equal(problem(usual, limits, saying), null);
  for (const [name, bad] of [["batch", 0], ["positions", NaN], ["num_heads", 6], ["d_k", 1.5], ["step", 0], ["path", "left"]]) {
    assert.equal(problem({ ...usual, [name]: bad }, limits, saying)[0], name);
  }
  const [field, text] = problem({ ...usual, positions: 5, num_heads: 5, d_k: 5 }, limits, saying);
  assert.equal(field, "positions");
  assert.match(text, /= 250 numbers, and the picture holds 150/);
  assert.match(problem({ ...usual, positions: 5, num_heads: 3, path: "split_interleaved" }, limits, saying)[1], /3·B·T·h·d_k = 180/);
});

test("the summary names the probes that notice, those that don't, and those that can't be asked", () => {
  const told = (change) => summary(compute({ ...usual, ...change }), 5, saying);
  assert.match(told({}), /all 24 numbers come home, and no probe finds anything/);
  assert.match(told({ path: "split_by_view" }), /noticed by the causal probe \(2 of 3 pairs\) and trace_origin\. Not by the batch probe\.$/);
  assert.match(told({ path: "split_swapped" }), /the batch probe \(2 of 2 pairs\)/);
  assert.match(told({ path: "split_untransposed" }), /silence: no output reads another position/);
  assert.match(told({ path: "split_interleaved" }), /noticed by trace_origin\. Not by the causal probe or the batch probe/);
  assert.match(told({ path: "split_by_view", batch: 1 }), /With one sample the batch probe can't be asked\.$/);
  assert.match(told({ path: "split_by_view", num_heads: 1 }), /here split_by_view happens to be right, since with one head/);
  assert.match(told({ path: "split_swapped", batch: 1 }), /with one sample/);
  const steps = [1, 2, 3, 4, 5].map((step) => summary(compute({ ...usual, path: "split_by_view" }), step, saying));
  assert.equal(new Set(steps).size, 5);
  assert.match(steps[1], /shape \(2, 2, 3, 2\), strides \(12, 6, 2, 1\), contiguous/);
});

test("the story of a number ends at the step that is shown", () => {
  const size = { ...usual, path: "split_by_view" }, state = compute(size), at = state.steps.map(({ ids }) => ids.indexOf(4));
  assert.equal(story(4, at, state, 5, saying), "Sample 0, position 1, head 0, dim 0. In memory it is number 4. Viewed: [0, 0, 2, 0]. As attention reads it: [0, 0, 2, 0], where another number belongs. Merged: [0, 2, 0], where another number belongs.");
  assert.equal(story(4, at, state, 1, saying), "Sample 0, position 1, head 0, dim 0. In memory it is number 4.");
  assert.deepEqual(wrongAt(3, at[3], state), ["position", "any"]);
});

test("verdicts say what a probe can't be asked", () => {
  const said = Object.fromEntries(verdicts(compute({ ...usual, positions: 1, path: "split_swapped" }), saying));
  assert.equal(said[saying.causal], saying.unasked);
  assert.equal(said[saying.foreign], "none of 2 pairs");
});

test("cells and captions stand apart, and the text has each label at its place", () => {
  for (const [num_heads, d_k] of [[2, 2], [3, 1], [5, 3]]) {
    const { steps } = compute({ ...usual, num_heads, d_k }), made = plan(steps[2], ["B", "h", "T", "d_k"], false);
    const taken = new Set();
    for (const [x, y] of made.cells) for (let k = 0; k < 4; k++) for (const line of [y, y + 1]) { assert.ok(!taken.has(`${x + k} ${line}`)); taken.add(`${x + k} ${line}`); }
    for (const [x, y, text] of made.captions) for (let k = 0; k < text.length; k++) { assert.ok(!taken.has(`${x + k} ${y}`), text); taken.add(`${x + k} ${y}`); }
    assert.ok(made.cells.every(([x, y]) => x + 4 <= made.width && y + 2 <= made.height));
  }
  assert.equal(typed(7, 3, [[0, 0, "ab\ncd"], [4, 1, "e"]]), "ab\ncd  e\n");
  assert.equal(typed(3, 2, [[2, 0, "over"], [0, 1, "x"]]), "  over\nx");
});
