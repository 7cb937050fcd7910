import { signedFetch } from 'zin/signer'

/** How this tab proves who uses it. Kept for the tab only. */
export type Credential =
  | { readonly kind: 'basic'; readonly username: string; readonly password: string }
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'device'; readonly jwt: string; readonly deviceId: string; readonly secret: string }

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

/** `fetch` with the credential. */
export function authorizedFetch(url: string, init: RequestInit = {}): Promise<Response> {
  if (current?.kind === 'device') {
    const { deviceId, jwt, secret } = current
    device ??= signedFetch({ keyId: deviceId, secret, token: jwt }) as Fetch
    return device(url, init)
  }
  const headers = new Headers(init.headers)
  if (current?.kind === 'basic') headers.set('authorization', `Basic ${encoded(`${current.username}:${current.password}`)}`)
  if (current?.kind === 'key') headers.set('x-api-key', current.key)
  // With credentials of its own, the browser must not ask for others when they are refused.
  return fetch(url, { ...init, headers, credentials: current === undefined ? 'same-origin' : 'omit' })
}

/** A device of its own for this tab, by the login of the app. */
export async function logIn(email: string, password: string): Promise<void> {
  const response = await fetch('/auth/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  })
  const body = (await response.json()) as { jwt?: string; deviceId?: string; deviceSecret?: string; message?: string }
  const { deviceId, deviceSecret, jwt } = body
  if (!response.ok || jwt === undefined || deviceId === undefined || deviceSecret === undefined) {
    throw new Error(body.message ?? 'The login failed')
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
