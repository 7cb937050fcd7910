import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { httpbis } from 'http-message-signatures'
import { devicesService } from 'zin/plugins/bulletproof'
import { tokensService } from 'zin/plugins/jwt'
import { canonicalRequest, signatureHeaderNames } from 'zin/signing'
import { createTestHost, fakeClock, type TestHost } from 'zin/testing'
import { withApp } from '../testing/app.js'
import { startWeakApp, type Weakness, weakKeyId, weakSecret } from '../testing/weak-app.js'
import { type MessageWeakness, startWeakMessages } from '../testing/weak-messages.js'
import { type AttackOptions, type AttackReport, attackApp } from './attack-app.js'
import { attacks } from './attacks.js'
import { messageAttacks } from './families/message.js'
import { sessionAttacks } from './families/session.js'
import type { KitParts, Target } from './kit.js'
import { withOwnKey, withSecret } from './message.js'
import type { Finding } from './run.js'

const me: Target = { method: 'GET', path: '/api/me', body: undefined, contentType: 'application/json' }
const notes: Target = { method: 'POST', path: '/api/notes', body: '{"text":"hello 1"}', contentType: 'application/json' }

const usual = {
  attacks,
  names: signatureHeaderNames(),
  signedPathPrefix: '',
  signedAuthority: '',
  windowMs: 60_000,
  patient: false,
  shared: false,
  now: () => Date.now(),
  pause: (ms: number) => delay(ms),
  signal: new AbortController().signal,
  timeoutMs: 5_000,
} satisfies Partial<AttackOptions>

function findingsOf(report: AttackReport): readonly Finding[] {
  assert.ok('findings' in report, JSON.stringify(report))
  return report.findings
}

function holesOf(findings: readonly Finding[]): readonly string[] {
  return findings.filter(({ verdict }) => verdict === 'hole').map(({ attack }) => attack)
}

function notSafe(findings: readonly Finding[]): readonly Finding[] {
  return findings.filter(({ verdict }) => verdict !== 'safe')
}

