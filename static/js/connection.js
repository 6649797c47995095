// Whether the app still answers. When it does not, the page says so, and when it does again, the page is loaded anew: the
// server may be another, and Gradio's listeners may have gone with the connection. The address brings everything back.

import { reload } from "./address.js";
import { show, shown } from "./store.js";

const [CALM_MS, LOST_MS, PATIENCE_MS] = [10_000, 1500, 8000];
let server = null, failed = 0;

export function watchConnection() {
  setTimeout(ask, CALM_MS);
  document.addEventListener("visibilitychange", () => !document.hidden && failed && ask());
  addEventListener("offline", () => show({ offline: true }));
}

async function ask() {
  try {
    const { id } = await (await fetch("api/alive", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) })).json();
    if (shown.offline || (server && server !== id)) return reload();
    [server, failed] = [id, 0];
  } catch {
    if (++failed > 1) show({ offline: true });
  }
  setTimeout(ask, failed ? LOST_MS : CALM_MS);
}
