import { createRequire } from 'node:module'
import { isIPv4 } from 'node:net'
import type { IPv4, IPv6 } from 'ipaddr.js'

/**
 * The kind of an IP address. `metadata`: addresses where cloud providers serve the credentials of a machine. `special`: all other addresses
 * that no internet server has (unspecified, link-local, multicast, broadcast, documentation, tunnels), and text that is not an address.
 */
export type AddressKind = 'public' | 'loopback' | 'private' | 'metadata' | 'special'

// Listed by value, because they are in link-local, private, shared and even public ranges.
const metadataAddresses = new Set([
  // AWS: instances, tasks, and pods.
  ...['169.254.169.254', 'fd00:ec2::254', '169.254.170.2', '169.254.170.23', 'fd00:ec2::23'],
  // Google Cloud (and 169.254.169.254, as nearly all others).
  'fd20:ce::254',
  // Alibaba Cloud, Azure, Oracle Cloud.
  ...['100.100.100.200', '168.63.129.16', '192.0.0.192'],
])

const kinds: Readonly<Record<string, AddressKind>> = {
  loopback: 'loopback',
  private: 'private',
  carrierGradeNat: 'private',
  uniqueLocal: 'private',
}

/** Classifies an IP address. Text that is not exactly an address, e.g. `127.1`, is `special`. */
export function addressKind(address: string): AddressKind {
  const ipaddr = addressLibrary()
  if (isIPv4(address)) return kindOfV4(ipaddr.IPv4.parse(address))
  if (!ipaddr.IPv6.isValid(address)) return 'special'
  const parsed = ipaddr.IPv6.parse(address)
  const inner = embedded(parsed)
  if (inner !== undefined) return kindOfV4(inner)
  if (metadataAddresses.has(parsed.toRFC5952String())) return 'metadata'
  const range = parsed.range()
  // Only 2000::/3 is assigned to servers; ranges unknown to ipaddr.js are outside of it.
  if (range === 'unicast') return ((parsed.parts[0] ?? 0) & 0xe000) === 0x2000 ? 'public' : 'special'
  return kinds[range] ?? 'special'
}

/**
 * Returns the network of a client address, for limits per client: an IPv4 address itself, or the /64 of an IPv6 address, because a client
 * that has one address of a /64 usually has all of them. Also accepts `address:port` and `[address]:port`, which some load balancers write
 * into `X-Forwarded-For`. Text that is not an address returns `unknown`, so that all of it shares one limit.
 *
 * @example
 * clientNetwork('2001:db8:1:2:3:4:5:6') // '2001:db8:1:2'
 */
export function clientNetwork(address: string): string {
  const bare = withoutPort(address)
  if (isIPv4(bare)) return bare
  const ipaddr = addressLibrary()
  if (!ipaddr.isValid(bare)) return 'unknown'
  const parsed = ipaddr.process(bare)
  return parsed.kind() === 'ipv4' ? parsed.toString() : parsed.toNormalizedString().split(':').slice(0, 4).join(':')
}

function withoutPort(address: string): string {
  const parts = /^(?:\[(.+)\]|(\d+(?:\.\d+){3}))(?::\d+)?$/.exec(address)
  return parts?.[1] ?? parts?.[2] ?? address
}

/** Returns the IPv4 address embedded in a mapped or NAT64 address. */
function embedded(address: IPv6): IPv4 | undefined {
  if (address.isIPv4MappedAddress()) return address.toIPv4Address()
  // Not 64:ff9b:1::/48: its targets depend on the local network.
  const { IPv4, IPv6 } = addressLibrary()
  const nat64 = address.match(IPv6.parse('64:ff9b::'), 96)
  return nat64 ? new IPv4(address.toByteArray().slice(12)) : undefined
}

function kindOfV4(address: IPv4): AddressKind {
  if (metadataAddresses.has(address.toString())) return 'metadata'
  const range = address.range()
  return range === 'unicast' ? 'public' : (kinds[range] ?? 'special')
}

/** Imported lazily: most apps never need it. */
function addressLibrary(): typeof import('ipaddr.js') {
  return createRequire(import.meta.url)('ipaddr.js') as typeof import('ipaddr.js')
}
