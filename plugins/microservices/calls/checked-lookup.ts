import { lookup } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { callbackify } from 'node:util'
import { type AddressKind, addressKind, type Resolver } from 'zin'
import { microserviceErrors } from '../errors.js'

export const systemResolver: Resolver = async (hostname) => (await lookup(hostname, { all: true })).map(({ address }) => address)

/**
 * Returns a DNS lookup for connections to one registered host. Refuses metadata and special addresses, and every kind of network (public,
 * private, loopback) that the first lookup did not return: a name that resolved to a public host never leads into the private network. The
 * connection uses exactly the addresses that were checked.
 */
export function checkedLookup(service: string, resolver: Resolver): LookupFunction {
  let first: ReadonlySet<AddressKind> | undefined
  const check = (addresses: readonly string[]): void => {
    const kinds = new Set(addresses.map(addressKind))
    if (addresses.length === 0) throw microserviceErrors.SERVICE_UNREACHABLE(service, 'its host name has no addresses')
    for (const kind of kinds) {
      if (kind === 'metadata' || kind === 'special')
        throw microserviceErrors.SERVICE_INVALID_TARGET(service, 'its host name resolves to a metadata or reserved address')
      if (first !== undefined && !first.has(kind))
        throw microserviceErrors.SERVICE_INVALID_TARGET(
          service,
          `its host name now resolves to another kind of network (${kind}); restart the service to accept that`,
        )
    }
    first ??= kinds
  }
  const find = callbackify(async (hostname: string) => {
    const addresses = await resolver(hostname)
    check(addresses)
    return addresses.map((address) => ({ address, family: isIP(address) }))
  })
  return (hostname, options, done) =>
    find(hostname, (error, found) => {
      if (error !== null) done(error, '', 0)
      else if (options.all === true) done(null, found)
      else done(null, found[0]?.address ?? '', found[0]?.family)
    })
}
