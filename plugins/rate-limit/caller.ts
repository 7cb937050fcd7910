import { createHash } from 'node:crypto'
import type { Context } from 'koa'
import { clientNetwork, requestContext } from 'zin'
import { checksKey, type Rule } from './rules.js'

/** Most digests that are kept for callers who come again, and the length of a name that is kept. */
const maxDigests = 10_000
const maxKeptLength = 200

/** Names who is counted for a request, as a short text without personal data; undefined if nobody is. */
export type CallerOf = (ctx: Context) => string | undefined | Promise<string | undefined>

/**
 * Returns the function that names who is counted by a limit. A request whose user, device or key is not known counts for its address.
 *
 * @param keyHeader the header with the API key.
 */
export function callerNamer(rule: Rule, keyHeader: string): CallerOf {
  const { by } = rule
  const digest = digests()
  if (typeof by !== 'function') return (ctx) => digest(identityOf(ctx, rule, keyHeader) ?? `address ${clientNetwork(ctx.ip)}`)
  return async (ctx) => {
    const named = await by(ctx)
    return named === undefined ? undefined : digest(`function ${named}`)
  }
}

/** What guards set on `ctx.state`. */
interface GuardState {
  readonly user?: { readonly sub?: unknown; readonly deviceId?: unknown }
  readonly signer?: { readonly kind?: unknown; readonly keyId?: unknown }
}

function identityOf(ctx: Context, rule: Rule, keyHeader: string): string | undefined {
  const { user, signer } = ctx.state as GuardState
  const known = (value: unknown): string | undefined =>
    value === undefined || value === null ? undefined : `${String(rule.by)} ${String(value)}`
  if (rule.by === 'user') return known(user?.sub)
  if (rule.by === 'device') return known(signer?.kind === 'device' ? signer.keyId : user?.deviceId)
  // Whoever may invent keys would have a new limit with each one.
  const route = requestContext()?.route
  if (rule.by === 'key' && route !== undefined && checksKey(route, rule, keyHeader)) return known(ctx.req.headers[keyHeader])
  return undefined
}

/** Returns a function that digests a text, and remembers the latest results: a digest costs a tenth of a small request. */
function digests(): (text: string) => string {
  const known = new Map<string, string>()
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found
    const digest = createHash('sha256').update(text).digest('base64url').slice(0, 32)
    if (text.length <= maxKeptLength) known.set(text, digest)
    if (known.size > maxDigests) known.delete(known.keys().next().value as string)
    return digest
  }
}
