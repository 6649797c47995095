// Words beside and above a picture, as many as there is room for: labels at an x in rows of which none meets another, names
// at the ends of lines.

const BESIDE = 6, APART = 10, MOST = 6; // px between words and their line, between two words; how many labels
const SHARE = 0.35, TIE = 14; // of the width that names may take beside it; px between a line's end and its name
const ruler = document.createElement("canvas").getContext("2d");

// labels: [{x, text, rank, about}] → {annotations, shapes} of Plotly: the words, and lines from the picture up to them; of
// several labels at one x the first, with how many more there are
export function placed(labels, plot, state, colour, { label_rows: rows, label_width: least }) {
  const { xaxis, yaxis, margin, font, width } = plot._fullLayout, line = font.size + 4;
  if (width < least) return { annotations: [], shapes: [] };
  ruler.font = `${font.size}px ${font.family}`;
  const left = xaxis._offset, right = xaxis._offset + xaxis._length + margin.r - 4;
  const groups = grouped(labels, state).slice(0, MOST).map((group) => ({ ...group, at: xaxis._offset + xaxis.d2p(group.x) }));
  const words = groups.map(({ x, at, text }) => {
    const over = (from, to) => groups.some((other) => other.at !== at && other.at > from - 3 && other.at < to + 3); // another's line
    const wide = ruler.measureText(text).width;
    const ways = Array.from({ length: rows * 2 }, (_, i) => ({ x, text, at, row: i >> 1, before: i % 2 === 1, from: i % 2 ? at - BESIDE - wide : at + BESIDE, to: i % 2 ? at - BESIDE : at + BESIDE + wide }));
    return ways.filter(({ from, to, row }) => from >= left && to <= right && !(row === 0 && over(from, to)));
  });
  const found = most(words), top = yaxis.domain[1], whole = yaxis._length / (top - yaxis.domain[0]);
  const annotations = found.map(({ x, text, row, before }) => ({ x, y: top, yref: "paper", yshift: 8 + row * line, text, showarrow: false, font: { color: colour },
    xanchor: before ? "right" : "left", xshift: before ? -BESIDE : BESIDE, yanchor: "bottom" }));
  const shapes = found.map(({ x, row }) => ({ type: "line", x0: x, x1: x, yref: "paper", y0: top, y1: top + (14 + row * line) / whole, line: { color: colour, width: 1, dash: "dot" } }));
  return { annotations, shapes };
}

// One way for each word, so that as many as can be find a place; of equally many, those of the first words.
function most([ways, ...rest], taken = []) {
  if (!ways) return taken;
  let best = [];
  for (const way of ways) {
    if (taken.some((other) => meet(way, other) || cross(way, other) || cross(other, way))) continue;
    const tried = most(rest, [...taken, way]);
    if (tried.length > best.length) best = tried;
    if (best.length === taken.length + rest.length + 1) return best;
  }
  const without = most(rest, taken);
  return without.length > best.length ? without : best;
}

function grouped(labels, state) {
  const chosen = ({ about }) => Number(Object.keys(about).length > 0 && Object.entries(about).every(([key, value]) => state[key] === value));
  const groups = new Map(), before = (a, b) => a.rank - b.rank || chosen(b) - chosen(a) || a.x - b.x;
  for (const label of labels.filter(({ text }) => text).sort(before)) groups.set(label.x, [...(groups.get(label.x) ?? []), label]);
  return [...groups.values()].map(([first, ...more]) => ({ x: first.x, text: first.text + (more.length ? ` +${more.length}` : "") }));
}

const meet = (a, b) => a.row === b.row && a.from < b.to + APART && b.from < a.to + APART;
// the line from a word of an upper row down to the picture, through a word of a lower one
const cross = (upper, lower) => upper.row > lower.row && upper.at > lower.from - 3 && upper.at < lower.to + 3;

// The names of lines: a change of the layout that writes them beside the last points, or, where it is narrow, in a legend.
export function named(plot, annotations) {
  const { width, font, yaxis } = plot._fullLayout, lines = plot._fullData.filter(({ name, showlegend, visible }) => name && showlegend && visible === true);
  ruler.font = `600 ${font.size}px ${font.family}`;
  const room = TIE + 8 + Math.ceil(Math.max(0, ...lines.map(({ name }) => ruler.measureText(name.replace(/<[^>]*>/g, "")).width)));
  if (room > SHARE * width || !lines.length) return { annotations, showlegend: lines.length > 0, legend: { orientation: "h", y: 1, yanchor: "bottom", x: 0 }, "margin.r": 16 };
  const ends = lines.map((line) => ({ ...line, at: yaxis.d2p(lastOf(line.y)) })).filter(({ at }) => Number.isFinite(at)).sort((a, b) => a.at - b.at);
  const places = spread(ends.map(({ at }) => at), font.size + 4, 0, yaxis._length);
  const names = ends.map(({ name, line, marker, at }, i) => { // a name that had to move is tied to its line
    const color = line?.color ?? marker?.color, moved = Math.abs(places[i] - at) > 3;
    return { text: name, xref: "paper", x: 1, xanchor: "left", yref: "paper", y: 1 - (moved ? at : places[i]) / yaxis._length, yanchor: "middle", align: "left", borderpad: 0,
      ...(moved ? { showarrow: true, arrowhead: 0, arrowwidth: 1, arrowcolor: color, ax: TIE, ay: places[i] - at } : { showarrow: false, xshift: TIE }),
      font: { color, weight: (line?.width ?? 0) > 2.2 ? 700 : 400 } };
  });
  return { annotations: [...annotations, ...names], showlegend: false, "margin.r": room };
}

const lastOf = (values) => Array.from(values).findLast((value) => value !== null && Number.isFinite(value));

// Places at least so far apart between two ends, in the order given and together as near to what was wanted as can be:
// those that would meet share the room around their middle (pool adjacent violators).
export function spread(wanted, apart, first, last) {
  const groups = [], middle = ({ sum, count }) => sum / count;
  wanted.forEach((y, i) => {
    groups.push({ sum: y - i * apart, count: 1 });
    while (groups.length > 1 && middle(groups.at(-2)) > middle(groups.at(-1))) {
      const last = groups.pop(), before = groups.at(-1);
      before.sum += last.sum;
      before.count += last.count;
    }
  });
  const most = Math.max(first, last - (wanted.length - 1) * apart);
  const places = groups.flatMap((group) => Array(group.count).fill(Math.max(first, Math.min(most, middle(group)))));
  return places.map((place, i) => place + i * apart);
}
