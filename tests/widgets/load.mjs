// Loads a view as its hosts do: core, desk, arithmetic and view joined into one module, from memory.
import { readFileSync } from "node:fs";

const folder = new URL("../../mha_teach/widgets/", import.meta.url);
const read = (file) => readFileSync(new URL(file, folder), "utf8");
export const load = (...files) => import("data:text/javascript;base64," + Buffer.from(files.map(read).join("")).toString("base64"));
export const view = (name) => load("core.mjs", "desk.mjs", `${name}_math.mjs`, `${name}.mjs`);

const table = JSON.parse(read("words.json"));
export const words = (name) => ({ ...table.common, ...table[name] });
export const recorded = JSON.parse(readFileSync(new URL("recorded.json", import.meta.url), "utf8"));

// The largest difference between a computed result and a recorded one, relative to 1 or to the recorded size; NaN counts as infinite.
export function furthest(found, wanted, path = "") {
  if (typeof wanted === "number") {
    const far = Math.abs(found - wanted) / Math.max(1, Math.abs(wanted));
    return [Number.isNaN(far) ? Infinity : far, path];
  }
  if (typeof wanted !== "object") return [found === wanted ? 0 : Infinity, path];
  return Object.entries(wanted).reduce((worst, [key, value]) => {
    const next = furthest(found?.[key], value, `${path}.${key}`);
    return next[0] > worst[0] ? next : worst;
  }, [0, path]);
}
