import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { jwt, tokensService } from 'zin/plugins/jwt'
import { sha256Hex } from 'zin/signing'
import { createTestHost } from 'zin/testing'
import { parseDuration } from './duration.js'

const key = 'app-key-canary-0123456789abcdefghijk'

interface Run {
  readonly code: number
  readonly out: string
  readonly record: Readonly<Record<string, unknown>>
}

/** Runs jwt:dev in one host and verifies the token in another host with the same settings. */
async function dev(options: Readonly<Record<string, unknown>>, env: Readonly<Record<string, string>> = { APP_KEY: key }) {
  const [maker, other] = await Promise.all([1, 2].map(() => createTestHost({ env, plugins: [jwt()] })))
  try {
    assert.ok(maker && other)
    const command = maker.host.commands().find((entry) => entry.command.name === 'jwt:dev')?.command
    assert.equal(command?.needs, 'config')
    const run = async (json: boolean): Promise<Run> => {
      const out: string[] = []
      let record = {}
      const print = {
        json,
        line: (text: string) => void out.push(text),
        error: (text: string) => void out.push(text),
        record: (value: object) => void (record = value),
      }
      const code = await command?.run({ options: { sub: '1', ...options }, print, host: maker.host.view } as never)
      return { code: code ?? 0, out: out.join('\n'), record }
    }
    const plain = await run(false)
    const json = await run(true)
    const verified = plain.code === 0 ? other.service(tokensService).verify(plain.out) : undefined
    return { plain, json, verified }
  } finally {
    await maker?.stop()
    await other?.stop()
  }
}

describe('zin jwt:dev', () => {
  it('creates a token that another process with the same key accepts, with every claim as a string', async () => {
    const given = {
      sub: '007',
      email: 'a@example.com',
      role: 'admin',
      'device-id': 'dev_1',
      tz: 'Europe/Paris',
      ua: 'tests/1',
      expires: '15m',
    }
    const { plain, verified } = await dev(given)
    const { iat = 0, exp = 0, iss, aud, jti, ...claims } = verified ?? {}
    assert.deepEqual(claims, {
      sub: '007',
      email: 'a@example.com',
      role: 'admin',
      deviceId: 'dev_1',
      tz: 'Europe/Paris',
      uaHash: sha256Hex('tests/1'),
    })
    assert.deepEqual([Number(exp) - Number(iat), iss, aud, typeof jti], [900, 'zin-app', 'zin-app', 'string'])
    assert.match(plain.out, /^[\w-]+\.[\w-]+\.[\w-]+$/)
  })

  it('omits claims without an option, and has the default lifetime', async () => {
    const { json } = await dev({}, { APP_KEY: key, JWT_EXPIRES_IN: '120' })
    const { token, payload, issuedAt, expiresAt, ...rest } = json.record as { payload: Record<string, number>; [key: string]: unknown }
    assert.deepEqual(rest, { algorithm: 'HS256', expiresIn: 120 })
    assert.deepEqual(Object.keys(payload).sort(), ['aud', 'exp', 'iat', 'iss', 'jti', 'sub'])
    assert.deepEqual(
      [Date.parse(String(issuedAt)), Date.parse(String(expiresAt))],
      [Number(payload.iat) * 1000, Number(payload.exp) * 1000],
    )
    assert.equal(typeof token, 'string')
  })

  it('is refused in production, without a key, and for an invalid or excessive lifetime', async () => {
    for (const NODE_ENV of ['production', 'prod', 'Production', 'prodution'])
      await assert.rejects(dev({}, { APP_KEY: key, NODE_ENV }), { code: 'JWT_DEV_IN_PRODUCTION', message: /refused in production/ })
    await assert.rejects(dev({}, {}), { code: 'JWT_DEV_NO_KEY', message: /JWT_SECRET nor APP_KEY/ })
    await assert.rejects(dev({ expires: '9999d' }), { code: 'JWT_LIFETIME_INVALID' })
    const { plain } = await dev({ expires: '1 week' })
    assert.equal(plain.code, 2)
    assert.match(plain.out, /--expires must be a number of seconds.*"1 week"/)
  })
})

describe('a duration', () => {
  it('is a number of seconds, or a number with a unit', () => {
    const texts = ['90', '90s', '15m', '12h', '7d', '0', '', '-1', '1.5h', '1w', '5 m', '1e3', '99999999999']
    assert.deepEqual(texts.map(parseDuration), [90, 90, 900, 43_200, 604_800, ...Array<undefined>(8).fill(undefined)])
  })
})
