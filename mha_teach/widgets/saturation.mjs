// The view of saturation; its arithmetic stands in saturation_math.mjs.

const EDGE = 6, BINS = 48, W = 300, H = 180, LEFT = 34, BOTTOM = 28;

// Axes with a few labelled ticks (`place` from 0 to 1), drawn once, and a group in front of them for what moves.
function axes(svg, ticks, title, down = []) {
  const label = (x, y, text, anchor) => make("text", { x, y, "text-anchor": anchor, class: "mha-tick" }, text);
  const front = make("g");
  svg.replaceChildren(make("line", { class: "mha-axis", x1: LEFT, x2: W, y1: H - BOTTOM, y2: H - BOTTOM }),
    ...ticks.map(([at, text]) => label(LEFT + at * (W - LEFT), H - BOTTOM + 13, text, at > 0.97 ? "end" : "middle")),
    ...down.flatMap(([at, text]) => [make("line", { class: "mha-grid", x1: LEFT, x2: W, y1: up(at), y2: up(at) }), label(LEFT - 5, up(at) + 3.5, text, "end")]),
    label((LEFT + W) / 2, H - 1, title, "middle"), front);
  return front;
}
const up = (share) => (H - BOTTOM) - Math.min(1, Math.max(0, share)) * (H - BOTTOM - 8);
const over = (share) => LEFT + share * (W - LEFT);
const sheet = (className) => make("svg", { viewBox: `0 0 ${W} ${H}`, class: "mha-plot " + className, role: "img" });
// Many bars are one path: [left, width, share] each.
const pillars = (name, list) => make("path", { class: name, d: list.map(([x, width, share]) => `M${x.toFixed(2)} ${H - BOTTOM}V${up(share).toFixed(2)}h${width.toFixed(2)}V${H - BOTTOM}z`).join("") });
const line = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

const PEAK = 0.45, BELL = line(Array.from({ length: 121 }, (_, i) => {
  const x = (i / 120) * 2 * EDGE - EDGE;
  return [over(i / 120), up(Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI) / PEAK)];
}));

function drawHistogram(svg, stale, { all, own }, words) {
  if (stale("histogram", 0)) svg.front = axes(svg, [-6, -3, 0, 3, 6].map((v) => [(v + EDGE) / (2 * EDGE), String(v)]), words.bin, [0.2, 0.4].map((v) => [v / PEAK, String(v)]));
  const bin = 2 * EDGE / BINS, bar = (share, i) => [over(i / BINS) + 0.5, (W - LEFT) / BINS - 1, share / bin / PEAK];
  const every = Array.from(all, bar), outer = (i) => i === 0 || i === BINS - 1;
  svg.front.replaceChildren(pillars("mha-fill", every.filter((_, i) => !outer(i))), pillars("mha-outer", every.filter((_, i) => outer(i))),
    pillars("mha-own", Array.from(own, bar).filter(([, , share]) => share > 0)), make("path", { class: "mha-bell", d: BELL }));
}

function drawRow(svg, stale, weights, own, words) {
  const n = weights.length, step = (W - LEFT) / n, gap = Math.min(1.5, step / 5);
  if (stale("row", n)) svg.front = axes(svg, [[0.5 / n, "1"], [1 - 0.5 / n, String(n)]], words.key, [0.5, 1].map((v) => [v, String(v)]));
  const x = LEFT + (own + 0.5) * step, y = Math.max(14, up(weights[own]) - 3);
  svg.front.replaceChildren(pillars("mha-fill", Array.from(weights, (w, j) => [LEFT + j * step + gap, step - 2 * gap, w])),
    make("line", { class: "mha-bell mha-dash", x1: LEFT, x2: W, y1: up(1 / n), y2: up(1 / n) }), make("path", { class: "mha-mark mha-a", d: `M${x} ${y - 10}l5 9h-10z` }));
}

function drawCurve(svg, stale, curve, d, words) {
  const low = -4, high = 2, tall = (v) => (Math.log10(Math.max(v, 10 ** low)) - low) / (high - low);
  if (stale("curve", 0)) svg.front = axes(svg, [1, 8, 64, 1024].map((v) => [Math.log2(v) / 10, String(v)]), words.d_k, [-4, -2, 0, 2].map((v) => [(v - low) / (high - low), v === 0 ? "1" : `1e${v}`]));
  const [scores, query] = [0, 1].map((which) => curve.map((pair, i) => [over(i / 10), up(tall(pair[which]))]));
  const at = over(Math.log2(d) / 10);
  svg.front.replaceChildren(make("line", { class: "mha-cursor", x1: at, x2: at, y1: 4, y2: H - BOTTOM }),
    make("path", { class: "mha-line mha-scores", d: line(scores) }), make("path", { class: "mha-line mha-query", d: line(query) }),
    make("path", { class: "mha-dot mha-scores", d: scores.map(([x, y]) => `M${x - 3} ${y - 3}h6v6h-6z`).join("") }),
    make("path", { class: "mha-dot mha-query", d: query.map(([x, y]) => `M${x - 2.6} ${y}a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0-5.2 0`).join("") }));
}

