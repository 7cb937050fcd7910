import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { signatureHeaderNames } from './canonical.js'
import { createHeaders } from './client.js'
import { decoyKey, sha256Hex, signingKey } from './key.js'
import {
  checkBindings,
  checkBody,
  checkFence,
  checkFreshness,
  checkMac,
  checkOwner,
  isSigned,
  padKeys,
  readSignature,
  type SignatureClaim,
  signedTarget,
} from './verifier.js'

const names = signatureHeaderNames()
const secret = 'test-secret-0123456789abcdef'
const sent = { method: 'POST', url: '/v1/orders?a=1&b=2', body: '{"a":1}', keyId: 'dev_1', secret, timestamp: 1763690000000 }

async function rawHeaders(change: Readonly<Record<string, string | undefined>> = {}): Promise<string[]> {
  const headers = { ...(await createHeaders(sent)), 'User-Agent': 'tests', ...change }
  return Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [name, value]))
}

async function claim(change: Readonly<Record<string, string | undefined>> = {}): Promise<SignatureClaim> {
  const read = readSignature(await rawHeaders(change), names)
  assert.ok(read.ok)
  return read
}

describe('reading the signature headers (layer 3)', () => {
  it('reads the five headers and the optional ones', async () => {
    const read = await claim({ 'X-Sig-Timezone': 'Europe/Paris' })
    assert.deepEqual(
      [read.keyId, read.deviceId, read.timestamp, read.timezone, read.userAgent],
      ['dev_1', 'dev_1', '1763690000000', 'Europe/Paris', 'tests'],
    )
  })

  for (const name of [names.keyId, names.timestamp, names.nonce, names.bodySha256, names.signature]) {
    it(`refuses a request without ${name}, and one that repeats it`, async () => {
      const without = readSignature(await rawHeaders({ [name]: undefined }), names)
      assert.deepEqual([without.ok, !without.ok && without.layer], [false, 3])
      const raw = await rawHeaders()
      const twice = readSignature([...raw, name.toUpperCase(), raw[raw.indexOf(name) + 1] as string], names)
      assert.deepEqual([twice.ok, !twice.ok && twice.layer], [false, 3])
    })
  }

  const malformed: readonly [string, readonly string[]][] = [
    [names.keyId, ['', 'a b', 'x'.repeat(129), 'dév']],
    [
      names.timestamp,
      ['', '123abc', '+1', '1e12', '176369000000', '17636900000000', ' 1763690000000', '-763690000000', '１７６３６９００００００0'],
    ],
    [names.nonce, ['', 'short', 'x'.repeat(129), 'é'.repeat(20), 'a b c d e f g h i j', `${'a'.repeat(20)}\0`]],
    [
      names.bodySha256,
      ['', 'E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855', 'a'.repeat(63), 'a'.repeat(65), 'g'.repeat(64)],
    ],
    [names.signature, ['', 'A'.repeat(64), 'a'.repeat(63), 'a'.repeat(65)]],
  ]
  for (const [name, values] of malformed) {
    it(`S9: refuses every malformed ${name}`, async () => {
      for (const value of values) {
        const read = readSignature(await rawHeaders({ [name]: value }), names)
        assert.deepEqual([read.ok, !read.ok && read.layer], [false, 3], JSON.stringify(value))
      }
    })
  }

  it('S8: refuses an encoded body, an overridden method and repeated headers that could be read differently', async () => {
    for (const extra of [
      ['Content-Encoding', 'gzip'],
      ['X-HTTP-Method-Override', 'DELETE'],
      ['User-Agent', 'other'],
      ['X-Sig-Device-Id', 'dev_1'],
    ]) {
      assert.equal(readSignature([...(await rawHeaders()), ...extra], names).ok, false, extra[0])
    }
    const raw = [...(await rawHeaders()), 'Content-Encoding', 'identity']
    assert.ok(readSignature(raw, names).ok)
  })

  it('detects whether a request is meant to be signed', () => {
    assert.ok(isSigned({ 'x-sig-nonce': 'x' }, names))
    assert.ok(!isSigned({ 'x-sig-device-id': 'x', authorization: 'Bearer x' }, names))
  })
})

describe('freshness (layers 4 and 5)', () => {
  it('accepts timestamps at both ends of the window and none beyond', async () => {
    const read = await claim()
    for (const [now, layer] of [
      [60_000, undefined],
      [-60_000, undefined],
      [60_001, 4],
      [-60_001, 4],
    ] as const) {
      assert.equal(checkFreshness(read, sent.timestamp + now, 60_000)?.layer, layer)
    }
  })

  it('refuses requests made before or when the nonce store was created', async () => {
    const read = await claim()
    assert.equal(checkFence(read, sent.timestamp - 1), undefined)
    assert.equal(checkFence(read, sent.timestamp)?.layer, 5)
  })
})

