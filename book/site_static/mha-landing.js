// The landing page's picture: softmax weights of one head and of two, while two words change places.
(function () {
  "use strict";
  const hero = document.getElementById("mha-hero");
  if (!hero) return;
  const SHARP = 4; // score of a key that a query asks for; the others score 0
  const HOLD = 2600, MOVE = 1500, WIDTH = 120, RIBBON = 28;
  const ASKS = { both: [1, 1], before: [1, 0], after: [0, 1] }; // a query's (before, after) coordinates
  const words = ["dog", "bites", "man"];
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const pause = hero.querySelector('[data-do="pause"]');
  let clock = 0, last = null, playing = !still.matches;

  // A word's place relative to "bites": -1 before, +1 after. Its key holds how far before and how far after it stands.
  function places(turn) {
    return { dog: -Math.cos(Math.PI * turn), bites: 0, man: Math.cos(Math.PI * turn) };
  }

  function weights(asks, place) {
    const raw = words.map((w) => Math.exp(SHARP * (asks[0] * Math.max(-place[w], 0) + asks[1] * Math.max(place[w], 0))));
    const sum = raw.reduce((a, b) => a + b);
    return raw.map((x) => x / sum);
  }

  function draw(turn) {
    const place = places(turn);
    const lift = 22 * Math.sin(Math.PI * turn); // the words pass each other above and below "bites"
    const at = { dog: [160 + 100 * place.dog, 38 - lift], bites: [160, 38], man: [160 + 100 * place.man, 38 + lift] };
    for (const token of hero.querySelectorAll(".hero-token")) {
      token.setAttribute("transform", `translate(${at[token.dataset.word].join(" ")})`);
    }
    for (const head of hero.querySelectorAll("[data-head]")) {
      const w = weights(ASKS[head.dataset.head], place), slot = head.dataset.slot;
      let left = 0;
      words.forEach((word, i) => {
        const [x, y] = at[word], flow = head.querySelector(`.hero-flow[data-word="${word}"]`);
        flow.setAttribute("d", `M${x} ${y + 16}C${x} 110 ${slot} 90 ${slot} 150`);
        flow.setAttribute("stroke-width", (RIBBON * w[i]).toFixed(2));
        const share = head.querySelector(`.hero-share[data-word="${word}"]`);
        share.setAttribute("x", left);
        share.setAttribute("width", WIDTH * w[i]);
        left += WIDTH * w[i];
      });
      const ranked = words.map((word, i) => [w[i], word]);
      const top = ranked.reduce((a, b) => (b[0] > a[0] ? b : a));
      const told = head.dataset.head === "both" ? [ranked[0], ranked[2]] : [top];
      head.querySelector(".hero-num").textContent = told.map(([x, word]) => `${x.toFixed(2)} ${word}`).join(" + ");
    }
  }

  // One cycle: hold, change places, hold, change back. Returns how far the change has gone, 0 to 1.
  function turnAt(ms) {
    const t = ms % (2 * (HOLD + MOVE));
    const ease = (x) => x * x * (3 - 2 * x);
    if (t < HOLD) return 0;
    if (t < HOLD + MOVE) return ease((t - HOLD) / MOVE);
    if (t < 2 * HOLD + MOVE) return 1;
    return 1 - ease((t - 2 * HOLD - MOVE) / MOVE);
  }

  function frame(now) {
    if (!playing) { last = null; return; }
    if (last !== null) clock += Math.min(now - last, 100); // a tab that slept does not jump
    last = now;
    draw(turnAt(clock));
    requestAnimationFrame(frame);
  }

  function set(on) {
    const starts = on && !playing;
    playing = on;
    pause.textContent = on ? "Pause" : "Play";
    if (starts) requestAnimationFrame(frame);
  }

  pause.addEventListener("click", () => set(!playing));
  hero.querySelector('[data-do="swap"]').addEventListener("click", () => {
    set(false);
    const swapped = turnAt(clock) > 0.5;
    clock = swapped ? 0 : HOLD + MOVE;
    draw(turnAt(clock));
  });
  still.addEventListener("change", () => set(!still.matches));
  hero.querySelector(".hero-controls").hidden = false;
  pause.textContent = playing ? "Pause" : "Play";
  draw(0);
  if (playing) requestAnimationFrame(frame);
})();
