import { SVG_STYLE } from "../../graph/mod.ts";

/** The style sheet of the dashboard. */
export const STYLE = `:root {
  color-scheme: light dark;
  --ground: #f4f6fa;
  --paper: #ffffff;
  --line: #d5dce7;
  --strong-line: #77849a;
  --text: #101828;
  --quiet: #4b586f;
  --link: #1a56c4;
  --accent: #1d5fd1;
  --on-accent: #ffffff;
  --danger: #b91c1c;
  --running: #1d5fd1; --running-fill: #e0edff;
  --waiting: #8a3d05; --waiting-fill: #fef3c7;
  --again: #5f2ab3; --again-fill: #efe7fd;
  --done: #126a32; --done-fill: #dcfce7;
  --failed: #a91818; --failed-fill: #fee2e2;
  --off: #4b586f; --off-fill: #e8ecf2;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0a0f18;
    --paper: #0f1520;
    --line: #263146;
    --strong-line: #74839c;
    --text: #f1f5f9;
    --quiet: #a9b6ca;
    --link: #8bb8ff;
    --accent: #3b7ff0;
    --on-accent: #06101f;
    --danger: #ff8585;
    --running: #8bb8ff; --running-fill: #14294d;
    --waiting: #fcc53a; --waiting-fill: #3b2c0a;
    --again: #c9aeff; --again-fill: #2c1e4d;
    --done: #57e08a; --done-fill: #0f3320;
    --failed: #ff9a9a; --failed-fill: #431a1e;
    --off: #a9b6ca; --off-fill: #1f2939;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; background: var(--ground); color: var(--text); line-height: 1.5;
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
a { color: var(--link); text-underline-offset: .15em; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
main:focus { outline: none; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 1rem; top: .5rem; background: var(--paper); padding: .4rem .8rem; z-index: 1; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

header { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 2rem; padding: .6rem clamp(1rem, 3vw, 2.5rem);
  background: var(--paper); border-bottom: 1px solid var(--line); }
.brand { font-weight: 700; letter-spacing: -.01em; color: var(--text); text-decoration: none; }
header ul { display: flex; gap: .25rem; list-style: none; margin: 0; padding: 0; }
header li a { display: block; padding: .35rem .8rem; border-radius: 7px; text-decoration: none; color: var(--quiet); font-weight: 500; }
header li a:hover { background: var(--off-fill); color: var(--text); }
header li a[aria-current] { background: var(--running-fill); color: var(--running); }

main { padding: 1.25rem clamp(1rem, 3vw, 2.5rem) 4rem; max-width: 100rem; margin: 0 auto; }
h1 { font-size: 1.5rem; line-height: 1.25; letter-spacing: -.015em; margin: 0 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 1.75rem 0 .6rem; }
h3 { font-size: 1rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
p { margin: .5rem 0; }
.heading { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem .9rem; margin-bottom: .75rem; }
.heading h1, .heading p { margin: 0; }
.quiet, .help { color: var(--quiet); }
.quiet { font-size: .9375rem; }
.empty { color: var(--quiet); padding: 2.5rem 1rem; text-align: center; border: 1px dashed var(--line); border-radius: 10px; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 0 2rem; align-items: start; }
.columns > section { min-width: 0; }
.columns h2 { margin-top: 1rem; }
.pager { display: flex; gap: 1.25rem; }

.card, .picture, .wide, pre.value { background: var(--paper); border: 1px solid var(--line); border-radius: 10px; }
.card { padding: 1rem 1.1rem; margin: 0 0 .9rem; }
.card > :first-child { margin-top: 0; }
.card > :last-child { margin-bottom: 0; }
.card { max-width: 64rem; }
.wait > details > summary { list-style-position: outside; margin-left: 1rem; }
.wait summary h3 { display: inline; }
.gone:not([hidden]) { color: var(--failed); font-weight: 600; }
.fault { border-left: 4px solid var(--failed); }
.wait { border-left: 4px solid var(--waiting); }
#away:not([hidden]) { margin: 1rem clamp(1rem, 3vw, 2.5rem) 0; }
.notice, .alert { padding: .6rem .9rem; border-radius: 8px; }
.notice { background: var(--done-fill); color: var(--done); }
.alert { background: var(--failed-fill); color: var(--failed); }
.badge { display: inline-block; padding: .05rem .6rem; border-radius: 99px; font-size: .8125rem; font-weight: 600; white-space: nowrap;
  color: var(--off); background: var(--off-fill); }
.badge.running, .badge.pending { color: var(--running); background: var(--running-fill); }
.badge.awaiting, .badge.queued, .badge.sleeping, .badge.suspended { color: var(--waiting); background: var(--waiting-fill); }
.badge.backoff { color: var(--again); background: var(--again-fill); }
.badge.completed, .badge.done { color: var(--done); background: var(--done-fill); }
.badge.errored, .badge.halted, .badge.failed, .badge.stranded { color: var(--failed); background: var(--failed-fill); }
.tag { display: inline-block; padding: 0 .45rem; border-radius: 5px; font-size: .8125rem; color: var(--quiet); background: var(--off-fill); text-decoration: none; }

.wide { overflow-x: auto; margin: .5rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .9375rem; }
th, td { text-align: left; padding: .5rem .8rem; border-bottom: 1px solid var(--line); vertical-align: top; }
tbody tr:last-child > * { border-bottom: 0; }
thead th { font-size: .8125rem; color: var(--quiet); font-weight: 600; white-space: nowrap; }
tbody th { font-weight: 500; }
td code { overflow-wrap: anywhere; }
time, .revision, code, pre { font-family: var(--mono); font-size: .875rem; }
time { white-space: nowrap; }
ins { color: var(--done); text-decoration: none; }
del { color: var(--failed); text-decoration: none; }
pre.value { margin: .5rem 0; padding: .75rem .9rem; max-height: 24rem; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
.card pre.value { background: var(--ground); }
.picture { overflow: auto; }
.picture svg { max-width: 100%; max-height: 44rem; width: auto; height: auto; display: block; margin: 0 auto; }

.facts { display: flex; flex-wrap: wrap; gap: .35rem 1.75rem; margin: .5rem 0; }
.facts dt { font-size: .8125rem; color: var(--quiet); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.info { margin: .6rem 0; padding: .1rem .9rem; border-radius: 8px; background: var(--ground); }
.info dt { font-size: .8125rem; color: var(--quiet); margin-top: .5rem; }
.info dd { margin: 0 0 .5rem; }
.info pre.value { border: 0; padding: 0; margin: .1rem 0; }
.text { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
.timeline { list-style: none; padding: 0; margin: 0; background: var(--paper); border: 1px solid var(--line); border-radius: 10px; }
.timeline > li { padding: .55rem .9rem; border-bottom: 1px solid var(--line); }
.timeline > li:last-child { border-bottom: 0; }
.timeline ul, .happenings { list-style: none; padding: 0; margin: .15rem 0 0; }
.timeline .when { margin-left: .75rem; color: var(--quiet); }
.timeline ul > li, .happenings > li { padding-left: 1.1rem; position: relative; overflow-wrap: anywhere; }
.timeline ul > li::before, .happenings > li::before { content: ""; position: absolute; left: 0; top: .5rem; width: .55rem; height: .55rem;
  border-radius: 50%; border: 2px solid var(--strong-line); }
.timeline li.done::before, .happenings li.done::before { background: var(--done); border-color: var(--done); }
.timeline li.failed::before, .happenings li.failed::before { background: var(--failed); border-color: var(--failed); }
.timeline li.backoff::before, .happenings li.backoff::before { background: var(--again); border-color: var(--again); }
.timeline li.suspended::before, .happenings li.suspended::before { background: var(--waiting); border-color: var(--waiting); }

.filters { display: flex; flex-wrap: wrap; align-items: end; gap: .6rem .9rem; margin: .75rem 0; }
.filters .field { margin: 0; }
.filters select, .filters input { width: auto; min-width: 8.5rem; }
.field { margin: .8rem 0; }
label, legend { font-weight: 600; font-size: .9375rem; }
.field > label { display: block; margin-bottom: .2rem; overflow-wrap: anywhere; }
.choices label { font-weight: 400; }
.help { font-size: .875rem; margin: .2rem 0 0; }
.issue { color: var(--failed); font-size: .9375rem; margin: .2rem 0 0; font-weight: 500; }
fieldset { border: 1px solid var(--line); border-radius: 8px; padding: .3rem .9rem .6rem; margin: .8rem 0; min-width: 0; }
.help, .issue { white-space: pre-line; }
.variant:not(:has(> label > input:checked)) > .field { display: none; }
.variant { margin: .3rem 0; }
.variant > label { display: flex; gap: .4rem; align-items: center; font-weight: 400; }
label small, legend small { font-weight: 400; color: var(--quiet); }
fieldset[role="radiogroup"] { border: 0; padding: 0; }
fieldset[role="radiogroup"] > legend { padding: 0; }
.choices label { display: inline-flex; align-items: center; gap: .4rem; margin-right: 1.25rem; }
input:not([type="radio"], [type="checkbox"]), select, textarea { font: inherit; width: 100%; padding: .4rem .6rem; color: var(--text);
  background: var(--paper); border: 1px solid var(--strong-line); border-radius: 7px; }
input[type="radio"], input[type="checkbox"] { width: 1.05rem; height: 1.05rem; margin: 0; accent-color: var(--accent); }
select, input:not([type="radio"], [type="checkbox"]) { height: 2.5rem; }
textarea { resize: vertical; }
textarea.line { field-sizing: content; min-height: 2.4rem; max-height: 16rem; }
textarea.json { font-family: var(--mono); font-size: .875rem; }
[aria-invalid="true"] { border-color: var(--failed); border-width: 2px; }
button { font: inherit; font-weight: 600; padding: .45rem 1.1rem; border: 1px solid transparent; border-radius: 7px; cursor: pointer;
  background: var(--accent); color: var(--on-accent); }
button:hover { filter: brightness(1.08); }
button.danger { background: none; border-color: var(--danger); color: var(--danger); }
/* What is folded away and refused by the browser must be seen. */
.more:has(:invalid)::details-content { content-visibility: visible; block-size: auto; }
summary { cursor: pointer; font-weight: 500; }
@media (prefers-reduced-motion: no-preference) { .badge.running { animation: working 1.6s ease-in-out infinite alternate; } }
@keyframes working { to { filter: brightness(1.12) saturate(1.2); } }
@media print { header, form, .filters { display: none; } }

${SVG_STYLE}
.picture .ground { fill: transparent; }
`;
