import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { tokensService } from 'zin/plugins/jwt'
import { type Sending, sharedSecret, type TestApp } from './app.js'

const uaHash = createHash('sha256').update('tests/1').digest('hex')

/** A request whose outcome depends on one layer. */
export interface Case {
  readonly layer: number
  readonly title: string
  readonly make: (app: TestApp) => Promise<Sending> | Sending
}

export const passing: readonly Case[] = [
  { layer: 1, title: 'a bearer token in any case of the scheme', make: ({ token }) => ({ headers: { authorization: `bearer ${token}` } }) },
  {
    layer: 2,
    title: 'a token while another one of the same user is revoked',
    make: async (app) => {
      const tokens = app.service(tokensService)
      await tokens.revoke((await tokens.issue({ sub: '7' })).claims)
      return {}
    },
  },
  { layer: 3, title: 'the five headers', make: () => ({}) },
  { layer: 4, title: 'a timestamp at the end of the window', make: () => ({ skew: 60_000 }) },
  { layer: 5, title: 'a new nonce', make: () => ({ nonce: 'a-nonce-of-its-own' }) },
  { layer: 6, title: 'a body and a query', make: () => ({ method: 'POST', path: '/api/notes?a=1&b=%20', body: '{"text":"hé"}' }) },
  { layer: 7, title: 'a token without the claim deviceId', make: async (app) => ({ token: await app.tokenWith({ deviceId: undefined }) }) },
  {
    layer: 8,
    title: 'the time zone of the claim',
    make: async (app) => ({ token: await app.tokenWith({ tz: 'Europe/Paris' }), headers: { 'x-sig-timezone': 'Europe/Paris' } }),
  },
  {
    layer: 9,
    title: 'the user agent of the claim',
    make: async (app) => ({ token: await app.tokenWith({ uaHash }), headers: { 'user-agent': 'tests/1' } }),
  },
]

export const failing: readonly Case[] = [
  { layer: 1, title: 'no token', make: () => ({ token: undefined }) },
  { layer: 1, title: 'a token with another scheme', make: ({ token }) => ({ headers: { authorization: `Basic ${token}` } }) },
  { layer: 1, title: 'a changed token', make: ({ token }) => ({ token: `${token.slice(0, -4)}AAAA` }) },
  {
    layer: 2,
    title: 'a revoked token',
    make: async (app) => {
      const tokens = app.service(tokensService)
      const { token, claims } = await tokens.issue({ sub: '7', deviceId: app.deviceId })
      await tokens.revoke(claims)
      return { token }
    },
  },
  { layer: 3, title: 'no signature', make: () => ({ headers: { 'x-sig-signature': undefined } }) },
  { layer: 3, title: 'a malformed nonce', make: () => ({ headers: { 'x-sig-nonce': 'short' } }) },
  { layer: 3, title: 'an overridden method', make: () => ({ headers: { 'x-http-method-override': 'DELETE' } }) },
  { layer: 4, title: 'a timestamp that is too old', make: () => ({ skew: -60_001 }) },
  { layer: 4, title: 'a timestamp too far ahead', make: () => ({ skew: 60_001 }) },
  { layer: 5, title: 'a request older than the nonce store', make: () => ({ skew: -1_000 }) },
  {
    layer: 5,
    title: 'a used nonce',
    make: async (app) => {
      const nonce = crypto.randomUUID()
      assert.equal((await app.send({ nonce })).status, 200)
      return { nonce, skew: 5 }
    },
  },
  { layer: 6, title: 'a signature with another secret', make: () => ({ secret: 'another-secret' }) },
  { layer: 6, title: 'the shared secret in the name of a device', make: () => ({ secret: sharedSecret }) },
  {
    layer: 6,
    title: 'a changed query',
    make: async (app) => ({ path: '/api/me?a=2', headers: pick(await app.headersOf({ path: '/api/me?a=1' })) }),
  },
  {
    layer: 6,
    title: 'a changed method',
    make: async (app) => ({ headers: pick(await app.headersOf({ method: 'POST', path: '/api/alone' })) }),
  },
  {
    layer: 6,
    title: 'a changed body',
    make: async (app) => ({
      method: 'POST',
      path: '/api/notes',
      body: '{"a":2}',
      headers: pick(await app.headersOf({ method: 'POST', path: '/api/notes', body: '{"a":1}' })),
    }),
  },
  { layer: 7, title: 'no device id', make: () => ({ headers: { 'x-sig-device-id': undefined } }) },
  { layer: 7, title: 'another device id', make: () => ({ headers: { 'x-sig-device-id': 'dev_other' } }) },
  { layer: 7, title: 'the token of another device', make: async (app) => ({ token: await app.tokenWith({ deviceId: 'dev_other' }) }) },
  {
    layer: 7,
    title: 'a borrowed token without the claim deviceId',
    make: async (app) => ({ token: await app.tokenWith({ sub: '8', deviceId: undefined }) }),
  },
  {
    layer: 8,
    title: 'another time zone',
    make: async (app) => ({ token: await app.tokenWith({ tz: 'Europe/Paris' }), headers: { 'x-sig-timezone': 'Asia/Tokyo' } }),
  },
  { layer: 8, title: 'no time zone', make: async (app) => ({ token: await app.tokenWith({ tz: 'Europe/Paris' }) }) },
  {
    layer: 9,
    title: 'another user agent',
    make: async (app) => ({ token: await app.tokenWith({ uaHash }), headers: { 'user-agent': 'tests/2' } }),
  },
  { layer: 9, title: 'no user agent', make: async (app) => ({ token: await app.tokenWith({ uaHash }) }) },
]

/** The signature of one request, for use on another. */
function pick(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('x-sig-')))
}
