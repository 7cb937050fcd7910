import { messageOf, type Resolver } from 'zin'
import { type AuthOptions, authOf } from '../auth/strategies.js'
import { readData } from '../calls/payload.js'
import { openConnections } from '../calls/transport.js'
import type { ServiceDefinition } from '../definitions/definition.js'
import { microserviceErrors } from '../errors.js'
import { maxDocumentBytes } from './read-document.js'

const timeoutMs = 15_000

export interface FetchDocumentOptions {
  /** The services whose credentials may be sent, and their secrets. Default: none are sent. */
  readonly own?: { readonly definitions: readonly ServiceDefinition[]; readonly auth: AuthOptions }
  readonly resolver: Resolver
}

/**
 * Reads a document from a URL. Sends the credential of the service's strategy only if the URL is on one of the service's addresses.
 * Redirects are not followed. Throws SERVICE_DOCUMENT_INVALID.
 */
export async function fetchDocument(service: string, url: URL, { own: known, resolver }: FetchDocumentOptions): Promise<unknown> {
  const definition = known?.definitions.find(({ name }) => name === service)
  const place = url.origin + url.pathname
  if (url.username !== '' || url.password !== '')
    throw microserviceErrors.SERVICE_DOCUMENT_INVALID(place, 'its URL contains a user name or a password')
  const own = definition?.urls.includes(url.origin) === true ? definition : undefined
  const request = { method: 'GET', path: url.pathname + url.search, body: undefined, maxBytes: maxDocumentBytes, timeoutMs }
  const connections = openConnections({ service, origin: url.origin, resolver, ca: own?.ca })
  try {
    const credentials = own === undefined || known === undefined ? {} : await authOf(own, known.auth).credentials(request)
    const result = await connections.send({ ...request, headers: { accept: 'application/json', ...credentials } })
    if (result.type === 'timeout') throw new Error(`no response within ${timeoutMs} ms`)
    if (result.type === 'too-large') throw new Error(`it is larger than ${maxDocumentBytes} bytes`)
    if (result.type !== 'response') throw result.error
    const { headers, statusCode } = result.response
    if (statusCode !== 200) throw new Error(`it responded ${statusCode}`)
    return readData(headers['content-type'], result.body)
  } catch (error) {
    throw microserviceErrors.SERVICE_DOCUMENT_INVALID(place, messageOf(error))
  } finally {
    connections.close()
  }
}
