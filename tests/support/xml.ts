import { SaxesParser } from "saxes";

/** An element of an XML document. */
export interface XmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly XmlElement[];
  /** Its own text, without that of its children. */
  readonly text: string;
}

/** Parses a document; whatever is not well-formed, namespaces included, is an error. */
export function parseXml(text: string): XmlElement {
  const parser = new SaxesParser({ xmlns: true, position: true });
  const open: { name: string; attributes: Record<string, string>; children: XmlElement[]; text: string }[] =
    [];
  let root: XmlElement | undefined;
  parser.on("error", (error) => {
    throw error;
  });
  parser.on("opentag", ({ name, attributes }) => {
    const values = Object.entries(attributes).map(([key, { value }]) => [key, value]);
    open.push({ name, attributes: Object.fromEntries(values), children: [], text: "" });
  });
  parser.on("text", (piece) => {
    const parent = open.at(-1);
    if (parent !== undefined) parent.text += piece;
  });
  parser.on("closetag", () => {
    const element = open.pop()!;
    root = element;
    open.at(-1)?.children.push(element);
  });
  parser.write(text).close();
  return root!;
}

/** An element and everything below it, in document order. */
export function allOf(element: XmlElement): readonly XmlElement[] {
  return [element, ...element.children.flatMap(allOf)];
}

/** Every element below that has the class. */
export function byClass(element: XmlElement, name: string): readonly XmlElement[] {
  return allOf(element).filter(({ attributes }) => (attributes.class ?? "").split(" ").includes(name));
}
