import assert from 'node:assert/strict'
import { createHash, createHmac, createPublicKey, generateKeyPairSync, type KeyObject, verify } from 'node:crypto'
import { describe, it } from 'node:test'
import { createSigner, createVerifier, httpbis, type Request } from 'http-message-signatures'
import fc from '../../../scripts/testing/properties.js'
import { signatureHeaderNames } from '../canonical.js'
import { createHeaders, generateDeviceKey, type Rfc9421Credential } from '../client.js'
import { decoyKey, type SigningKey, signingKey } from '../key.js'
import { publicSigningKey } from '../public-key.js'
import {
  checkBindings,
  checkBody,
  checkMac,
  checkProfile,
  isSigned,
  readSignature,
  type SignatureFault,
  signedTarget,
} from '../verifier.js'
import { formatBase } from './signature-base.js'

const names = signatureHeaderNames()
const secret = 'test-secret-0123456789abcdef'
const nonce = '6f1b2c1e-6d6f-4a53-9f58-3d1e5a0c7b11'
const authorization = 'Bearer abc.def.ghi'
const body = '{"a":1}'
const order = {
  profile: 'rfc9421',
  method: 'POST',
  url: 'https://api.example.com/v1/orders?a=1&b=2',
  contentType: 'application/json',
  body,
  authorization,
  keyId: 'dev_1',
  timestamp: 1763690000000,
  nonce,
} as const
const { body: _, contentType: __, ...rest } = order
const reading = { ...rest, method: 'GET', url: 'https://api.example.com/api/me' }

const decoy = decoyKey()
const { publicKey, privateKey } = generateKeyPairSync('ed25519')
const rawPublic = publicKey.export({ format: 'jwk' }).x as string
const pkcs8 = privateKey.export({ format: 'der', type: 'pkcs8' })

const credentials: readonly {
  readonly alg: string
  readonly own: Rfc9421Credential
  readonly key: SigningKey
  readonly theirs: { readonly sign: Buffer | KeyObject; readonly verify: Buffer | KeyObject }
}[] = [
  {
    alg: 'hmac-sha256',
    own: { secret },
    key: signingKey(secret),
    theirs: { sign: Buffer.from(secret), verify: Buffer.from(secret) },
  },
  { alg: 'ed25519', own: { privateKey: pkcs8 }, key: publicSigningKey(rawPublic), theirs: { sign: privateKey, verify: publicKey } },
]