export default {
  render({ model, el }) {
    const board = desk({ model, el, names: NAMES, problem }), { words, put, root } = board, limits = model.get("limits");
    const number = (name) => (value) => put(name, value);
    const steps = (list, top) => list.filter((v) => v <= top);
    const width = board.place(dial({ name: "d_k", label: words.d_k, values: WIDTHS, put: number("d_k"), wide: true }));
    const scale = board.place(picker({ name: "scale", label: words.scale, options: words.scales, put: number("scale") }));
    const rho = board.place(dial({ name: "correlation", label: words.correlation, values: Array.from({ length: 21 }, (_, i) => i / 20), put: number("correlation") }));
    const count = board.place(dial({ name: "n", label: words.n, values: steps([2, 4, 8, 16, 24, 32, 64, 128, 256], limits.n[1]), put: number("n") }));
    const query = board.place(dial({ name: "query", label: words.query, values: [1], put: number("query") }), { apart: true });
    const seed = board.place(dial({ name: "seed", label: words.seed, values: Array.from({ length: 20 }, (_, i) => i), put: number("seed") }));

    const plots = ["mha-histogram", "mha-row", "mha-curve"].map(sheet);
    const stale = changes();
    let state = null;
    const centre = (i) => digits((i + 0.5) * 2 * EDGE / BINS - EDGE);
    const bins = panel({ drawing: plots[0], words, table: () => [[words.bin, words.share, words.own_share], ...Array.from(state.bins.all, (share, i) => [centre(i), percent(share), percent(state.bins.own[i])])] });
    const row = panel({ tools: [query.node], drawing: plots[1], words, table: () => [[words.key, words.weight], ...Array.from(state.row, (w, j) => [String(j + 1) + (j === state.i ? " ▲" : ""), digits(w)])] });
    const legend = make("p", { class: "mha-legend" }, make("span", { class: "mha-scores" }, "■ " + words.to_scores), make("span", { class: "mha-query" }, "● " + words.to_query));
    const curve = panel({ drawing: make("div", {}, plots[2], legend), words, table: () => [[words.d_k, words.to_scores, words.to_query], ...LADDER.map((d, i) => [String(d), ...state.curve[i].map(digits)])] });
    const counts = ledger(words);
    root.append(make("div", { class: "mha-panels" }, bins.node, row.node, curve.node, counts.node),
      make("p", { class: "mha-note" }), board.timed);

    function draw() {
      const result = model.get("result"), { n } = result, i = Math.min(model.get("query"), n) - 1;
      const scores = floats(result.scores), weights = floats(result.weights);
      state = { ...result, i, bins: histogram(scores, n, EDGE, BINS), row: weights.subarray(i * n, (i + 1) * n) };
      drawHistogram(plots[0], stale, state.bins, words);
      drawRow(plots[1], stale, state.row, i, words);
      drawCurve(plots[2], stale, result.curve, result.d_k, words);
      const correlation = model.get("correlation"), out = fill(words.outside, { percent: percent(state.bins.beyond), edge: EDGE });
      const own = correlation ? fill(words.histogram_own, { n }) : "";
      bins.say(fill(words.histogram, { all: n * n }), [words.histogram_note, own, state.bins.beyond > 0 ? out + "." : ""].filter(Boolean).join(" "));
      row.say(fill(words.row, { i: i + 1 }), fill(words.row_note, { n }));
      curve.say(words.curve, words.curve_note);
      const lines = [["variance", "variance"], ["own_mean", "own_mean"], ["max_weight", "max_weight"], ["entropy", "entropy"], ["dead", "dead"], ["grad_scores", "to_scores"], ["grad_query", "to_query"]];
      counts.show(fill(words.numbers, { n }), [words.now, words.reference], lines.map(([name, field]) =>
        [fill(words[name], { most: digits(Math.log(n)) }), ...[result.now, result.reference].map((found) => (field === "dead" ? `${found.dead} / ${n}` : digits(found[field])))]));
      const told = summary(result, { correlation }, words);
      tell(board.tell, told);
      width.show(model.get("d_k"));
      scale.show(model.get("scale"));
      rho.show(correlation);
      count.show(model.get("n"));
      query.range(Array.from({ length: n }, (_, k) => k + 1));
      query.show(i + 1);
      seed.show(model.get("seed"));
      board.clock(result);
      tell(root.querySelector(".mha-panels + .mha-note"), fill(words.honest, { n }) + " " + fill(words.d_model, { d_model: D_MODEL, value: digits(1 / Math.sqrt(D_MODEL)) }) + ".");
      // The seeds on either side are drawn while nothing moves, so that their slider answers at once.
      if (!result.device && window.requestIdleCallback) for (const by of [1, -1]) requestIdleCallback(() => prepare(model.get("seed") + by, n));
      plots.forEach((plot, k) => plot.setAttribute("aria-label", [bins, row, curve][k].node.querySelector("h4").textContent + ". " + told));
    }
    for (const event of ["change:result", "change:query"]) board.watch(event, draw);
    draw();
    return board.leave;
  },
};
