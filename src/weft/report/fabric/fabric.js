"use strict";
const fabric = JSON.parse(document.getElementById("fabric").textContent);
const SVG = "http://www.w3.org/2000/svg";
const MOST_CABLES_SAID = 8;
const MOST_FOUND = 12;
const DEEPEST = 40;

function html(name, values, ...children) {
  const made = Object.assign(document.createElement(name), values);
  made.append(...children);
  return made;
}

function drawn(name, values, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(values)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function cableText(cable) {
  const [a, aPort, b, bPort, word, up, down] = cable;
  const ends = `${fabric.switches[a]}[${aPort}] - ${fabric.switches[b]}[${bPort}]`;
  const load = up === undefined ? "" : `; load ${up} times its fair share up, ${down} down`;
  return `${ends}, ${fabric.words[word]}${load}`;
}

// One matrix: what the pointer or the keys are at, how far it is zoomed, what is marked in it.
class View {
  constructor(id, values) {
    this.values = values;
    this.svg = document.getElementById(`${id}-svg`);
    this.cells = new Map(values.cells.map((cell) => [`${cell[0]},${cell[1]}`, cell]));
    this.found = this.svg.querySelector(".found");
    this.names = ["rows", "columns"].map((name) => this.svg.querySelector(`.${name}`));
    this.printedNames = this.names.map((group) => [...group.children]);
    this.box = [0, 0, ...values.size];
    this.marked = [];
    this.chosen = null;
    this.addTools();
    this.listen();
  }

  get scale() { return this.box[2] / this.values.size[0]; }
  get isFolded() { return this.values.panel[0] < this.values.rows.length; }

  addTools() {
    const button = (text, title, action) => {
      const made = html("button", { type: "button", textContent: text, title });
      made.setAttribute("aria-label", title);
      made.addEventListener("click", action);
      return made;
    };
    this.readout = html("p", { className: "readout", textContent: "Point at a cell." });
    this.readout.setAttribute("aria-live", "polite");
    const keys = "Drag to move, double-click or Ctrl + wheel to zoom; with the keyboard: arrows, " +
      "+, -, 0, Enter to mark.";
    this.svg.parentElement.before(
      html("div", { className: "tools" },
        button("+", "zoom in", () => this.zoom(1.6)),
        button("\u2212", "zoom out", () => this.zoom(1 / 1.6)),
        button("whole", "show the whole matrix", () => this.show(0, 0, 1)),
        html("span", { textContent: keys })),
      this.readout);
    this.svg.setAttribute("tabindex", "0");
  }

  listen() {
    let drag = null;
    this.svg.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, y: event.clientY, box: this.box, moved: false };
    });
    this.svg.addEventListener("pointermove", (event) => {
      if (drag && event.buttons) this.pan(event, drag);
      else this.say(this.cellAt(event) || this.chosen);
    });
    this.svg.addEventListener("pointerup", (event) => {
      if (drag && !drag.moved) this.choose(this.cellAt(event));
      drag = null;
    });
    this.svg.addEventListener("pointerleave", () => { drag = null; this.say(this.chosen); });
    this.svg.addEventListener("dblclick", (event) => this.zoom(2, this.point(event)));
    this.svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? 1.25 : 0.8, this.point(event));
    }, { passive: false });
    this.svg.addEventListener("keydown", (event) => this.key(event));
  }

  pan(event, drag) {
    const pixel = this.box[2] / this.svg.clientWidth;
    const [dx, dy] = [(drag.x - event.clientX) * pixel, (drag.y - event.clientY) * pixel];
    drag.moved ||= Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > 4;
    if (drag.moved) this.show(drag.box[0] + dx, drag.box[1] + dy, this.scale);
  }

  key(event) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (steps[event.key]) this.step(...steps[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoom(1.6);
    else if (event.key === "-") this.zoom(1 / 1.6);
    else if (event.key === "0") this.show(0, 0, 1);
    else if (event.key === "Enter" && this.chosen) markRow(this, this.chosen[0]);
    else if (event.key === "Escape") { this.choose(null); mark(new Set(), null); }
    else return;
    event.preventDefault();
  }

  // To the next cell that holds something, in a row or a column.
  step(down, right) {
    const { rows, columns } = this.values;
    if (!this.chosen) return this.choose(this.values.cells[0] || null);
    let [row, column] = this.chosen;
    for (;;) {
      row += down;
      column += right;
      if (row < 0 || column < 0 || row >= rows.length || column >= columns.length) return null;
      const cell = this.cells.get(`${row},${column}`);
      if (cell) return this.choose(cell);
    }
  }

  point(event) {
    const place = this.svg.getBoundingClientRect();
    const [x, y, w, h] = this.box;
    return [
      x + (event.clientX - place.left) / place.width * w,
      y + (event.clientY - place.top) / place.height * h,
    ];
  }

  cellAt(event) {
    const [x, y] = this.point(event);
    const { origin, cell, panel } = this.values;
    const at = this.isFolded ? Math.floor(x / panel[1]) : 0;
    const row = Math.floor((y - origin[1]) / cell[1]);
    const column = Math.floor((x - at * panel[1] - origin[0]) / cell[0]);
    if (row < 0 || row >= panel[0]) return null;
    return this.cells.get(`${at * panel[0] + row},${column}`) || null;
  }

  corner(row, column) {
    const { origin, cell, panel } = this.values;
    return [
      Math.floor(row / panel[0]) * panel[1] + origin[0] + column * cell[0],
      origin[1] + (row % panel[0]) * cell[1],
    ];
  }

  choose(cell) {
    this.chosen = cell;
    this.say(cell);
    this.redraw();
    return cell;
  }

  say(cell) {
    if (!cell) { this.readout.textContent = "Point at a cell."; return; }
    const [row, column, state, expected, cables] = cell;
    const names = `${this.values.rows[row][0]} - ${this.values.columns[column][0]}`;
    const should = expected >= 0 && expected !== cables.length ? ` (siblings: ${expected})` : "";
    const plural = cables.length === 1 ? "cable" : "cables";
    const how = expected < 0 && state === fabric.states.length - 1 ? "" : `, ${fabric.states[state]}`;
    const lines = [`${names}: ${cables.length} ${plural}${should}${how}`];
    lines.push(...cables.slice(0, MOST_CABLES_SAID).map(cableText));
    if (cables.length > MOST_CABLES_SAID) {
      lines.push(`and ${cables.length - MOST_CABLES_SAID} more`);
    }
    this.readout.textContent = lines.join("\n");
  }

  zoom(factor, point) {
    const [x, y, w, h] = this.box;
    const [px, py] = point || this.middle();
    const scale = Math.min(1, Math.max(1 / (this.isFolded ? 3 : DEEPEST), this.scale / factor));
    const by = scale / this.scale;
    this.show(px - (px - x) * by, py - (py - y) * by, scale);
  }

  // Of the view, or the chosen cell where it is in view.
  middle() {
    const [x, y, w, h] = this.box;
    const [cx, cy] = this.chosen ? this.corner(...this.chosen) : [-1, -1];
    return cx >= x && cx < x + w && cy >= y && cy < y + h ? [cx, cy] : [x + w / 2, y + h / 2];
  }

  show(x, y, scale) {
    const [w, h] = this.values.size.map((length) => length * scale);
    const inside = (at, length, whole) => Math.min(Math.max(0, at), whole - length);
    this.box = [inside(x, w, this.values.size[0]), inside(y, h, this.values.size[1]), w, h];
    this.svg.setAttribute("viewBox", this.box.join(" "));
    this.redraw();
  }

  redraw() {
    this.redrawNames();
    const marks = [];
    const { rows, columns, cell } = this.values;
    for (const [row, column] of this.marked) {
      const [x, y] = this.corner(row ?? 0, column ?? 0);
      const folds = Math.ceil(rows.length / this.values.panel[0]);
      for (let fold = 0; fold < (row === null ? folds : 1); fold += 1) {
        const left = row === null ? this.corner(fold * this.values.panel[0], column)[0] : x;
        const width = column === null ? columns.length * cell[0] : cell[0];
        const height = row === null ? this.values.size[1] - this.values.origin[1] : cell[1];
        const [before, above] = this.values.origin;
        const name = column === null ? { x: left - before, y, width: before, height }
          : { x: left, y: 0, width, height: above };
        marks.push(drawn("rect", { ...name, class: "name" }));
        marks.push(drawn("rect", { x: left, y, width, height, class: "line" }));
      }
    }
    for (const [row, column] of this.onPaths || []) {
      const [x, y] = this.corner(row, column);
      marks.push(drawn("rect", { x, y, width: cell[0], height: cell[1], class: "path" }));
    }
    if (this.chosen) {
      const [x, y] = this.corner(...this.chosen);
      const size = { x: x - 1, y: y - 1, width: cell[0] + 2, height: cell[1] + 2 };
      marks.push(drawn("rect", { ...size, class: "cursor" }));
    }
    this.found.replaceChildren(...marks);
    for (const line of this.found.children) {
      line.style.strokeWidth = `${(line.matches(".path") ? 1 : 2.4) * this.scale}px`;
    }
  }

  // Names stay at the edges of the view, at the size they have on the page.
  redrawNames() {
    if (this.isFolded || this.scale === 1) {
      this.names.forEach((group, at) => group.replaceChildren(...this.printedNames[at]));
      return;
    }
    const s = this.scale;
    const [x, y, w, h] = this.box;
    const { origin, cell, rows, columns } = this.values;
    const longest = Math.max(...columns.map(([name]) => this.short(name).length));
    const [left, top] = [origin[0] * s, Math.max(origin[1], longest * 6.3 + 14) * s];
    const names = [[drawn("rect", { class: "sheet", x, y, width: left, height: h })],
      [drawn("rect", { class: "sheet", x, y, width: w, height: top })]];
    const visible = (from, length, size, n, offset) => {
      const first = Math.max(0, Math.floor((from - offset) / size));
      const step = Math.max(1, Math.ceil(11 * s / size));
      const last = Math.min(n - 1, Math.floor((from + length - offset) / size));
      const places = [];
      for (let at = first; at <= last; at += step) places.push(at);
      return places;
    };
    for (const row of visible(y + top, h - top, cell[1], rows.length, origin[1])) {
      const place = { x: x + left - 6 * s, y: this.corner(row, 0)[1] + cell[1] / 2 + 4 * s };
      names[0].push(drawn("text", place, this.short(rows[row][0])));
    }
    for (const column of visible(x + left, w - left, cell[0], columns.length, origin[0])) {
      const at = this.corner(0, column)[0] + cell[0] / 2 + 4 * s;
      const transform = `translate(${at} ${y + top - 5 * s}) rotate(-90)`;
      names[1].push(drawn("text", { transform }, this.short(columns[column][0])));
    }
    this.names.forEach((group, at) => {
      for (const name of names[at]) name.style.fontSize = `${11 * s}px`;
      group.replaceChildren(...names[at]);
    });
  }

  short(name) { return name.length > 26 ? `${name.slice(0, 12)}\u2026${name.slice(-12)}` : name; }
}

