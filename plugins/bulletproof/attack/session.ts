import { createHeaders, type Rfc9421Credential } from 'zin/signer'
import { type Credential, type Sessions, userAgent } from './kit.js'

export interface SessionParts {
  readonly origin: URL
  readonly headerPrefix: string
  readonly signal: AbortSignal
}

/** Longer than an app waits for its stores. */
const timeoutMs = 10_000

export interface LoginResult {
  readonly status: number
  /** Undefined when the app refused the login. */
  readonly credential: Credential | undefined
}

/** Logs in. Rejects when nothing listens. */
export async function logIn({ origin, signal }: SessionParts, fields: Readonly<Record<string, string | undefined>>): Promise<LoginResult> {
  const headers = { 'content-type': 'application/json', 'user-agent': userAgent }
  const body = JSON.stringify(fields)
  const response = await fetch(new URL('/auth/login', origin), {
    method: 'POST',
    headers,
    body,
    redirect: 'manual',
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  })
  const { jwt, deviceId, deviceSecret } = (await response.json().catch(() => ({}))) as Readonly<Record<string, unknown>>
  const isComplete = typeof jwt === 'string' && typeof deviceId === 'string' && typeof deviceSecret === 'string'
  return { status: response.status, credential: isComplete ? { keyId: deviceId, secret: deviceSecret, token: jwt } : undefined }
}

type Signing = { readonly profile?: 'v1'; readonly secret: string } | ({ readonly profile: 'rfc9421' } & Rfc9421Credential)

/** Sends a signed request without a body. Returns whether it succeeded. */
async function send(
  { origin, headerPrefix }: SessionParts,
  method: string,
  path: string,
  { keyId, secret, token }: Credential,
  by: Signing = { secret },
): Promise<boolean> {
  const url = new URL(path, origin)
  const authorization = `Bearer ${token}`
  const covered = by.profile === 'rfc9421' ? { authorization } : {}
  const signed = await createHeaders({ method, url, keyId, headerPrefix, ...by, ...covered })
  const headers = { ...signed, authorization, 'user-agent': userAgent }
  return (await fetch(url, { method, headers, redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) })).ok
}

export function logOut(parts: SessionParts, session: Credential, by?: Signing): Promise<boolean> {
  return send(parts, 'POST', '/auth/logout', session, by)
}

/**
 * The sessions that attacks may start and end.
 *
 * @param began called for each started session with a function that ends it.
 */
export function sessionsOf(
  parts: SessionParts,
  fields: Readonly<Record<string, string | undefined>>,
  began: (end: () => Promise<unknown>) => void,
): Sessions {
  return {
    async begin(more = {}) {
      const { credential } = await logIn(parts, { ...fields, ...more })
      if (credential !== undefined) began(() => logOut(parts, credential))
      return credential
    },
    end: (session) => logOut(parts, session),
    remove: (by, deviceId) => send(parts, 'DELETE', `/auth/devices/${deviceId}`, by),
  }
}
