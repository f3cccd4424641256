// The static host: mounts every widget of a page on a stand-in model, without Jupyter.

export function standIn(view, state) {
  const listeners = {};
  const known = (name) => { if (!(name in state)) throw new Error(`the model has no trait ${name}`); };
  const emit = (event) => (listeners[event] || []).slice().forEach((act) => act());
  const compute = () => { state.result = view.compute(state, state.words); };
  compute();
  return {
    get: (name) => { known(name); return state[name]; },
    set: (name, value) => { known(name); state[name] = value; },
    save_changes: () => { compute(); emit("change:result"); },
    on: (event, act) => { (listeners[event] ||= []).push(act); },
    off: (event, act) => { listeners[event] = (listeners[event] || []).filter((other) => other !== act); },
  };
}

// A block that can't be read, or a view that fails, leaves the picture that stands in the page.
export function mount(block, views, words) {
  try {
    const name = block.dataset.widget, view = views[name], box = document.createElement("div");
    const state = JSON.parse(block.querySelector("script[type='application/json']").textContent);
    Object.assign(state, { words: { ...words.common, ...words[name] }, message: {}, devices: [], device: "", result: {} });
    const model = standIn(view, state), attic = document.createElement("div");
    attic.append(...block.childNodes);
    block.append(box);
    try {
      view.render({ model, el: box });
    } catch (error) {
      block.replaceChildren(...attic.childNodes);
      throw error;
    }
    block.setAttribute("data-alive", "");
  } catch (error) {
    console.warn("This widget stays a picture:", error.message);
  }
}
