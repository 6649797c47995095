// The parts of a figure that can be pointed at and walked with arrow keys: a frame around the one in hand, a tip that says
// what it is, Enter or a click to choose it.

import { evaluate } from "./expressions.js";

const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }; // columns, rows

export class PartsPointer {
  constructor(figure) {
    Object.assign(this, { figure, plot: figure.plot, at: null });
    this.frame = Object.assign(document.createElement("i"), { className: "pointed", hidden: true });
    this.tip = Object.assign(document.createElement("div"), { className: "tip part-tip", hidden: true });
    this.tip.setAttribute("role", "status");
    this.plot.append(this.frame, this.tip);
    const on = (kind, act) => this.plot.addEventListener(kind, act);
    on("pointermove", (event) => this.point(this.under(event)));
    on("pointerleave", () => this.point(null));
    on("blur", () => this.point(null));
    on("click", (event) => { const part = this.under(event); if (part !== null) this.choose(part); });
    window.addEventListener("scroll", () => this.refresh(), { passive: true, capture: true });
  }

  get parts() {
    return this.figure.spec.parts;
  }

  get count() {
    return this.parts.columns ? this.parts.rows * this.parts.columns : this.parts.boxes.length;
  }

  // [left, top, width, height] in px of the picture, null where it is not in view
  box(part) {
    const { columns, boxes, around } = this.parts, [x, y] = [part % columns, Math.floor(part / columns)];
    const [x0, x1, y0, y1, number = ""] = columns ? [x - 0.5, x + 0.5, y - 0.5, y + 0.5] : boxes[part], { [`xaxis${number}`]: across, [`yaxis${number}`]: down } = this.plot._fullLayout;
    const [left, right] = x0 === null ? [-around[0], across._length + around[1]] : [x0, x1].map((at) => across.d2p(at)), [top, bottom] = [y0, y1].map((at) => down.d2p(at)).sort((a, b) => a - b);
    const hidden = top < -1 || bottom > down._length + 1 || (x0 !== null && (left < -1 || right > across._length + 1));
    return hidden ? null : [across._offset + left, down._offset + top, right - left, bottom - top];
  }

  under({ clientX, clientY }) {
    if (!this.plot._fullLayout) return null;
    const { left, top } = this.plot.getBoundingClientRect(), [x, y] = [clientX - left + this.plot.scrollLeft, clientY - top], { rows, columns } = this.parts;
    if (columns) {
      const { xaxis, yaxis } = this.plot._fullLayout, [column, row] = [Math.round(xaxis.p2d(x - xaxis._offset)), Math.round(yaxis.p2d(y - yaxis._offset))];
      const inside = column >= 0 && column < columns && row >= 0 && row < rows;
      return inside && this.box(row * columns + column) ? row * columns + column : null;
    }
    for (let part = this.count - 1; part >= 0; part--) {
      const box = this.box(part);
      if (box && x >= box[0] && x < box[0] + box[2] && y >= box[1] && y < box[1] + box[3]) return part;
    }
    return null;
  }

  point(part) {
    if (part === this.at) return;
    this.at = part;
    this.refresh();
  }

  place(part) {
    const { columns } = this.parts;
    return { ...this.figure.player.page.state, point: part, x: columns ? part % columns : part, y: columns ? Math.floor(part / columns) : part };
  }

  // The tip is fixed, so that a picture that can be scrolled does not cut it off.
  refresh() {
    const box = this.at !== null && this.at < this.count && this.plot.clientWidth ? this.box(this.at) : null;
    this.frame.hidden = this.tip.hidden = !box;
    if (!box) return;
    const [x, y, width, height] = box, { left, top } = this.plot.getBoundingClientRect();
    this.frame.style.cssText = `left:${x}px;top:${y}px;width:${width}px;height:${height}px`;
    this.tip.textContent = evaluate(this.figure.spec.tip, { arrays: this.figure.arrays, state: this.place(this.at) });
    this.tip.style.left = `${Math.max(4, Math.min(left + x - this.plot.scrollLeft, window.innerWidth - this.tip.offsetWidth - 8))}px`;
    this.tip.style.top = `${top + y + height + 6}px`;
  }

  key(event) {
    const move = MOVES[event.key];
    if ((!move && event.key !== "Enter" && event.key !== " ") || !this.count) return;
    event.preventDefault();
    event.stopPropagation();
    if (!move) return this.choose(this.at ?? 0);
    const next = this.at === null ? 0 : this.next(event.key, move), box = this.box(next);
    if (!box) return;
    this.point(next);
    const [x, , width] = box, { scrollLeft, clientWidth } = this.plot;
    if (x < scrollLeft) this.plot.scrollLeft = x - 20;
    else if (x + width > scrollLeft + clientWidth) this.plot.scrollLeft = x + width - clientWidth + 20;
  }

  next(key, [right, down]) {
    const { columns, rows, steps } = this.parts, within = (at, count) => Math.max(0, Math.min(count - 1, at));
    if (steps[key]) return steps[key][this.at];
    if (!columns) return within(this.at + right + down, this.count);
    return within(Math.floor(this.at / columns) + down, rows) * columns + within((this.at % columns) + right, columns);
  }

  choose(part) {
    const { figure } = this;
    if (Object.keys(figure.spec.click).length) figure.player.page.set(figure.clicked(this.place(part)));
  }
}
