/** Text as it may stand in XML, in an element or in an attribute. What XML cannot carry becomes U+FFFD. */
export function escaped(text: string): string {
  let out = "";
  for (const character of text) out += ENTITIES.get(character) ?? (isXml(character) ? character : "\uFFFD");
  return out;
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["'", "&#39;"],
]);

function isXml(character: string): boolean {
  const code = character.codePointAt(0)!;
  if (code < 0x20) return code === 0x9 || code === 0xa || code === 0xd;
  return !(code >= 0xd800 && code <= 0xdfff) && code !== 0xfffe && code !== 0xffff;
}

/**
 * How wide a text is, about: there are no fonts here, and the reader's are unknown. It errs on the wide side, so that
 * texts stay in their boxes.
 */
export function textWidth(text: string, size: number): number {
  let ems = 0;
  for (const character of text) ems += emsOf(character);
  return Math.ceil(ems * size);
}

function emsOf(character: string): number {
  if (character.codePointAt(0)! >= 0x1100) return 1.1;
  if (/[ijlI.,:;|!'`()[\]{}]/.test(character)) return 0.34;
  if (/[ftr\-/\\ "*]/.test(character)) return 0.43;
  if (/[mwMW@%&]/.test(character)) return 0.95;
  return /[A-Z]/.test(character) ? 0.74 : 0.63;
}

/** A text in lines of at most `width`, broken after spaces and punctuation where possible; the last one may end in …. */
export function wrapped(text: string, size: number, width: number, maxLines: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const piece of text.trim().split(/(?<=[\s.:_/-])/)) {
    for (const part of pieces(piece.replace(/\s+/, " "), size, width)) {
      if (line !== "" && textWidth((line + part).trimEnd(), size) > width) {
        lines.push(line.trimEnd());
        line = "";
      }
      line = (line + part).trimStart();
    }
  }
  lines.push(line.trimEnd());
  if (lines.length <= maxLines) return lines;
  const kept = lines.slice(0, maxLines);
  return [...kept.slice(0, -1), shortened(`${kept.at(-1)!}…`, size, width)];
}

function pieces(word: string, size: number, width: number): readonly string[] {
  const parts = [""];
  for (const character of word) {
    const longer = parts.at(-1)! + character;
    if (textWidth(longer.trimEnd(), size) <= width) parts[parts.length - 1] = longer;
    else parts.push(character);
  }
  return parts;
}

function shortened(line: string, size: number, width: number): string {
  const characters = [...line.slice(0, -1)];
  while (textWidth(`${characters.join("")}…`, size) > width) characters.pop();
  return `${characters.join("")}…`;
}
