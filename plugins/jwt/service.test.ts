import assert from 'node:assert/strict'
import { createHmac, createSecretKey, generateKeyPairSync } from 'node:crypto'
import { describe, it } from 'node:test'
import jsonwebtoken from 'jsonwebtoken'
import { issuedAtMs } from './jti.js'
import { type KeyMaterial, readKeys } from './keys.js'
import { memoryRevocations } from './revocations.js'
import { createTokens, type TokenRules } from './service.js'

const secret = 'a-secret-of-at-least-thirty-two-bytes'
const start = 1_763_690_000_500
const second = start - (start % 1000)

function setUp(rules: Partial<TokenRules> = {}, material: Partial<KeyMaterial> = {}) {
  const time = { now: start }
  const clock = { now: () => time.now, monotonic: () => time.now }
  const keys = readKeys({ algorithm: 'HS256', secret, appKey: '', privateKey: '', publicKey: '', production: true, ...material })
  const revocations = memoryRevocations(clock)
  const all = { issuer: 'app', audience: 'app', expiresIn: 3600, maxLifetime: 86_400, ...rules }
  return {
    time,
    keys,
    tokens: createTokens({
      keys,
      rules: all,
      revocations,
      formerSince: () => start,
      userRevoked: async () => undefined,
      accessEnded: async () => undefined,
      isStarted: () => true,
      clock,
    }),
  }
}

const base = { iss: 'app', aud: 'app', jti: 'some-id', sub: 'u1', iat: second / 1000, exp: second / 1000 + 60 }

