import type { IncomingHttpHeaders } from 'node:http'

/**
 * Returns why a request comes from a web page of another site, or `undefined` if it does not. Browsers send `Origin` or `Sec-Fetch-Site`
 * with every request that a page of another site can make and that changes something; other clients send neither.
 */
export function foreignPage({ host, origin, 'sec-fetch-site': site }: IncomingHttpHeaders): string | undefined {
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`)
    return 'The request comes from a page of another origin'
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return 'The request comes from a page of another site'
  return undefined
}

/**
 * Whether an HTML form could have sent the request: a POST whose `Content-Type` is not JSON. Forms always send a `Content-Type`, and cannot
 * set `X-Requested-With`.
 */
export function isFormPost(method: string, { 'content-type': type, 'x-requested-with': requestedWith }: IncomingHttpHeaders): boolean {
  return method === 'POST' && type !== undefined && requestedWith === undefined && !/^application\/json\s*(;|$)/i.test(type)
}

/** The message for a request that {@link isFormPost}. */
export const formPostRefusal = 'An HTML form of another site can send this POST: send Content-Type: application/json, or X-Requested-With'
