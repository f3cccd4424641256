// The view of the mask composer; its arithmetic stands in mask_composer_math.mjs.

const SMALL = 24;  // up to here a row has room for a label and its sum
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const cellsPath = (list) => list.map(([i, j]) => `M${j} ${i}h1v1h-1z`).join("");

// A square over n × n cells: an SVG whose unit is a cell, with a hatch of its own.
function sheet(id) {
  const lines = make("path", { class: "mha-hatch" }), light = make("path", { class: "mha-hatch mha-light" });
  const pattern = make("pattern", { id, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, light, lines);
  const hatched = make("path", { fill: `url(#${id})` }), grid = make("path", { class: "mha-grid" });
  const svg = make("svg", { "aria-hidden": "true", preserveAspectRatio: "none" }, pattern, hatched, grid);
  const size = (n) => {
    svg.setAttribute("viewBox", `0 0 ${n} ${n}`);
    const step = Math.max(0.25, n / 48);
    for (const [name, value] of [["width", step], ["height", step]]) pattern.setAttribute(name, value);
    lines.setAttribute("d", `M${step / 4} 0v${step}`);
    light.setAttribute("d", `M${step * 3 / 4} 0v${step}`);
    for (const line of [lines, light]) line.setAttribute("stroke-width", step / 3);
    const marks = Array.from({ length: n - 1 }, (_, k) => `M0 ${k + 1}h${n}M${k + 1} 0v${n}`);
    grid.setAttribute("d", n > SMALL ? "" : marks.join(""));
  };
  return { svg, size, hatch: (cells) => hatched.setAttribute("d", cellsPath(cells)) };
}

// One span for each text; those that stand there stay, as new ones would be laid out anew.
function spans(box, texts) {
  while (box.children.length > texts.length) box.lastChild.remove();
  while (box.children.length < texts.length) box.append(make("span"));
  texts.forEach((text, i) => tell(box.children[i], text));
}

// Words along both edges of a square, and what stands to the right of each row.
function edged(square, heads) {
  const across = make("div", { class: "mha-across", "aria-hidden": "true" }), down = make("div", { class: "mha-down", "aria-hidden": "true" });
  const sides = heads.map(() => make("div", { class: "mha-beside", "aria-hidden": "true" }));
  const tops = heads.map((text) => make("span", { class: "mha-beside-head", "aria-hidden": "true" }, text));
  const node = make("div", { class: "mha-map mha-edged" }, make("span"), across, ...tops, down, square, ...sides);
  const names = (labels) => {
    const n = labels.length;
    node.classList.toggle("mha-tight", n > 8);
    node.style.gridTemplateColumns = `fit-content(32%) minmax(0, 1fr)${" 2.6em".repeat(n > SMALL ? 0 : heads.length)}`;
    for (const part of [...tops, ...sides]) part.hidden = n > SMALL;
    for (const [box, axis] of [[across, "Columns"], [down, "Rows"], ...sides.map((side) => [side, "Rows"])]) box.style[`gridTemplate${axis}`] = `repeat(${n}, minmax(0, 1fr))`;
    for (const box of [across, down]) spans(box, n > SMALL ? [] : labels);
  };
  const beside = (lists) => lists.forEach((texts, k) => spans(sides[k], texts.length > SMALL ? [] : texts));
  return { node, names, beside };
}

// The square to draw on: by mouse, finger or keyboard. `look(i, j)` reads a cell, `set(cells, look)` writes some.
function easel({ words, size, look, set, status, saying }) {
  const hint = fresh(), { svg, ...rest } = sheet(fresh());
  const dots = make("path", { class: "mha-dots" }), cursor = make("rect", { class: "mha-frame", width: 1, height: 1 });
  const square = make("div", { class: "mha-square mha-draw", tabindex: 0, role: "application", "aria-label": words.draw, "aria-describedby": hint }, svg);
  svg.append(dots, cursor);
  let at = [0, 0], brush = null;
  const point = () => {
    at = at.map((x) => Math.min(x, size() - 1));
    cursor.setAttribute("x", at[1]);
    cursor.setAttribute("y", at[0]);
    tell(status, saying(at));
  };
  const go = (to) => { at = to.map((x) => Math.min(size() - 1, Math.max(0, x))); point(); };
  const cell = (event) => {
    const box = square.getBoundingClientRect(), n = size();
    return [(event.clientY - box.top) / box.height, (event.clientX - box.left) / box.width].map((x) => Math.min(n - 1, Math.max(0, Math.floor(x * n))));
  };
  // A quick hand leaves cells out: those between two places are drawn too.
  const line = ([a, b], [c, d]) => {
    const steps = Math.max(Math.abs(c - a), Math.abs(d - b), 1);
    return Array.from({ length: steps + 1 }, (_, k) => [Math.round(a + (c - a) * k / steps), Math.round(b + (d - b) * k / steps)]);
  };
  square.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    square.setPointerCapture(event.pointerId);
    go(cell(event));
    brush = 1 - look(...at);
    set([at], brush);
    point();
  });
  square.addEventListener("pointermove", (event) => {
    if (!(event.buttons & 1) || brush === null) return;
    const to = cell(event);
    if (to.join() === at.join()) return;
    const way = line(at, to);
    go(to);
    set(way, brush);
    point();
  });
  for (const event of ["pointerup", "pointercancel"]) square.addEventListener(event, () => { brush = null; });
  square.addEventListener("keydown", (event) => {
    const step = ARROWS[event.key], last = size() - 1, from = at;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (step) go([at[0] + step[0], at[1] + step[1]]);
    else if (event.key === "Home" || event.key === "End") go([at[0], event.key === "Home" ? 0 : last]);
    else if (event.key === " " || event.key === "Enter") set([at], 1 - look(...at));
    else return;
    event.preventDefault();  // arrows and space would scroll the page
    if (step && event.shiftKey) set([at], look(...from));
    point();
  });
  return { square, hint, point, mark: (cells) => dots.setAttribute("d", cells.map(([i, j]) => `M${j + 0.38} ${i + 0.5}a.12 .12 0 1 0 .24 0a.12 .12 0 1 0-.24 0`).join("")), ...rest };
}

