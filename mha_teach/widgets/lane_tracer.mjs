// The view of the lane tracer; its arithmetic stands in lane_tracer_math.mjs.

// A label of two lines: sample and position, then head and dim (a row of attention has no one dim).
const tag = ({ batch, role, position, head, dim }, fused, row = false) => `b${batch}t${position}\n${fused ? "QKV"[role] : ""}h${head}${row ? "" : "c" + dim}`;
const flatly = (text) => text.replace("\n", "");
const frame = ([x, y], pitch) => `M${x - 0.42} ${y + 0.07}h${pitch - 0.16}v1.87h${0.16 - pitch}z`;
// What row i reads of row j, drawn in a cell; one unit is a letter wide and a line high.
const MARKS = {
  fine: (x, y) => `M${x + 1.1} ${y + 1}a.9 .44 0 1 0 1.8 0a.9 .44 0 1 0-1.8 0`,
  mixed: (x, y) => `M${x + 1.1} ${y + 1}a.9 .44 0 1 0 1.8 0a.9 .44 0 1 0-1.8 0M${x + 2} ${y + 0.56}v.88a.9 .44 0 0 1 0-.88`,
  future: (x, y) => `M${x + 2} ${y + 0.45}l1.1 1h-2.2z`,
  foreign: (x, y) => `M${x + 1.2} ${y + 0.6}l1.6 .8m-1.6 0l1.6-.8`,
  hidden: (x, y) => [0, 1, 2, 3].map((k) => `M${x + k} ${y + 1.7}l1-1.4`).join(""),
};

// Letters on a grid with frames behind them: few nodes, so that a move lays little out anew.
function sheet() {
  const svg = make("svg", { preserveAspectRatio: "none", "aria-hidden": "true" }), paths = {}, names = make("div", { class: "mha-names" }), texts = make("div", { class: "mha-texts" });
  const node = make("div", { class: "mha-sheet" }, svg, names, texts), stale = changes();
  const path = (name, d) => {
    if (!paths[name]) svg.append(paths[name] = make("path", { class: name }));
    if (stale(name, d)) paths[name].setAttribute("d", d);
  };
  const draw = ({ width, height, captions }, shapes, pieces) => {
    if (stale("size", `0 0 ${width} ${height}`)) { svg.setAttribute("viewBox", `0 0 ${width} ${height}`); node.style.width = `${width}ch`; }
    for (const name of Object.keys(paths)) if (!(name in shapes) && name !== "mha-here") path(name, "");
    for (const [name, list] of Object.entries(shapes)) path(name, list.join(""));
    tell(names, typed(width, height, captions.map(([x, y, text]) => [x, y, text])));
    tell(texts, typed(width, height, pieces));
  };
  const here = (d) => { path("mha-here", d); svg.append(paths["mha-here"]); };
  return { node, draw, here };
}

