import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { tokensService } from 'zin/plugins/jwt'
import { signatureHeaderNames } from 'zin/signing'
import { type Plant, plantedEnv, startPlantedApp, users } from '../testing/planted-app.js'
import { attackApp } from './attack-app.js'
import { findCredentials } from './credentials.js'
import { identityAttacks } from './families/identity.js'
import { messageAttacks } from './families/message.js'
import { sessionAttacks } from './families/session.js'
import { tokenAttacks } from './families/token.js'
import type { KitParts } from './kit.js'
import type { Finding } from './run.js'

const [email, otherEmail] = Object.keys(users) as (keyof typeof users)[]
const attacks = [
  ...identityAttacks,
  ...tokenAttacks,
  ...sessionAttacks,
  ...messageAttacks.filter(({ name }) => name === 'message:other-key'),
]

/** The findings of a user with a password and the folder of the app, in the real app with one hole. */
async function findingsWith(plant?: Plant): Promise<readonly Finding[]> {
  const { host, clock } = await startPlantedApp(plant)
  const signal = new AbortController().signal
  const mint: KitParts['mint'] = async (claims, options) => (await host.service(tokensService).issue(claims, options)).token
  try {
    const origin = new URL(host.url)
    const options = { email, 'password-env': 'PASSWORD', 'other-email': otherEmail, 'other-password-env': 'OTHER' }
    const env = { ...plantedEnv, PASSWORD: users['ada@example.com'], OTHER: users['bob@example.com'] }
    const credentials = await findCredentials({ origin, options: options as never, env, headerPrefix: 'x-sig-', mint, signal })
    try {
      const report = await attackApp({
        ...credentials,
        origin,
        attacks,
        mint,
        signal,
        target: { method: 'GET', path: '/api/me', body: undefined, contentType: 'application/json' },
        names: signatureHeaderNames(),
        signedPathPrefix: '',
        signedAuthority: '',
        windowMs: 60_000,
        patient: false,
        now: () => clock.now(),
        pause: async (ms) => clock.advance(ms),
        timeoutMs: 5_000,
      })
      assert.ok('findings' in report, JSON.stringify(report))
      return report.findings
    } finally {
      await credentials.end()
    }
  } finally {
    await host.stop()
  }
}

describe('auth:attack detects in the real app', () => {
  const cases: readonly (readonly [title: string, plant: Plant, holes: readonly string[]])[] = [
    ['a revocation that is not checked', 'revocation', ['session:revoked-token', 'message:revoked-token']],
    ['a key id that is not compared with the device id', 'key', ['key:of-another']],
    ['an audience that is not compared', 'audience', ['jwt:audience']],
    ['an issuer that is not compared', 'issuer', ['jwt:issuer']],
    ['an expiry that is checked only for tokens seen before', 'expiry', ['jwt:expired']],
    ['a not-before time that is not compared', 'not-before', ['jwt:not-yet']],
    ['a removed device that falls back to the shared secret', 'tombstone', ['session:removed-device-shared']],
  ]
  for (const [title, plant, holes] of cases) {
    it(`${title}, and nothing else`, async () => {
      const found = (await findingsWith(plant)).filter(({ verdict }) => verdict !== 'safe')
      assert.deepEqual(
        found.map(({ attack, verdict }) => `${verdict} ${attack}`),
        holes.map((name) => `hole ${name}`),
      )
    })
  }

  it('nothing without a hole, and skips no attack', async () => {
    assert.deepEqual(
      (await findingsWith()).filter(({ verdict }) => verdict !== 'safe'),
      [],
    )
  })
})
