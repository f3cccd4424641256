// The desk of a widget: controls bound to a model, complaints, keyboard, and its two kinds of tables. Joined behind core.mjs.

// Binds a view to its model. `problem(choices, limits, words)` gives null or [field, sentence]; a refused value never reaches the model.
export function desk({ model, el, names, problem }) {
  const words = model.get("words"), fields = {};
  const complaint = make("p", { class: "mha-problem", role: "alert", id: fresh() });
  const controls = make("div", { class: "mha-controls" });
  const summary = make("p", { class: "mha-tell", role: "status", "aria-live": "polite", "aria-atomic": "true" });
  const timed = make("p", { class: "mha-note mha-timed" });
  const root = make("section", { class: "mha-view", "aria-label": words.title },
    make("h3", {}, words.title), make("p", { class: "mha-lead" }, words.lead), controls, complaint, summary);
  // JupyterLab takes arrow keys and letters for itself unless they stop here.
  root.addEventListener("keydown", (event) => event.stopPropagation());
  el.append(root);

  const choices = () => Object.fromEntries(names.map((name) => [name, model.get(name)]));
  const complain = (found) => {
    complaint.textContent = found ? found[1] : "";
    for (const [name, field] of Object.entries(fields)) {
      const bad = Boolean(found) && found[0] === name;
      field.setAttribute("aria-invalid", String(bad));
      if (bad) field.setAttribute("aria-describedby", complaint.id);
      else field.removeAttribute("aria-describedby");
    }
  };
  const put = (name, value, also = {}) => {
    const wish = { [name]: value, ...also };
    const found = problem({ ...choices(), ...wish }, model.get("limits"), words);
    complain(found);
    if (found) return false;
    for (const [key, good] of Object.entries(wish)) model.set(key, good);
    model.save_changes();
    return true;
  };
  const watched = [];
  const watch = (event, act) => { model.on(event, act); watched.push([event, act]); };
  watch("change:message", () => { const { field, text } = model.get("message"); complain(text ? [field, text] : null); });

  // A control on the desk, or with `apart` one that the view itself puts into a panel.
  const place = (control, { field = control.field, apart = false } = {}) => {
    fields[field.name] = field;
    if (!apart) controls.append(control.node);
    return control;
  };
  const devices = model.get("devices");
  const device = devices.length
    ? place(picker({ name: "device", label: words.device, options: devices.map((d) => [d, d]), put: (value) => put("device", value) }), { apart: true })
    : null;
  const clock = (result) => {
    if (device && !device.node.parentNode) controls.append(device.node);  // last of all
    if (device) device.show(model.get("device"));
    tell(timed, result.device ? fill(words.timed_live, { device: result.device, ms: digits(result.ms) }) : words.timed_page);
  };
  // Leave: what a view's cleanup does.
  const leave = () => { for (const [event, act] of watched) model.off(event, act); root.remove(); };
  return { root, words, controls, tell: summary, timed, choices, put, complain, watch, place, clock, leave };
}

// Two columns of numbers side by side; a change is marked by a factor, not by a colour.
export function ledger(words) {
  const body = make("tbody"), stale = changes();
  const node = make("section", { class: "mha-panel mha-ledger" }, make("h4"), make("table", {}, make("thead", {}, make("tr", {})), body));
  const show = (heading, columns, rows) => {
    tell(node.querySelector("h4"), heading);
    if (stale("rows", [columns, ...rows.map(([name]) => name)].join())) {
      node.querySelector("tr").replaceChildren(make("td"), ...columns.map((c) => make("th", { scope: "col" }, c)));
      body.replaceChildren(...rows.map(([name, ...cells]) => make("tr", {}, make("th", { scope: "row" }, name), ...cells.map(() => make("td")))));
    }
    rows.forEach(([, ...cells], at) => cells.forEach((text, k) => tell(body.rows[at].cells[k + 1], text)));
  };
  return { node, show };
}

// A table whose cells are bars: rows of [name, {share, mark, text}, …]; without a text the share itself is written. Nodes are kept: new ones cost a layout.
export function bars(head) {
  const top = make("tr"), body = make("tbody"), stale = changes();
  const node = make("table", { class: "mha-bars" }, make("thead", {}, top), body);
  const cell = () => make("td", {}, make("span", { class: "mha-mark" }), make("span", { class: "mha-value" }), make("span", { class: "mha-bar" }));
  const show = (head, rows) => {
    if (stale("head", head.join())) top.replaceChildren(...head.map((c) => make("th", { scope: "col" }, c)));
    while (body.rows.length > rows.length) body.lastChild.remove();
    while (body.rows.length < rows.length) body.append(make("tr", {}, make("th", { scope: "row" }), ...rows[0].slice(1).map(cell)));
    rows.forEach(([name, ...cells], at) => {
      const [first, ...rest] = body.rows[at].children;
      tell(first, name);
      cells.forEach(({ share, mark, text = share.toFixed(2) }, k) => {
        const [sign, value, bar] = rest[k].children;
        tell(sign, mark);
        // Cut, not resized, and without a glide: a new width lays the whole table out anew, a glide doubles the time of a move.
        bar.style.clipPath = `inset(0 ${(100 * Math.min(0.99, 1 - share)).toFixed(1)}% 0 0)`;
        tell(value, text);
      });
    });
  };
  show(head, []);
  return { node, show };
}
