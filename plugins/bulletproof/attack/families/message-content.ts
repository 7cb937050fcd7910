import { randomUUID } from 'node:crypto'
import { type Attack, refused, rejected } from '../attack.js'
import { digestOf } from '../message.js'
import { headerOf, type WireRequest, withHeader } from '../wire.js'
import { flip } from './fields.js'
import { bodyOf, exact, inInput, messageAttack, rebuild } from './message-attack.js'

/** Requests signed by RFC 9421 whose signature omits components, or that were changed after signing. */
export const messageContentAttacks: readonly Attack[] = [
  messageAttack('changed-parameters', 'parameters of a signature can be changed after signing', rebuild, (sign, { alg }, kit) => [
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
  messageAttack('dropped-component', 'a signature may omit parts of the request, so that they can be changed', exact, (sign, _as, kit) => {
    const names =
      /\(([^)]*)\)/
        .exec(headerOf(sign(), 'signature-input') ?? '')?.[1]
        ?.replaceAll('"', '')
        .split(' ') ?? []
    const without = (name: string) => sign({ covering: (all) => all.filter((other) => other !== name) })
    return [
      // Omitted when signing: anyone who captures the request could change the rest.
      refused(...names.map(without), sign({ covering: () => [] }), sign({ covering: (all) => all.slice(0, 1) })),
      // Removed after signing.
      refused(...names.map((name) => inInput(sign(), new RegExp(` ?"${name.replaceAll('.', '\\.')}"`), ''))),
      refused({ ...without('@query'), target: kit.query('zin=1') }),
    ]
  }),
  messageAttack('odd-components', 'components may be repeated, reordered, or not part of the profile', exact, (sign) => [
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
  messageAttack('odd-parameters', 'parameters may be missing, repeated, malformed, or not part of the profile', exact, (sign, _as, kit) => {
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
  messageAttack(
    'time',
    'a signature is accepted whatever its age',
    'Limit created to the window, in both directions.',
    (sign, _as, kit) => {
      const { now, windowMs, marginMs } = kit.parts
      const at = (ms: number): WireRequest => sign({ created: String(Math.floor((now() + ms) / 1000)) })
      const beyond = windowMs + marginMs + 1_000
      return [refused(at(-beyond), at(beyond), at(-86_400_000), at(86_400_000))]
    },
  ),
  messageAttack('changed-header', 'a covered header can be changed after signing', rebuild, (sign, as, kit) => {
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
  messageAttack('changed-target', 'a signature for one method, path or query is valid for another', rebuild, (sign, _as, kit) => {
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
  messageAttack(
    'changed-body',
    'the body is not compared with Content-Digest',
    'Hash the raw bytes and compare; libraries leave that to the app.',
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
]