const views = Object.entries(fabric.matrices).map(([id, values]) => new View(id, values));

// Marks rows and columns of these switches, and all cells that their traffic may cross upwards.
function mark(switches, told) {
  const above = new Set(switches);
  const crossed = new Set();
  for (const view of views) {
    const { rows, columns, cells } = view.values;
    const has = (line, set) => line[1].some((one) => set.has(one));
    view.marked = [];
    rows.forEach((line, row) => { if (has(line, switches)) view.marked.push([row, null]); });
    columns.forEach((line, at) => { if (has(line, switches)) view.marked.push([null, at]); });
    view.onPaths = cells.filter(([row]) => has(rows[row], above)).filter(([, , , , cables]) => {
      const own = cables.filter((cable) => above.has(cable[0]));
      for (const cable of own) crossed.add(cable.slice(0, 4).join(" "));
      return own.length > 0;
    });
    for (const cell of view.onPaths) {
      for (const cable of cell[4]) if (above.has(cable[0])) above.add(cable[2]);
    }
    view.redraw();
  }
  for (const node of document.querySelectorAll(".links .node")) {
    node.classList.toggle("found", switches.has(Number(node.dataset.switch)));
  }
  if (told) {
    const by = fabric.layered ? "its traffic may go up by" : "of its switch to others";
    const way = crossed.size ? `; framed: the ${crossed.size} cables ${by}` : "";
    answer.textContent = `${told}${way}.`;
  } else answer.textContent = "";
}

