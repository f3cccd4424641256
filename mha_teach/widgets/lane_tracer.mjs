// The view of the lane tracer; its arithmetic stands in lane_tracer_math.mjs.

const HUES = 5;
const tag = ({ batch, role, position, head, dim }, fused, row = false) => `${fused ? "QKV"[role] + " " : ""}b${batch}t${position}\nh${head}${row ? "" : "c" + dim}`;
const set = (node, name, value) => { if (node.getAttribute(name) !== value) node.setAttribute(name, value); };
const write = (node, name, value) => { if (node[name] !== value) node[name] = value; };

// The numbers of one step: one stop for the keyboard, where arrows go from number to number. Nodes are kept from drawing to drawing.
function lane(follow) {
  const id = fresh(), cells = [], captions = [], box = make("div", { class: "mha-cells", role: "listbox", tabindex: 0 });
  let ids = [], where = [], width = 1, now = null;
  const cell = (at) => {
    const node = make("span", { role: "option", id: `${id}-${at}`, "aria-selected": "false" });
    node.at = at;
    return node;
  };
  const trim = (list, length, create) => {
    while (list.length > length) list.pop().remove();
    while (list.length < length) box.append(list[list.push(create(list.length)) - 1]);
  };
  const go = (at) => { if (at >= 0 && at < ids.length) { follow(ids[at]); cells[at].scrollIntoView?.({ block: "nearest", inline: "nearest" }); } };
  for (const event of ["pointerover", "click"]) box.addEventListener(event, ({ target }) => { const hit = target.closest("[role=option]"); if (hit) follow(ids[hit.at]); });
  box.addEventListener("keydown", (event) => {
    const at = now ? now.at : 0, to = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + width, ArrowUp: at - width, Home: 0, End: ids.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    go(to);
  });
  // `step` {shape, ids}, `axes` names them, `say(at, id)` gives [class, text, label] of a cell, `role(k)` the name of part k.
  function draw(step, axes, say, role) {
    ({ ids } = step);
    const { shape } = step, four = shape.length > 3 ? shape : [shape[0], 1, ...shape.slice(1)], [blocks, rows, columns] = four.slice(-3);
    const lead = shape.slice(0, -2), bands = ids.length / (blocks * rows * columns);
    width = columns;
    where = [];
    write(box.style, "gridTemplateColumns", `max-content ${`repeat(${columns}, max-content) .5rem `.repeat(blocks)}`);
    trim(cells, ids.length, cell);
    ids.forEach((number, at) => {
      const column = at % columns, row = Math.floor(at / columns) % rows, block = Math.floor(at / columns / rows) % blocks, band = Math.floor(at / columns / rows / blocks);
      const node = cells[at], [name, text, label] = say(at, number);
      where[number] = node;
      write(node, "className", name);
      write(node.style, "gridArea", `${band * (rows + 1) + row + 2}/${block * (columns + 1) + column + 2}`);
      tell(node, text);
      set(node, "aria-label", label);
    });
    trim(captions, bands * (rows + blocks), () => make("span", { "aria-hidden": "true", class: "mha-axis-name" }));
    const told = (node, area, text) => { write(node.style, "gridArea", area); tell(node, text); };
    for (let band = 0, k = 0; band < bands; band++) {
      for (let row = 0; row < rows; row++) told(captions[k++], `${band * (rows + 1) + row + 2}/1`, `${axes.at(-2)}=${row}`);
      for (let block = 0; block < blocks; block++) {
        const place = (band * blocks + block) % count(lead), part = Math.floor((band * blocks + block) / count(lead));
        const names = shape.length > 3 || block === 0 ? lead.map((size, axis) => `${axes[axis]}=${Math.floor((shape.length > 3 ? place : band) / count(lead.slice(axis + 1))) % size}`) : [];
        told(captions[k++], `${band * (rows + 1) + 1}/${block * (columns + 1) + 2}/span 1/span ${columns}`, [role(part), ...names].filter(Boolean).join(" "));
      }
    }
    now = null;
  }
  const point = (number) => {
    const next = where[number] || null;
    if (now && now !== next) { now.classList.remove("mha-here"); now.setAttribute("aria-selected", "false"); }
    if (next) { next.classList.add("mha-here"); set(next, "aria-selected", "true"); set(box, "aria-activedescendant", next.id); } else box.removeAttribute("aria-activedescendant");
    now = next;
  };
  return { box, draw, point, at: (number) => where[number]?.at };
}

