import type { Context } from 'koa'

const safe: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

/** Whether a request may change something. */
export const isUnsafe = ({ req }: Context): boolean => !safe.has(req.method ?? 'GET')

/** The token in the header `x-csrf-token`, or in the field `_csrf` of a body that has been read. */
export function givenToken(ctx: Context): unknown {
  const header = ctx.req.headers['x-csrf-token']
  if (header !== undefined) return header
  const body = (ctx as { readonly input?: { readonly body?: unknown } }).input?.body
  return typeof body === 'object' && body !== null ? (body as { readonly _csrf?: unknown })._csrf : undefined
}

/** Whether the token may still come with the body. */
export const mayHaveField = (ctx: Context): boolean =>
  (ctx as { readonly input?: unknown }).input === undefined && ctx.req.headers['content-type'] !== undefined

/**
 * Whether a form on a page of another site may have sent a request: browsers send such content types without asking first. Without a token
 * it must neither sign anyone in, because that would be the account of whoever made the page, nor begin a session, which would take the place of
 * the one that the browser keeps from that site.
 */
export function isForeignForm(ctx: Context): boolean {
  const { headers } = ctx.req
  if (!isUnsafe(ctx)) return false
  const type = headers['content-type']
  if (type !== undefined && !/^(application\/x-www-form-urlencoded|multipart\/form-data|text\/plain)\b/i.test(type)) return false
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  // Browsers without Sec-Fetch-Site send the origin.
  return headers.origin !== undefined && headers.origin.replace(/^https?:\/\//, '') !== ctx.host
}
