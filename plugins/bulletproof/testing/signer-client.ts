import {
  createHeaders,
  generateDeviceKey,
  type Rfc9421Credential,
  type Rfc9421FetchOptions,
  type SignedFetchOptions,
  signedFetch,
} from 'zin/signer'

/**
 * A case that runs in every runtime of `zin/signer` against the app of signer-app.ts. This module runs in a browser, in Node and in
 * workerd, so it imports nothing else.
 */
export interface SignerCase {
  readonly title: string
  /** Rejects when it fails. */
  run(app: AppUnderTest): Promise<void>
}

export interface AppUnderTest {
  /** URL of the app. */
  readonly url: string
  readonly email: string
  readonly password: string
}

type Login = Omit<SignedFetchOptions, 'secret' | 'profile'> & { readonly keyId: string; readonly token: string }

/** A caller and its signature profile. */
interface Caller {
  readonly profile: string
  /** Logs in. `more` is passed to signedFetch. */
  options(
    app: AppUnderTest,
    more?: Pick<SignedFetchOptions, 'fetch' | 'now'>,
  ): Promise<(SignedFetchOptions | Rfc9421FetchOptions) & { readonly token: string }>
}

const timezone = 'Pacific/Auckland'

const callers: readonly Caller[] = [
  {
    profile: 'v1',
    options: async (app, more) => {
      const { secret, ...login } = await logIn(app)
      return { ...login, secret, ...more }
    },
  },
  {
    profile: 'rfc9421 with the secret',
    options: async (app, more) => ({ profile: 'rfc9421', ...(await logIn(app)), ...more }),
  },
  {
    profile: 'rfc9421 with its own key',
    options: async (app, more) => {
      const { privateKey, publicKey } = await generateDeviceKey()
      const { secret, ...login } = await logIn(app, { devicePublicKey: publicKey })
      equal(secret, '')
      return { profile: 'rfc9421', ...login, privateKey, ...more }
    },
  },
]

