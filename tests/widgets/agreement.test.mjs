import assert from "node:assert/strict";
import test from "node:test";
import { furthest, recorded, view, words } from "./load.mjs";

for (const name of ["head_splitter", "saturation"]) {
  const { compute } = await view(name), cases = recorded[name];

  test(`${name}: JavaScript agrees with torch within 1e-5 on ${cases.length} cases`, () => {
    assert.ok(cases.length >= 200);
    for (const { choices, numbers, samples } of cases) {
      const found = compute(choices, words(name));
      const [far, where] = furthest(found, numbers);
      assert.ok(far < 1e-5, `${JSON.stringify(choices)} differs by ${far} at ${where}`);
      for (const [array, { size, at, values }] of Object.entries(samples)) {
        assert.equal(found[array].length, size);
        assert.ok(furthest(at.map((i) => found[array][i]), values)[0] < 1e-5, `${JSON.stringify(choices)} differs in ${array}`);
      }
    }
  });

  test(`${name}: the comparison notices a difference of 2e-5, a missing number and NaN`, () => {
    const { choices, numbers } = cases[7], found = compute(choices, words(name));
    const key = name === "saturation" ? "curve" : "confusion";
    const shifted = structuredClone(numbers);
    if (name === "saturation") shifted.curve[3][0] += 2e-5; else shifted.confusion += 2e-5;
    assert.ok(furthest(found, shifted)[0] > 1e-5);
    assert.equal(furthest({ ...found, [key]: undefined }, numbers)[0], Infinity);
    assert.equal(furthest({ ...found, [key]: NaN }, numbers)[0], Infinity);
  });
}
