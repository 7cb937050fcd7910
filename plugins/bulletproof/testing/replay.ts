import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { Plugin } from 'zin'
import type { BulletproofOptions } from 'zin/plugins/bulletproof'
import { bulletproof } from 'zin/plugins/bulletproof'
import { jwt, tokensService } from 'zin/plugins/jwt'
import { createHeaders } from 'zin/signer'
import { createTestHost, type FakeClock, type TestHost } from 'zin/testing'
import { appKey, sharedSecret } from './app.js'

export interface AheadBackend {
  readonly plugins: () => readonly Plugin[]
  readonly options?: Partial<BulletproofOptions>
  readonly env?: Readonly<Record<string, string>>
}

/** One process of an app with a signed route; its folder and its tokens outlive it. */
export function bootAt(rootDir: string, clock: FakeClock, { plugins, options = {}, env = {} }: AheadBackend): Promise<TestHost> {
  return createTestHost({
    clock,
    rootDir,
    dataDir: join(rootDir, '.zin', 'data'),
    env: { APP_KEY: appKey, BULLETPROOF_SIGNING_SECRET: sharedSecret, ...env },
    plugins: [...plugins(), jwt(), bulletproof(options)],
    routes: [{ method: 'GET', path: '/api/me', summary: 'Me', use: ['auth', 'bulletproof'], handler: () => ({}) }],
  })
}

/** A request of a caller whose clock is ahead; `send` can be called repeatedly. */
export async function signedAhead(host: TestHost, clock: FakeClock, aheadMs: number) {
  const { token } = await host.service(tokensService).issue({ sub: '7' })
  const timestamp = clock.now() + aheadMs
  const signed = await createHeaders({ method: 'GET', url: '/api/me', keyId: 'caller', secret: sharedSecret, timestamp })
  const headers = { ...signed, authorization: `Bearer ${token}` }
  return { send: async (to: TestHost): Promise<number> => (await to.inject({ path: '/api/me', headers })).status }
}

/**
 * Sends requests dated up to 59 s ahead, makes the store lose its nonces, and sends them again immediately, at +61 s and at +119 s: all
 * copies must be refused, including concurrent ones, and new requests must be accepted.
 */
export async function assertNeverTwice(clock: FakeClock, start: TestHost, forget: () => Promise<TestHost>): Promise<void> {
  const captured = await Promise.all([-300, 0, 1, 400, 600, 1_500, 30_000, 59_000].map((ms) => signedAhead(start, clock, ms)))
  for (const request of captured) assert.equal(await request.send(start), 200)
  const began = clock.now()
  const again = await forget()
  for (const after of [0, 500, 1_100, 30_000, 58_999, 59_001, 61_000, 119_000]) {
    clock.set(began + after)
    for (const request of captured)
      assert.deepEqual(await Promise.all([request.send(again), request.send(again)]), [401, 401], `${after} ms later`)
    if (after >= 1_100) assert.equal(await (await signedAhead(again, clock, 0)).send(again), 200)
  }
  // Requests that are accepted soon after the birth of the store are stored as well.
  const late = await signedAhead(again, clock, 59_000)
  const copies = await Promise.all(Array.from({ length: 20 }, () => late.send(again)))
  assert.equal(copies.filter((status) => status === 200).length, 1)
}
