// A drawn SVG as a file: its text, or a PNG of twice its size.

export function svgText(svg) {
  const copy = svg.cloneNode(true);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("font-family", "system-ui, sans-serif");
  return new XMLSerializer().serializeToString(copy);
}

export function pngOf(text) {
  const image = new Image(), canvas = document.createElement("canvas");
  return new Promise((resolve, reject) => {
    image.onload = () => {
      canvas.width = 2 * image.width;
      canvas.height = 2 * image.height;
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(resolve, "image/png");
    };
    image.onerror = () => reject(new Error("the picture could not be drawn"));
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  });
}
