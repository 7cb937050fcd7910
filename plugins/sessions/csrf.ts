import type { Context } from 'koa'
import { isOwnOrigin, type JsonSchema, jsonSchemaOf } from 'zin'

const safe: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

/** Whether a request may change something. */
export const isUnsafe = ({ req }: Context): boolean => !safe.has(req.method ?? 'GET')

/**
 * Returns a function that returns the field `_csrf` of a body that has been read, and takes it out, unless the schema of the body lists it: so no
 * schema has to, and one that does may require it.
 */
export function fieldTaker(): (ctx: Context, schema: JsonSchema | undefined) => unknown {
  const listing = new WeakMap<JsonSchema, boolean>()
  const lists = (schema: JsonSchema): boolean => {
    const known = listing.get(schema)
    if (known !== undefined) return known
    const properties = jsonSchemaOf(schema, 'input')?.properties
    const does = typeof properties === 'object' && properties !== null && Object.hasOwn(properties, '_csrf')
    listing.set(schema, does)
    return does
  }
  return (ctx, schema) => {
    const body = (ctx as { readonly input?: { readonly body?: unknown } }).input?.body
    if (typeof body !== 'object' || body === null || !Object.hasOwn(body, '_csrf')) return undefined
    const fields = body as { _csrf?: unknown }
    const { _csrf } = fields
    if (schema === undefined || !lists(schema)) delete fields._csrf
    return _csrf
  }
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
  return headers.origin !== undefined && !isOwnOrigin(headers.origin, ctx.host)
}
