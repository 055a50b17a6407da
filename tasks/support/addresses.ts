import { BlockList, isIP, isIPv4 } from "node:net";

/** What an address is for, when it is not one of a host on the public internet; `undefined` when it is. */
export function specialUseOf(address: string): string | undefined {
  const plain = address.replace(/^\[|\]$|%.*$/g, "");
  if (isIP(plain) === 0) return "not an address";
  if (isIPv4(plain)) return useOf(IPV4, plain, "ipv4");
  const groups = groupsOf(plain);
  const embedded = embeddedIPv4(groups);
  if (embedded !== undefined) return useOf(IPV4, embedded, "ipv4");
  // Everything outside of 2000::/3 is local, reserved or not assigned.
  if (groups[0]! >> 13 !== 1) return useOf(IPV6_LOCAL, plain, "ipv6") ?? "reserved";
  return useOf(IPV6, plain, "ipv6");
}

type Uses = readonly { readonly use: string; readonly list: BlockList }[];

function useOf(uses: Uses, address: string, family: "ipv4" | "ipv6"): string | undefined {
  return uses.find(({ list }) => list.check(address, family))?.use;
}

function uses(family: "ipv4" | "ipv6", table: Readonly<Record<string, readonly string[]>>): Uses {
  return Object.entries(table).map(([use, networks]) => {
    const list = new BlockList();
    for (const network of networks) {
      const [net = "", bits = ""] = network.split("/");
      list.addSubnet(net, Number(bits), family);
    }
    return { use, list };
  });
}

/** The special-purpose registries of IANA. */
const IPV4 = uses("ipv4", {
  "this host": ["0.0.0.0/8"],
  loopback: ["127.0.0.0/8"],
  private: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"],
  shared: ["100.64.0.0/10"],
  "link-local": ["169.254.0.0/16"],
  reserved: [
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "240.0.0.0/4",
  ],
  multicast: ["224.0.0.0/4"],
});

const IPV6_LOCAL = uses("ipv6", {
  loopback: ["::1/128"],
  "this host": ["::/128"],
  private: ["fc00::/7", "fec0::/10"],
  "link-local": ["fe80::/10"],
  multicast: ["ff00::/8"],
});

const IPV6 = uses("ipv6", { reserved: ["2001::/23", "2001:db8::/32", "3fff::/20"] });

/** The eight groups of an IPv6 address in any of its spellings. */
function groupsOf(address: string): readonly number[] {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const hex = (high: string, low: string) => (Number(high) * 256 + Number(low)).toString(16);
  const text = dotted === null
    ? address
    : `${dotted[1]}${hex(dotted[2]!, dotted[3]!)}:${hex(dotted[4]!, dotted[5]!)}`;
  const [head = "", tail] = text.split("::");
  const parse = (part: string) => part === "" ? [] : part.split(":").map((group) => parseInt(group, 16));
  const [left, right] = [parse(head), parse(tail ?? "")];
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length;
  return [...left, ...Array<number>(zeros).fill(0), ...right];
}

/** The IPv4 address that an IPv6 one stands for: mapped, compatible, translated (NAT64) or 6to4. */
function embeddedIPv4(groups: readonly number[]): string | undefined {
  const begins = (...start: readonly number[]) => start.every((group, i) => groups[i] === group);
  const at = (i: number) => {
    const [high, low] = [groups[i]!, groups[i + 1]!];
    return [high >> 8, high & 255, low >> 8, low & 255].join(".");
  };
  if (begins(0, 0, 0, 0, 0, 0xffff) || begins(0, 0, 0, 0, 0xffff, 0)) return at(6);
  if (begins(0x64, 0xff9b, 0, 0, 0, 0)) return at(6);
  if (begins(0, 0, 0, 0, 0, 0) && (groups[6] !== 0 || groups[7]! > 1)) return at(6);
  return begins(0x2002) ? at(1) : undefined;
}
