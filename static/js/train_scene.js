// A picture as a list of marks, painted on a canvas many times a second, or written as SVG once to be kept.
// marks: {path: [x0, y0, x1, y1, …], stroke, width, dash, alpha} · {text, x, y, fill, size, anchor, bold, turn} · {shape: […], fill}

import { make } from "./dom.js";

export const FONT = "system-ui, 'Noto Sans CJK SC', sans-serif";

export function paint(context, marks) {
  for (const mark of marks) {
    context.globalAlpha = mark.alpha ?? 1;
    if (mark.text !== undefined) paintText(context, mark);
    else {
      const points = mark.path ?? mark.shape;
      context.beginPath();
      for (let i = 0; i < points.length; i += 2) context.lineTo(points[i], points[i + 1]);
      if (mark.shape) {
        context.fillStyle = mark.fill;
        context.fill();
      } else {
        context.strokeStyle = mark.stroke;
        context.lineWidth = mark.width ?? 1;
        context.lineJoin = "round";
        context.setLineDash(mark.dash ?? []);
        context.stroke();
      }
    }
  }
  context.globalAlpha = 1;
}

function paintText(context, { text, x, y, fill, size = 12.5, anchor = "start", bold, turn, halo }) {
  context.font = `${bold ? "600 " : ""}${size}px ${FONT}`;
  context.textAlign = { start: "left", middle: "center", end: "right" }[anchor];
  context.save();
  context.translate(x, y);
  if (turn) context.rotate((turn * Math.PI) / 180);
  if (halo) { // the ground around the letters, so that a line behind them does not disturb
    context.strokeStyle = halo;
    context.lineWidth = 4;
    context.lineJoin = "round";
    context.setLineDash([]);
    context.strokeText(text, 0, 0);
  }
  context.fillStyle = fill;
  context.fillText(text, 0, 0);
  context.restore();
}

export function svgParts(marks) {
  return marks.map((mark) => {
    if (mark.text !== undefined) {
      const { text, x, y, fill, size = 12.5, anchor = "start", bold, turn, halo } = mark;
      return make("text", {
        x: turn ? null : x, y: turn ? null : y, transform: turn ? `translate(${x} ${y}) rotate(${turn})` : null, fill,
        "font-size": size, "text-anchor": anchor, "font-weight": bold ? 600 : null,
        stroke: halo, "stroke-width": halo ? 4 : null, "paint-order": halo ? "stroke" : null, "stroke-linejoin": halo ? "round" : null,
      }, text);
    }
    const points = mark.path ?? mark.shape, pieces = [];
    for (let i = 0; i < points.length; i += 2) pieces.push(`${i ? "L" : "M"}${points[i].toFixed(1)} ${points[i + 1].toFixed(1)}`);
    return make("path", mark.shape
      ? { d: `${pieces.join("")}Z`, fill: mark.fill, "fill-opacity": mark.alpha }
      : { d: pieces.join(""), fill: "none", stroke: mark.stroke, "stroke-width": mark.width ?? 1, "stroke-dasharray": mark.dash?.join(" "), "stroke-opacity": mark.alpha, "stroke-linejoin": "round" });
  });
}
