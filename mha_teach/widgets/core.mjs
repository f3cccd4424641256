// Shared by all views. Python joins this text in front of a view; nothing here touches the page before it's called.

export function mix(x) {
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x046ca68b);
  return (x ^ (x >>> 16)) >>> 0;
}

// Standard normal numbers, the same as mha_teach.widgets.draws.normals.
export function normals(seed, stream, count) {
  const base = mix(seed * 64 + stream);
  const uniform = (i) => (mix(mix(i) ^ base) + 0.5) / 4294967296;
  const out = new Float64Array(count);
  for (let i = 0; i < count; i += 2) {
    const far = Math.sqrt(-2 * Math.log(uniform(i))), turn = 2 * Math.PI * uniform(i + 1);
    out[i] = far * Math.cos(turn);
    if (i + 1 < count) out[i + 1] = far * Math.sin(turn);
  }
  return out;
}

// Says whether a part of the drawing has to be made anew: true at first, and whenever its key has changed.
export function changes() {
  const keys = {};
  return (part, key) => keys[part] !== key && ((keys[part] = key), true);
}

// The last result of `act`, as long as what it is asked for stays the same.
export function lately(act) {
  let key = null, value = null;
  return (...asked) => {
    const now = JSON.stringify(asked);
    if (key !== now) [key, value] = [now, act(...asked)];
    return value;
  };
}

// Softmax of out[from … from + n) in place.
export function softmax(out, from, n) {
  let top = -Infinity, sum = 0;
  for (let j = 0; j < n; j++) top = Math.max(top, out[from + j]);
  for (let j = 0; j < n; j++) sum += out[from + j] = Math.exp(out[from + j] - top);
  for (let j = 0; j < n; j++) out[from + j] /= sum;
}

export function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (all, name) => (name in values ? String(values[name]) : all));
}

// Three digits that fit a narrow column: 0.132, 4.06, 131, 16,384, 2.1e-5.
export function digits(x) {
  const size = Math.abs(x);
  if (Number.isInteger(x) && size < 1000) return String(x);
  if (size !== 0 && (size < 0.0005 || size >= 1e7)) return x.toExponential(1);
  if (size >= 1000) return Math.round(x).toString().replace(/\B(?=(\d{3})+$)/g, ",");
  return String(size >= 100 ? Math.round(x) : x.toFixed(size >= 10 ? 1 : size >= 1 ? 2 : 3));
}

export const percent = (x) => (x > 0 && x < 0.01 ? "< 1 %" : Math.round(100 * x) + " %");

// What is wrong with a value typed into a field, or null. Python's base.py says the same in the same words.
export function outside(name, value, limits, words, names) {
  const [low, high, step] = limits[name];
  const good = typeof value === "number" && value >= low && value <= high && (step !== 1 || Number.isInteger(value));
  return good ? null : [name, fill(step === 1 ? words.whole : words.range, { label: names[name], low, high })];
}

// The first of the choices `names` that lies outside its limits, said as `outside` says it, or null.
export const beyond = (choices, limits, words, names) =>
  names.filter((name) => name in limits).reduce((found, name) => found || outside(name, choices[name], limits, words, words.field_names), null);

// Numbers that Python sends as float32 bytes, or bytes of 1/255; the page computes its own arrays.
export function floats(value, coarse = false) {
  if (!(value instanceof DataView)) return value;
  const bytes = value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength);
  return coarse ? Float32Array.from(new Uint8Array(bytes), (b) => b / 255) : new Float32Array(bytes);
}

