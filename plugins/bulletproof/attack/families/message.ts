import { createHmac, randomUUID } from 'node:crypto'
import { type Attack, accepted, type Round, refused, rejected } from '../attack.js'
import { type Credential, type Kit, type MessageCredential, userAgent } from '../kit.js'
import { digestOf, type MessageSigning, message } from '../message.js'
import { headerOf, type WireRequest, withHeader } from '../wire.js'
import { flip } from './fields.js'
import { raceCopies } from './replay.js'

const takesNone = 'the app takes no requests signed by RFC 9421'
const exact = 'Take one form of Signature-Input only: these components and these parameters, in their order, each once.'
const rebuild = 'Rebuild the signature base from what came, with every header that is covered, and compare the whole.'

/** An attack that every caller by RFC 9421 makes, once an honest message has shown that the app takes such requests. */
function attack(
  name: string,
  hole: string,
  mend: string,
  rounds: (sign: (given?: MessageSigning) => WireRequest, as: MessageCredential, kit: Kit) => readonly Round[],
): Attack {
  return {
    name: `message:${name}`,
    hole,
    mend,
    unless: (kit) =>
      (kit.parts.messages ?? []).length > 0
        ? undefined
        : 'the device that signs would be pinned to RFC 9421; log in with --email, for a device of its own',
    rounds: (kit) =>
      (kit.parts.messages ?? []).flatMap((as) => [
        accepted(message(kit, as), takesNone),
        ...rounds((given) => message(kit, as, given), as, kit),
      ]),
  }
}

function changedIn(request: WireRequest, header: string, change: (value: string) => string): WireRequest {
  return withHeader(request, header, change(headerOf(request, header) ?? ''))
}

const inInput = (request: WireRequest, from: RegExp | string, to: string): WireRequest =>
  changedIn(request, 'signature-input', (input) => input.replace(from, to))

/** Two signatures in the two headers of one request. */
function together(one: WireRequest, two: WireRequest): WireRequest {
  return ['signature-input', 'signature'].reduce(
    (request, name) => changedIn(request, name, (value) => `${value}, ${headerOf(two, name)}`),
    one,
  )
}

function twice(request: WireRequest, name: string, value: string): WireRequest {
  return { ...request, headers: [...request.headers, [name, value]] }
}

/** The five headers of profile v1, for the caller that signs by RFC 9421. */
function byV1(kit: Kit, { keyId, token }: MessageCredential, secret: string): WireRequest {
  const as: Credential = { keyId, token, secret }
  return kit.sign({ as })
}

const secretsOf = ({ secret, publicKey = '' }: MessageCredential): readonly string[] =>
  secret === undefined ? [publicKey, `ed25519:${publicKey}`, Buffer.from(publicKey, 'base64url').toString('latin1')] : [secret]

const bodyOf = (kit: Kit): Buffer => Buffer.from(kit.target.body ?? '{}')

