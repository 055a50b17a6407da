import { svg, type SvgOptions, type Topology } from "../../src/graph/mod.ts";
import { byClass, parseXml, type XmlElement } from "../support/xml.ts";

/** A topology with edges written as `a->b`, `a?b,c` and `a!b`; vertices that are not given are plain. */
export function topologyOf(
  edges: string,
  more: {
    readonly vertices?: readonly Partial<Topology["vertices"][number]>[];
    readonly finishes?: string[];
  } = {},
): Topology {
  const found = edges.split(" ").filter(Boolean).map((edge) => /^(.+?)(->|\?|!)(.+)$/.exec(edge)!);
  const ids = [...new Set(found.flatMap(([, from, , to]) => [from!, ...to!.split(",")]))];
  const given = new Map((more.vertices ?? []).map((v) => [v.id ?? ids[0]!, v]));
  for (const id of given.keys()) if (!ids.includes(id)) ids.push(id);
  const of = (sign: string) => found.filter((match) => match[2] === sign);
  return {
    id: "g",
    version: "0:1",
    entry: ids[0]!,
    finishes: more.finishes ?? [ids.at(-1)!],
    vertices: ids.map((id) => ({ label: "", join: "any", each: false, ...given.get(id), id })),
    edges: of("->").map(([, from, , to]) => ({ from: from!, to: to! })),
    conditions: of("?").map(([, from, , to]) => ({ from: from!, targets: to!.split(",") })),
    errorRoutes: of("!").map(([, from, , to]) => ({ from: from!, to: to! })),
  };
}

/** A picture, parsed. */
export async function picture(graph: Topology, options?: SvgOptions): Promise<XmlElement> {
  return parseXml(await svg(graph, options));
}

/** A rectangle by its corners. */
export interface Area {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Where the boxes of a picture stand, in the order of its topology; of a map vertex the sheet on top. */
export function boxesOf(root: XmlElement): readonly Area[] {
  return byClass(root, "vertex").map((vertex) => areaOf(byClass(vertex, "box").at(-1)!));
}

/** The area of a `rect`. */
export function areaOf({ attributes }: XmlElement): Area {
  const [x, y, width, height] = ["x", "y", "width", "height"].map((name) => Number(attributes[name]));
  return { left: x!, top: y!, right: x! + width!, bottom: y! + height! };
}

/** Points on a path of absolute M, V, H, L, C and S, close enough to each other to see what it crosses. */
export function pointsOf(path: string): readonly (readonly [x: number, y: number])[] {
  const points: (readonly [number, number])[] = [];
  let [x, y] = [0, 0];
  let [controlX, controlY] = [0, 0];
  const lineTo = (toX: number, toY: number) => {
    for (let t = 0.05; t < 1.01; t += 0.05) points.push([x + (toX - x) * t, y + (toY - y) * t]);
    [x, y] = [toX, toY];
  };
  for (const [, command, rest] of path.matchAll(/([MVHLCS])([^MVHLCSZ]*)/g)) {
    const n = rest!.trim().split(/[ ,]+/).map(Number);
    if (command === "M") {
      [x, y] = [n[0]!, n[1]!];
      points.push([x, y]);
    } else if (command === "V") lineTo(x, n[0]!);
    else if (command === "H") lineTo(n[0]!, y);
    else if (command === "L") lineTo(n[0]!, n[1]!);
    else {
      const [ax, ay, bx, by, toX, toY] =
        (command === "C" ? n : [2 * x - controlX, 2 * y - controlY, ...n]) as [
          number,
          number,
          number,
          number,
          number,
          number,
        ];
      for (let t = 0.05; t < 1.01; t += 0.05) {
        const [p, q] = [1 - t, t];
        const at = (from: number, a: number, b: number, to: number) =>
          p ** 3 * from + 3 * p * p * q * a + 3 * p * q * q * b + q ** 3 * to;
        points.push([at(x, ax, bx, toX), at(y, ay, by, toY)]);
      }
      [x, y] = [toX, toY];
      [controlX, controlY] = [bx, by];
    }
  }
  return points;
}