export function make(tag, props = {}, ...children) {
  const svg = ["svg", "rect", "path", "line", "text", "circle", "g", "pattern"].includes(tag);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

// Writes only what has changed: an equal text would be laid out anew all the same.
export const tell = (node, text) => {
  const said = node.firstChild;
  if (!said) node.textContent = text;
  else if (said.data !== text) said.data = text;  // the same node: cheaper than a new one
};

let made = 0;
export const fresh = () => `mha-${++made}`;

// A slider over a list of values, and a field to type any other. `put(value)` may refuse; the field then says why.
export function dial({ name, label, values, text = String, put, wide = false }) {
  const slider = make("input", { type: "range", min: 0, step: 1, "aria-label": label });
  const field = make("input", { type: "text", inputmode: "decimal", size: 5, autocomplete: "off", name });
  const node = make("div", { class: "mha-dial" + (wide ? " mha-wide" : "") }, make("label", {}, make("span", {}, label), field), slider);
  let list = [];
  const nearest = (value) => list.reduce((best, v, i) => (Math.abs(v - value) < Math.abs(list[best] - value) ? i : best), 0);
  const show = (value) => {
    if (field.value !== String(value)) field.value = String(value);
    slider.value = String(nearest(value));
    const said = `${label} ${text(value)}`;
    if (slider.getAttribute("aria-valuetext") !== said) slider.setAttribute("aria-valuetext", said);
  };
  const range = (next) => { if (next.length === list.length && next.at(-1) === list.at(-1)) return; list = next; slider.max = String(next.length - 1); };
  range(values);
  slider.addEventListener("input", () => put(list[Number(slider.value)]));
  field.addEventListener("change", () => put(field.value.trim() === "" ? NaN : Number(field.value.replace(",", "."))));
  return { node, field, slider, show, range, enable: (on) => { field.disabled = slider.disabled = !on; } };
}

export function picker({ name, label, options, put }) {
  const field = make("select", { name });
  const stale = changes();
  const fillWith = (pairs) => stale("options", JSON.stringify(pairs)) && field.replaceChildren(...pairs.map(([value, text]) => make("option", { value }, text)));
  fillWith(options);
  field.addEventListener("change", () => put(field.value));
  return { node: make("label", { class: "mha-pick" }, make("span", {}, label), field), field, options: fillWith, show: (value) => { field.value = String(value); } };
}

// A panel with a heading, a note, a drawing, and its data table behind a button. `table()` gives rows of cells, the head first.
export function panel({ drawing, words, table, tools = [] }) {
  const title = make("h4"), note = make("p", { class: "mha-note" }), id = fresh();
  const box = make("div", { id, class: "mha-table", hidden: true, tabindex: 0, role: "region" });
  const button = make("button", { type: "button", "aria-expanded": "false", "aria-controls": id }, words.show_table);
  const node = make("section", { class: "mha-panel" }, title, ...tools, drawing, note, ...(table ? [button, box] : []));
  const refresh = () => {
    if (box.hidden || !table) return;
    const [head, ...rows] = table();
    box.replaceChildren(make("table", {},
      make("thead", {}, make("tr", {}, ...head.map((c) => make("th", { scope: "col" }, c)))),
      make("tbody", {}, ...rows.map(([first, ...rest]) => make("tr", {}, make("th", { scope: "row" }, first), ...rest.map((c) => make("td", {}, c)))))));
  };
  const name = () => button.setAttribute("aria-label", `${button.textContent}: ${title.textContent}`);
  button.addEventListener("click", () => {
    box.hidden = !box.hidden;
    button.setAttribute("aria-expanded", String(!box.hidden));
    button.textContent = box.hidden ? words.show_table : words.hide_table;
    name();
    refresh();
  });
  const say = (heading, text) => {
    if (title.textContent !== heading) {
      tell(title, heading);
      box.setAttribute("aria-label", heading);
      name();
    }
    tell(note, text);
    refresh();
  };
  return { node, say };
}

// 256 colours between the five of the palette, read from the page's custom properties; null while `el` is not on the page.
export function ramp(el) {
  const style = getComputedStyle(el);
  if (!style.getPropertyValue("--mha-weights-0")) return null;
  const stops = [0, 1, 2, 3, 4].map((i) => {
    const hex = style.getPropertyValue(`--mha-weights-${i}`).trim();
    return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  });
  const out = new Uint32Array(256);
  for (let i = 0; i < 256; i++) {
    const place = Math.min(i / 255 * 4, 3.9999), low = Math.floor(place), part = place - low;
    const [r, g, b] = stops[low].map((c, k) => Math.round(c + part * (stops[low + 1][k] - c)));
    out[i] = (255 << 24) | (b << 16) | (g << 8) | r;
  }
  return out;
}

// Draws square maps side by side, one pixel per weight; CSS enlarges the pixels.
export function paint(canvas, maps, n, count, columns, colours) {
  const rows = Math.ceil(count / columns), width = columns * n, gap = count > 1 ? 1 : 0;
  const full = columns * (n + gap) - gap, tall = rows * (n + gap) - gap;
  if (canvas.width !== full || canvas.height !== tall) { canvas.width = full; canvas.height = tall; }
  const context = canvas.getContext("2d"), image = context.createImageData(full, tall);
  const pixels = new Uint32Array(image.data.buffer);
  for (let map = 0; map < count; map++) {
    const left = (map % columns) * (n + gap), top = Math.floor(map / columns) * (n + gap);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        pixels[(top + i) * full + left + j] = colours[Math.min(255, Math.round(255 * maps[(map * n + i) * n + j]))];
      }
    }
  }
  context.putImageData(image, 0, 0);
  return { full, tall, gap, width };
}
