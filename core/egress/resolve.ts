import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { messageOf } from '../errors.js'
import { egressErrors } from './errors.js'
import { checkAddress, type EgressRules, literalAddress } from './rules.js'

/** An address to connect to. */
export interface ResolvedAddress {
  readonly address: string
  readonly family: 4 | 6
}

/** Resolves a host name to its addresses. */
export type Resolver = (hostname: string) => Promise<readonly string[]>

export const systemResolver: Resolver = async (hostname) =>
  (await lookup(hostname, { all: true, verbatim: true })).map(({ address }) => address)

/**
 * Returns the addresses of a URL, all of which are allowed. A single address that is not allowed blocks the request: a name
 * with both public and private addresses is an attack.
 */
export async function resolveChecked(url: URL, rules: EgressRules, resolver: Resolver): Promise<readonly ResolvedAddress[]> {
  const literal = literalAddress(url)
  const addresses = literal === undefined ? await ask(url, resolver) : [literal]
  if (addresses.length === 0) throw egressErrors.EGRESS_FAILED(url.origin, 'its host name has no address')
  return addresses.map((address) => {
    checkAddress(address, url.origin, rules)
    return { address, family: isIP(address) === 6 ? 6 : 4 }
  })
}

async function ask(url: URL, resolver: Resolver): Promise<readonly string[]> {
  try {
    return await resolver(url.hostname)
  } catch (error) {
    throw egressErrors.EGRESS_FAILED(url.origin, `its host name could not be resolved (${messageOf(error)})`)
  }
}
