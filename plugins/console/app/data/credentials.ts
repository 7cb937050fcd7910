import { signedFetch } from 'zin/signer'

/** The credential of this tab, kept in its session storage. */
export type Credential =
  | { readonly kind: 'basic'; readonly username: string; readonly password: string }
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'device'; readonly jwt: string; readonly deviceId: string; readonly secret: string }

/** Deadline of a request, in ms. */
export const deadlineMs = 20_000

/** Why a request got no response. */
export function silenceOf(deadline: AbortSignal): string {
  return deadline.aborted ? 'The app did not respond within 20 s' : 'The app does not respond'
}

const place = 'zin-console-credential'

type Fetch = (url: string, init?: RequestInit) => Promise<Response>

let current: Credential | undefined = read()
let device: Fetch | undefined

export function setCredential(credential: Credential | undefined): void {
  current = credential
  device = undefined
  if (credential === undefined) sessionStorage.removeItem(place)
  else sessionStorage.setItem(place, JSON.stringify(credential))
}

export function credentialKind(): Credential['kind'] | undefined {
  return current?.kind
}

export function hasCredential(): boolean {
  return current !== undefined
}

/** `fetch` with the credential of this tab. */
export function authorizedFetch(url: string, init: RequestInit = {}): Promise<Response> {
  if (current?.kind === 'device') {
    const { deviceId, jwt, secret } = current
    device ??= signedFetch({ keyId: deviceId, secret, token: jwt }) as Fetch
    return device(url, init)
  }
  const headers = new Headers(init.headers)
  if (current?.kind === 'basic') headers.set('authorization', `Basic ${encoded(`${current.username}:${current.password}`)}`)
  if (current?.kind === 'key') headers.set('x-api-key', current.key)
  // With an explicit credential, the browser must not prompt for another one on a 401.
  return fetch(url, { ...init, headers, credentials: current === undefined ? 'same-origin' : 'omit' })
}

/** Logs in to the app and registers a new device for this tab. */
export async function logIn(email: string, password: string): Promise<void> {
  const deadline = AbortSignal.timeout(deadlineMs)
  const response = await fetch('/auth/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
    signal: deadline,
  }).catch(() => {
    throw new Error(silenceOf(deadline))
  })
  const body = (await response.json().catch(() => {
    throw new Error(deadline.aborted ? silenceOf(deadline) : `Login failed: the response with status ${response.status} is not JSON`)
  })) as { jwt?: string; deviceId?: string; deviceSecret?: string; message?: string } | null
  const { deviceId, deviceSecret, jwt } = body ?? {}
  if (!response.ok || jwt === undefined || deviceId === undefined || deviceSecret === undefined) {
    throw new Error(body?.message ?? 'Login failed')
  }
  setCredential({ kind: 'device', jwt, deviceId, secret: deviceSecret })
}

function encoded(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)))
}

function read(): Credential | undefined {
  try {
    return (JSON.parse(sessionStorage.getItem(place) ?? 'null') as Credential | null) ?? undefined
  } catch {
    return undefined
  }
}
