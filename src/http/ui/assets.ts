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
const away = document.getElementById("away");
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
      const begun = performance.now();
      const answer = await fetch(location.href, { headers: { accept: "text/html" } });
      // What is at another place is another page: this one shows a form that was refused, or somebody is to sign in again.
      if (answer.redirected) return;
      away.hidden = answer.ok;
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      Object.assign(body.dataset, page.body.dataset);
      for (const part of document.querySelectorAll("[data-live]")) {
        const fresh = page.getElementById(part.id);
        if (fresh !== null) replace(part, fresh);
      }
      // Of events that come thick and fast not every one is shown; a page that is hard to make is made less often.
      const took = performance.now() - begun;
      await new Promise((resolve) => setTimeout(resolve, Math.max(200, 4 * took)));
    } while (stale);
  } catch {
    away.hidden = false;
  } finally {
    busy = false;
  }
}

function replace(part, fresh) {
  const text = fresh.innerHTML;
  if ((seen.get(part) ?? part.innerHTML) === text) return;
  seen.set(part, text);
  const focused = part.contains(document.activeElement) ? document.activeElement : undefined;
  const scrolled = [...part.querySelectorAll("[tabindex]")].map((box) => [box.scrollLeft, box.scrollTop]);
  for (const kept of fresh.querySelectorAll("[data-keep]")) {
    const there = document.getElementById(kept.id);
    if (there !== null && part.contains(there)) kept.replaceWith(there);
  }
  [...part.children].forEach((there, i) => {
    if (there.isConnected && there.matches("[data-keep]") && isUsed(there) && !fresh.contains(there)) {
      leave(there);
      fresh.insertBefore(there, fresh.children[i] ?? null);
    }
  });
  part.replaceChildren(...fresh.childNodes);
  part.querySelectorAll("[tabindex]").forEach((box, i) => {
    if (scrolled[i] !== undefined) [box.scrollLeft, box.scrollTop] = scrolled[i];
  });
  if (focused === undefined) return;
  const again = focused.isConnected ? focused : focused.id === "" ? null : document.getElementById(focused.id);
  again?.focus({ preventScroll: true });
}

// What somebody fills in does not go away under their hands, even if it is of no use any more.
function isUsed(kept) {
  return kept.contains(document.activeElement) || [...kept.querySelectorAll("input, textarea, select")].some((field) =>
    field.type === "radio" || field.type === "checkbox"
      ? field.checked !== field.defaultChecked
      : "defaultValue" in field && field.value !== field.defaultValue
  );
}

function leave(kept) {
  for (const button of kept.querySelectorAll("button")) button.disabled = true;
  for (const gone of kept.querySelectorAll(".gone")) gone.hidden = false;
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
const here = new URL(location.href);
if (here.searchParams.has("done")) {
  here.searchParams.delete("done");
  history.replaceState(null, "", here);
}
document.addEventListener("visibilitychange", async () => {
  if (!document.hidden) await refresh();
  follow();
});
setInterval(() => {
  const { events, poll } = body.dataset;
  if (document.hidden) return;
  if (poll) refresh();
  // The server gave the stream up, and not because the run is over; or it is away.
  else if (events && source?.readyState !== EventSource.OPEN) {
    refresh().then(() => source?.readyState === EventSource.CLOSED && follow());
  }
}, 3000);
`;