function markRow(view, row) {
  const [name, switches] = view.values.rows[row];
  mark(new Set(switches), `Marked: ${name}`);
}

const answer = html("p");
answer.setAttribute("aria-live", "polite");
const choices = html("ul");

function matches(text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const hosts = fabric.hosts.map(([name, at, port]) =>
    [name, at, `${name} is on ${fabric.switches[at]}[${port}]`]);
  const all = [...fabric.switches.map((name, at) => [name, at, `Marked: ${name}`]), ...hosts];
  const found = all.filter(([name]) => name.toLowerCase().includes(wanted));
  const rank = ([name]) => (name.toLowerCase() === wanted ? 0 :
    name.toLowerCase().startsWith(wanted) ? 1 : 2);
  return found.sort((a, b) => rank(a) - rank(b));
}

function find([name, at, told]) {
  mark(new Set([at]), told);
  choices.replaceChildren();
  box.value = name;
  try { history.replaceState(null, "", `#find=${encodeURIComponent(name)}`); } catch { /* a frame */ }
}

function offer() {
  const found = matches(box.value);
  const buttons = found.slice(0, MOST_FOUND).map((one) => {
    const made = html("button", { type: "button", textContent: one[0] });
    made.addEventListener("click", () => find(one));
    return html("li", {}, made);
  });
  if (found.length > MOST_FOUND) {
    buttons.push(html("li", { textContent: `and ${found.length - MOST_FOUND} more` }));
  }
  choices.replaceChildren(...buttons);
  if (!box.value.trim()) mark(new Set(), null);
  else if (!found.length) answer.textContent = "No host and no switch has this in its name.";
}

const box = html("input", { type: "search", placeholder: "find a host or a switch", id: "find" });
box.setAttribute("aria-label", "find a host or a switch");
box.addEventListener("input", offer);
box.addEventListener("keydown", (event) => {
  const found = event.key === "Enter" ? matches(box.value) : [];
  if (found.length) find(found[0]);
});
document.getElementById("search").append(box, answer, choices);

// A link to a page may say what to find and how far to zoom: #find=leaf007&zoom=4
function follow() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const found = asked.has("find") ? matches(asked.get("find")) : [];
  if (found.length) find(found[0]);
  const zoom = Number(asked.get("zoom"));
  for (const view of zoom > 1 ? views : []) {
    const marked = new Set(view.marked.map(([row]) => row));
    const cell = view.values.cells.find(([row]) => marked.has(row)) || view.onPaths?.[0];
    view.show(0, 0, 1);
    if (cell) view.choose(cell);
    view.zoom(zoom);
  }
}
follow();
window.addEventListener("hashchange", follow);
window.addEventListener("beforeprint", () => views.forEach((view) => view.show(0, 0, 1)));