// The numbers of one step, one stop for the keyboard: arrows go from number to number, as on a slider.
function lane(title, follow) {
  const drawn = sheet(), node = make("div", { class: "mha-cells", role: "slider", tabindex: 0, "aria-label": title, "aria-valuemin": 1 }, drawn.node);
  let ids = [], seats = [], place = null, say = null, now = 0;
  const hit = ({ clientX, clientY }) => {
    const box = drawn.node.getBoundingClientRect(), x = (clientX - box.left) / box.width * place.width + 0.5, y = (clientY - box.top) / box.height * place.height;
    return place.cells.findIndex(([left, top]) => x >= left && x < left + place.pitch && y >= top && y < top + 2);
  };
  for (const event of ["pointermove", "click"]) node.addEventListener(event, (at) => { const k = hit(at); if (k >= 0) follow(ids[k]); });
  node.addEventListener("keydown", (event) => {
    const to = { ArrowRight: now + 1, ArrowLeft: now - 1, ArrowDown: now + place.columns, ArrowUp: now - place.columns, Home: 0, End: ids.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    if (!(to in ids)) return;
    follow(ids[to]);
    const share = node.scrollWidth / place.width, x = place.cells[to][0];
    if (x * share < node.scrollLeft || (x + place.pitch) * share > node.scrollLeft + node.clientWidth) node.scrollLeft = (x - 5) * share;
  });
  // `kind(k)` names the class of cell k, `text(id)` its label, `told(k)` what is said of it; `where` finds the cell of a number.
  const draw = ({ ids: list }, where, planned, kind, text, told) => {
    [ids, seats, place, say] = [list, where, planned, told];
    const shapes = {};
    ids.forEach((_, k) => (shapes[kind(k)] ||= []).push(frame(place.cells[k], place.pitch)));
    drawn.draw(place, shapes, ids.map((id, k) => [...place.cells[k], text(id)]));
    node.setAttribute("aria-valuemax", ids.length);
  };
  const point = (id) => {
    drawn.here(id in seats ? frame(place.cells[seats[id]], place.pitch) : "");
    if (id in seats) now = seats[id];
    node.setAttribute("aria-valuenow", now + 1);
    node.setAttribute("aria-valuetext", say(now));
  };
  return { node, draw, point };
}

// One block of attention: who asks (down), who is read (across), where the answer lands (right).
function drawBlock(drawn, block, row, { table, fused, block: name }, hue, words) {
  const { rows, L } = table, pitch = 5, tall = fused ? 4 : 2, shapes = {}, pieces = [], here = [];
  const cell = (own, x, y, k) => {
    (shapes[`mha-hue-${own[hue]}`] ||= []).push(frame([x, y], pitch));
    pieces.push([x, y, tag(own, fused, true)]);
    if (k === row.at && (!fused || own.role === row.role)) here.push(frame([x, y], pitch));
  };
  const captions = [[1, 0, name(block)]];
  for (let i = 0; i < L; i++) {
    const r = block * L + i, [asks, key, value] = rows[r].origins, y = 1 + tall + 2 * i;
    cell(asks, 1, y, r);
    if (fused) cell(key, 7 + i * pitch, 1, r);
    cell(value, 7 + i * pitch, tall - 1, r);
    captions.push([8 + L * pitch, y, fill(words.lands, rows[r].lands)]);
    for (let j = 0; j < L; j++) { const kind = reading(table, r, j, fused); (shapes["mha-" + kind] ||= []).push(MARKS[kind](7 + j * pitch, y)); }
  }
  drawn.draw({ width: 17 + L * pitch, height: 1 + tall + 2 * L, captions }, shapes, pieces);
  drawn.here(here.join(""));
}

export default {
  render({ model, el }) {
    const board = desk({ model, el, names: NAMES, problem }), { words, put, root } = board, stale = changes();
    let picked = null, spot = { batch: 0, role: 0, position: 1, head: 0, dim: 0 }, state = null, followed = null;
    const hue = () => picked || (state.fused ? "role" : "position");
    const step = board.place(dial({ name: "step", label: words.step, values: [1, 2, 3, 4, 5], text: (k) => `${k}: ${words.steps[k - 1]}`, put: (value) => put("step", value), wide: true }));
    const [back, next] = [[words.back, -1], [words.next, 1]].map(([text, by]) => make("button", { type: "button", onclick: () => put("step", Math.min(5, Math.max(1, model.get("step") + by))) }, text));
    step.node.append(make("div", { class: "mha-walk" }, back, step.slider, next));
    const path = board.place(picker({ name: "path", label: words.path, options: words.paths, put: (value) => { if (!put("path", value)) path.show(model.get("path")); } }));
    path.node.classList.add("mha-span");
    const colour = board.place(picker({ name: "colour", label: words.colour, options: Object.entries(words.colours), put: (value) => { picked = value; draw(); } }));
    const sizes = SIZES.map((name) => {
      const values = [1, 2, 3, 5], undo = () => { control.slider.value = String(values.indexOf(model.get(name))); };
      const control = board.place(dial({ name, label: words[name], values, put: (value) => put(name, value) || undo() }), { apart: true });
      return control;
    });
    board.controls.append(make("div", { class: "mha-sizes" }, ...sizes.map(({ node }) => node)));

    const title = (k) => `${k + 1} · ${words.steps[k]}`, label = (own, row) => flatly(tag(own, state.fused, row));
    const lanes = [0, 1, 2, 4].map((k) => lane(title(k), follow)), maps = [], blocks = make("div", { class: "mha-blocks", role: "img" }), codes = words.steps.map(() => make("code"));
    const read4 = () => [[words.row, words.asks, words.answer, ...Array.from({ length: state.table.L }, (_, j) => `${words.reads} ${j}`)], ...state.table.rows.map((row, r) => [`${state.block(row.block)}, ${row.i}`, label(row.origins[0], true), fill(words.lands, row.lands),
      ...Array.from({ length: state.table.L }, (_, j) => { const kind = reading(state.table, r, j, state.fused); return kind === "hidden" ? "" : `${label(state.table.rows[row.block * state.table.L + j].origins[2], true)} ${words.marks[kind]}`; })])];
    const numbers = () => [[words.number, words.memory, words.steps[1], words.steps[2], words.steps[4], words.home], ...state.steps[0].ids.map((id) => {
      const seats = state.seats.map((each) => each[id]), [, viewed, read_, merged] = seats.map((at, k) => (at === undefined ? "" : index(at % count(state.steps[k].shape), state.steps[k].shape)));
      return [label(labels(id, state)), String(id), viewed, read_, merged, merged && (wrongAt(3, seats[3], state).length ? words.no : words.yes)];
    })];
    const panels = codes.map((code, k) => panel({ drawing: make("div", { class: "mha-drawn" }, code, k === 3 ? blocks : lanes[k > 3 ? 3 : k].node), words, table: k === 3 ? read4 : null }));
    const said = make("p", { class: "mha-trail", role: "status" }), trail = panel({ drawing: said, words, table: numbers }), counts = ledger(words);
    counts.node.classList.add("mha-probes");
    root.append(make("div", { class: "mha-steps" }, ...panels.map(({ node }) => node), make("div", { class: "mha-stack" }, trail.node, counts.node)), board.timed);

    function follow(id) {
      spot = labels(id, state);
      if (followed !== id) point();
    }
    // Only what is shown is drawn: the steps to come are drawn when they are reached.
    const reached = () => [0, 1, 2, 3].filter((k) => (k > 2 ? 4 : k) < model.get("step"));
    function point() {
      followed = number(spot, state);
      const shown = model.get("step"), seats = state.seats.map((each) => each[followed]);
      for (const k of reached()) lanes[k].point(followed);
      if (shown > 3) attend(seats[2]);
      tell(said, story(followed, seats, state, shown, words));
    }
    function attend(seat) {
      const { table, fused, steps } = state, all = state.from.length, row = Math.floor(seat % all / state.d_k), wide = steps[2].shape[1], band = Math.floor(row / table.L / wide);
      while (maps.length < wide) blocks.append(maps[maps.push(sheet()) - 1].node);
      maps.forEach((drawn, k) => {
        drawn.node.hidden = k >= wide;
        if (k < wide) drawBlock(drawn, band * wide + k, { at: row, role: fused ? Math.floor(seat / all) : 0 }, state, hue(), words);
      });
      panels[3].say(title(3), `${describe(state, words)[3]} ${fill(words.attend_shown, { band })}`);
    }
    function draw() {
      const result = model.get("result"), { steps, ...size } = result, fused = result.path === "split_interleaved", shown = model.get("step"), axes = AXES[size.path], { from } = walk(size);
      state = { ...result, fused, from, table: attended(size, { steps, from }), seats: steps.map(({ ids }) => ids.reduce((seats, id, at) => ((seats[id] = at), seats), [])) };
      state.block = (block) => `${axes[2][0]}=${Math.floor(block / steps[2].shape[1])} ${axes[2][1]}=${block % steps[2].shape[1]}`;
      spot = Object.fromEntries(Object.entries({ batch: size.batch, role: fused ? 3 : 1, position: size.positions, head: size.num_heads, dim: size.d_k }).map(([name, most]) => [name, Math.min(spot[name], most - 1)]));
      const kind = JSON.stringify([SIZES.map((name) => size[name]), size.path, hue()]);
      for (const k of reached()) if (stale(k, kind)) {
        const whole = count(steps[k].shape), off = (at) => wrongAt(k, at, state).length > 0, own = (at) => labels(steps[k].ids[at], size);
        lanes[k].draw(steps[k], state.seats[k], plan(steps[k], axes[k], fused, (part) => (fused && k === 2 ? words.roles[part] : "")), (at) => `mha-hue-${own(at)[hue()]}${off(at) ? " mha-off" : ""}`, (id) => tag(labels(id, size), fused),
          (at) => fill(words.at, { address: address(own(at), state, words), place: index(at % whole, steps[k].shape), off: off(at) ? words.trail_off : "" }));
      }
      const notes = describe(state, words), told = summary(state, shown, words);
      panels.forEach((each, k) => {
        each.node.hidden = k >= shown;
        each.node.classList.toggle("mha-now", k === shown - 1);
        tell(codes[k], k === 3 ? words.attend_code : words.codes[size.path][k > 3 ? 3 : k]);
        if (k !== 3) each.say(title(k), notes[k]);
      });
      counts.show(words.probes, shown < 5 ? [""] : [words.found], shown < 5 ? [[words.probes_wait, ""]] : verdicts(state, words));
      tell(board.tell, told);
      blocks.setAttribute("aria-label", `${words.steps[3]}. ${told}`);
      sizes.forEach((control, k) => control.show(size[SIZES[k]]));
      path.show(size.path);
      colour.show(hue());
      step.show(shown);
      [back, next].forEach((button, k) => button.setAttribute("aria-disabled", shown === (k ? 5 : 1)));
      point();
      trail.say(words.trail, "");
      board.clock(result);
    }
    for (const event of ["change:result", "change:step"]) board.watch(event, draw);
    draw();
    return board.leave;
  },
};