// The attentions of one sample: who asks, who is read, and where the answer lands.
function map(block, state, words, colour) {
  const { table, fused } = state, { L, rows } = table, first = block * L, sign = (r, j) => reading(table, r, j, fused);
  const label = (from, k, extra = "") => make("span", { class: `mha-lane mha-hue-${from[colour] % HUES} ${extra}`, "data-row": k }, tag(from, fused, true));
  const keys = Array.from({ length: L }, (_, j) => fused ? make("span", { class: "mha-pair" }, label(rows[first + j].origins[1], first + j), label(rows[first + j].origins[2], first + j)) : label(rows[first + j].origins[2], first + j));
  return make("div", { class: "mha-block", style: `grid-template-columns: max-content repeat(${L}, max-content) max-content` },
    make("span", { class: "mha-axis-name" }, state.block(block)), ...keys, make("span"),
    ...Array.from({ length: L }, (_, i) => [label(rows[first + i].origins[0], first + i), ...Array.from({ length: L }, (_, j) => make("span", { class: `mha-sign mha-${sign(first + i, j)}` }, words.marks[sign(first + i, j)])),
      make("span", { class: "mha-axis-name" }, fill(words.lands, rows[first + i].lands))]).flat());
}

export default {
  render({ model, el }) {
    const board = desk({ model, el, names: NAMES, problem }), { words, put, root } = board, stale = changes();
    const sized = (name) => {
      const control = board.place(dial({ name, label: words[name], values: [1, 2, 3, 5], put: (value) => { if (!put(name, value)) control.back(); } }));
      control.back = () => { control.slider.value = String([1, 2, 3, 5].indexOf(model.get(name))); };
      return control;
    };
    const path = board.place(picker({ name: "path", label: words.path, options: words.paths, put: (value) => { if (!put("path", value)) path.show(model.get("path")); } }));
    path.node.classList.add("mha-span");
    let picked = null, spot = { batch: 0, role: 0, position: 1, head: 0, dim: 0 }, state = null, followed = null;
    const hue = () => picked || (state.fused ? "role" : "position");
    const step = board.place(dial({ name: "step", label: words.step, values: [1, 2, 3, 4, 5], text: (k) => `${k}: ${words.steps[k - 1]}`, put: (value) => put("step", value), wide: true }));
    const move = (by) => put("step", Math.min(5, Math.max(1, model.get("step") + by)));
    const [back, next] = [[words.back, -1], [words.next, 1]].map(([text, by]) => make("button", { type: "button", onclick: () => move(by) }, text));
    board.controls.append(make("div", { class: "mha-walk" }, back, next));

    const sizes = SIZES.map(sized);
    const colour = board.place(picker({ name: "colour", label: words.colour, options: Object.entries(words.colours), put: (value) => { picked = value; draw(); } }));

    const lanes = [0, 1, 2, 3].map(() => lane((number_) => follow(number_))), blocks = make("div", { class: "mha-blocks", role: "img" });
    const codes = [0, 1, 2, 3, 4].map(() => make("code"));
    const table4 = () => [[words.row, words.asks, words.answer, ...Array.from({ length: state.table.L }, (_, j) => `${words.reads} ${j}`)], ...state.table.rows.map((row, r) => [`${state.block(row.block)}, ${row.i}`, tag(row.origins[0], state.fused, true).replace("\n", ""), fill(words.lands, row.lands),
      ...Array.from({ length: state.table.L }, (_, j) => { const kind = reading(state.table, r, j, state.fused); return kind === "hidden" ? "" : `${tag(state.table.rows[row.block * state.table.L + j].origins[2], state.fused, true).replace("\n", "")} ${words.marks[kind]}`; })])];
    const framed = (k, inner, table) => panel({ drawing: make("div", { class: "mha-drawn" }, codes[k], inner), words, table });
    const panels = [framed(0, lanes[0].box), framed(1, lanes[1].box), framed(2, lanes[2].box), framed(3, blocks, table4), framed(4, lanes[3].box)];
    const numbers = () => [[words.number, words.memory, words.steps[1], words.steps[2], words.steps[4], words.home], ...state.steps[0].ids.map((id) => {
      const places = lanes.map((each, k) => (each.at(id) === undefined ? "" : index(each.at(id) % count(state.steps[k].shape), state.steps[k].shape)));
      return [tag(labels(id, state), state.fused).replace("\n", ""), String(id), ...places.slice(1), places[3] === "" ? "" : wrongAt(3, lanes[3].at(id), state).length ? words.no : words.yes];
    })];
    const said = make("p", { class: "mha-trail", role: "status" }), trail = panel({ drawing: said, words, table: numbers }), counts = ledger(words);
    counts.node.classList.add("mha-probes");
    root.append(make("div", { class: "mha-steps" }, ...panels.map(({ node }) => node)), make("div", { class: "mha-panels" }, trail.node, counts.node), board.timed);

    function follow(id) {
      spot = labels(id, state);
      if (followed !== id) point();
    }
    function point() {
      followed = number(spot, state);
      lanes.forEach((each) => each.point(followed));
      const at = lanes[2].at(followed), all = state.from.length, row = Math.floor(at % all / state.d_k), { shape } = state.steps[2], band = Math.floor(row / state.table.L / shape[1]);
      if (stale("map", JSON.stringify([band, state.path, shape, hue()]))) blocks.replaceChildren(...Array.from({ length: shape[1] }, (_, k) => map(band * shape[1] + k, state, words, hue())));
      for (const node of blocks.querySelectorAll(".mha-lane")) node.classList.toggle("mha-here", Number(node.dataset.row) === row && (!state.fused || node.textContent === tag(spot, true, true)));
      tell(said, story(followed, lanes.map((each) => each.at(followed)), state, words));
    }
    function draw() {
      const result = model.get("result"), { steps, ...size } = result, fused = steps[0].shape[2] > steps[3].shape[2], shown = model.get("step");
      const found = walk(size), axes = AXES[size.path];
      state = { ...result, fused, from: found.from, table: attended(size, { steps, from: found.from }) };
      state.block = (block) => steps[2].shape.slice(0, 2).map((_, k) => `${axes[2][k]}=${k ? block % steps[2].shape[1] : Math.floor(block / steps[2].shape[1])}`).join(" ");
      spot = { batch: Math.min(spot.batch, size.batch - 1), role: fused ? spot.role : 0, position: Math.min(spot.position, size.positions - 1), head: Math.min(spot.head, size.num_heads - 1), dim: Math.min(spot.dim, size.d_k - 1) };
      if (stale("lanes", JSON.stringify([size.batch, size.positions, size.num_heads, size.d_k, size.path, hue()]))) lanes.forEach((each, k) => each.draw(steps[k], axes[k], (at, id) => {
        const own = labels(id, size), off = wrongAt(k, at, state).length > 0;
        return [`mha-lane mha-hue-${own[hue()] % HUES}${off ? " mha-off" : ""}`, tag(own, fused), fill(words.at, { address: address(own, state, words), place: index(at % count(steps[k].shape), steps[k].shape), off: off ? words.trail_off : "" })];
      }, (part) => (fused && k === 2 ? words.roles[part] : "")));
      const notes = describe(state, words);
      panels.forEach((each, k) => {
        each.node.hidden = k >= shown;
        each.node.classList.toggle("mha-now", k === shown - 1);
        tell(codes[k], k === 3 ? words.attend_code : words.codes[size.path][k > 3 ? 3 : k]);
        each.say(`${k + 1} · ${words.steps[k]}`, notes[k]);
      });
      [0, 1, 2, 4].forEach((k, at) => set(lanes[at].box, "aria-label", `${k + 1} · ${words.steps[k]}`));
      counts.show(words.probes, [words.found], shown < 5 ? [[words.probes_wait, ""]] : verdicts(state, words));
      const told = summary(state, shown, words);
      tell(board.tell, told);
      set(blocks, "aria-label", `${words.steps[3]}. ${told}`);
      sizes.forEach((control, k) => control.show(size[SIZES[k]]));
      path.show(size.path);
      colour.show(hue());
      step.show(shown);
      [back, next].forEach((button, k) => set(button, "aria-disabled", String(shown === (k ? 5 : 1))));
      point();
      trail.say(words.trail, "");
      board.clock(result);
    }
    for (const event of ["change:result", "change:step"]) board.watch(event, draw);
    draw();
    return board.leave;
  },
};
