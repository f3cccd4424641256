// The view of the head splitter; its arithmetic stands in head_splitter_math.mjs.

function drawing(model, board, controls) {
  const { words, root } = board;
  const stale = changes(), signs = make("g");
  let head = 0, colours = null;
  const frame = (name) => ({ canvas: make("canvas", { class: "mha-pixels" }), over: make("svg", { "aria-hidden": "true", preserveAspectRatio: "none" }), name });
  const all = frame("all"), one = frame("one");
  const square = make("div", { class: "mha-square" }, all.canvas, all.over);
  const across = make("div", { class: "mha-across", "aria-hidden": "true" }), down = make("div", { class: "mha-down", "aria-hidden": "true" });
  const labelled = make("div", { class: "mha-map" }, make("span"), across, down, make("div", { class: "mha-square" }, one.canvas, one.over));
  const got = bars([words.word, "▲", "●"]), counts = ledger(words);
  const now = () => {
    const result = model.get("result"), { n, h } = result, coarse = Boolean(result.coarse);
    const sentence = sentenceOf({ sentence: result.sentence ?? model.get("sentence"), text: result.text ?? model.get("text") }, words);
    return { ...result, maps: floats(result.maps, coarse), answers: floats(result.answers), ...sentence, i: Math.min(model.get("query"), n - 1), head: Math.min(head, h - 1) };
  };
  let state = null;
  const row = (map, i) => Array.from(state.maps.subarray((map * state.n + i) * state.n, (map * state.n + i + 1) * state.n), digits);
  const shown = board.place(dial({ name: "head", label: words.head, values: [1], put: (value) => {
    const bad = outside("head", value, { head: [1, state.h, 1] }, words, { head: words.head });
    board.complain(bad);
    if (!bad) { head = value - 1; draw(); }
  } }), { apart: true });
  const grid = panel({ drawing: square, words, table: () => [[words.head, ...state.words], ...Array.from({ length: state.h }, (_, k) => [String(k + 1), ...row(k, state.i)])] });
  const legend = make("p", { class: "mha-legend" }, make("span", { class: "mha-a" }, words.legend_a), make("span", { class: "mha-b" }, words.legend_b));
  const rows = () => (state.n > 24 ? [state.i] : state.words.map((_, i) => i));
  const single = panel({ tools: [shown.node], drawing: make("div", {}, labelled, legend), words, table: () => [[words.rows, ...state.words], ...rows().map((i) => [state.words[i], ...row(state.head, i)])] });
  const arrives = panel({ tools: [controls.asker.node], drawing: got.node, words });
  square.addEventListener("click", (event) => {
    const { columns, lines } = layout(state.h), box = square.getBoundingClientRect();
    const at = Math.floor((event.clientY - box.top) / box.height * lines) * columns + Math.floor((event.clientX - box.left) / box.width * columns);
    if (at < state.h) { head = at; draw(); }
  });
  root.append(make("div", { class: "mha-panels" }, grid.node, single.node, arrives.node, counts.node), make("p", { class: "mha-note" }, words.honest), board.timed);

  function draw() {
    state = now();
    colours ||= ramp(root);
    const { n, h, maps, targets, i, d_k } = state, { columns, lines } = layout(h);
    const { full, tall, gap } = paint(all.canvas, maps, n, h, columns, colours || new Uint32Array(256));
    square.style.aspectRatio = `${full} / ${tall}`;
    all.over.setAttribute("viewBox", `0 0 ${full} ${tall}`);
    all.over.replaceChildren(make("rect", { class: "mha-frame", x: (state.head % columns) * (n + gap), y: Math.floor(state.head / columns) * (n + gap), width: n, height: n }));
    paint(one.canvas, maps.subarray(state.head * n * n, (state.head + 1) * n * n), n, 1, 1, colours || new Uint32Array(256));
    one.over.setAttribute("viewBox", `0 0 ${n} ${n}`);
    if (stale("signs", JSON.stringify(targets))) signs.replaceChildren(...(n > 32 ? [] : marks(targets, n)));
    one.over.replaceChildren(make("rect", { class: "mha-frame", x: 0, y: i, width: n, height: 1 }), signs);
    const changed = stale("words", JSON.stringify([state.words, targets]));
    if (changed || stale("row", i)) for (const [box, axis] of [[across, "Columns"], [down, "Rows"]]) {
      box.style[`gridTemplate${axis}`] = `repeat(${n}, minmax(0, 1fr))`;
      box.replaceChildren(...(n > 32 ? [] : state.words.map((word, at) => make("span", { class: at === i && box === down ? "mha-here" : "" }, word))));
    }
    const word = state.words[i], ids = serves(state.head, 0, h, d_k) + 2 * serves(state.head, 1, h, d_k);
    grid.say(h === 1 ? words.maps_one : fill(words.maps, { h }), words.maps_note);
    single.say(fill(words.map, { i: state.head + 1, h }), fill(words.map_serves, { serves: ids === 3 ? words.serves_both : fill(words.serves_one, { r: ids }) }));
    arrives.say(fill(words.got, { word }), h === 1 ? words.got_one : words.got_note);
    const weight = (r, j) => state.answers[(r * n + i) * n + j];
    const listed = state.words.map((_, j) => j).sort((a, b) => weight(0, b) + weight(1, b) - weight(0, a) - weight(1, a)).slice(0, 12).sort((a, b) => a - b);
    got.show([words.word, ...state.questions.map((question, r) => fill(words.question, { r: r + 1, question }))],
      listed.map((j) => [state.words[j], ...[0, 1].map((r) => ({ share: weight(r, j), mark: targets[r][i] === j ? "▲●"[r] : "" }))]));
    const base = price(n, 1, D_MODEL), times = (now, then) => `${digits(now)} (×${digits(now / then)})`;
    counts.show(words.numbers, [words.now], [[words.right, fill(words.right_value, { right: state.right, all: 2 * n })], [words.confusion, digits(state.confusion)],
      [words.target_weight, state.on_target.map(digits).join(" / ")], [words.largest, digits(state.largest)], [words.variance, digits(state.variance)],
      ...["parameters", "macs", "score_bytes"].map((name) => [words[name], times(state[name], base[name])])]);
    const told = summary(state, words);
    tell(board.tell, told);
    refresh(model, controls, state, words);
    shown.range(Array.from({ length: h }, (_, k) => k + 1));
    shown.show(state.head + 1);
    board.clock(state);
    all.canvas.setAttribute("aria-label", `${fill(words.maps, { h })}. ${told}`);
  }
  for (const event of ["change:result", "change:query"]) board.watch(event, draw);
  draw();
  // JupyterLab draws before the view is on the page, where no colour is known yet.
  const arrived = new ResizeObserver(() => { if (!colours && ramp(root)) draw(); if (colours) arrived.disconnect(); });
  arrived.observe(root);
}

