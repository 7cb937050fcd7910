import { createHmac, createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import type { httpbis } from 'http-message-signatures'
import type { Context, Middleware } from 'koa'
import { captureBody, definePlugin } from 'zin'
import { jwt, tokensService } from 'zin/plugins/jwt'
import {
  checkBindings,
  checkBody,
  checkFreshness,
  checkMac,
  decoyKey,
  publicSigningKey,
  readSignature,
  type SigningKey,
  signatureHeaderNames,
  signedTarget,
  signingKey,
} from 'zin/signing'
import { createTestHost, type TestHost } from 'zin/testing'
import type { Credential, MessageCredential } from '../attack/kit.js'
import { withOwnKey, withSecret } from '../attack/message.js'

/**
 * The weakness of a server that accepts RFC 9421: it relies on a `library` alone, does not compare the `mac`, accepts a public `key` as a
 * secret, stores no `nonce`, or does not `pin` devices.
 */
export type MessageWeakness = 'library' | 'mac' | 'key' | 'nonce' | 'pin'

const names = signatureHeaderNames()
const secrets: Readonly<Record<string, string>> = {
  dev_v1: 'secret-of-v1-0123456789abcdefghij',
  dev_message: 'secret-of-messages-0123456789abcd',
}
const keyed = 'dev_keyed'

/**
 * A listening app that checks both profiles itself, with the given weaknesses, and the credentials of its callers.
 *
 * @param library the function that the weakness `library` calls.
 */
export async function startWeakMessages(
  library: typeof httpbis.verifyMessage,
  ...weaknesses: readonly MessageWeakness[]
): Promise<{ readonly host: TestHost; readonly me: Credential; readonly messages: readonly MessageCredential[] }> {
  const weak = new Set(weaknesses)
  const { privateKey, publicKey: key } = generateKeyPairSync('ed25519')
  const { x: publicKey = '' } = key.export({ format: 'jwk' })
  const keysOf = (id: string): readonly SigningKey[] => {
    if (id === keyed) return [publicSigningKey(publicKey), ...(weak.has('key') ? [signingKey(publicKey)] : [])]
    return secrets[id] === undefined ? [] : [signingKey(secrets[id])]
  }
  const check = weak.has('library') ? byLibrary(library, publicKey) : byHand(weak, keysOf)

  const weakAuth = definePlugin({
    name: 'weak-auth',
    version: '1.0.0',
    uses: { tokens: tokensService },
    setup: ({ middleware, services }) => middleware({ key: 'weak', handler: guard(check, (token) => services.tokens.verify(token)) }),
  })
  const host = await createTestHost({
    listen: true,
    env: { APP_KEY: 'weak-app-key-0123456789abcdefghij' },
    plugins: [jwt(), weakAuth()],
    routes: [{ method: 'POST', path: '/api/notes', summary: 'Notes', use: ['weak'], body: { type: 'object' }, handler: () => ({}) }],
  })
  const tokenOf = async (deviceId: string): Promise<string> => (await host.service(tokensService).issue({ sub: '7', deviceId })).token
  const credential = async (keyId: string): Promise<Credential> => ({ keyId, secret: secrets[keyId] ?? '', token: await tokenOf(keyId) })
  const messages = [withSecret(await credential('dev_message')), withOwnKey(keyed, await tokenOf(keyed), privateKey, publicKey)]
  return { host, me: await credential('dev_v1'), messages }
}

type Claims = Readonly<Record<string, unknown>>
type Check = (ctx: Context, claims: Claims) => Promise<boolean>

function guard(check: Check, verifyToken: (token: string) => Claims): Middleware {
  return async (ctx, next) => {
    try {
      const claims = verifyToken(/^Bearer (\S+)$/.exec(ctx.get('authorization'))?.[1] ?? '')
      if (await check(ctx, claims)) return await next()
    } catch {
      // Every fault causes the same refusal.
    }
    ctx.status = 401
    ctx.set('WWW-Authenticate', 'Bearer')
    ctx.body = { error: 'Unauthorized' }
  }
}

/** All checks, except for the weaknesses. */
function byHand(weak: ReadonlySet<MessageWeakness>, keysOf: (id: string) => readonly SigningKey[]): Check {
  const used = new Set<string>()
  const pinned = new Set([keyed])
  const decoy = decoyKey()
  return async (ctx, claims) => {
    const claim = readSignature(ctx.req.rawHeaders, names)
    if (!claim.ok || checkFreshness(claim, Date.now(), 60_000) !== undefined || checkBindings(claim, claims) !== undefined) return false
    const found = checkMac(ctx.method, signedTarget(ctx.originalUrl), claim, keysOf(claim.keyId), decoy)
    if ('ok' in found && !weak.has('mac')) return false
    if (claim.profile === 'v1' && pinned.has(claim.keyId) && !weak.has('pin')) return false
    if (checkBody(claim, await captureBody(ctx)) !== undefined) return false
    const nonce = `${claim.keyId} ${claim.nonce}`
    if (used.has(nonce) && !weak.has('nonce')) return false
    used.add(nonce)
    if (claim.profile === 'rfc9421') pinned.add(claim.keyId)
    return true
  }
}

/** The result of a library for a message, and the checks of v1 for its one device; nothing else is checked. */
function byLibrary(verifyMessage: typeof httpbis.verifyMessage, publicKey: string): Check {
  const v1 = byHand(new Set(), (id) => (secrets[id] === undefined ? [] : [signingKey(secrets[id])]))
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' })
  const keyLookup = async ({ keyid = '' }: { readonly keyid?: string }) => ({
    verify: async (base: Buffer, signature: Buffer) =>
      keyid === keyed
        ? verify(null, base, key, signature)
        : createHmac('sha256', secrets[keyid] ?? '')
            .update(base)
            .digest()
            .equals(signature),
  })
  return async (ctx, claims) => {
    if (ctx.get('signature-input') === '') return v1(ctx, claims)
    const headers = Object.fromEntries(Object.entries(ctx.req.headers).map(([name, value]) => [name, String(value)]))
    const request = { method: ctx.method, url: `http://${ctx.get('host')}${ctx.originalUrl}`, headers }
    return (await verifyMessage({ keyLookup, tolerance: 60 }, request)) === true
  }
}
