import { createHash } from 'node:crypto'
import type { Context } from 'koa'
import { clientNetwork, requestContext } from 'zin'
import { checksKey, type Rule } from './rules.js'

/**
 * Returns who is counted for a request, as a short text without personal data; undefined if nobody is. A request whose user, device or key is
 * not known counts for its address.
 *
 * @param keyHeader the header with the API key.
 */
export async function callerOf(ctx: Context, rule: Rule, keyHeader: string): Promise<string | undefined> {
  if (typeof rule.by !== 'function') return digest(identityOf(ctx, rule, keyHeader) ?? `address ${clientNetwork(ctx.ip)}`)
  const named = await rule.by(ctx)
  return named === undefined ? undefined : digest(`function ${named}`)
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

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 32)
}
