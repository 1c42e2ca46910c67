// Lets a reader pick program, GPU and stage. The page holds what is seen first, and the resources
// of all kernels; the texts lie in data files beside the pages, one a kernel, loaded when picked.
(() => {
  "use strict";
  const FIRST_MARK = 0xe000; // see explorer_files.py: a class of colour each, and one for the end
  const MARKS = /[\ue000-\uf8fe]/g;
  const END = /\uf8ff/g;
  const ESCAPED = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
  const MISSING = "—";
  const CHUNK = 200; // lines

  const fill = (template, values) => template.replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const listed = (names) => new Intl.ListFormat(document.documentElement.lang).format(names);

  // Data files are scripts that call this: a page opened from a disk may load scripts, and fetch
  // nothing.
  const waiting = new Map(); // address -> what takes the data
  const loaded = new Map(); // address -> promise of the data
  window.fuseshardExplorer = (data) => waiting.get(document.currentScript.src)(data);

  function load(address) {
    if (!loaded.has(address)) {
      const data = request(address);
      data.catch(() => loaded.delete(address)); // so that the next pick tries again
      loaded.set(address, data);
    }
    return loaded.get(address);
  }

  function request(address) {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      const lost = () => reject(new Error(`can't load ${address}`));
      waiting.set(address, resolve);
      script.src = address;
      script.onload = lost; // a file that ran without calling us; otherwise it changes nothing
      script.onerror = lost;
      document.head.append(script);
    });
  }

  // A text is runs of lines: first, count, first, count, ...
  function lineNumbers(runs) {
    const numbers = [];
    for (let i = 0; i < runs.length; i += 2) {
      for (let line = runs[i]; line < runs[i] + runs[i + 1]; line += 1) numbers.push(line);
    }
    return numbers;
  }

  function html(line, classes) {
    return line
      .replace(/[&<>]/g, (sign) => ESCAPED[sign])
      .replace(MARKS, (mark) => `<span class="${classes[mark.charCodeAt(0) - FIRST_MARK]}">`)
      .replace(END, "</span>");
  }

  // Some texts have thousands of lines: browsers lay out the chunks that are seen. Each chunk goes
  // on counting where the one before it ends; what is laid out apart also counts apart, so the
  // count starts inside it.
  function inChunks(lines) {
    let chunks = "";
    for (let first = 0; first < lines.length; first += CHUNK) {
      const own = lines.slice(first, first + CHUNK);
      const counted = `<span style="counter-reset: fs-line ${first}">${own.join("")}</span>`;
      chunks += `<span class="fs-chunk" style="--fs-count: ${own.length}">${counted}</span>`;
    }
    return chunks;
  }

  // The part of the address after # holds name=value pairs, one an explorer.
  function readHash(name) {
    const pairs = location.hash.slice(1).replace(/%2C/gi, ",").replace(/%2B/gi, "+").split("&");
    const own = pairs.find((pair) => pair.startsWith(`${name}=`));
    if (!own) return null;
    const [program, gpus = "", stage, kernel = "1"] = own.slice(name.length + 1).split(",");
    const [target, compare = ""] = gpus.split("+");
    return { program, target, compare, stage, kernel: Number(kernel) - 1 };
  }

  function writeHash(name, { program, target, compare, stage, kernel }) {
    const parts = [program, compare ? `${target}+${compare}` : target, stage];
    if (kernel) parts.push(kernel + 1);
    const others = location.hash
      .slice(1)
      .split("&")
      .filter((pair) => pair.includes("=") && !pair.startsWith(`${name}=`));
    // Not a new entry of the history: "back" leaves the page, as everywhere in the book.
    history.replaceState(history.state, "", `#${[...others, `${name}=${parts}`].join("&")}`);
  }

  // Readers who change the language meet the same view again.
  function passHashOn() {
    for (const link of document.querySelectorAll("a.fs-language")) link.hash = location.hash;
  }

  const find = (things, key) => things.find((thing) => thing.key === key);

  function nearestKernel(kernels, wished, target) {
    const own = kernels.flatMap(({ views }, index) => (views[target] ? [index] : []));
    if (own.includes(wished)) return wished;
    return own.find((index) => kernels[index].phase === kernels[wished]?.phase) ?? own[0];
  }

  class Explorer {
    constructor(root) {
      this.root = root;
      this.page = JSON.parse(root.querySelector(".fs-json").textContent);
      this.panels = [...root.querySelectorAll(".fs-panel")];
      this.wish = { ...this.page.start, compare: "" }; // what the reader picked last
      this.shown = this.place(this.wish); // what the page shows: the nearest that there is
      this.latest = this.shown;
      root.addEventListener("change", (event) => this.picked(event.target));
      addEventListener("hashchange", () => this.follow(true));
      this.alignScrolling();
      // After a reload the browser itself returns to where the reader was.
      const [visit] = performance.getEntriesByType("navigation");
      this.follow(visit?.type === "navigate");
    }

    // Finds what a wish stands for; a kernel or stage that a GPU lacks gives way to its neighbour.
    place(wish) {
      const { programs, targets, stages, start } = this.page;
      const program = find(programs, wish.program) ?? find(programs, start.program);
      const target = find(targets, wish.target) ?? find(targets, start.target);
      const kernel = nearestKernel(program.kernels, wish.kernel, target.key);
      const isStage = Object.values(stages).some((some) => Object.hasOwn(some, wish.stage));
      const stage = isStage ? wish.stage : start.stage;
      const second = find(targets, wish.compare);
      const other = second !== target && this.view({ program, kernel }, second) ? second : null;
      return { program, target, other, kernel, stage };
    }

    // What AMD's cards execute is its assembly: there it stands for SASS, which keeps its place.
    stageOn(target, stage) {
      const own = this.page.stages[target.vendor];
      const key = Object.hasOwn(own, stage) ? stage : "assembly";
      return { key, ...own[key] };
    }

    named({ program, target, other, kernel, stage }) {
      const compare = other?.key ?? "";
      return { program: program.key, target: target.key, compare, kernel, stage };
    }

    picked(control) {
      const what = control.dataset.pick;
      if (!what) return;
      const value = what === "kernel" ? Number(control.value) : control.value;
      const change = { [what]: value };
      // Picking the GPU that stands on the right swaps the two.
      if (what === "target" && value === this.wish.compare) change.compare = this.wish.target;
      if (what === "program") change.kernel = 0;
      this.wish = { ...this.wish, ...change };
      this.go({ save: true });
    }

    // Shows what the address says, if it says anything of this explorer.
    follow(scrolls) {
      const wish = readHash(this.page.name);
      if (!wish) return;
      this.wish = wish;
      this.go({ save: false });
      if (scrolls) this.root.scrollIntoView();
    }

    async go({ save }) {
      const place = this.place(this.wish);
      this.latest = place;
      this.setControls(place);
      const address = this.address(place);
      const names = { program: place.program.label };
      if (!loaded.has(address)) this.say("", fill(this.page.words.loading, names));
      let data;
      try {
        data = await load(address);
      } catch {
        if (this.latest === place) this.giveUp(place);
        return;
      }
      if (this.latest !== place) return; // the reader has picked something else meanwhile
      this.show(place, data);
      if (save) writeHash(this.page.name, this.named(place));
      passHashOn();
    }

    giveUp(place) {
      this.wish = this.named(this.shown);
      this.latest = this.shown;
      this.setControls(this.shown);
      this.say("", fill(this.page.words.failed, { program: place.program.label }));
    }

    address({ program, kernel }) {
      const file = this.page.folder + program.kernels[kernel].file;
      return new URL(file, document.baseURI).href;
    }

    view({ program, kernel }, target) {
      return program.kernels[kernel].views[target?.key];
    }

    // Controls

    setControls(place) {
      const { root, page } = this;
      root.querySelector("[data-pick=program]").value = place.program.key;
      this.setStages(place);
      this.setKernels(place);
      this.setTable(place);
      root.querySelector(`[data-pick=target][value=${place.target.key}]`).checked = true;
      const others = page.targets
        .filter((target) => target !== place.target && this.view(place, target))
        .map(({ key, short }) => ({ key, name: short }));
      const none = { key: "", name: page.words.none };
      const compare = this.setOptions("compare", [none, ...others], place.other?.key ?? "");
      compare.parentElement.hidden = !others.length;
    }

    setStages({ target, stage }) {
      const own = this.page.stages[target.vendor];
      const { key, about } = this.stageOn(target, stage);
      for (const radio of this.root.querySelectorAll("[data-pick=stage]")) {
        radio.disabled = !Object.hasOwn(own, radio.value);
        radio.checked = radio.value === key;
        if (!radio.disabled) radio.nextElementSibling.innerHTML = own[radio.value].label;
      }
      this.root.querySelector(":scope > .fs-about").innerHTML = about;
    }

    setKernels({ program, target, kernel }) {
      const severalPhases = new Set(program.kernels.map(({ phase }) => phase)).size > 1;
      const own = program.kernels.flatMap(({ phase, views }, index) => {
        const { name } = views[target.key] ?? {};
        const prefix = severalPhases ? `${this.page.phases[phase]}: ` : "";
        return name ? [{ key: String(index), name: prefix + name }] : [];
      });
      const control = this.setOptions("kernel", own, String(kernel));
      control.parentElement.hidden = own.length < 2;
    }

    setOptions(what, things, value) {
      const control = this.root.querySelector(`select[data-pick=${what}]`);
      const options = things.map(({ key, name }) => new Option(name, key));
      const text = (some) => [...some].map((option) => option.value + option.text).join();
      if (text(options) !== text(control.options)) control.replaceChildren(...options);
      control.value = value;
      return control;
    }

    setTable(place) {
      const { targets, limits } = this.page;
      const views = targets.map((target) => this.view(place, target));
      const text = (view, i) => (view ? (view.cells[i] ?? limits[view.limited_by]) : MISSING);
      const picked = targets.indexOf(place.target) + 1; // the first column names the rows
      const beside = targets.indexOf(place.other) + 1;
      this.root.querySelectorAll(".fs-resources tr").forEach((row, i) => {
        [...row.cells].forEach((cell, j) => {
          if (i && j) cell.textContent = text(views[j - 1], i - 1);
          cell.classList.toggle("fs-picked", j === picked);
          cell.classList.toggle("fs-beside", j > 0 && j === beside);
          if (j === picked) cell.setAttribute("aria-current", "true");
          else cell.removeAttribute("aria-current");
        });
      });
      this.root.querySelector(".fs-kernel-name").textContent = views[picked - 1].name;
      this.setSettings(place);
      this.showColumn(this.root.querySelector(".fs-resources thead .fs-picked"));
    }

    setSettings(place) {
      const lines = [place.target, place.other].filter(Boolean).flatMap((target) => {
        const code = document.createElement("code");
        code.textContent = this.view(place, target).settings;
        return [`${target.short}: `, code, document.createElement("br")];
      });
      this.root.querySelector(".fs-settings").replaceChildren(...lines.slice(0, -1));
    }

    // On a phone the table is wider than the screen.
    showColumn(head) {
      const region = head.closest(".fs-scroll");
      region.scrollLeft = head.offsetLeft - (region.clientWidth - head.offsetWidth) / 2;
    }

    // Code

    show(place, data) {
      const before = this.shown;
      this.shown = place;
      // Another GPU's text is much the same: readers stay at the line that they are at.
      const same = (what) => before[what] === place[what];
      const stays = same("program") && same("kernel") && same("stage");
      const texts = [place.target, place.other].filter(Boolean).map((target) => {
        const stage = this.stageOn(target, place.stage);
        return { target, stage, lines: lineNumbers(data.texts[target.key][stage.key]) };
      });
      // PTX has no line in common with AMD's assembly: marks on all of them would say nothing.
      const isAlike = texts[0].stage.label === texts[1]?.stage.label;
      this.panels.forEach((panel, i) => {
        panel.hidden = !texts[i];
        if (!texts[i]) return;
        const lacking = new Set(isAlike ? texts[i].lines : []);
        if (isAlike) texts[1 - i].lines.forEach((line) => lacking.delete(line));
        this.fillPanel(panel, texts[i]);
        this.fillCode(panel.querySelector("pre"), { ...texts[i], lacking, data, stays });
      });
      this.root.classList.toggle("fs-compared", Boolean(place.other));
      const marks = isAlike ? `${this.page.words.marked} ` : "";
      this.say(this.inOneSentence(place, texts), marks + this.remark(place, data));
    }

    fillPanel(panel, { target, stage, lines }) {
      panel.open = true;
      const title = panel.querySelector(".fs-panel-title");
      title.innerHTML = stage.label;
      title.append(` · ${target.name}`);
      const count = fill(this.page.words.lines, { count: lines.length });
      panel.querySelector(".fs-size").textContent = count;
      panel.querySelector("pre").setAttribute("aria-label", title.textContent);
    }

    fillCode(code, { lines, lacking, data, stays }) {
      const { scrollTop } = code;
      const all = data.lines.split("\n");
      const shown = lines.map((line) => {
        const mark = lacking.has(line) ? " fs-marked" : "";
        return `<span class="fs-line${mark}">${html(all[line], data.classes)}\n</span>`;
      });
      code.style.setProperty("--fs-digits", String(lines.length).length);
      code.innerHTML = inChunks(shown);
      code.scrollTo(0, stays ? scrollTop : 0);
    }

    // Two texts of different length scroll together, so that what is at a third stays at a third.
    alignScrolling() {
      const codes = this.panels.map((panel) => panel.querySelector("pre"));
      let leader = null; // whose scrolling the other follows
      codes.forEach((code, i) => {
        const lead = () => (leader = code);
        for (const kind of ["pointerenter", "focus", "wheel", "touchstart"]) {
          code.addEventListener(kind, lead, { passive: true });
        }
        code.addEventListener("scroll", () => {
          const other = codes[1 - i];
          if (leader !== code || this.panels[1 - i].hidden) return;
          const share = code.scrollTop / (code.scrollHeight - code.clientHeight || 1);
          other.scrollTop = share * (other.scrollHeight - other.clientHeight);
          other.scrollLeft = code.scrollLeft;
        });
      });
    }

    // Words

    // For those who can't see what has changed.
    inOneSentence(place, texts) {
      const { words } = this.page;
      const [first, second] = texts.map(({ target, stage, lines }) => ({
        program: place.program.label,
        stage: stage.label,
        gpu: target.name,
        lines: fill(words.lines, { count: lines.length }),
      }));
      return [fill(words.view, first), second ? fill(words.beside, second) : ""].join(" ").trim();
    }

    // Which other GPUs are given the same text, and which have no such kernel.
    remark(place, data) {
      const { words, targets } = this.page;
      const others = targets.filter((target) => target !== place.target);
      const have = others.filter((target) => this.view(place, target));
      const cut = others.filter((target) => !this.view(place, target));
      const text = (target) => {
        const { key, label } = this.stageOn(target, place.stage);
        return label + data.texts[target.key][key];
      };
      const same = have.filter((target) => text(target) === text(place.target));
      const gpus = (some) => ({ gpus: listed(some.map((target) => target.short)) });
      const said = [];
      if (same.length) said.push(fill(words.same, gpus(same)));
      else if (have.length) said.push(words.differ);
      if (cut.length) said.push(fill(words.cut, gpus(cut)));
      return said.join(" ");
    }

    say(hidden, visible) {
      const [unseen, seen] = this.root.querySelectorAll(".fs-shown > span");
      unseen.textContent = hidden;
      seen.textContent = visible;
    }
  }

  document.querySelectorAll(".fs-explorer").forEach((root) => new Explorer(root));
})();
