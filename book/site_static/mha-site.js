// What every page needs beyond the theme: boxes that scroll can be reached by keyboard, and print is light.
(function () {
  "use strict";
  const WIDE = "pre, span.math, .pst-scrollable-table-container, div.math, .cell_output .output, .text_html";

  function reachable() {
    for (const formula of document.querySelectorAll("article span.math")) {
      const room = formula.closest("p, li, td, th, summary, h1, h2, h3");
      formula.classList.remove("mha-scrolls");
      const wide = room && formula.getBoundingClientRect().width > room.clientWidth && room.clientWidth > 0;
      formula.classList.toggle("mha-scrolls", wide);
    }
    for (const box of document.querySelectorAll(WIDE)) {
      if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
      else if (box.tabIndex === 0) box.removeAttribute("tabindex");
    }
  }

  let waiting = 0;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(reachable, 200); });
  addEventListener("toggle", reachable, true); // an opened <details> shows boxes that had no size before
  addEventListener("load", () => {
    reachable();
    if (window.MathJax && MathJax.startup && MathJax.startup.promise) MathJax.startup.promise.then(reachable);
  });

  let theme = null;
  addEventListener("beforeprint", () => {
    theme = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = "light";
  });
  addEventListener("afterprint", () => { if (theme) document.documentElement.dataset.theme = theme; });
})();
