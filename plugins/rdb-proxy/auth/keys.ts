import { type SigningKey, signingKey } from 'zin/signing'
import type { RdbProxyOptions } from '../options.js'

/** A caller's key, and what it may do. */
export interface ProxyKey {
  /** Of the rate, the receipts and the transactions. Empty: unsigned callers. */
  readonly id: string
  readonly secrets: readonly SigningKey[]
  readonly scopes: readonly string[]
  readonly perMinute: number
  readonly maxRows: number
  readonly maxBytes: number
  readonly timeoutMs: number
}

export interface Keys {
  /** The key that a request names; undefined when there is none. */
  find(id: string): ProxyKey | undefined
  readonly unsigned: ProxyKey
  /** The most secrets of one key. */
  readonly slots: number
  readonly count: number
}

const allScopes = ['rdb:read', 'rdb:write', 'rdb:ddl', 'rdb:sql', 'stmt:*', '*']

export interface KeysInput {
  readonly keyId: string
  readonly secret: string
  readonly options: Pick<RdbProxyOptions, 'keys' | 'perMinute' | 'maxRows' | 'maxBytes' | 'timeoutMs'>
}

/** The keys of settings and options. */
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
  // Without an id of its own the secret alone proves the caller: whatever id it names is the same key.
  const any = keyId === '' ? single && { ...single, id: 'shared' } : undefined
  const all = [...byId.values(), ...(any === undefined ? [] : [any])]
  return {
    find: (id) => byId.get(id) ?? any,
    unsigned: { ...defaults, id: '', secrets: [] },
    slots: Math.max(1, ...all.map(({ secrets }) => secrets.length)),
    count: all.length,
  }
}

/** Whether scopes allow something; `stmt:user.*` allows `stmt:user.rename`, `*` what statements name. */
export function allows(scopes: readonly string[], needed: string): boolean {
  if (scopes.includes(needed)) return true
  return scopes.some((scope) => {
    if (!scope.includes('*')) return false
    // A bare * is for scopes of statements alone.
    if (scope === '*') return !needed.startsWith('rdb:') && !needed.startsWith('stmt:')
    return matches(scope, needed)
  })
}

/** `*` stands for any text. No regular expression: patterns are few, and none can take long. */
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