async function logIn({ url, email, password }: AppUnderTest, more = {}): Promise<Login & { readonly secret: string }> {
  const response = await fetch(`${url}/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-sig-timezone': timezone },
    body: JSON.stringify({ email, password, ...more }),
  })
  equal(response.status, 200)
  const { jwt, deviceId, deviceSecret } = (await response.json()) as Record<'jwt' | 'deviceId' | 'deviceSecret', string>
  return { token: jwt, keyId: deviceId, secret: deviceSecret, timezone }
}

/** The response of the app's `/echo`. */
interface Echo {
  readonly sub: string
  readonly target: string
  readonly contentType: string | null
  readonly bytes: number
  readonly sha256: string
}

interface RequestKind {
  readonly title: string
  readonly path?: string
  readonly init?: () => RequestInit
  /** The expected bytes; `undefined` when they depend on the runtime. */
  readonly bytes?: () => Uint8Array | undefined
  readonly contentType?: RegExp
}

const text = '{"name":"Zoë 🦊","note":"ÿ"}'
const everyByte = Uint8Array.from({ length: 70_000 }, (_, index) => index % 256)
const utf8 = (value: string): Uint8Array => new TextEncoder().encode(value)

function form(): FormData {
  const data = new FormData()
  data.set('name', 'Zoë')
  data.set('file', new Blob([everyByte.slice(0, 300)], { type: 'image/png' }), 'é.png')
  return data
}

const kinds: readonly RequestKind[] = [
  { title: 'without a body' },
  {
    title: 'with JSON text outside of ASCII',
    init: () => ({ method: 'POST', body: text, headers: { 'content-type': 'application/json' } }),
    bytes: () => utf8(text),
    contentType: /^application\/json$/,
  },
  { title: 'with text', init: () => ({ method: 'PUT', body: 'ÿ' }), bytes: () => utf8('ÿ'), contentType: /^text\/plain;charset=UTF-8$/i },
  { title: 'with a Uint8Array', init: () => ({ method: 'POST', body: everyByte.slice() }), bytes: () => everyByte },
  {
    title: 'with a part of a buffer',
    init: () => ({ method: 'POST', body: everyByte.subarray(5, 12) }),
    bytes: () => everyByte.slice(5, 12),
  },
  { title: 'with an empty body', init: () => ({ method: 'POST', body: '' }) },
  { title: 'without a body, with a method that could have one', init: () => ({ method: 'DELETE' }) },
  {
    title: 'with form fields',
    init: () => ({ method: 'PATCH', body: new URLSearchParams({ a: 'é &=+' }) }),
    bytes: () => utf8('a=%C3%A9+%26%3D%2B'),
    contentType: /^application\/x-www-form-urlencoded/,
  },
  {
    title: 'with a file',
    init: () => ({ method: 'POST', body: form() }),
    bytes: () => undefined,
    contentType: /^multipart\/form-data; boundary=/,
  },
  {
    title: 'with a stream',
    init: () => ({ method: 'POST', body: new Blob([everyByte]).stream(), duplex: 'half' }) as RequestInit,
    bytes: () => everyByte,
  },
  { title: 'with an empty stream', init: () => ({ method: 'POST', body: new Blob([]).stream(), duplex: 'half' }) as RequestInit },
  { title: 'with an odd query', path: `/echo?z=1&a=%20x&a=2&=&&b+c=%zz%C3%a9é 🦊"'<>\`{}|^[]~!$()*,;:@/?%00%2e%2E#fragment` },
  { title: 'with an empty query', path: '/echo?' },
  { title: 'with an odd path', path: `/echo/Zoë 🦊 "'<>\`{}|^[]~!$()*,;:@+%2F%41%c3%a9` },
  { title: 'with dot segments in the path', path: '/./nothing/../echo/a/%2e%2e/b/%2E/c' },
]

const knownAnswers: readonly {
  readonly title: string
  readonly headers: (common: typeof known) => Promise<Readonly<Record<string, string>>>
  readonly signature: string
}[] = [
  {
    title: 'GET by v1',
    headers: (common) => createHeaders({ ...common, method: 'GET', url: 'https://api.example.com/api/me' }),
    signature: '7b7a2b8c0077081cfc5a8a840843ca489adf9b5cf72ce2172963d9654d119060',
  },
  {
    title: 'a body and a query by v1',
    headers: (common) => createHeaders({ ...common, method: 'post', url: '/v1/a%20b/caf%C3%A9?z=1&a=%20x&a=2#f', body: '{"a":"hé"}' }),
    signature: '3d9b2e74674a03146daaa2250914665b474d25788e43fb34ab235f21f930ba99',
  },
  {
    title: 'dot segments and an empty query by v1',
    headers: (common) => createHeaders({ ...common, method: 'GET', url: '/a/../b/%2e%2e/c?' }),
    signature: '212e86b60873e559c9af63c90ee7694b48f9bc5f47131096ee0fe9750e09f5f6',
  },
  {
    title: 'all components by rfc9421, HMAC',
    headers: ({ secret, ...common }) => createHeaders({ ...common, ...order, secret }),
    signature: 'zin=:jMJlGZlbICsNTMl/8/Tqcp5pL/LxGTvmRPFxylyA9uk=:',
  },
  {
    title: 'all components by rfc9421, Ed25519',
    headers: ({ secret: _, ...common }) => createHeaders({ ...common, ...order, privateKey: publishedKey }),
    signature: 'zin=:QpwyYXRp41vKaaunPioaGVVJkEEVmxQBJf6X9sq7xOrOlv7CcFRJSgPlkZMCWrgxr2x5ON6CqubLN9hcIzt0DQ==:',
  },
]

const known = {
  secret: 'test-secret-0123456789abcdef',
  keyId: 'dev_1',
  timestamp: 1763690000000,
  nonce: '6f1b2c1e-6d6f-4a53-9f58-3d1e5a0c7b11',
}
const order = {
  profile: 'rfc9421',
  method: 'POST',
  url: 'https://api.example.com/v1/orders?a=1&b=2',
  contentType: 'application/json',
  body: '{"a":1}',
  authorization: 'Bearer abc.def.ghi',
} as const
/** The Ed25519 key of RFC 9421, B.1.4. */
const publishedKey = `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF
-----END PRIVATE KEY-----`

export const signerCases: readonly SignerCase[] = [
  ...knownAnswers.map(({ title, headers, signature }) => ({
    title: `the signature of ${title} matches the test vector`,
    run: async () => {
      const made = await headers(known)
      equal(made['x-sig-signature'] ?? made.signature, signature)
    },
  })),
  ...callers.flatMap((caller) => [
    ...kinds.map((kind) => ({ title: `${caller.profile}: a request ${kind.title} is accepted`, run: accepted(caller, kind) })),
    { title: `${caller.profile}: a Request object is accepted`, run: requestObject(caller) },
    { title: `${caller.profile}: a request that is sent a second time is refused`, run: replay(caller) },
    { title: `${caller.profile}: a clock that is 10 minutes behind is corrected with one further request`, run: wrongClock(caller) },
  ]),
]

function accepted(caller: Caller, { path = '/echo', init, bytes, contentType }: RequestKind): SignerCase['run'] {
  return async (app) => {
    const api = signedFetch(await caller.options(app))
    const response = await api(app.url + path, init?.())
    if (response.status !== 200) throw new Error(`status ${response.status} ${await response.text()}`)
    const echo = (await response.json()) as Echo
    const arrived = bytes === undefined ? new Uint8Array(0) : bytes()
    if (arrived !== undefined) equal(`${echo.bytes} ${echo.sha256}`, `${arrived.length} ${await sha256(arrived)}`)
    if (contentType !== undefined && !contentType.test(echo.contentType ?? '')) throw new Error(`the type is ${echo.contentType}`)
    equal(echo.sub, '7')
  }
}

function requestObject(caller: Caller): SignerCase['run'] {
  return async (app) => {
    const request = new Request(`${app.url}/echo?a=1`, { method: 'POST', body: text, headers: { 'content-type': 'application/json' } })
    const response = await signedFetch(await caller.options(app))(request)
    equal(response.status, 200)
    const { sha256: digest, target } = (await response.json()) as Echo
    equal(`${target} ${digest}`, `/echo?a=1 ${await sha256(utf8(text))}`)
  }
}

function replay(caller: Caller): SignerCase['run'] {
  return async (app) => {
    const { keyId, token, ...options } = await caller.options(app)
    const authorization = `Bearer ${token}`
    const request = { method: 'GET', url: `${app.url}/echo`, keyId }
    const signed =
      options.profile === 'rfc9421'
        ? await createHeaders({ profile: 'rfc9421', ...request, authorization, ...(options as Rfc9421Credential) })
        : await createHeaders({ ...request, secret: options.secret })
    const send = async (): Promise<number> =>
      (await fetch(request.url, { headers: { ...signed, authorization, 'x-sig-timezone': timezone } })).status
    equal(await send(), 200)
    equal(await send(), 401)
  }
}

function wrongClock(caller: Caller): SignerCase['run'] {
  return async (app) => {
    const sent: { readonly status: number; readonly nonce: string | undefined }[] = []
    const send: typeof fetch = async (input, init) => {
      const response = await fetch(input, init)
      const headers = new Headers(init?.headers)
      const nonce = headers.get('x-sig-nonce') ?? /nonce="([^"]+)"/.exec(headers.get('signature-input') ?? '')?.[1]
      sent.push({ status: response.status, nonce })
      return response
    }
    const api = signedFetch(await caller.options(app, { fetch: send, now: () => Date.now() - 600_000 }))
    equal((await api(`${app.url}/echo`, { method: 'POST', body: text })).status, 200)
    equal((await api(`${app.url}/echo`)).status, 200)
    equal(sent.map(({ status }) => status).join(), '401,200,200')
    equal(new Set(sent.map(({ nonce }) => nonce)).size, 3)
  }
}

async function sha256(bytes: Uint8Array): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>))
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function equal(found: unknown, expected: unknown): void {
  if (found !== expected) throw new Error(`found ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`)
}
