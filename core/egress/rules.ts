import { isIP, isIPv4 } from 'node:net'
import { type AddressKind, addressKind } from './address.js'
import { egressErrors } from './errors.js'
import { isForeignPort } from './ports.js'

/** Rules for the targets of a request. */
export interface EgressRules {
  /**
   * The only allowed hosts, matched exactly: `api.example.com` allows the default port of the scheme, `api.example.com:8443` that port.
   * Default: any host, on any port except those of services that do not speak HTTP.
   */
  readonly allowHosts?: readonly string[]
  /** Whether loopback, private and shared addresses are allowed. Default false. Link-local and cloud metadata addresses never are. */
  readonly allowPrivate?: boolean
  /** Allowed schemes. Default: both. */
  readonly schemes?: readonly EgressScheme[]
}

export type EgressScheme = 'https:' | 'http:'

const bothSchemes: readonly EgressScheme[] = ['https:', 'http:']

const kindNames: Readonly<Record<Exclude<AddressKind, 'public'>, string>> = {
  loopback: 'this machine',
  private: 'a private network',
  metadata: 'cloud metadata',
  special: 'a range that is not public',
}

/**
 * Parses and checks the URL of a request. Throws EGRESS_BLOCKED. Host names are not resolved here; their addresses go through
 * {@link checkAddress}.
 */
export function checkEgressUrl(text: string, rules: EgressRules): URL {
  const { allowHosts, schemes = bothSchemes } = rules
  const url = parse(text)
  const target = url.origin
  if (!(schemes as readonly string[]).includes(url.protocol)) {
    throw egressErrors.EGRESS_BLOCKED(`a ${url.protocol} URL`, `only ${schemes.join(' and ')} URLs are allowed`)
  }
  // The authority as written, before the URL parser normalizes it.
  const [, authority] = /^[a-z]+:\/\/([^/?#]*)/i.exec(text) ?? []
  if (authority === undefined) throw egressErrors.EGRESS_BLOCKED(target, 'its URL must start with the scheme and two slashes')
  if (authority.includes('@')) throw egressErrors.EGRESS_BLOCKED(target, 'its URL must not contain a user name or password')
  const host = url.hostname
  if (host.endsWith('.') || (isIPv4(host) && authority.replace(/:\d*$/, '') !== host)) {
    throw egressErrors.EGRESS_BLOCKED(
      target,
      'its host must be in canonical form, without a final dot and with IP addresses in dotted decimal',
    )
  }
  if (allowHosts !== undefined && !allowHosts.some((entry) => matches(entry, url))) {
    throw egressErrors.EGRESS_BLOCKED(target, 'its host is not in the list of allowed hosts')
  }
  if (allowHosts === undefined && isForeignPort(portOf(url))) {
    throw egressErrors.EGRESS_BLOCKED(target, 'its port is used by a service that does not speak HTTP')
  }
  const literal = literalAddress(url)
  if (literal !== undefined) checkAddress(literal, target, rules)
  return url
}

/** Throws EGRESS_BLOCKED for an address that is not allowed. */
export function checkAddress(address: string, target: string, { allowPrivate = false }: EgressRules): void {
  const kind = addressKind(address)
  if (kind === 'public' || (allowPrivate && (kind === 'loopback' || kind === 'private'))) return
  throw egressErrors.EGRESS_BLOCKED(target, `its address belongs to ${kindNames[kind]}`)
}

/** Returns the address if the URL contains one instead of a host name. */
export function literalAddress({ hostname }: URL): string | undefined {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  return isIP(bare) === 0 ? undefined : bare
}

function parse(text: string): URL {
  // URL parsers drop spaces, tabs and line breaks and treat `\` as `/`; other programs that read the text do not.
  if (text.length > 8192 || /[\u0000-\u0020\u007f\\]/.test(text)) {
    throw egressErrors.EGRESS_BLOCKED('that URL', 'it is too long, or has spaces, control characters or backslashes')
  }
  try {
    return new URL(text)
  } catch {
    throw egressErrors.EGRESS_BLOCKED('that URL', 'it is not a URL')
  }
}

function matches(entry: string, url: URL): boolean {
  const [, host = '', port] = /^(.+?)(?::(\d+))?$/.exec(entry) ?? []
  return host.toLowerCase() === url.hostname && Number(port ?? defaultPort(url)) === portOf(url)
}

function portOf(url: URL): number {
  return url.port === '' ? defaultPort(url) : Number(url.port)
}

function defaultPort({ protocol }: URL): number {
  return protocol === 'https:' ? 443 : 80
}
