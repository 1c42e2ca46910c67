// Draws the page's figures when a reader comes near, in the colours of the page's theme.
// The data lie in the page (<script type="application/json">), so this works from a file too.
(() => {
  "use strict";
  const PLOTLY = new URL(document.currentScript.dataset.plotly, document.currentScript.src).href;
  const MARGIN = "800px"; // how near is near
  // Plotly's own buttons and tips are English in every edition.
  const CONFIG = { responsive: true, displayModeBar: false, showTips: false };
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const touch = matchMedia("(pointer: coarse)");
  const drawn = new Set();
  let loading = null;

  function loadPlotly() {
    loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = PLOTLY;
      script.onload = () => resolve(window.Plotly);
      script.onerror = () => reject(new Error(`can't load ${PLOTLY}`));
      document.head.append(script);
    });
    return loading;
  }

  const isDark = () => document.documentElement.dataset.theme === "dark";

  function darkColours() {
    const element = document.getElementById("fuseshard-dark");
    return element ? JSON.parse(element.textContent) : {};
  }

  function recolour(value, colours) {
    if (typeof value === "string") return colours[value] ?? colours[value.toLowerCase()] ?? value;
    if (Array.isArray(value)) return value.map((item) => recolour(item, colours));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, recolour(v, colours)]));
    }
    return value;
  }

  function drawing(figure) {
    const record = JSON.parse(figure.querySelector(".fs-json").textContent);
    const { data, layout } = isDark() ? recolour(record, darkColours()) : record;
    const body = getComputedStyle(document.body);
    layout.font = { family: body.fontFamily, color: body.color, ...layout.font };
    layout.paper_bgcolor ??= "rgba(0, 0, 0, 0)";
    layout.plot_bgcolor ??= "rgba(0, 0, 0, 0)";
    layout.autosize = true;
    delete layout.width;
    if (touch.matches) layout.dragmode = false; // a finger on a figure scrolls the page
    if (calm.matches) layout.transition = { duration: 0 };
    return { data, layout, config: { ...record.config, ...CONFIG } };
  }

  async function draw(figure) {
    try {
      const Plotly = await loadPlotly();
      const { data, layout, config } = drawing(figure);
      const plot = figure.querySelector(".fs-plot");
      await Plotly.react(plot, data, layout, config);
      plot.style.minHeight = "";
      drawn.add(figure);
      figure.dataset.drawn = isDark() ? "dark" : "light";
    } catch (error) {
      figure.querySelector(".fs-data")?.setAttribute("open", "");
      throw error;
    }
  }

  // The table that readers without scripts see becomes one that all can unfold.
  function offerTable(figure) {
    const quiet = figure.querySelector("noscript.fs-data");
    if (!quiet) return;
    const details = document.createElement("details");
    details.className = "fs-data";
    const summary = document.createElement("summary");
    summary.textContent = quiet.dataset.title;
    details.append(summary);
    details.insertAdjacentHTML("beforeend", quiet.textContent);
    quiet.replaceWith(details);
  }

  function start() {
    const figures = [...document.querySelectorAll(".fs-figure")];
    figures.forEach(offerTable);
    const near = new IntersectionObserver(
      (entries) => {
        for (const entry of entries.filter((e) => e.isIntersecting)) {
          near.unobserve(entry.target);
          draw(entry.target);
        }
      },
      { rootMargin: MARGIN },
    );
    figures.forEach((figure) => near.observe(figure));
    new MutationObserver(() => drawn.forEach(draw)).observe(document.documentElement, {
      attributeFilter: ["data-theme"],
    });
    addEventListener("beforeprint", () => figures.forEach(draw));
  }

  start(); // the script is deferred: the page is parsed
})();