export default {
  render({ model, el }) {
    const board = desk({ model, el, names: NAMES, problem }), { words, put, root } = board, limits = model.get("limits");
    const number = (name) => (value) => put(name, value), range = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
    const dials = {}, pickers = {}, wide = (node) => node.classList.add("mha-span");
    const knob = (name, values) => (dials[name] = board.place(dial({ name, label: words[name], values, put: number(name) })));
    const list = (name, options, apart) => (pickers[name] = board.place(picker({ name, label: words[name], options: options.map(([key, text]) => [key, text]), put: number(name) }), { apart }));
    knob("n", range(...limits.n));
    const causal = make("input", { type: "checkbox", name: "causal" });
    causal.addEventListener("change", () => { if (!put("causal", causal.checked)) causal.checked = !causal.checked; });
    board.place({ node: make("label", { class: "mha-check" }, causal, make("span", {}, words.causal)) }, { field: causal });
    knob("padding", range(0, limits.n[0]));
    list("side", words.sides);
    knob("window", range(0, limits.n[0]));
    wide(list("placement", words.placements).node);
    list("float_type", words.float_types);
    wide(list("sentinel", words.sentinels).node);
    knob("seed", range(0, 19));
    list("library", words.libraries, true).node.classList.add("mha-long");

    const status = make("p", { class: "mha-note", role: "status", "aria-live": "polite" });
    const reason = ([i, j]) => {
      const now = board.choices(), hand = now.drawn.some(([a, b]) => a === i && b === j), open = maskOf(now)[i * now.n + j], labels = labelsOf(now, words);
      const why = hand ? [words.by_hand] : blockers(now, i, j).map((name) => words[name]);
      return fill(words.cell, { i: i + 1, j: j + 1, query: labels[i], key: labels[j], what: open ? words.look : words.block, why: why.length ? ` (${why.join(", ")})` : "" });
    };
    const look = (i, j) => maskOf(board.choices())[i * model.get("n") + j];
    const set = (cells, value) => put("drawn", cells.reduce((drawn, [i, j]) => draw({ ...board.choices(), drawn }, i, j, value), model.get("drawn")));
    const tool = easel({ words, size: () => model.get("n"), look, set, status, saying: reason });
    const clear = make("button", { type: "button" }, words.clear);
    clear.addEventListener("click", () => { put("drawn", []); tool.point(); });

    const canvas = make("canvas", { class: "mha-pixels", role: "img" }), over = sheet(fresh());
    const leaking = make("path", { class: "mha-frame mha-thin" }), dead = make("g", { class: "mha-nan" });
    over.svg.append(leaking, dead);
    const drawing = edged(tool.square, []), heat = edged(make("div", { class: "mha-square" }, canvas, over.svg), [words.sum, words.leak]);
    const stale = changes(), counts = ledger(words), code = make("pre", { class: "mha-code", tabindex: 0, role: "region", "aria-label": words.literal });
    let state = null, colours = null;
    const sum = (x) => (Number.isNaN(x) ? "NaN" : x.toFixed(2)), named = (i) => `${i + 1} ${state.labels[i]}`;
    const table = (first, write, head = [], last = () => []) => [[first, ...state.labels.map((_, j) => named(j)), ...head], ...state.labels.map((_, i) => [named(i), ...state.labels.map((_, j) => write(i * state.n + j)), ...last(i)])];
    const mask = panel({ drawing: make("div", {}, drawing.node, status, make("p", { class: "mha-note", id: tool.hint }, words.draw_hint), clear), words, table: () => table(words.rows, (at) => (state.mask[at] ? words.look : words.block)) });
    const weights = panel({ drawing: heat.node, words, table: () => table(words.rows, (at) => (Number.isNaN(state.weights[at]) ? "NaN" : digits(state.weights[at])), [words.sum, words.loose, words.leak], (i) => [state.sums[i], state.loose[i], state.leak[i]].map((x) => (Number.isNaN(x) ? "NaN" : digits(x)))) });
    const library = panel({ tools: [pickers.library.node], drawing: code, words });
    // What is drawn on stands above the words that change with it, so that it holds still under the hand.
    root.append(make("div", { class: "mha-panels mha-pair" }, mask.node, weights.node), board.tell, make("div", { class: "mha-panels mha-pair" }, counts.node, library.node), make("p", { class: "mha-note" }, words.honest), board.timed);

    function paintAll() {
      const result = model.get("result"), choices = { ...board.choices(), n: result.n }, { n } = result;
      colours ||= ramp(root);
      state = { ...result, labels: labelsOf(choices, words), ...Object.fromEntries(["mask", "weights", "sums", "leak", "leak_ahead", "loose", "loose_ahead", "low"].map((name) => [name, floats(result[name])])) };
      const cells = Array.from(state.mask, (open, at) => [Math.floor(at / n), at % n, open]), blocked = cells.filter(([, , open]) => !open);
      if (stale("labels", state.labels.join())) {
        for (const edge of [drawing, heat]) edge.names(state.labels);
        for (const each of [tool, over]) each.size(n);
      }
      if (stale("mask", blocked.join())) for (const each of [tool, over]) each.hatch(blocked);
      if (stale("drawn", JSON.stringify([choices.drawn, n]))) tool.mark(choices.drawn.filter(([i, j]) => i < n && j < n));
      tool.point();
      paint(canvas, state.weights, n, 1, 1, colours || new Uint32Array(256));
      leaking.setAttribute("d", cellsPath(blocked.filter(([i, j]) => state.weights[i * n + j] > 0)));
      const lost = range(0, n - 1).filter((i) => Number.isNaN(state.sums[i]));
      if (stale("lost", lost.join() + " " + n)) dead.replaceChildren(...lost.flatMap((i) => [make("rect", { x: 0, y: i, width: n, height: 1 }), ...(n > SMALL ? [] : [make("text", { x: n / 2, y: i + 0.68, "font-size": 0.55, "text-anchor": "middle" }, words.nan_row)])]));
      heat.beside([Array.from(state.sums, sum), Array.from(state.leak, sum)]);
      mask.say(words.mask, words.mask_note);
      const finite = Array.from(state.sums).filter((x) => !Number.isNaN(x));
      const sums = finite.length ? fill(words.sums, { low: sum(Math.min(...finite)), high: sum(Math.max(...finite)) }) : "";
      weights.say(words.weights, [words.weights_note, sums, lost.length ? fill(words.nan_rows, { rows: ranges(lost) }) : "", choices.placement === "before" ? fill(words.low, { low: big(state.low[0]), type: choices.float_type }) : ""].filter(Boolean).join(" "));
      const pair = (name, write) => [state[name], state[name + "_ahead"]].map((x) => write(x));
      counts.show(words.numbers, [words.blocked, words.ahead], [[words.count, ...pair("blocked", String)], [words.loose_worst, ...pair("loose", (x) => percent(worst(x)[0]))], [words.leak_worst, ...pair("leak", (x) => digits(worst(x)[0]))], [words.leak_mean, ...pair("leak", (x) => digits(mean(x)))]]);
      const written = literal(state, choices, words), [, , , entries, axes] = words.libraries.find(([id]) => id === choices.library);
      library.say(words.literal, written === null ? words.cannot : `${words.entries[entries]} ${fill(words.axes[axes], { n })}`);
      tell(code, written ?? words.none);
      const told = summary(state, choices, words);
      tell(board.tell, told);
      canvas.setAttribute("aria-label", `${words.weights}. ${told}`);
      for (const name of ["padding", "window"]) dials[name].range(range(0, n));
      for (const [name, each] of [...Object.entries(dials), ...Object.entries(pickers)]) each.show(model.get(name));
      causal.checked = choices.causal;
      pickers.sentinel.field.disabled = choices.placement !== "before";
      board.clock(result);
    }
    for (const event of ["change:result", "change:library"]) board.watch(event, paintAll);
    paintAll();
    // JupyterLab draws before the view is on the page, where no colour is known yet.
    const arrived = new ResizeObserver(() => { if (!colours && ramp(root)) paintAll(); if (colours) arrived.disconnect(); });
    arrived.observe(root);
    return board.leave;
  },
};
