// A drawn SVG as a file: its text, or a PNG of three times its size.

const SCALE = 3, MOST = 8000; // px on a side of a PNG

export function svgText(svg) {
  const copy = svg.cloneNode(true);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("font-family", "system-ui, sans-serif");
  return new XMLSerializer().serializeToString(copy);
}

export function pngOf(text) {
  const image = new Image(), canvas = document.createElement("canvas");
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  return new Promise((resolve, reject) => {
    image.onload = () => {
      const scale = Math.min(SCALE, MOST / image.width, MOST / image.height);
      canvas.width = Math.round(scale * image.width);
      canvas.height = Math.round(scale * image.height);
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(resolve, "image/png");
    };
    image.onerror = () => reject(new Error("the picture could not be drawn"));
    image.src = address;
  }).finally(() => URL.revokeObjectURL(address));
}
