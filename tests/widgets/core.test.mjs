import assert from "node:assert/strict";
import test from "node:test";
import { furthest, load, recorded, words } from "./load.mjs";

const core = await load("core.mjs");
const host = await load("core.mjs", "desk.mjs", "host.mjs");

test("the draws are torch's draws", () => {
  for (const { seed, stream, values } of recorded.draws) {
    assert.ok(furthest(core.normals(seed, stream, values.length), values)[0] < 1e-8);
  }
});

test("a longer draw begins with the shorter one", () => {
  assert.deepEqual([...core.normals(3, 1, 17)].slice(0, 5), [...core.normals(3, 1, 5)]);
});

test("the last result is kept as long as the question stays", () => {
  const asked = [], adds = core.lately((a, b) => { asked.push([a, b]); return { sum: a + b }; });
  assert.equal(adds(2, 3), adds(2, 3));
  assert.deepEqual([adds(23, ""), adds(2, 3), adds(2, 3)].map(({ sum }) => sum), ["23", 5, 5]);
  assert.deepEqual(asked, [[2, 3], [23, ""], [2, 3]]);
});

test("softmax works in place, inside a longer array, and on huge scores", () => {
  const row = Float64Array.from([7, 1000, 1000, -5, 3]);
  core.softmax(row, 1, 3);
  assert.deepEqual([...row], [7, 0.5, 0.5, 0, 3]);
});

test("numbers fit a narrow column", () => {
  const cases = [[0, "0"], [0.1317, "0.132"], [4.056, "4.06"], [2, "2"], [64.21, "64.2"], [131.4, "131"], [16384, "16,384"], [2.1e-5, "2.1e-5"], [3e7, "3.0e+7"], [-1234.6, "-1,235"]];
  for (const [x, text] of cases) assert.equal(core.digits(x), text);
  assert.deepEqual([0, 0.004, 0.456, 1].map(core.percent), ["0 %", "< 1 %", "46 %", "100 %"]);
});

test("placeholders are filled, unknown ones stay to be noticed", () => {
  assert.equal(core.fill("{a} of {b}, {c}", { a: 1, b: 0 }), "1 of 0, {c}");
});

test("a value outside its limits is refused in words", () => {
  const limits = { x: [1, 64, 1], r: [0, 1, 0] }, names = { x: "h", r: "correlation" };
  const judge = (name, value) => core.outside(name, value, limits, words("head_splitter"), names);
  for (const bad of [NaN, 0, 65, 1.5, Infinity, "3", null, undefined]) assert.match(judge("x", bad)[1], /h: type a whole number from 1 to 64/);
  for (const bad of [NaN, -0.1, 1.1]) assert.match(judge("r", bad)[1], /correlation: type a number from 0 to 1/);
  assert.equal(judge("x", 64), null);
  assert.equal(judge("r", 0.35), null);
});

test("bytes from Python become numbers, also when they start at an odd place", () => {
  const bytes = new Uint8Array(1 + 8);
  new DataView(bytes.buffer, 1).setFloat32(0, 0.25, true);
  new DataView(bytes.buffer, 1).setFloat32(4, -3, true);
  assert.deepEqual([...core.floats(new DataView(bytes.buffer, 1))], [0.25, -3]);
  assert.deepEqual([...core.floats(new DataView(Uint8Array.of(0, 255).buffer), true)], [0, 1]);
  const own = Float64Array.of(1);
  assert.equal(core.floats(own), own);
});

test("the stand-in model knows its traits and no others, computes, tells, and forgets listeners", () => {
  const model = host.standIn({ compute: ({ x }) => x * x }, { x: 3 });
  assert.equal(model.get("result"), 9);
  assert.throws(() => model.get("y"), /no trait y/);
  assert.throws(() => model.set("y", 1), /no trait y/);
  let told = 0;
  const act = () => (told = model.get("result"));
  model.on("change:result", act);
  model.set("x", 4);
  model.save_changes();
  assert.equal(told, 16);
  model.off("change:result", act);
  model.set("x", 5);
  model.save_changes();
  assert.equal(told, 16);
});
