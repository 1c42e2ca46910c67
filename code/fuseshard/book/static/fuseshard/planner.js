// Lets a reader change the sizes of a model and a cluster, and shows the layouts that follow. What
// is computed is in planner-model.js; nothing is loaded.
(() => {
  "use strict";
  const GIB = 2 ** 30;
  const MOST_GPUS = 16384;
  const MOST_OF_A_KIND = 2 ** 24;
  const SIGNIFICANT = 3;
  const NARROW_SPACE = "\u202f";
  const SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹";

  const fill = (template, values) => template.replace(/\{(\w+)\}/g, (_, name) => values[name]);

  // As fuseshard.show.numbers.number writes a measured number, and a count.
  function number(value) {
    const rounded = Number(value.toPrecision(SIGNIFICANT));
    const exponent = Math.floor(Math.log10(Math.abs(rounded) || 1));
    if (exponent < -4 || exponent >= 7) return power(rounded);
    const decimals = Math.max(0, SIGNIFICANT - 1 - exponent);
    const [whole, rest] = rounded.toFixed(decimals).split(".");
    const grouped = whole.replace(/\B(?=(\d{3})+$)/g, NARROW_SPACE);
    return rest ? `${grouped}.${rest}` : grouped;
  }

  function power(value) {
    const [mantissa, exponent] = value.toExponential(SIGNIFICANT - 1).split("e");
    const raised = exponent.replace("+", "").replace("-", "⁻");
    return `${mantissa}×10${raised.replace(/\d/g, (digit) => SUPERSCRIPT[digit])}`;
  }

  function count(value) {
    return String(value).replace(/\B(?=(\d{3})+$)/g, NARROW_SPACE);
  }

  class Planner {
    constructor(root) {
      this.root = root;
      this.page = JSON.parse(root.querySelector(".fs-json").textContent);
      const { models, clusters, start } = this.page;
      this.model = { ...models[start.model] };
      this.cluster = { ...clusters[start.cluster], num_nodes: start.num_nodes };
      root.addEventListener("change", (event) => this.picked(event.target));
      root.addEventListener("input", (event) => this.typed(event.target));
    }

    fields() {
      return [...this.page.modelFields, ...this.page.clusterFields];
    }

    input(name) {
      return this.root.querySelector(`[data-size=${name}]`);
    }

    // A preset fills in all its sizes; the number of nodes stays what it was.
    picked(control) {
      const what = control.dataset.preset;
      if (!what || !control.value) return;
      if (what === "model") this.model = { ...this.page.models[control.value] };
      else {
        const { num_nodes } = this.cluster;
        this.cluster = { ...this.page.clusters[control.value], num_nodes };
      }
      const sizes = { ...this.model, ...this.cluster };
      for (const { name, scale } of this.page[`${what}Fields`]) {
        this.input(name).value = Number((sizes[name] / scale).toPrecision(12));
      }
      this.plan();
    }

    typed(control) {
      const name = control.dataset.size;
      if (!name) return;
      const isModel = this.page.modelFields.some((field) => field.name === name);
      if (name !== "num_nodes") this.leavePreset(isModel ? "model" : "cluster");
      this.plan();
    }

    // Sizes of one's own are no preset any more.
    leavePreset(what) {
      const select = this.root.querySelector(`[data-preset=${what}]`);
      if (!select.querySelector("option[value='']")) {
        select.append(new Option(this.page.words.own, ""));
      }
      select.value = "";
    }

    plan() {
      const wrong = this.read() ?? this.uneven() ?? this.tooMany();
      this.root.querySelector(".fs-wrong").textContent = wrong ?? "";
      this.root.classList.toggle("fs-stale", Boolean(wrong));
      if (!wrong) this.show(globalThis.fuseshardPlanner.survey(this.model, this.cluster));
    }

    // Takes the sizes from the page; returns what is wrong with the first that can't be.
    read() {
      let wrong;
      for (const { name, title, scale, kind } of this.fields()) {
        const input = this.input(name);
        const value = input.value === "" ? NaN : Number(input.value);
        const isShare = kind === "share";
        const isRight =
          value > 0 &&
          Number.isFinite(value) &&
          (kind !== "count" || (Number.isInteger(value) && value <= MOST_OF_A_KIND)) &&
          (!isShare || value <= 100);
        input.setAttribute("aria-invalid", String(!isRight));
        const names = { field: title, most: count(MOST_OF_A_KIND) };
        if (!isRight) wrong ??= fill(this.page.words[kind], names);
        const sizes = name in this.model ? this.model : this.cluster;
        // Divided, since 90 times a rounded 0.01 isn't 0.9.
        sizes[name] = isShare ? value / Math.round(1 / scale) : value * scale;
      }
      return wrong;
    }

    uneven() {
      const titles = Object.fromEntries(this.fields().map(({ name, title }) => [name, title]));
      for (const [name, divisor] of [
        ["width", "num_heads"],
        ["num_heads", "num_kv_heads"],
      ]) {
        if (this.model[name] % this.model[divisor]) {
          const names = { field: titles[name], other: titles[divisor] };
          return fill(this.page.words.multiple, names);
        }
      }
    }

    tooMany() {
      const gpus = this.cluster.gpus_per_node * this.cluster.num_nodes;
      if (gpus <= MOST_GPUS) return undefined;
      return fill(this.page.words.many, { gpus: count(gpus), most: count(MOST_GPUS) });
    }

    show(found) {
      const { feasible, tooLarge, obstacles } = found;
      const uneven = Object.values(obstacles).reduce((sum, meshes) => sum + meshes, 0);
      this.root.querySelector(".fs-tally").textContent = fill(this.page.words.tally, {
        fitting: count(feasible.length),
        large: count(tooLarge.length),
        uneven: count(uneven),
      });
      this.root.querySelector(".fs-binding").textContent = this.binding(found);
      const rows = feasible.slice(0, this.page.mostRows).map((layout) => this.row(layout));
      this.root.querySelector("tbody").replaceChildren(...rows);
    }

    row({ degrees, memory, step, limit }) {
      const { dp, fsdp, tp, pp, num_micro_batches, recomputes } = degrees;
      const row = document.createElement("tr");
      const put = (text, isNumber) => {
        const cell = row.insertCell();
        cell.textContent = text;
        if (isNumber) cell.className = "fs-number";
      };
      for (const size of [dp, fsdp, tp, pp, num_micro_batches]) put(count(size), true);
      put(this.page.answers[Number(recomputes)], false);
      put(number(memory / GIB), true);
      put(number(step), true);
      put(this.page.limits[limit], false);
      return row;
    }

    name({ dp, fsdp, tp, pp, num_micro_batches, recomputes }) {
      const axes = Object.entries({ DP: dp, FSDP: fsdp, TP: tp, PP: pp });
      const mesh = axes.flatMap(([axis, size]) => (size > 1 ? [`${axis} ${size}`] : []));
      const template = recomputes ? this.page.words.recomputing : this.page.words.layout;
      return fill(template, { mesh: mesh.join(" · ") || "DP 1", count: num_micro_batches });
    }

    // What keeps the best layout from being better, or why nothing fits.
    binding({ feasible, tooLarge, obstacles }) {
      const { words, limits } = this.page;
      const usable = number((this.cluster.memory_bytes * this.cluster.usable_memory) / GIB);
      const of = ({ degrees, memory }) => ({
        layout: this.name(degrees),
        needed: number(memory / GIB),
        usable,
      });
      const [best] = feasible;
      if (best?.blocked) {
        const times = { step: number(best.blocked.step), own: number(best.step) };
        return fill(words.blocked, { ...of(best.blocked), ...times });
      }
      if (best) return fill(words.unblocked, { limit: limits[best.limit] });
      if (!tooLarge.length) {
        const [[reason]] = Object.entries(obstacles).sort(([, one], [, two]) => two - one);
        return fill(words.impossible, { reason: this.page.obstacles[reason] });
      }
      const least = tooLarge.reduce((one, two) => (two.memory < one.memory ? two : one));
      return fill(words.nothing, of(least));
    }
  }

  document.querySelectorAll(".fs-planner").forEach((root) => new Planner(root));
})();
