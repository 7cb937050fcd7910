import { type SigningKey, signingKey } from 'zin/signing'
import type { RdbProxyOptions } from '../options.js'

/** A caller's key, with its scopes and limits. */
export interface ProxyKey {
  /** Identifies rate limits, receipts and transactions. Empty for unsigned callers. */
  readonly id: string
  readonly secrets: readonly SigningKey[]
  readonly scopes: readonly string[]
  readonly perMinute: number
  readonly maxRows: number
  readonly maxBytes: number
  readonly timeoutMs: number
}

export interface Keys {
  /** Returns the key with an id, or undefined. */
  find(id: string): ProxyKey | undefined
  readonly unsigned: ProxyKey
  /** Largest number of secrets of any key. */
  readonly slots: number
  readonly count: number
}

/** Id of the key in `RDB_PROXY_SECRET` if it has no configured id. */
export const sharedId = 'shared'

const allScopes = ['rdb:read', 'rdb:write', 'rdb:ddl', 'rdb:sql', 'stmt:*', '*']

export interface KeysInput {
  readonly keyId: string
  readonly secret: string
  readonly options: Pick<RdbProxyOptions, 'keys' | 'perMinute' | 'maxRows' | 'maxBytes' | 'timeoutMs'>
}

/** Collects the keys from settings and options. */
export function keysOf({ keyId, secret, options }: KeysInput): Keys {
  const { perMinute, maxRows, maxBytes, timeoutMs } = options
  const defaults = { scopes: allScopes, perMinute, maxRows, maxBytes, timeoutMs }
  const single: ProxyKey | undefined = secret === '' ? undefined : { ...defaults, id: keyId, secrets: [signingKey(secret)] }
  const byId = new Map<string, ProxyKey>(
    options.keys.map(({ secret: own, secretsBackup = [], ...key }) => [
      key.id,
      {
        id: key.id,
        secrets: [own, ...secretsBackup].map(signingKey),
        scopes: key.scopes ?? allScopes,
        perMinute: key.perMinute ?? perMinute,
        maxRows: key.maxRows ?? maxRows,
        maxBytes: key.maxBytes ?? maxBytes,
        timeoutMs: key.timeoutMs ?? timeoutMs,
      },
    ]),
  )
  if (single !== undefined && keyId !== '') byId.set(keyId, single)
  // Without a configured id, the secret alone identifies the caller: any id stands for the same key.
  const any = keyId === '' ? single && { ...single, id: sharedId } : undefined
  const all = [...byId.values(), ...(any === undefined ? [] : [any])]
  return {
    find: (id) => byId.get(id) ?? any,
    unsigned: { ...defaults, id: '', secrets: [] },
    slots: Math.max(1, ...all.map(({ secrets }) => secrets.length)),
    count: all.length,
  }
}

/** Returns whether scopes allow something: `stmt:user.*` allows `stmt:user.rename`, `*` allows the scopes that statements require. */
export function allows(scopes: readonly string[], needed: string): boolean {
  if (scopes.includes(needed)) return true
  return scopes.some((scope) => {
    if (!scope.includes('*')) return false
    // A bare * covers only scopes that statements require.
    if (scope === '*') return !needed.startsWith('rdb:') && !needed.startsWith('stmt:')
    return matches(scope, needed)
  })
}

/** Matches `*` as a wildcard, without a regular expression, so no pattern can be slow. */
function matches(pattern: string, text: string): boolean {
  const [head = '', ...parts] = pattern.split('*')
  if (!text.startsWith(head)) return false
  let at = head.length
  const tail = parts.pop() ?? ''
  for (const part of parts) {
    const found = text.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return text.length - tail.length >= at && text.endsWith(tail)
}