describe('the request target', () => {
  it('is signed as received if it is unambiguous', () => {
    assert.deepEqual(signedTarget('/v1/a%20b/caf%C3%A9?z=1&a=%20x&a=2'), { pathname: '/v1/a%20b/caf%C3%A9', search: '?z=1&a=%20x&a=2' })
    assert.deepEqual(signedTarget('/a?p=C:\\b'), { pathname: '/a', search: new URL('http://app/a?p=C:\\b').search })
    assert.deepEqual(signedTarget('/a?'), { pathname: '/a', search: '' })
    assert.deepEqual(signedTarget('/a??'), { pathname: '/a', search: '??' })
    assert.deepEqual(signedTarget('/a/', '/gateway'), { pathname: '/gateway/a/', search: '' })
  })

  const ambiguous = [
    '',
    '*',
    'a',
    '//evil/api/admin',
    'http://evil/api',
    '/x/../api',
    '/x/./api',
    '/%2e%2e/api',
    '/x/%2E%2E/api',
    '/x/.%2e',
    '/a\\b',
    '/a\\b?c',
    '/\\evil/a?\\',
    '/a#b',
    '/a b',
    '/é',
    '/a\t',
    '/a\0',
    '/a?b#c',
    '/a?b c',
    '/a?"',
    "/a?'",
    '/a?<',
    '/a?é',
    '/a?\n',
  ]
  for (const target of ambiguous)
    it(`has no signed form when it is ${JSON.stringify(target)}`, () => assert.equal(signedTarget(target), undefined))
})

describe('the MAC and the body (layer 6)', () => {
  const decoy = decoyKey()
  const right = signingKey(secret)
  const target = signedTarget(sent.url)

  it('matches the secret it was created with, at any position in the list', async () => {
    const read = await claim()
    for (const keys of [[right], [signingKey('other'), right], [right, signingKey('other')]])
      assert.equal(checkMac('POST', target, read, keys, decoy), right)
    assert.deepEqual(checkMac('POST', target, read, [signingKey('other')], decoy), {
      ok: false,
      layer: 6,
      reason: 'the signature does not match',
    })
    assert.ok('ok' in checkMac('POST', target, read, [], decoy))
  })

  it('S2: does not match after a change to any signed part', async () => {
    const read = await claim()
    const flip = (text: string): string => `${text.slice(0, -1)}${text.endsWith('0') ? '1' : '0'}`
    const changed: readonly [string, string, SignatureClaim][] = [
      ['PUT', sent.url, read],
      ['POST', '/v1/orders?b=2&a=1', read],
      ['POST', '/v1/orders/?a=1&b=2', read],
      ['POST', '/v1/Orders?a=1&b=2', read],
      ['POST', sent.url, { ...read, timestamp: flip(read.timestamp) }],
      ['POST', sent.url, { ...read, nonce: flip(read.nonce) }],
      ['POST', sent.url, { ...read, bodySha256: flip(read.bodySha256) }],
      ['POST', sent.url, { ...read, signature: flip(read.signature) }],
    ]
    for (const [method, url, altered] of changed) assert.ok('ok' in checkMac(method, signedTarget(url), altered, [right], decoy))
  })

  it('never matches the decoy or an ambiguous target', async () => {
    const own = { ...right, publicKey: decoy.publicKey }
    const signedByDecoy = checkMac('POST', target, await claim(), [own], own)
    assert.ok('ok' in signedByDecoy)
    assert.ok('ok' in checkMac('POST', undefined, await claim(), [right], decoy))
  })

  it('S13: costs the same number of MACs whether the key is known or not', () => {
    assert.equal(padKeys([], 6, decoy).length, 6)
    assert.equal(padKeys([right], 6, decoy).length, 6)
    assert.deepEqual(padKeys([right], 1, decoy), [right])
  })

  it('compares the received bytes with the signed ones', async () => {
    const read = await claim()
    assert.equal(checkBody(read, Buffer.from(sent.body)), undefined)
    for (const other of ['{"a":2}', '', `\ufeff${sent.body}`]) assert.equal(checkBody(read, Buffer.from(other))?.layer, 6)
  })
})

describe('bindings (layers 7 to 9)', () => {
  it('require the device id to equal the key id and the claim', async () => {
    assert.equal(checkBindings(await claim(), {}), undefined)
    assert.equal(checkBindings(await claim(), { deviceId: 'dev_1' }), undefined)
    assert.equal(checkBindings(await claim(), { deviceId: 'dev_2' })?.layer, 7)
    assert.equal(checkBindings(await claim({ [names.deviceId]: 'dev_2' }), {})?.layer, 7)
    assert.equal(checkBindings(await claim({ [names.deviceId]: undefined }), {})?.layer, 7)
  })

  it('require the time zone to equal its claim, even if the header is missing', async () => {
    const paris = await claim({ [names.timezone]: 'Europe/Paris' })
    assert.equal(checkBindings(paris, { tz: 'Europe/Paris' }), undefined)
    assert.equal(checkBindings(paris, {}), undefined)
    assert.equal(checkBindings(paris, { tz: 'Asia/Tokyo' })?.layer, 8)
    assert.equal(checkBindings(await claim(), { tz: 'Europe/Paris' })?.layer, 8)
  })

  it('require the user agent to match its claim, even if the header is missing', async () => {
    const uaHash = sha256Hex('tests')
    assert.equal(checkBindings(await claim(), { uaHash }), undefined)
    assert.equal(checkBindings(await claim({ 'User-Agent': 'other' }), { uaHash })?.layer, 9)
    assert.equal(checkBindings(await claim({ 'User-Agent': undefined }), { uaHash })?.layer, 9)
    assert.equal(checkBindings(await claim(), { uaHash: 1 })?.layer, 9)
  })

  it('require the owner of the device, whether ids are numbers or text', () => {
    assert.equal(checkOwner('7', 7), undefined)
    assert.equal(checkOwner('7', '7'), undefined)
    assert.equal(checkOwner('7', '8')?.layer, 7)
    assert.equal(checkOwner('7', undefined)?.layer, 7)
  })
})