/** Requests signed by RFC 9421, with less than all, with more than one, or changed on their way. */
export const messageAttacks: readonly Attack[] = [
  attack('changed-parameters', 'parameters of a signature can be changed after signing', rebuild, (sign, { alg }, kit) => [
    refused(
      inInput(sign(), /created=\d+/, `created=${Math.floor(kit.parts.now() / 1000) - 1}`),
      inInput(sign(), /nonce="[^"]+"/, `nonce="${randomUUID()}"`),
      inInput(sign(), /keyid="[^"]+"/, 'keyid="zin-attack"'),
      inInput(sign(), /alg="[^"]+"/, `alg="${alg === 'ed25519' ? 'hmac-sha256' : 'ed25519'}"`),
      inInput(sign(), /;alg="[^"]+"/, ''),
      inInput(sign(), 'tag="zin-bulletproof"', 'tag="zin-other"'),
      inInput(sign(), ';tag="zin-bulletproof"', ''),
      inInput(sign(), ';nonce=', ';n=1;nonce='),
    ),
  ]),
  attack('dropped-component', 'a signature may leave out what the request has, so that this can be changed', exact, (sign, _as, kit) => {
    const names =
      /\(([^)]*)\)/
        .exec(headerOf(sign(), 'signature-input') ?? '')?.[1]
        ?.replaceAll('"', '')
        .split(' ') ?? []
    const without = (name: string) => sign({ covering: (all) => all.filter((other) => other !== name) })
    return [
      // Signed so: whoever got hold of it could change the rest.
      refused(...names.map(without), sign({ covering: () => [] }), sign({ covering: (all) => all.slice(0, 1) })),
      // Taken out afterwards.
      refused(...names.map((name) => inInput(sign(), new RegExp(` ?"${name.replaceAll('.', '\\.')}"`), ''))),
      refused({ ...without('@query'), target: kit.query('zin=1') }),
    ]
  }),
  attack('odd-components', 'components may come twice, in any order, or be others than the profile has', exact, (sign) => [
    refused(
      sign({ covering: (all) => [...all, '@method'] }),
      sign({ covering: (all) => all.toReversed() }),
      sign({ covering: (all) => ['@request-target', ...all.slice(1)] }),
      sign({ covering: (all) => [...all, 'x-zin-none'] }),
      inInput(sign(), '"@method"', '"@method";req'),
      inInput(sign(), '"@query"', '"@query";sf'),
      inInput(sign(), '"@path"', '"@PATH"'),
    ),
  ]),
  attack('odd-parameters', 'parameters may be missing, twice, of another form, or more than the profile has', exact, (sign, _as, kit) => {
    const seconds = Math.floor(kit.parts.now() / 1000)
    const created = [`"${seconds}"`, `${seconds}.0`, `-${seconds}`, `${seconds}000`, `0${seconds}`, '?1'].map((text) =>
      sign({ created: text }),
    )
    const left = ['created', 'nonce', 'keyid', 'alg', 'tag'].map((name) =>
      sign({ parameters: (text) => text.replace(new RegExp(`;${name}=(?:"[^"]*"|[^;]*)`), '') }),
    )
    const more = [`;expires=${seconds + 86_400}`, ';context="zin"', `;created=${seconds}`].flatMap((extra) => [
      sign({ parameters: (text) => text + extra }),
      sign({ parameters: (text) => extra + text }),
    ])
    const odd = ['a', 'x'.repeat(129), 'nonce with blanks 0'].map((nonce) => sign({ nonce }))
    return [refused(...created, ...left, ...more, ...odd)]
  }),
  attack('time', 'a signature is taken whenever it was made', 'Hold created to the window, both ways.', (sign, _as, kit) => {
    const { now, windowMs, marginMs } = kit.parts
    const at = (ms: number): WireRequest => sign({ created: String(Math.floor((now() + ms) / 1000)) })
    const beyond = windowMs + marginMs + 1_000
    return [refused(at(-beyond), at(beyond), at(-86_400_000), at(86_400_000))]
  }),
  attack('changed-header', 'a header that is covered can be changed after signing', rebuild, (sign, as, kit) => {
    const { names, second, other, host, signedAuthority } = kit.parts
    const hosts = signedAuthority === '' ? [`zin-${host}`, `${host}.`] : []
    const tokens = [second, other].flatMap((caller) => (caller === undefined ? [] : [`Bearer ${caller.token}`]))
    const values: readonly (readonly [string, string | undefined])[] = [
      ...tokens.map((token) => ['authorization', token] as const),
      ['authorization', `bearer ${as.token}`],
      [names.deviceId, second?.keyId ?? 'zin-attack'],
      [names.deviceId, undefined],
      ['content-type', `${kit.target.contentType};zin=1`],
      ['content-digest', digestOf(Buffer.from('zin'))],
    ]
    return [
      refused(...values.map(([name, value]) => withHeader(sign(), name, value))),
      rejected(...hosts.map((one) => withHeader(sign(), 'host', one))),
    ]
  }),
  attack('changed-target', 'a signature for one method, path or query opens another', rebuild, (sign, _as, kit) => {
    const { method, path } = kit.target
    const others = ['GET', 'POST', 'DELETE'].filter((one) => one !== method)
    const paths = [flip(kit.pathname, -1), `${kit.pathname}/x`, kit.query('zin=1')]
    return [
      refused(
        ...others.map((one) => ({ ...sign({ method: one }), method })),
        ...paths.map((one) => ({ ...sign({ path: one }), target: path })),
        { ...sign(), target: kit.query('zin=1') },
      ),
    ]
  }),
  attack(
    'changed-body',
    'the body is not compared with Content-Digest',
    'Hash the bytes of the wire and compare; libraries leave that to you.',
    (sign, _as, kit) => {
      const body = bodyOf(kit)
      const other = Buffer.concat([body, Buffer.from(' ')])
      const two = `${digestOf(body)}, sha-512=:${Buffer.alloc(64).toString('base64')}:`
      return [
        refused(
          { ...sign({ body }), body: other },
          withHeader({ ...sign({ body }), body: other }, 'content-digest', digestOf(other)),
          withHeader(sign({ body }), 'content-digest', undefined),
          withHeader(sign({ body }), 'content-digest', two),
          withHeader(sign({ body }), 'content-digest', digestOf(body).replace('sha-256', 'md5')),
          sign({ body, covering: (all) => all.filter((name) => name !== 'content-digest') }),
        ),
      ]
    },
  ),
  attack(
    'several-signatures',
    'a request may carry several signatures, of which one is checked and another one read',
    exact,
    (sign, { alg }) => {
      const zeros = Buffer.alloc(alg === 'ed25519' ? 64 : 32).toString('base64')
      const wrong = (label: string): WireRequest => changedIn(sign({ label }), 'signature', (text) => text.replace(/:[^:]+:/, `:${zeros}:`))
      const good = sign()
      const [input, signature] = ['signature-input', 'signature'].map((name) => headerOf(good, name) ?? '') as [string, string]
      return [
        refused(
          together(sign({ label: 'a' }), sign({ label: 'b' })),
          together(sign({ label: 'a' }), wrong('b')),
          together(wrong('a'), sign({ label: 'b' })),
        ),
        // One label twice: in the field, and in a field of its own.
        refused(together(sign(), sign()), together(wrong('zin'), sign()), together(sign(), wrong('zin'))),
        refused(twice(sign(), 'signature-input', input), twice(sign(), 'signature', signature), twice(good, 'Signature', 'zin=:AAAA:')),
        refused(
          withHeader(sign(), 'signature', undefined),
          withHeader(sign(), 'signature-input', undefined),
          changedIn(sign(), 'signature', (text) => `b${text}`),
        ),
      ]
    },
  ),
  attack(
    'odd-signature',
    'a signature is taken in several spellings, or cut off',
    'Take base64 in its one form, of exactly the bytes that the algorithm has.',
    (sign, { alg }) => {
      const bytes = (text: string): Buffer => Buffer.from(/:([^:]*):/.exec(text)?.[1] ?? '', 'base64')
      const as = (made: (bytes: Buffer) => string) => changedIn(sign(), 'signature', (text) => `zin=${made(bytes(text))}`)
      const size = alg === 'ed25519' ? 64 : 32
      return [
        refused(
          ...[0, size - 1].map((at) =>
            as((all) => `:${Buffer.from(all.map((byte, index) => (index === at ? byte ^ 1 : byte))).toString('base64')}:`),
          ),
          as(() => '::'),
          as(() => `:${Buffer.alloc(size).toString('base64')}:`),
          as((all) => `:${all.subarray(0, size / 2).toString('base64')}:`),
          as((all) => `:${Buffer.concat([all, Buffer.alloc(1)]).toString('base64')}:`),
          as((all) => `:${all.toString('base64').replace(/=+$/, '')}:`),
          as((all) => `"${all.toString('base64')}"`),
          as((all) => all.toString('hex')),
          as((all) => `:${all.toString('base64')}:;zin`),
        ),
      ]
    },
  ),
  attack(
    'key-confusion',
    'a public key, or nothing, is taken for a secret, or one algorithm for another',
    'Let the key say which algorithm counts: a secret checks HMACs, a public key Ed25519.',
    (_sign, as, kit) => {
      const secrets = ['', as.keyId, ...(as.publicKey === undefined ? [] : secretsOf(as))]
      const hmac = (secret: string): MessageCredential => ({ ...as, sign: (text) => createHmac('sha256', secret).update(text).digest() })
      return [
        refused(
          ...secrets.map((secret) => message(kit, hmac(secret), { alg: 'hmac-sha256' })),
          ...['ed25519', 'none', 'rsa-pss-sha512', 'HMAC-SHA256'].filter((alg) => alg !== as.alg).map((alg) => message(kit, as, { alg })),
          message(kit, { ...as, sign: () => Buffer.alloc(64) }, { alg: 'ed25519' }),
        ),
      ]
    },
  ),
  attack(
    'other-key',
    'the device id, the key id and the token may belong to different devices',
    'Require device id = key id = the deviceId claim of the token, and the owner of the device = sub.',
    (sign, as, kit) => {
      const { me, second, other } = kit.parts
      const callers = [me, second, other].flatMap((caller) => (caller === undefined || caller.keyId === as.keyId ? [] : [caller]))
      const signers = (kit.parts.messages ?? []).filter(({ keyId }) => keyId !== as.keyId)
      return [
        refused(
          sign({ deviceId: 'zin-attack' }),
          // Signed by the key of another device of the user, for the device that header and token name.
          ...signers.map((signer) => message(kit, { ...signer, token: as.token }, { deviceId: as.keyId })),
          ...callers.flatMap(({ keyId, token }) => [
            sign({ deviceId: keyId }),
            sign({ keyId, deviceId: keyId }),
            ...(kit.parts.shared ? [] : [message(kit, { ...as, token })]),
          ]),
        ),
      ]
    },
  ),
  attack(
    'both-profiles',
    'a request may be signed in two ways, of which one is checked and the other one read',
    'Refuse a request that carries the five headers and a signature by RFC 9421.',
    (sign, as, kit) => {
      const { names } = kit.parts
      const both = (five: WireRequest): WireRequest => ({
        ...sign(),
        headers: [...sign().headers, ...five.headers.filter(([name]) => own.has(name))],
      })
      const own = new Set([names.keyId, names.timestamp, names.nonce, names.bodySha256, names.signature])
      return [refused(...secretsOf(as).map((secret) => both(byV1(kit, as, secret))), withHeader(sign(), names.keyId, as.keyId))]
    },
  ),
  attack(
    'downgrade',
    'a device that signs by RFC 9421 can be taken back to the profile that covers less',
    'Write down with the device that it signed by RFC 9421, before the first answer, and refuse v1 from then on.',
    (sign, as, kit) => (kit.parts.shared ? [] : [refused(...secretsOf(as).map((secret) => byV1(kit, as, secret))), accepted(sign())]),
  ),
  attack(
    'replay',
    'a message can be sent again',
    'Claim the nonce atomically once signature and body fit, and keep it until created + window.',
    (sign, as, kit) => {
      const nonce = randomUUID()
      const request = sign({ nonce })
      const inV1 = kit.parts.shared ? [refused(kit.sign({ as: { keyId: as.keyId, token: as.token, secret: as.secret ?? '' }, nonce }))] : []
      return [
        accepted(request),
        refused(request, request, sign({ nonce })),
        ...inV1,
        { requests: Array.from<WireRequest>({ length: raceCopies }).fill(sign()), expect: 'once' },
      ]
    },
  ),
  attack(
    'unsigned-extras',
    'a header that is not covered changes who the caller is or what is asked',
    'Refuse X-HTTP-Method-Override, and take the caller from the token alone.',
    (sign) => {
      const wrong = withHeader(sign(), 'signature', `zin=:${Buffer.alloc(32).toString('base64')}:`)
      return [
        refused(
          withHeader(sign(), 'x-http-method-override', 'DELETE'),
          withHeader(wrong, 'x-forwarded-user', userAgent),
          withHeader(wrong, 'x-verified', '1'),
        ),
      ]
    },
  ),
]