function forge(payload: object, header: object = {}, key: string | Buffer = secret): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${part({ alg: 'HS256', typ: 'JWT', ...header })}.${part(payload)}`
  return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
}

describe('tokens', () => {
  it('issues tokens with their claims and the registered ones, which the caller cannot override', async () => {
    const { tokens } = setUp()
    const { token, claims } = await tokens.issue({ sub: 7, email: 'a@b.c', role: undefined, iss: 'evil', exp: 1, jti: 'mine' })
    assert.deepEqual(tokens.verify(token), claims)
    assert.deepEqual(
      { ...claims, jti: '' },
      { sub: 7, email: 'a@b.c', iss: 'app', aud: 'app', jti: '', iat: second / 1000, exp: second / 1000 + 3600 },
    )
    assert.equal(issuedAtMs(claims), start)
  })

  it('accepts a token of another issuer that shares the secret, with or without a key id', () => {
    const { tokens, keys } = setUp()
    assert.equal(tokens.verify(forge(base)).sub, 'u1')
    assert.equal(tokens.verify(forge(base, { kid: keys.kid })).sub, 'u1')
  })

  it('accepts tokens of a previous master key until one that was signed before the rotation would have ended', () => {
    const earlier = 'an-earlier-master-key-of-over-32-bytes'
    const old = setUp({}, { secret: '', appKey: earlier })
    const { keys, tokens, time } = setUp({ maxLifetime: 3600 }, { secret: '', appKey: secret, earlierAppKeys: [earlier] })
    const forged = (iat: number) => forge({ ...base, iat, exp: iat + 3600 }, { kid: old.keys.kid }, old.keys.signing?.export())
    assert.equal(tokens.verify(forged(base.iat)).sub, 'u1')
    assert.ok(keys.former.has(old.keys.kid))
    time.now += 120_000
    assert.throws(() => tokens.verify(forged(base.iat + 120)), { message: /its key was replaced|Unauthorized/i })
    assert.equal(tokens.verify(forged(base.iat)).sub, 'u1')
    assert.equal(tokens.verify(forge({ ...base, iat: base.iat + 120, exp: base.iat + 3720 }, {}, keys.signing?.export())).sub, 'u1')
  })

  it('accepts an nbf within the leeway of iat', () => {
    const { tokens } = setUp()
    assert.equal(tokens.verify(forge({ ...base, nbf: base.iat + 60 })).sub, 'u1')
  })

  it('checks the times of a cached token on each call, and returns a copy of the claims', () => {
    const { tokens, time } = setUp()
    const later = forge({ ...base, nbf: base.iat + 70 })
    assert.throws(() => tokens.verify(later))
    time.now += 10_000
    const first = tokens.verify(later) as unknown as { sub: string; aud: string }
    first.sub = 'somebody else'
    assert.equal(tokens.verify(later).sub, 'u1')
    assert.throws(() => tokens.verify(later, start))
    assert.throws(() => tokens.verify(`${later.slice(0, -2)}AA`))
    time.now = base.exp * 1000 - 1
    assert.equal(tokens.verify(later).sub, 'u1')
    time.now += 1
    assert.throws(() => tokens.verify(later))
  })

  const hostile: readonly [string, () => string][] = [
    ['no signature and alg none', () => jsonwebtoken.sign(base, '', { algorithm: 'none' })],
    ['another secret', () => forge(base, {}, 'another-secret-of-at-least-thirty-two-bytes')],
    ['another algorithm of the same family', () => jsonwebtoken.sign(base, createSecretKey(Buffer.from(secret)), { algorithm: 'HS512' })],
    [
      'an asymmetric algorithm',
      () => jsonwebtoken.sign(base, generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey, { algorithm: 'RS256' }),
    ],
    ['a key id that is a path', () => forge(base, { kid: '../../x' })],
    ['a key id that names a prototype', () => forge(base, { kid: '__proto__' })],
    ['a key id that is not a string', () => forge(base, { kid: { toString: 'x' } })],
    ['a key id that is null', () => forge(base, { kid: null })],
    ['critical extensions', () => forge(base, { crit: ['b64'], b64: false })],
    ['an own key in its header', () => forge(base, { jwk: { kty: 'oct', k: 'eA' } }, 'x'.repeat(32))],
    ['no exp', () => forge({ ...base, exp: undefined })],
    ['an exp that is a string', () => forge({ ...base, exp: '9999999999' })],
    ['an exp ten years ahead', () => forge({ ...base, exp: base.exp + 315_360_000 })],
    ['an exp in the past', () => forge({ ...base, exp: base.iat - 1 })],
    ['no iat', () => forge({ ...base, iat: undefined })],
    ['an iat in the future', () => forge({ ...base, iat: base.iat + 120, exp: base.iat + 180 })],
    ['an nbf beyond the leeway', () => forge({ ...base, nbf: base.iat + 61 })],
    ['an nbf that is a string', () => forge({ ...base, nbf: '1' })],
    ['another audience', () => forge({ ...base, aud: 'other' })],
    ['no audience', () => forge({ ...base, aud: undefined })],
    ['another issuer', () => forge({ ...base, iss: 'other' })],
    ['no issuer', () => forge({ ...base, iss: undefined })],
    ['no jti', () => forge({ ...base, jti: undefined })],
    ['a jti of 129 characters', () => forge({ ...base, jti: 'x'.repeat(129) })],
    ['a sub that is an object', () => forge({ ...base, sub: { $ne: '' } })],
    ['more than 8 KiB', () => forge({ ...base, pad: 'x'.repeat(8192) })],
    ['a payload that is a list', () => forge([base])],
    ['a payload that is not JSON', () => 'eyJhbGciOiJIUzI1NiJ9.eA.eA'],
    ['a header that is null', () => `${Buffer.from('null').toString('base64url')}.e30.eA`],
    ['two parts', () => forge(base).split('.').slice(0, 2).join('.')],
    ['nothing', () => ''],
  ]
  for (const [what, make] of hostile) {
    it(`S14: refuses a token with ${what}`, () => {
      assert.throws(() => setUp().tokens.verify(make()), { name: 'ZinError', status: 401, code: 'UNAUTHORIZED', message: 'Unauthorized' })
    })
  }

  it('S14: refuses an HS256 token signed with the public key of an RS256 app', () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    })
    const { tokens } = setUp({}, { algorithm: 'RS256', privateKey })
    assert.throws(() => tokens.verify(forge(base, {}, publicKey)), { status: 401 })
  })

  for (const algorithm of ['RS256', 'ES256', 'EdDSA'] as const) {
    it(`issues and verifies ${algorithm} tokens, and only verifies them without the private key`, async () => {
      const pair =
        algorithm === 'RS256'
          ? generateKeyPairSync('rsa', { modulusLength: 2048 })
          : algorithm === 'ES256'
            ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
            : generateKeyPairSync('ed25519')
      const privateKey = String(pair.privateKey.export({ type: 'pkcs8', format: 'pem' }))
      const publicKey = String(pair.publicKey.export({ type: 'spki', format: 'pem' }))
      const { token } = await setUp({}, { algorithm, privateKey }).tokens.issue({ sub: 'u1' })
      const checking = setUp({}, { algorithm, publicKey }).tokens
      assert.equal(checking.verify(token).sub, 'u1')
      await assert.rejects(checking.issue({ sub: 'u1' }), { code: 'JWT_KEY_MISSING' })
    })
  }

  it('accepts tokens of a previous secret by their key id, and refuses those of a removed secret', async () => {
    const old = 'an-earlier-secret-of-more-than-32-bytes'
    const { token } = await setUp({}, { secret: old }).tokens.issue({ sub: 'u1' })
    const { tokens, keys } = setUp({}, { earlierSecrets: [old] })
    assert.equal(tokens.verify(token).sub, 'u1')
    assert.equal(tokens.verify((await tokens.issue({ sub: 'u2' })).token).sub, 'u2')
    const kid = setUp({}, { secret: old }).keys.kid
    for (const [name, forged] of [
      ['no key id', forge(base, {}, old)],
      ['the id of the current key', forge(base, { kid: keys.kid }, old)],
      ['the id of the previous key', forge(base, { kid })],
    ] as const)
      assert.throws(() => tokens.verify(forged), { status: 401 }, name)
    assert.throws(() => setUp().tokens.verify(token), { status: 401 })
  })

  it('expires a token at its exp, and refuses to issue one with an excessive lifetime', async () => {
    const { tokens, time } = setUp()
    const { token } = await tokens.issue({ sub: 'u1' }, { expiresInSeconds: 10 })
    time.now = second + 9_999
    tokens.verify(token)
    time.now = second + 10_000
    assert.throws(() => tokens.verify(token), { status: 401 })
    for (const expiresInSeconds of [86_401, 0, -1, Number.NaN]) {
      await assert.rejects(tokens.issue({}, { expiresInSeconds }), { code: 'JWT_LIFETIME_INVALID' })
    }
  })

  it('revokes only the given token', async () => {
    const { tokens } = setUp()
    const [one, other] = [await tokens.issue({ sub: 'u1' }), await tokens.issue({ sub: 'u1' })]
    await tokens.revoke(one.claims)
    assert.deepEqual([await tokens.isRevoked(one.claims), await tokens.isRevoked(other.claims)], [true, false])
    assert.deepEqual([tokens.isRevokedBy(one.claims, []), tokens.isRevokedBy(other.claims, [])], [true, false])
  })

  it('S24: revokes every earlier token of a user, but not one issued a millisecond later', async () => {
    const { tokens, time } = setUp()
    const [mine, foreign] = [await tokens.issue({ sub: 42 }), await tokens.issue({ sub: 43 })]
    await tokens.revokeUser('42')
    time.now += 1
    const later = await tokens.issue({ sub: 42 })
    assert.deepEqual(await Promise.all([mine, foreign, later].map(({ claims }) => tokens.isRevoked(claims))), [true, false, false])
  })

  it('treats a token of another issuer as issued at the start of its second', async () => {
    const { tokens } = setUp()
    await tokens.revokeUser('u1')
    assert.equal(await tokens.isRevoked(tokens.verify(forge(base))), true)
    assert.equal(await tokens.isRevoked(tokens.verify(forge({ ...base, iat: base.iat + 1 }))), false)
  })

  it('deletes a revocation once the token has expired', async () => {
    const { tokens, time } = setUp()
    const { claims } = await tokens.issue({ sub: 'u1' }, { expiresInSeconds: 10 })
    await tokens.revoke(claims)
    time.now = (claims.exp + 59) * 1000
    assert.equal(await tokens.isRevoked(claims), true)
    time.now = (claims.exp + 61) * 1000
    assert.equal(await tokens.isRevoked(claims), false)
  })
})