interface Sent {
  readonly method: string
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

/** The whole check except stores and clock; `undefined` if it passes. */
function refusal({ method, target, headers, body: bytes }: Sent, key: SigningKey): SignatureFault | undefined {
  const claim = readSignature(Object.entries(headers).flat(), names)
  if (!claim.ok) return claim
  const found = checkMac(method, signedTarget(target), claim, [key], decoy)
  if ('ok' in found) return found
  return checkBody(claim, Buffer.from(bytes)) ?? checkBindings(claim, {})
}

async function sent(signed: typeof order | typeof reading, credential: Rfc9421Credential): Promise<Sent> {
  const { pathname, search, host } = new URL(signed.url)
  const headers = { host, ...(await createHeaders({ ...signed, ...credential })) }
  return { method: signed.method, target: pathname + search, headers, body: 'body' in signed ? signed.body : '' }
}

const input = (headers: Readonly<Record<string, string>>): string => headers['signature-input'] as string
const with_ = (request: Sent, headers: Readonly<Record<string, string | undefined>>): Sent => {
  const all = Object.entries({ ...request.headers, ...headers }).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return { ...request, headers: Object.fromEntries(all) }
}

describe('the published test vectors of RFC 9421', () => {
  const params = (list: string, keyId: string) => `(${list});created=1618884473;keyid="${keyId}"`

  it('B.2.5, by HMAC', () => {
    const base = formatBase(
      [
        ['date', 'Tue, 20 Apr 2021 02:07:55 GMT'],
        ['@authority', 'example.com'],
        ['content-type', 'application/json'],
      ],
      params('"date" "@authority" "content-type"', 'test-shared-secret'),
    )
    const key = Buffer.from('uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ==', 'base64')
    assert.equal(createHmac('sha256', key).update(base).digest('base64'), 'pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=')
  })

  it('B.2.6, by Ed25519', () => {
    const base = formatBase(
      [
        ['date', 'Tue, 20 Apr 2021 02:07:55 GMT'],
        ['@method', 'POST'],
        ['@path', '/foo'],
        ['@authority', 'example.com'],
        ['content-type', 'application/json'],
        ['content-length', '18'],
      ],
      params('"date" "@method" "@path" "@authority" "content-type" "content-length"', 'test-key-ed25519'),
    )
    const key = publicSigningKey('JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs').key
    const signature = 'wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw=='
    assert.ok(verify(null, Buffer.from(base), key, Buffer.from(signature, 'base64')))
  })
})

describe('signing by RFC 9421', () => {
  it('creates the known signature over all eight components', async () => {
    assert.deepEqual(await createHeaders({ ...order, secret }), {
      'content-type': 'application/json',
      'content-digest': `sha-256=:${createHash('sha256').update(body).digest('base64')}:`,
      authorization,
      'x-sig-device-id': 'dev_1',
      'signature-input':
        'zin=("@method" "@authority" "@path" "@query" "content-type" "content-digest" "authorization" "x-sig-device-id");' +
        `created=1763690000;nonce="${nonce}";keyid="dev_1";alg="hmac-sha256";tag="zin-bulletproof"`,
      signature: 'zin=:jMJlGZlbICsNTMl/8/Tqcp5pL/LxGTvmRPFxylyA9uk=:',
    })
  })

  it('covers content and token only if present, and the device header with its prefix', async () => {
    const { authorization: _token, ...alone } = reading
    const headers = await createHeaders({ ...alone, secret, headerPrefix: 'x-zt-' })
    assert.deepEqual(Object.keys(headers).sort(), ['signature', 'signature-input', 'x-zt-device-id'])
    assert.match(input(headers), /^zin=\("@method" "@authority" "@path" "@query" "x-zt-device-id"\);/)
  })

  it('accepts an Ed25519 key in every form, and rounds the time down to seconds', async () => {
    const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }) as string
    const key = await crypto.subtle.importKey('pkcs8', pkcs8, 'Ed25519', false, ['sign'])
    const all = await Promise.all(
      [pkcs8, pem, key, new Uint8Array(pkcs8).buffer].map((own) => createHeaders({ ...order, timestamp: 1763690000999, privateKey: own })),
    )
    assert.equal(new Set(all.map((headers) => JSON.stringify(headers))).size, 1)
    assert.equal(refusal({ ...(await sent(order, { privateKey: pem })) }, publicSigningKey(rawPublic)), undefined)
  })

  it('refuses values that no server would accept, without quoting a key', async () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'pem', type: 'pkcs8' }) as string
    for (const bad of [
      ...[{ secret: '' }, { secret, keyId: 'a"b' }, { secret, nonce: 'short' }, { secret, timestamp: 1 }, { secret, url: '/api/me' }],
      ...[
        { secret, contentType: 'a\nb' },
        { secret, authorization: ' x' },
        { secret, authorization: 'é' },
      ],
      ...[{}, { secret, privateKey: pkcs8 }, { privateKey: rsa }, { privateKey: 'not-a-key-canary' }],
    ]) {
      await assert.rejects(
        createHeaders({ ...order, ...bad } as never),
        (error: Error) => error instanceof TypeError && !/canary|MII/.test(error.message),
        JSON.stringify(bad),
      )
    }
  })

  it('can use a key pair that never leaves the device', async () => {
    const device = await generateDeviceKey()
    assert.equal(device.privateKey.extractable, false)
    assert.match(device.publicKey, /^[A-Za-z0-9_-]{43}$/)
    assert.equal(refusal(await sent(order, { privateKey: device.privateKey }), publicSigningKey(device.publicKey)), undefined)
    const kept = await generateDeviceKey({ extractable: true })
    const saved = await crypto.subtle.exportKey('pkcs8', kept.privateKey)
    assert.equal(refusal(await sent(order, { privateKey: saved }), publicSigningKey(kept.publicKey)), undefined)
  })
})

