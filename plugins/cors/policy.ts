import type { RouteCors } from './options.js'

/** Who may call from another origin. */
export interface Policy {
  /** Whether every origin may. */
  readonly any: boolean
  readonly credentials: boolean
  /** @param origin as in the header `Origin`. */
  allows(origin: string): boolean
}

const shape = /^([a-z][a-z0-9+.-]*):\/\/(\*\.)?([^/?#@\\\s*]+?)(:\*|:\d{1,5})?$/

/** Returns what is wrong with a policy, such as `has …`; undefined if nothing is. */
export function policyProblem(given: Exclude<RouteCors, false>): string | undefined {
  const origins = listOf(given.origins)
  if (given.credentials === true && origins.includes('*'))
    return 'has "credentials" with the origin "*": every site could act as a user who is logged in; list the origins'
  for (const origin of origins) {
    const problem = origin === '*' ? undefined : originProblem(origin)
    if (problem !== undefined) return `has the origin ${JSON.stringify(origin)}: ${problem}`
  }
  return undefined
}

function originProblem(origin: string): string | undefined {
  if (origin === 'null') return 'any page can have the origin null, such as one in a sandboxed frame; list real origins'
  const [, scheme, wildcard, host = '', port = ''] = shape.exec(origin.toLowerCase()) ?? []
  if (scheme === undefined) return 'write scheme, host and port only, such as "https://shop.example" or "http://localhost:5173"'
  if (wildcard !== undefined && host !== 'localhost' && !host.includes('.'))
    return 'a wildcard stands for the subdomains of one domain, such as "https://*.shop.example"'
  return URL.canParse(`${scheme}://${host}${port === ':*' ? '' : port}`) ? undefined : 'its host or port is not valid'
}

/** Compiles a policy without problems. */
export function policyOf({ origins, credentials = false }: Exclude<RouteCors, false>): Policy {
  const any = listOf(origins).includes('*')
  const list = listOf(origins).filter((origin) => origin !== '*')
  const patterns = list.filter((origin) => origin.includes('*')).map(patternOf)
  const exact = new Set(list.filter((origin) => !origin.includes('*')).map(serialized))
  return { any, credentials, allows: (origin) => any || exact.has(origin) || patterns.some((pattern) => pattern.test(origin)) }
}

/** As browsers write it: in lower case, international names in Punycode, without the default port. */
function serialized(origin: string): string {
  const { protocol, host, origin: known } = new URL(origin.toLowerCase())
  return known === 'null' ? `${protocol}//${host}` : known
}

function patternOf(origin: string): RegExp {
  const [, scheme = '', wildcard, host = '', port = ''] = shape.exec(origin.toLowerCase()) ?? []
  const fixedPort = port === ':*' ? '' : port
  const plain = serialized(`${scheme}://${host}${fixedPort}`).slice(scheme.length + '://'.length)
  const subdomains = wildcard === undefined ? '' : '(?:[a-z0-9_-]+\\.)+'
  return new RegExp(`^${escaped(scheme)}://${subdomains}${escaped(plain)}${port === ':*' ? '(?::\\d{1,5})?' : ''}$`)
}

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')

const listOf = (origins: string | readonly string[]): readonly string[] => (typeof origins === 'string' ? [origins] : origins)