const layout = (h) => ({ columns: Math.ceil(Math.sqrt(h)), lines: Math.ceil(h / Math.ceil(Math.sqrt(h))) });

const marks = (targets, n) => Array.from({ length: n }, (_, i) => [
  make("path", { class: "mha-mark mha-a", d: `M${targets[0][i] + 0.5} ${i + 0.28}l.24 .42h-.48z` }),
  make("circle", { class: "mha-mark mha-b", cx: targets[1][i] + 0.5, cy: i + 0.5, r: 0.2 }),
]).flat();

function refresh(model, { heads, tied, width, sentence, own, ownBox, seed, asker }, state, words) {
  const free = !model.get("tied"), limits = model.get("limits");
  heads.range(free ? Array.from({ length: limits.num_heads[1] }, (_, i) => i + 1) : divisors(D_MODEL));
  heads.show(model.get("num_heads"));
  tied.checked = !free;
  width.enable(free);
  width.show(state.d_k);
  sentence.show(model.get("sentence"));
  ownBox.hidden = model.get("sentence") >= 0;
  own.value = model.get("text");
  seed.show(model.get("seed"));
  asker.options(state.words.map((word, i) => [i, `${i + 1} ${word}`]));
  asker.show(state.i);
}

export default {
  render({ model, el }) {
    const board = desk({ model, el, names: NAMES, problem }), { words, put } = board;
    const number = (name) => (value) => put(name, value);
    const dk = Array.from({ length: 11 }, (_, i) => 2 ** i).filter((v) => v <= model.get("limits").d_k[1]);
    const heads = board.place(dial({ name: "num_heads", label: words.num_heads, values: divisors(D_MODEL), put: number("num_heads"), wide: true }));
    const tied = make("input", { type: "checkbox", name: "tied" });
    tied.addEventListener("change", () => { if (!put("tied", tied.checked)) tied.checked = !tied.checked; });
    board.place({ node: make("label", { class: "mha-check" }, tied, make("span", {}, words.tied)) }, { field: tied });
    const width = board.place(dial({ name: "d_k", label: words.d_k, values: dk, put: number("d_k") }));
    const seed = board.place(dial({ name: "seed", label: words.seed, values: Array.from({ length: 20 }, (_, i) => i), put: number("seed") }));
    const texts = words.sentences.map((s, i) => [i, s.words.join(" ")]);
    const sentence = board.place(picker({ name: "sentence", label: words.sentence, options: [...texts, [-1, words.own]], put: (v) => put("sentence", Number(v), { query: words.sentences[v]?.query ?? 0 }) }));
    const own = make("input", { type: "text", name: "text", autocomplete: "off" });
    own.addEventListener("change", () => put("text", own.value));
    const ownBox = make("label", { class: "mha-pick" }, make("span", {}, words.text), own);
    board.place({ node: ownBox }, { field: own });
    for (const node of [sentence.node, ownBox]) node.classList.add("mha-span");
    const asker = board.place(picker({ name: "query", label: words.query, options: [], put: (v) => put("query", Number(v)) }), { apart: true });
    drawing(model, board, { heads, tied, width, sentence, own, ownBox, seed, asker });
    return board.leave;
  },
};
