/**
 * What pages are made with beside HTML. It is text in modules, so that it is there wherever the code is: in a package, in a
 * bundle, on every runtime.
 */
export { STYLE } from "./style.ts";

/** The mark of the dashboard. */
export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<rect width="32" height="32" rx="8" fill="#1d5fd1"/>
<path d="M7 23h6v-6h6v-6h6" fill="none" stroke="#fff" stroke-width="3.4" stroke-linecap="round" stroke-linejoin="round"/>
</svg>
`;

/**
 * Keeps a page up to date: when something happens to what it shows, or some time has passed, it is asked for again, and
 * what is marked `data-live` is put in the place of what was there.
 *
 * 1. The server makes the page, here as everywhere; nothing is put together in the browser.
 * 2. What the reader is at is left alone: forms (`data-keep`) stay as they are while they are there, and the focus stays.
 */
export const SCRIPT = `const { body } = document;
const seen = new WeakMap();
let busy = false;
let stale = false;

async function refresh() {
  if (busy) {
    stale = true;
    return;
  }
  busy = true;
  try {
    do {
      stale = false;
      const answer = await fetch(location.href, { headers: { accept: "text/html" } });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      Object.assign(body.dataset, page.body.dataset);
      for (const part of document.querySelectorAll("[data-live]")) {
        const fresh = page.getElementById(part.id);
        if (fresh !== null) replace(part, fresh);
      }
      // Of events that come thick and fast not every one is shown.
      await new Promise((resolve) => setTimeout(resolve, 200));
    } while (stale);
  } catch {
    // The server is away; the next event or the next look may find it back.
  } finally {
    busy = false;
  }
}

function replace(part, fresh) {
  const text = fresh.innerHTML;
  if ((seen.get(part) ?? part.innerHTML) === text) return;
  seen.set(part, text);
  const focused = part.contains(document.activeElement) ? document.activeElement : undefined;
  for (const kept of fresh.querySelectorAll("[data-keep]")) {
    const there = document.getElementById(kept.id);
    if (there !== null && part.contains(there)) kept.replaceWith(there);
  }
  const scrolled = [...part.querySelectorAll("[tabindex]")].map((box) => [box.scrollLeft, box.scrollTop]);
  part.replaceChildren(...fresh.childNodes);
  part.querySelectorAll("[tabindex]").forEach((box, i) => {
    if (scrolled[i] !== undefined) [box.scrollLeft, box.scrollTop] = scrolled[i];
  });
  if (focused === undefined) return;
  const again = focused.isConnected ? focused : focused.id === "" ? null : document.getElementById(focused.id);
  again?.focus({ preventScroll: true });
}

// A page that nobody sees holds no stream: a browser has few connections for all the pages of a server.
let source;
function follow() {
  source?.close();
  source = undefined;
  if (document.hidden || !body.dataset.events) return;
  source = new EventSource(body.dataset.events);
  source.addEventListener("checkpoint", refresh);
}
follow();
document.addEventListener("visibilitychange", async () => {
  if (!document.hidden) await refresh();
  follow();
});
setInterval(() => {
  const { events, poll } = body.dataset;
  if (document.hidden) return;
  if (poll) refresh();
  // The server gave the stream up, and not because the run is over.
  else if (events && source?.readyState === EventSource.CLOSED) refresh().then(follow);
}, 3000);
`;