/** Checks only the time and the signature of GET /api/me. */
async function startNaiveServer(): Promise<Server> {
  const server = createServer((request, response) => {
    const { pathname, search } = new URL(request.url ?? '', 'http://localhost')
    const header = (name: string): string => String(request.headers[name] ?? '')
    const [timestamp, nonce, bodySha256] = ['x-sig-timestamp', 'x-sig-nonce', 'x-sig-body-sha256'].map(header) as [string, string, string]
    const text = canonicalRequest({ method: request.method ?? '', pathname, search, timestamp, nonce, bodySha256 })
    const fits = createHmac('sha256', weakSecret).update(text).digest('hex') === header('x-sig-signature')
    const fresh = Math.abs(Date.now() - Number(timestamp)) <= 60_000
    response.writeHead(fits && fresh ? (pathname === '/api/me' ? 200 : 404) : 401, { 'content-type': 'application/json' }).end('{}')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return server
}

async function weakHoles(target: Target, ...weaknesses: readonly Weakness[]): Promise<readonly Finding[]> {
  const { host, token } = await startWeakApp(...weaknesses)
  try {
    const credential = { keyId: weakKeyId, secret: weakSecret, token }
    return findingsOf(await attackApp({ ...usual, origin: new URL(host.url), target, me: credential }))
  } finally {
    await host.stop()
  }
}

describe('the attacks detect', () => {
  const cases: readonly (readonly [title: string, weaknesses: readonly Weakness[], target: Target, named: readonly string[]])[] = [
    ['an app that stores no nonces', ['nonce'], me, ['replay:again', 'replay:race']],
    ['an app that checks and stores nonces in two steps', ['race'], me, ['replay:race']],
    ['an app that does not compare the body', ['body'], notes, ['changed:body', 'body:chunked', 'body:unsigned']],
    ['an app that does not compare the body of a GET', ['body'], me, ['changed:body']],
    ['an app whose MAC omits the query', ['query'], me, ['changed:query']],
    ['an app that accepts a token without a signature', ['signature'], me, ['missing:signature-headers', 'missing:signature']],
    ['an app whose 401 reveals the reason', ['uniform'], me, ['response:uniform']],
    ['an app that does not bind the device', ['binding'], me, ['key:device-id']],
    ['an app without a window', ['window'], me, ['skew:old', 'skew:ahead']],
  ]
  for (const [title, weaknesses, target, named] of cases) {
    it(`${title}, and report it`, async () => {
      const findings = await weakHoles(target, ...weaknesses)
      const holes = holesOf(findings)
      for (const name of named) assert.ok(holes.includes(name), `${name} is not among ${holes.join(', ')}`)
      for (const { verdict, why, fix } of findings) if (verdict === 'hole') assert.ok(why && fix)
    })
  }

  it('a server that parses the target as a URL and joins repeated headers', async () => {
    const server = await startNaiveServer()
    try {
      const origin = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
      const credential = { keyId: weakKeyId, secret: weakSecret, token: 'a.b.c' }
      const holes = holesOf(findingsOf(await attackApp({ ...usual, origin, target: me, me: credential })))
      const named = ['target:dot-segments', 'target:encoded-dots', 'target:double-slash', 'target:backslash', 'target:absolute-form']
      for (const name of [...named, 'jwt:alg-none', 'twice:user-agent', 'key:device-id', 'header:method-override'])
        assert.ok(holes.includes(name), `${name} is not among ${holes.join(', ')}`)
      for (const name of ['changed:signature', 'changed:query', 'changed:method', 'missing:signature', 'skew:old'])
        assert.ok(!holes.includes(name), name)
    } finally {
      server.close()
    }
  })

  it('nothing in the same app without weaknesses', async () => {
    for (const target of [me, notes]) assert.deepEqual(holesOf(await weakHoles(target)), [])
  })
})

describe('the attacks by RFC 9421 detect', () => {
  const findingsOn = async (...weaknesses: readonly MessageWeakness[]): Promise<readonly Finding[]> => {
    const { host, me: credential, messages } = await startWeakMessages(httpbis.verifyMessage, ...weaknesses)
    try {
      const options = { ...usual, attacks: messageAttacks, origin: new URL(host.url), target: notes, me: credential, messages }
      return findingsOf(await attackApp(options))
    } finally {
      await host.stop()
    }
  }
  const cases: readonly (readonly [title: string, weakness: MessageWeakness, named: readonly string[]])[] = [
    [
      'an app that relies on a library alone',
      'library',
      [
        'dropped-component',
        'odd-components',
        'odd-parameters',
        'time',
        'changed-body',
        'several-signatures',
        'other-key',
        'both-profiles',
        'replay',
      ],
    ],
    [
      'an app that does not compare the signature',
      'mac',
      ['changed-parameters', 'changed-header', 'changed-target', 'odd-signature', 'key-confusion'],
    ],
    ['an app that accepts a public key as a secret', 'key', ['key-confusion']],
    ['an app that stores no nonces', 'nonce', ['replay']],
    ['an app that accepts v1 from a device that signed by RFC 9421', 'pin', ['downgrade']],
  ]
  for (const [title, weakness, named] of cases) {
    it(`${title}, and report it`, async () => {
      const holes = holesOf(await findingsOn(weakness))
      for (const name of named) assert.ok(holes.includes(`message:${name}`), `message:${name} is not among ${holes.join(', ')}`)
      if (weakness !== 'library' && weakness !== 'mac')
        assert.deepEqual(
          holes,
          named.map((name) => `message:${name}`),
        )
    })
  }

  it('nothing in the same app without weaknesses, and are skipped without a caller that signs so', async () => {
    assert.deepEqual(notSafe(await findingsOn()), [])
    const findings = await weakHoles(me)
    for (const { attack, verdict } of findings) if (attack.startsWith('message:')) assert.equal(verdict, 'skipped')
  })
})

/** Credentials of a device, another device of the same user, and another user. */
async function callers(host: TestHost) {
  const caller = async (userId: string) => {
    const { device, secret } = await host.service(devicesService).enroll({ userId })
    const { token } = await host.service(tokensService).issue({ sub: userId, deviceId: device.deviceId })
    return { keyId: device.deviceId, secret, token }
  }
  const mint: KitParts['mint'] = async (claims, options) => (await host.service(tokensService).issue(claims, options)).token
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const { x = '' } = publicKey.export({ format: 'jwk' })
  const { device } = await host.service(devicesService).enroll({ userId: '7', publicKey: x })
  const keyed = withOwnKey(device.deviceId, await mint({ sub: '7', deviceId: device.deviceId }), privateKey, x)
  const messages = [withSecret(await caller('7')), keyed]
  return { me: await caller('7'), second: await caller('7'), other: await caller('8'), messages, mint }
}

describe('an app with bulletproof', () => {
  for (const target of [me, notes]) {
    it(`withstands every attack on ${target.method} ${target.path}`, () => {
      const clock = fakeClock(Date.now())
      return withApp({ listen: true, clock }, async ({ host }) => {
        const pause = async (ms: number): Promise<void> => void clock.advance(ms)
        const given = await callers(host)
        clock.advance(1_000)
        const options = { ...usual, ...given, origin: new URL(host.url), target, patient: true, now: () => clock.now(), pause }
        const findings = findingsOf(await attackApp(options))
        // Attacks that need a login run against an app with one: see planted.test.ts.
        const allowed = [...(target === me ? ['header:early-data'] : []), ...sessionAttacks.map(({ name }) => name)]
        assert.deepEqual(
          notSafe(findings).filter(({ attack, verdict }) => verdict !== 'skipped' || !allowed.includes(attack)),
          [],
        )
        assert.equal(findings.length, attacks.length + 2)
      })
    })
  }

  it('withstands them from a caller with the shared secret, too', () => {
    const clock = fakeClock(Date.now())
    return withApp({ listen: true, clock }, async ({ host, tokenWith }) => {
      clock.advance(1_000)
      const credential = {
        keyId: 'zin-cli',
        secret: 'shared-canary-0123456789abcdefghijkl',
        token: await tokenWith({ deviceId: 'zin-cli' }),
      }
      const findings = findingsOf(
        await attackApp({
          ...{ ...usual, origin: new URL(host.url), target: me, me: credential, shared: true, now: () => clock.now() },
          messages: [withSecret(credential)],
        }),
      )
      assert.deepEqual(holesOf(findings), [])
      assert.deepEqual(
        notSafe(findings).filter(({ verdict }) => verdict === 'unclear'),
        [],
      )
    })
  })
})

describe('attackApp', () => {
  it('runs no attacks when the valid request is refused or nothing listens, and reports the reason', async () => {
    const host = await createTestHost({ listen: true, routes: [{ method: 'GET', path: '/x', summary: 'X', handler: () => ({}) }] })
    const credential = { keyId: 'k', secret: 's', token: 't' }
    const origin = new URL(host.url)
    try {
      const report = await attackApp({ ...usual, origin, target: me, me: credential })
      assert.match('unable' in report ? report.unable : '', /GET \/api\/me got 404.*--path/)
      const open = await attackApp({ ...usual, origin, target: { ...me, path: '/x' }, me: credential })
      const found = findingsOf(open)
      assert.ok(holesOf(found).includes('missing:everything'))
      assert.match(found.find(({ attack }) => attack === 'missing:everything')?.why ?? '', /^the route is not guarded/)
      const missing = attacks.filter(({ name }) => name.startsWith('missing:')).length
      assert.equal(found.length, missing + 1)
      assert.deepEqual(found.at(-1), {
        attack: 'response:after-all',
        verdict: 'skipped',
        seen: '',
        why: `the route is not guarded; ${attacks.length - missing} more attacks were not run`,
      })
    } finally {
      await host.stop()
    }
    const report = await attackApp({ ...usual, origin, target: me, me: credential })
    assert.match('unable' in report ? report.unable : '', /no app listens on http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\)/)
  })

  it('has unique names that begin with the family', () => {
    const names = attacks.map(({ name }) => name)
    assert.equal(new Set(names).size, names.length)
    for (const name of names) assert.match(name, /^[a-z]+:[a-z0-9-]+$/)
  })
})
