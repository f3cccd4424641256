// The view of the head gallery; its arithmetic stands in head_gallery_math.mjs.

const BLOCK = 12, W = 300, TICKS = { drift: [1e-4, 1e-3, 1e-2, 0.1, 1], drop: [0, 0.25, 0.5, 0.75, 1] };

// A canvas for maps with a drawing over it, and labels on both sides.
function easel(kind) {
  const canvas = make("canvas", { class: "mha-pixels", role: "img" }), over = make("svg", { "aria-hidden": "true", preserveAspectRatio: "none" });
  const across = make("div", { class: "mha-across", "aria-hidden": "true" }), down = make("div", { class: "mha-down", "aria-hidden": "true" });
  const square = make("div", { class: "mha-square" }, canvas, over), stale = changes();
  const label = (columns, rows) => {
    if (stale("labels", JSON.stringify([columns, rows]))) for (const [box, axis, list] of [[across, "Columns", columns], [down, "Rows", rows]]) {
      box.style[`gridTemplate${axis}`] = `repeat(${list.length}, minmax(0, 1fr))`;
      box.replaceChildren(...(list.length > 32 ? [] : list.map((text) => make("span", {}, text))));
    }
  };
  return { node: make("div", { class: "mha-map " + kind }, make("span"), across, down, square), canvas, over, square, label, stale };
}

// All heads on one line by their harm, the chosen one as a triangle; heads of its layer are filled, the others hollow. Nodes are kept: new ones cost a layout.
function strip(words) {
  const svg = make("svg", { viewBox: `0 0 ${W} 70`, class: "mha-plot mha-strip", role: "img" }), ticks = make("g"), stale = changes();
  const cursor = make("g", {}, make("line", { class: "mha-cursor", x1: 0, x2: 0, y1: 12, y2: 52 }), make("text", { class: "mha-tick", y: 9, "text-anchor": "middle" }, words.median));
  const [hollow, full, chosen] = ["mha-hollow", "mha-full", "mha-chosen"].map((name) => make("path", { class: name }));
  svg.append(make("line", { class: "mha-axis", x1: 8, x2: W - 8, y1: 52, y2: 52 }), ticks, cursor, hollow, full, chosen);
  const draw = (scene, layer, head, toy) => {
    const at = (x) => (12 + (W - 24) * alongHarm(x, toy)).toFixed(1), { own, usual } = standing(scene.harm, layer, head);
    const dot = (x, l, h) => `M${at(x) - 3} ${44 - 5 * ((7 * h + 5 * l) % 6)}a3 3 0 1 0 6 0a3 3 0 1 0-6 0`;
    const dots = (which) => scene.harm.flatMap((row, l) => row.map((x, h) => (which(l, h) ? dot(x, l, h) : ""))).join("");
    if (stale("ticks", toy)) ticks.replaceChildren(...TICKS[toy ? "drop" : "drift"].map((v) => make("text", { class: "mha-tick", x: at(v), y: 66, "text-anchor": "middle" }, String(v))));
    cursor.setAttribute("transform", `translate(${at(usual)} 0)`);
    hollow.setAttribute("d", dots((l) => l !== layer));
    full.setAttribute("d", dots((l, h) => l === layer && h !== head));
    chosen.setAttribute("d", `M${at(own)} 36l8 15h-16z`);
  };
  return { svg, draw };
}