for (const { alg, own, key, theirs } of credentials) {
  describe(`an independent implementation, with ${alg},`, () => {
    const lookup = async () => ({ id: 'dev_1', algs: [alg], verify: createVerifier(theirs.verify as never, alg) })
    const fields = ['@method', '@authority', '@path', '@query']
    const params = ['created', 'nonce', 'keyid', 'alg', 'tag']
    const paramValues = { created: new Date(order.timestamp), nonce, tag: 'zin-bulletproof' }
    const sign = async (request: Request, covered: readonly string[], change = {}): Promise<Sent> => {
      const signer = createSigner(theirs.sign as never, alg, 'dev_1')
      const { headers } = await httpbis.signMessage(
        { key: signer, name: 'theirs', fields: [...fields, ...covered], params, paramValues: { ...paramValues, ...change } },
        request,
      )
      const { host, pathname, search } = new URL(request.url)
      return { method: request.method, target: pathname + search, body, headers: { ...(headers as Record<string, string>), host } }
    }

    it('verifies what we signed, with and without a body', async () => {
      for (const what of [order, reading]) {
        const { headers } = await sent(what, own)
        const request = { method: what.method, url: what.url, headers: { ...headers } }
        assert.equal(await httpbis.verifyMessage({ keyLookup: lookup, notAfter: new Date(order.timestamp + 1000) }, request), true)
        const changed = { ...request, url: `${what.url}#`.replace('api.', 'api2.') }
        assert.equal(await httpbis.verifyMessage({ keyLookup: lookup, notAfter: new Date(order.timestamp + 1000) }, changed), false)
      }
    })

    it('signs what we verify, with and without a body', async () => {
      const { headers } = await sent(order, own)
      const { signature: _s, 'signature-input': _i, host: _h, ...bare } = headers
      const all = ['content-type', 'content-digest', 'authorization', 'x-sig-device-id']
      const full = await sign({ method: 'POST', url: order.url, headers: bare }, all)
      assert.equal(refusal(full, key), undefined)
      assert.equal(refusal({ ...full, body: '{"a":2}' }, key)?.layer, 6)
      const get = { method: 'GET', url: 'https://api.example.com:8443/', headers: { authorization, 'x-sig-device-id': 'dev_1' } }
      const read = await sign(get, ['authorization', 'x-sig-device-id'])
      assert.equal(refusal({ ...read, body: '' }, key), undefined)
    })
  })

  describe(`verifying by RFC 9421, with ${alg},`, () => {
    it('accepts what was signed, whatever the label, and ignores signatures with other tags', async () => {
      for (const what of [order, reading]) {
        const request = await sent(what, own)
        assert.equal(refusal(request, key), undefined)
        const { signature, 'signature-input': own_ } = request.headers as { signature: string; 'signature-input': string }
        const beside = with_(request, {
          'signature-input': `cdn=("@authority");created=1;tag="other", ${own_.replace('zin=', 'sig-1=')}`,
          signature: `${signature.replace('zin=', 'sig-1=')}, cdn=:AAAA:`,
        })
        assert.equal(refusal(beside, key), undefined)
      }
    })

    it('refuses the key of another device, an ambiguous target and a key of the other kind', async () => {
      const request = await sent(order, own)
      const other = alg === 'ed25519' ? publicSigningKey((await generateDeviceKey()).publicKey) : signingKey('another')
      assert.equal(refusal(request, other)?.layer, 6)
      assert.equal(refusal({ ...request, target: '/v1/../v1/orders?a=1&b=2' }, key)?.layer, 6)
      for (const { key: candidate } of credentials) if (candidate !== key) assert.equal(refusal(request, candidate)?.layer, 6)
      assert.equal(refusal(request, decoy)?.layer, 6)
    })

    it('refuses a public key that is used as if it were the secret', async () => {
      const forged = await sent(order, { secret: rawPublic })
      assert.equal(refusal(forged, publicSigningKey(rawPublic))?.layer, 6)
      const raw = await sent(order, { secret: Buffer.from(rawPublic, 'base64url').toString('latin1') })
      assert.equal(refusal(raw, publicSigningKey(rawPublic))?.layer, 6)
    })

    it('refuses every one-bit change of what is covered, of the signature and of the body', async () => {
      for (const request of [await sent(order, own), await sent(reading, own)])
        for (const place of placesOf(request))
          for (let index = 0; index < place.text.length * 8; index += 1) {
            const { altered, changed } = flip(request, place, index)
            assert.notEqual(refusal(altered, key), undefined, `${place.name}: ${changed}`)
          }
    })

    it('refuses a one-bit change of any request', () => {
      const requests = fc.record({
        path: fc.webPath(),
        query: fc.webQueryParameters(),
        body: fc.string({ maxLength: 200 }),
        nonce: fc.uuid(),
        timestamp: fc.integer({ min: 1e12, max: 9e12 }),
      })
      return fc.assert(
        fc.asyncProperty(requests, fc.nat({ max: 99_999 }), async ({ path, query, ...random }, bit) => {
          const url = `https://api.example.com/x${path}?${query}`
          const request = await sent({ ...order, ...random, url } as never, own)
          assert.equal(refusal(request, key), undefined)
          for (const place of placesOf(request)) {
            const { altered, changed } = flip(request, place, bit % (place.text.length * 8))
            assert.notEqual(refusal(altered, key), undefined, `${place.name}: ${changed}`)
          }
        }),
        { numRuns: 60, endOnFailure: true },
      )
    })
  })
}

