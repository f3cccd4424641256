// The view of look-up; its arithmetic stands in look_up_math.mjs.

const SIDE = 300, UNIT = 32, ORIGIN = SIDE / 2;

function arrow(name, [x, y], kind, dy) {
  const tip = [ORIGIN + UNIT * x, ORIGIN - UNIT * y], size = kind === "mha-ask" ? 11 : 8, turn = -Math.atan2(y, x) * 180 / Math.PI;
  const head = `M${size / 2} 0L${-size} ${size * 0.6}L${-size} ${-size * 0.6}Z`;
  return [make("path", { class: "mha-arrow " + kind, d: `M${ORIGIN} ${ORIGIN}L${tip[0].toFixed(1)} ${tip[1].toFixed(1)}` }),
    make("path", { class: "mha-tip " + kind, d: head, transform: `translate(${tip[0].toFixed(1)} ${tip[1].toFixed(1)}) rotate(${turn.toFixed(1)})` }),
    make("text", { class: "mha-name " + kind, x: tip[0] + 8, y: tip[1] + dy }, name)];
}

export default {
  render({ model, el }) {
    const board = desk({ model, el, names: NAMES, problem }), { words, put, root } = board, longest = model.get("limits").length[1];
    const range = (low, high, step) => Array.from({ length: Math.round((high - low) / step) + 1 }, (_, i) => Math.round((low + i * step) * 100) / 100);
    const number = (name) => (value) => put(name, value);
    const angle = board.place(dial({ name: "angle", label: words.angle, values: range(-180, 180, 5), put: number("angle") }));
    const length = board.place(dial({ name: "length", label: words.length, values: range(0, longest, 0.1), put: number("length") }));
    const others = board.place(dial({ name: "others", label: words.others, values: [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10000], put: number("others") }));

    const plane = make("svg", { viewBox: `0 0 ${SIDE} ${SIDE}`, class: "mha-plot mha-plane", role: "img" });
    const got = bars([words.word, words.weight]), counts = ledger(words);
    let state = null;
    const rows = () => words.tokens.map(({ word, key }, j) => [word, key.join(", "), digits(state.scores[j]), digits(state.weights[j])]);
    const crowded = () => fill(words.all_others, { m: model.get("others") });
    const map = panel({ drawing: plane, words, table: () => [[words.word, words.key, words.score, words.weight], ...rows(), ...(model.get("others") ? [[crowded(), "0, 0", "0", digits(state.crowd)]] : [])] });
    const shares = panel({ drawing: got.node, words });
    root.append(make("div", { class: "mha-panels" }, map.node, make("div", { class: "mha-stack" }, shares.node, counts.node)), board.timed);

    const follow = (event) => {
      const box = plane.getBoundingClientRect(), scale = SIDE / box.width / UNIT;
      const to = polar((event.clientX - box.left - box.width / 2) * scale, -(event.clientY - box.top - box.height / 2) * scale, longest);
      put("angle", to.angle, { length: to.length });
    };
    plane.addEventListener("pointerdown", (event) => { plane.setPointerCapture(event.pointerId); follow(event); });
    plane.addEventListener("pointermove", (event) => { if (event.buttons & 1) follow(event); });

    function draw() {
      state = model.get("result");
      const m = model.get("others"), { weights, crowd, output, query } = state;
      const line = (d) => make("path", { class: "mha-grid", d });
      plane.replaceChildren(line(`M0 ${ORIGIN}H${SIDE}M${ORIGIN} 0V${SIDE}`),
        ...arrow(words.query, query, "mha-ask", query[1] > 1.2 ? -8 : 22), ...words.tokens.flatMap(({ word, key }) => arrow(word, key, "mha-key", -6)));
      got.show([words.word, words.weight], [...words.tokens.map(({ word }, j) => [word, { share: weights[j], mark: "" }]), ...(m ? [[crowded(), { share: crowd, mark: "" }]] : [])]);
      counts.show(words.got, [words.now], [...[0, 1].map((c) => [fill(words.output, { word: words.tokens[c].word }), digits(output[c])]),
        [words.largest, digits(Math.max(...weights, m ? crowd / m : 0))], [words.one_other, m ? digits(crowd / m) : words.none]]);
      map.say(words.plane, words.plane_note);
      shares.say(words.weights, words.weights_note);
      tell(board.tell, summary(state, { length: model.get("length"), others: m }, words));
      plane.setAttribute("aria-label", words.plane + ". " + board.tell.textContent);
      angle.show(model.get("angle"));
      length.show(model.get("length"));
      others.show(m);
      board.clock(state);
    }
    board.watch("change:result", draw);
    draw();
    return board.leave;
  },
};