export default {
  render({ model, el }) {
    const board = desk({ model, el, names: NAMES, problem }), { words, put, root } = board, limits = () => model.get("limits");
    const known = words.models.filter(([name]) => sizeOf(name, limits()));
    const texts = () => (isToy(model.get("model")) ? words.sequences : [...words.sentences, ...(limits().sentence[0] < 0 ? [words.own] : [])]);
    const pick = board.place(picker({ name: "model", label: words.model, options: known, put: (name) => {
      const [layers, heads] = sizeOf(name, limits()), fits = (trait, size) => Math.min(model.get(trait), size - 1);
      put("model", name, { layer: fits("layer", layers), head: fits("head", heads), sentence: isToy(name) ? Math.max(0, model.get("sentence")) : model.get("sentence") });
    } }));
    const sentence = board.place(picker({ name: "sentence", label: words.sentence, options: [], put: (v) => put("sentence", Number(v)) }));
    const own = make("input", { type: "text", name: "text", autocomplete: "off" });
    own.addEventListener("change", () => put("text", own.value));
    const ownBox = make("label", { class: "mha-pick" }, make("span", {}, words.text), own);
    board.place({ node: ownBox }, { field: own });
    for (const node of [sentence.node, ownBox]) node.classList.add("mha-span");
    const layer = board.place(dial({ name: "layer", label: words.layer, values: [0], put: (v) => put("layer", v) }));
    const head = board.place(dial({ name: "head", label: words.head, values: [0], put: (v) => put("head", v) }));
    const close = make("button", { type: "button", name: "closed", class: "mha-toggle" }, words.close);
    close.addEventListener("click", () => put("closed", !model.get("closed")));
    board.place({ node: close }, { field: close });

    const all = easel("mha-snug mha-upright"), one = easel("mha-snug"), stale = changes(), scores = bars([words.role]), places = bars([words.token]), counts = ledger(words);
    const plot = strip(words), harmed = make("div", {}, plot.svg, places.node);
    places.node.classList.add("mha-small", "mha-still");
    scores.node.classList.add("mha-named", "mha-still");
    const kinds = [["maps", words.maps], ...words.roles.map((role, k) => [String(k), fill(words.score_of, { role })]), ["-1", words.harm]];
    let kind = "maps", colours = null, state = null;
    const shows = picker({ name: "kind", label: words.kind, options: kinds, put: (v) => { kind = v; draw(); } });
    shows.field.removeAttribute("name");  // the view's own: no trait, and nothing to complain of
    const number = (x) => (x == null ? "–" : digits(x));
    const grid = panel({ tools: [shows.node], drawing: all.node, words, table: () => [[words.head_name, ...words.roles, words.harm_short],
      ...state.scene.harm.flatMap((row, l) => row.map((x, h) => [nameOf(l, h), ...state.scene.roles[l][h].map(number), fine(x)]))] });
    const map = panel({ drawing: one.node, words, table: () => [[words.asks, ...state.scene.tokens], ...state.scene.tokens.map((token, i) => [token, ...Array.from(state.map.subarray(i * state.n, (i + 1) * state.n), digits)])] });
    const played = panel({ drawing: scores.node, words });
    const knocked = panel({ drawing: harmed, words, table: () => [[words.token, state.toy ? words.fall : words.drift], ...(model.get("closed") ? state.scene.tokens.map((token, i) => [`${i + 1} ${token}`, fine(state.places[i])]) : [])] });
    all.square.classList.add("mha-choose");
    all.square.addEventListener("click", (event) => {
      const box = all.square.getBoundingClientRect(), { layers, heads } = state, part = (at, size, count) => Math.min(count - 1, Math.max(0, Math.floor(at / size * count)));
      put("layer", part(event.clientY - box.top, box.height, layers), { head: part(event.clientX - box.left, box.width, heads) });
    });
    root.append(make("div", { class: "mha-panels mha-two" }, grid.node, map.node, make("div", { class: "mha-stack" }, played.node, counts.node), knocked.node), make("p", { class: "mha-note" }, words.honest), board.timed);

    function overview({ scene, maps, n, layers, heads, l, h, closed }) {
      const shown = kind === "maps" ? null : leaders(scene, Number(kind)), top = shown && (Number(kind) < 0 ? Math.max(...shown.values) : 1), side = shown ? BLOCK : n;
      if (all.stale("grid", [kind, state.chosen.model, state.key, Boolean(colours)].join())) {
        const squares = shown ? Float32Array.from({ length: layers * heads * side * side }, (_, at) => Math.max(0, shown.values[Math.floor(at / side / side)]) / (top || 1)) : maps;
        const { full, tall } = paint(all.canvas, squares, side, layers * heads, heads, colours || new Uint32Array(256));
        all.square.style.aspectRatio = `${full} / ${tall}`;
        all.over.setAttribute("viewBox", `0 0 ${full} ${tall}`);
        all.label(Array.from({ length: heads }, (_, at) => String(at)), Array.from({ length: layers }, (_, at) => "L" + at));
      }
      const x = h * (side + 1), y = l * (side + 1);
      all.over.replaceChildren(make("rect", { class: "mha-frame", x, y, width: side, height: side }), ...(closed ? [make("path", { class: "mha-frame", d: `M${x} ${y}l${side} ${side}m0 ${-side}l${-side} ${side}` })] : []));
      const note = !shown ? words.grid_maps : fill(Number(kind) < 0 ? words.grid_harm : words.grid_role, { top: shown.top, most: fine(top) });
      grid.say(fill(words.grid, { all: layers * heads, model: state.title }), note);
      all.canvas.setAttribute("aria-label", `${fill(words.grid, { all: layers * heads, model: state.title })}. ${note}`);
    }

    function draw() {
      const result = model.get("result"), chosen = board.choices(), scene = result.scenes[chosen.model], toy = isToy(chosen.model);
      const [layers, heads] = sizeOf(chosen.model, limits()), l = Math.min(chosen.layer, layers - 1), h = Math.min(chosen.head, heads - 1), closed = chosen.closed;
      const n = scene.tokens.length, maps = mapsOf(result, chosen.model), name = nameOf(l, h), control = result.scenes[CONTROL[chosen.model]], trained = result.scenes[TRAINED[chosen.model]];
      colours ||= ramp(root);
      state = { chosen, scene, toy, layers, heads, l, h, closed, n, maps, map: maps.subarray((l * heads + h) * n * n, (l * heads + h + 1) * n * n), places: scene.places[l][h], title: known.find(([m]) => m === chosen.model)[1], key: scene.tokens.join(" ") };
      overview(state);
      paint(one.canvas, state.map, n, 1, 1, colours || new Uint32Array(256));
      one.label(scene.tokens, scene.tokens);
      map.say(fill(words.map, { name, model: state.title }), closed ? words.map_closed : words.map_note);
      const top = pattern(scene, control, l, h).role, share = (from, k) => ({ share: from.roles[l][h][k] ?? 0, mark: k === top ? "▲" : "", text: from.roles[l][h][k] == null ? "–" : undefined });
      scores.show([words.role, ...words.columns], words.roles.map((role, k) => [role, share(trained, k), { ...share(control, k), mark: "" }]));
      played.say(fill(words.played, { name }), words.played_note);
      harmed.hidden = !closed;
      if (closed) {
        plot.draw(scene, l, h, toy);
        const most = Math.max(...state.places, 1e-9), order = scene.tokens.map((_, i) => i).sort((a, b) => state.places[b] - state.places[a]).slice(0, 16).sort((a, b) => a - b);
        places.show([words.token, toy ? words.fall : words.drift], order.map((i) => [scene.tokens[i], { share: Math.max(0, state.places[i]) / most, mark: "", text: fine(state.places[i]) }]));
      }
      knocked.say(closed ? fill(words.knocked, { name }) : words.knock, closed ? (toy ? words.drop_note : words.drift_note) : words.knock_note);
      const lines = [trained, control].map((from) => standing(from.harm, l, h)), { thin, count, all } = lines[0];
      const line = (text, field) => [text, ...lines.map((found) => (closed ? fine(found[field]) : "?"))], peers = fill(thin ? words.peers_all : words.peers, { count, layer: l });
      counts.show(toy ? words.drop_heading : words.drift_heading, words.columns, [line(fill(words.this_head, { name }), "own"), line(fill(words.usual, { peers }), "usual"),
        line(fill(words.rank, { count: count + 1 }), "rank"), ...(thin ? [] : [line(fill(words.usual, { peers: fill(words.peers_all, { count: all }) }), "others")])]);
      const told = summary(result, { ...chosen, layer: l, head: h }, words);
      tell(board.tell, told);
      board.tell.classList.toggle("mha-steady", closed);  // the maps below stay where they are while heads go by
      one.canvas.setAttribute("aria-label", `${fill(words.map, { name, model: state.title })}. ${told}`);
      plot.svg.setAttribute("aria-label", told);
      pick.show(chosen.model);
      sentence.options(texts().map((text, i) => [i < words.sentences.length || toy ? i : -1, text]));
      sentence.show(chosen.sentence);
      ownBox.hidden = chosen.sentence >= 0;
      if (stale("own", chosen.text)) own.value = chosen.text;
      for (const [control, size, value] of [[layer, layers, l], [head, heads, h]]) { control.range(Array.from({ length: size }, (_, k) => k)); control.show(value); }
      close.setAttribute("aria-pressed", String(closed));
      board.clock(result);
    }
    for (const event of ["result", "model", "layer", "head", "closed"]) board.watch(`change:${event}`, draw);
    draw();
    // JupyterLab draws before the view is on the page, where no colour is known yet.
    const arrived = new ResizeObserver(() => { if (!colours && ramp(root)) draw(); if (colours) arrived.disconnect(); });
    arrived.observe(root);
    return board.leave;
  },
};
