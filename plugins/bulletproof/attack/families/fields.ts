import type { SignatureHeaderNames } from 'zin/signing'
import { type Attack, accepted, refused } from '../attack.js'
import type { Kit } from '../kit.js'
import { headerOf, type WireRequest, withHeader } from '../wire.js'

const sign = 'Compare the MAC of the whole canonical request (method, path, query, timestamp, nonce, body hash) with timingSafeEqual.'

/** Flips one bit of the character at `at`; a hex digit stays a hex digit, and a letter or digit stays one. */
export function flip(text: string, at: number): string {
  const index = at < 0 ? text.length + at : at
  const char = text[index] ?? ''
  const code = char.charCodeAt(0)
  const other = /[0-9a-f]/.test(char) ? (Number.parseInt(char, 16) ^ 1).toString(16) : String.fromCharCode(code ^ 1)
  return text.slice(0, index) + other + text.slice(index + 1)
}

function changed(request: WireRequest, name: string, at: number): WireRequest {
  return withHeader(request, name, flip(headerOf(request, name) ?? '', at))
}

function names(kit: Kit): SignatureHeaderNames {
  return kit.parts.names
}

/** The last letter or digit of a body with one bit changed. */
function changedBody(body: string): string {
  const at = body.search(/[A-Za-z0-9][^A-Za-z0-9]*$/)
  if (at < 0) return `${body} `
  const char = body[at] ?? ''
  const other = /\d/.test(char) ? String(Number(char) ^ 1) : flip(char, 0)
  return body.slice(0, at) + (/[A-Za-z0-9]/.test(other) ? other : 'x') + body.slice(at + 1)
}

const takesNoQuery = 'the target does not accept unknown query parameters'

function swappedQueries(kit: Kit, signed: string, sent: string): WireRequest {
  return { ...kit.sign({ path: kit.query(signed) }), target: kit.query(sent) }
}

/** Change each field that the signature covers by one bit after signing. */
export const fieldAttacks: readonly Attack[] = [
  {
    name: 'changed:signature',
    hole: 'a nearly correct signature is accepted',
    fix: sign,
    rounds: (kit) => [refused(...[0, 31, 63].map((at) => changed(kit.sign(), names(kit).signature, at)))],
  },
  {
    name: 'changed:timestamp',
    hole: 'the timestamp is not signed, so a captured request can be given a new one',
    fix: sign,
    rounds: (kit) => [refused(changed(kit.sign(), names(kit).timestamp, -1))],
  },
  {
    name: 'changed:nonce',
    hole: 'the nonce is not signed, so a captured request can be sent again under a new one',
    fix: sign,
    rounds: (kit) => [refused(changed(kit.sign(), names(kit).nonce, -1), changed(kit.sign(), names(kit).nonce, 0))],
  },
  {
    name: 'changed:body-hash',
    hole: 'the body hash header is not signed or not compared',
    fix: sign,
    rounds: (kit) => [refused(changed(kit.sign(), names(kit).bodySha256, 0), changed(kit.sign(), names(kit).bodySha256, -1))],
  },
  {
    name: 'changed:method',
    hole: 'the method is not signed, so a read can be turned into a write',
    fix: sign,
    rounds: (kit) => {
      const others = ['GET', 'POST', 'DELETE', 'PUT'].filter((method) => method !== kit.target.method)
      return [refused(...others.map((method) => ({ ...kit.sign({ method }), method: kit.target.method })))]
    },
  },
  {
    name: 'changed:path',
    hole: 'the path is not signed, so a signature for one route is valid for another',
    fix: sign,
    rounds: (kit) => {
      const paths = [flip(kit.pathname, -1), '/', `${kit.pathname}/x`].filter((path) => path !== kit.pathname)
      return [refused(...paths.map((path) => ({ ...kit.sign({ path }), target: kit.target.path })))]
    },
  },
  {
    name: 'changed:query',
    hole: 'the query is not signed, so parameters can be changed, added and removed',
    fix: 'Put the raw query with its "?" into the canonical request, as received: neither sorted nor decoded.',
    rounds: (kit) => [
      // First, since a server that never signs queries refuses the valid request of the next round.
      refused({ ...kit.sign(), target: kit.query('zin=1') }),
      accepted(kit.sign({ path: kit.query('zin=1') }), takesNoQuery),
      refused(swappedQueries(kit, 'zin=1', 'zin=0'), { ...kit.sign({ path: kit.query('zin=1') }), target: kit.target.path }),
    ],
  },
  {
    name: 'changed:query-spelling',
    hole: 'the query is sorted or decoded before it is signed, so two queries share a signature',
    fix: 'Sign the raw query, byte for byte; never sort or decode it.',
    rounds: (kit) => [
      accepted(kit.sign({ path: kit.query('za=1&zb=2') }), takesNoQuery),
      refused(
        swappedQueries(kit, 'za=1&zb=2', 'zb=2&za=1'),
        swappedQueries(kit, 'za=x%2Fy', 'za=x/y'),
        swappedQueries(kit, 'za=x%20y', 'za=x+y'),
        swappedQueries(kit, 'za=1', 'za=1&za=1'),
        swappedQueries(kit, 'za=%c3%a9', 'za=%C3%A9'),
      ),
    ],
  },
  {
    name: 'changed:body',
    hole: 'the body is not compared with the signed hash, so it can be replaced',
    fix: 'Hash the raw bytes before any parser, and compare the result with the signed body hash.',
    rounds: (kit) => {
      const { body } = kit.target
      const signed = kit.sign()
      if (body === undefined) return [refused({ ...signed, body: Buffer.from('{}') })]
      const bodies = [changedBody(body), `${body} `, `\n${body}`, '']
      return [refused(...bodies.map((other) => ({ ...kit.sign(), body: Buffer.from(other) })))]
    },
  },
]