interface Place {
  readonly name: string
  readonly text: string
}

/** The parts of a request; a change of any of them must be detected. */
function placesOf({ method, target, headers, body: bytes }: Sent): readonly Place[] {
  const all = Object.entries({ method, target, body: bytes as string, ...headers })
  return all.map(([name, text]) => ({ name, text })).filter(({ text }) => text !== '')
}

function flip(request: Sent, { name, text }: Place, index: number): { readonly altered: Sent; readonly changed: string } {
  const bytes = Buffer.from(text)
  bytes[index >> 3] = (bytes[index >> 3] as number) ^ (1 << (index & 7))
  const isHeader = !['method', 'target', 'body'].includes(name)
  const changed = bytes.toString('latin1')
  return { altered: isHeader ? with_(request, { [name]: changed }) : { ...request, [name]: name === 'body' ? bytes : changed }, changed }
}

describe('reading a signature by RFC 9421 (layer 3)', () => {
  const layerOf = (request: Sent): number | undefined => refusal(request, signingKey(secret))?.layer
  const good = () => sent(order, { secret })
  const change = async (from: string | RegExp, to: string): Promise<Sent> => {
    const request = await good()
    const changed = input(request.headers).replace(from, to)
    assert.notEqual(changed, input(request.headers))
    return with_(request, { 'signature-input': changed })
  }

  const changes: readonly (readonly [string, string | RegExp, string])[] = [
    ['a missing component', '"@query" ', ''],
    ['an extra component', '"x-sig-device-id")', '"x-sig-device-id" "user-agent")'],
    ['a component twice', '"@path"', '"@path" "@path"'],
    ['two components in one', '"@path" "@query"', '"@path @query"'],
    ['another order of components', '"@method" "@authority"', '"@authority" "@method"'],
    ['a component with a parameter', '"content-type"', '"content-type";sf'],
    ['a request target in the place of the path', '"@path"', '"@request-target"'],
    ['a component in upper case', '"content-type"', '"Content-Type"'],
    ['a component that is a token', '"authorization"', 'authorization'],
    ['an unknown parameter', ';tag=', ';expires=1763690060;tag='],
    ['a parameter twice', ';alg=', ';created=1763690000;alg='],
    ['a missing parameter', /;nonce="[^"]*"/, ''],
    ['another order of parameters', /(;created=\d+)(;nonce="[^"]*")/, '$2$1'],
    ['a time in milliseconds', 'created=1763690000', 'created=1763690000000'],
    ['a time with a fraction', 'created=1763690000', 'created=1763690000.5'],
    ['a time before 1970', 'created=1763690000', 'created=-176369000'],
    ['a time that is text', 'created=1763690000', 'created="1763690000"'],
    ['a short nonce', nonce, 'short'],
    ['a nonce with other characters', nonce, `${nonce}!`],
    ['a key id with other characters', 'keyid="dev_1"', 'keyid="dev 1"'],
    ['no key id', 'keyid="dev_1"', 'keyid=""'],
    ['an unknown algorithm', 'hmac-sha256', 'rsa-pss-sha512'],
    ['an algorithm of every object', 'hmac-sha256', 'constructor'],
    ['an algorithm whose signatures have another length', 'hmac-sha256', 'ed25519'],
    ['a tag that is a token', 'tag="zin-bulletproof"', 'tag=zin-bulletproof'],
    ['a label without its signature', 'zin=', 'other='],
    ['a malformed field', 'zin=', 'zin= '],
    ['no list', /\(.*\)/, '"x"'],
  ]
  for (const [title, from, to] of changes) it(`refuses ${title}`, async () => assert.equal(layerOf(await change(from, to)), 3))

  it('refuses two signatures with the tag of Zin, a duplicate label, and a request signed with both profiles', async () => {
    const request = await good()
    const own = input(request.headers)
    for (const label of ['second', 'zin'])
      assert.equal(layerOf(with_(request, { 'signature-input': `${own}, ${own.replace('zin', label)}` })), 3)
    const { signature } = request.headers
    assert.equal(layerOf(with_(request, { signature: `${signature}, ${signature}` })), 3)
    const v1 = await createHeaders({ ...order, profile: 'v1', secret })
    assert.equal(layerOf(with_(request, v1)), 3)
    for (const name of [names.keyId, names.timestamp, names.nonce, names.bodySha256, names.signature])
      assert.equal(layerOf(with_(request, { [name]: 'x' })), 3, name)
  })

  it('refuses each header that is repeated, covered but missing, or present but not covered', async () => {
    const request = await good()
    for (const [name, value] of Object.entries(request.headers)) {
      const raw = [...Object.entries(request.headers).flat(), name.toUpperCase(), value]
      const read = readSignature(raw, names)
      assert.equal(!read.ok && read.layer, 3, name)
      assert.equal(layerOf(with_(request, { [name]: undefined })), 3, name)
    }
    const bare = await sent(reading, { secret })
    for (const [name, value] of Object.entries({ 'content-type': 'text/plain', 'content-digest': `sha-256=:${'A'.repeat(43)}=:` }))
      assert.equal(layerOf(with_(bare, { [name]: value })), 3, name)
  })

  it('refuses every malformed signature, digest and host', async () => {
    const request = await good()
    const digest = request.headers['content-digest'] as string
    const malformed: Readonly<Record<string, readonly string[]>> = {
      signature: ['', 'zin', 'zin=1', 'zin=:AAAA:', 'zin=::', `${request.headers.signature};x`, 'zin=("x")', 'other=:AAAA:'],
      'content-digest': [
        '',
        'x',
        'sha-256=:AAAA:',
        digest.replace('sha-256', 'md5'),
        `${digest}, sha-512=:AAAA:`,
        `${digest};x`,
        'sha-256=1',
      ],
      host: ['', 'API.example.com', 'api.example.com:', 'a@b', 'a/b', 'é', '[::1', 'a b', 'api.example.com:123456', 'a,b'],
      'x-sig-device-id': ['', 'é'],
      authorization: ['', 'Bearer \u00e9', 'a\tb'],
    }
    for (const [name, values] of Object.entries(malformed))
      for (const value of values) assert.equal(layerOf(with_(request, { [name]: value })), 3, `${name}: ${value}`)
  })

  it('requires an empty body for a request without a digest', async () => {
    const bare = await sent(reading, { secret })
    assert.equal(refusal(bare, signingKey(secret)), undefined)
    assert.equal(layerOf({ ...bare, body: 'x' }), 6)
  })

  it('counts from the start of the second, and returns the profile', async () => {
    const claim = readSignature(Object.entries((await good()).headers).flat(), names)
    assert.ok(claim.ok)
    assert.deepEqual([claim.timestamp, claim.profile, claim.alg], ['1763690000000', 'rfc9421', 'hmac-sha256'])
    assert.equal(checkProfile(claim, 'rfc9421'), undefined)
    assert.equal(checkProfile({ ...claim, profile: 'v1' }, 'rfc9421')?.layer, 6)
    assert.equal(checkProfile({ ...claim, profile: 'v1' }, 'v1'), undefined)
  })

  it('detects whether a request is meant to be signed', async () => {
    assert.ok(isSigned((await good()).headers, names))
    assert.ok(!isSigned({ 'signature-input': 'cdn=("@authority");tag="other"', signature: 'cdn=:AAAA:' }, names))
  })

  it('accepts another host than the received one if a gateway changes it', async () => {
    const request = with_(await good(), { host: 'backend:7777' })
    const claim = readSignature(Object.entries(request.headers).flat(), names)
    assert.ok(claim.ok)
    const check = (authority?: string) =>
      'ok' in checkMac('POST', signedTarget(request.target, '', authority), claim, [signingKey(secret)], decoy)
    assert.deepEqual([check(), check('api.example.com'), check('api2.example.com')], [true, false, true])
  })
})

it('a public key is accepted in canonical form only', () => {
  assert.equal(
    createPublicKey({ key: publicSigningKey(rawPublic).key.export({ format: 'jwk' }), format: 'jwk' }).asymmetricKeyType,
    'ed25519',
  )
  assert.throws(() => publicSigningKey('AAAA'))
})
