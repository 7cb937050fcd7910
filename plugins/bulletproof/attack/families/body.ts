import { gzipSync } from 'node:zlib'
import { type Attack, accepted, refused, rejected } from '../attack.js'
import type { Kit } from '../kit.js'
import { type WireRequest, withHeader } from '../wire.js'

const wire = 'Hash the raw bytes before any parser, and refuse Content-Encoding on signed requests.'

/** The target's body, or a small one for targets without a body. */
function bodyOf(kit: Kit): Buffer {
  return Buffer.from(kit.target.body ?? '{}')
}

function sending(kit: Kit, signed: Buffer, sent: Buffer, more: Partial<WireRequest> = {}): WireRequest {
  return { ...kit.sign({ body: signed }), body: sent, ...more }
}

/** Send a body that differs from the signed one. */
export const bodyAttacks: readonly Attack[] = [
  {
    name: 'body:byte-order-mark',
    hole: 'the hash covers decoded text: a leading byte order mark goes unnoticed',
    fix: wire,
    rounds: (kit) => {
      const body = bodyOf(kit)
      const mark = Buffer.from([0xef, 0xbb, 0xbf])
      return [refused(sending(kit, body, Buffer.concat([mark, body])), sending(kit, Buffer.concat([mark, body]), body))]
    },
  },
  {
    name: 'body:not-utf-8',
    hole: 'the hash covers decoded text: all invalid UTF-8 bytes look the same',
    fix: wire,
    rounds: (kit) => [refused(sending(kit, Buffer.from([0x22, 0xff, 0x22]), Buffer.from([0x22, 0xfe, 0x22])))],
  },
  {
    name: 'body:compressed',
    hole: 'a compressed body is hashed after decompression, so the bytes on the wire are not the signed ones',
    fix: wire,
    rounds: (kit) => {
      const body = bodyOf(kit)
      const packed = gzipSync(body)
      const requests = [sending(kit, body, packed), sending(kit, packed, packed)]
      return [refused(...requests.map((request) => withHeader(request, 'content-encoding', 'gzip')))]
    },
  },
  {
    name: 'body:chunked',
    hole: 'a chunked body is not compared with the signed hash',
    fix: wire,
    rounds: (kit) => {
      const body = bodyOf(kit)
      return [
        refused(sending(kit, body, Buffer.concat([body, Buffer.from(' ')]), { framing: 'chunked' }), {
          ...kit.sign({ body }),
          body: Buffer.from('{"zin":1}'),
          framing: 'chunked',
        }),
      ]
    },
  },
  {
    name: 'body:unsigned',
    hole: 'a body is accepted on a request that was signed without one',
    fix: wire,
    rounds: (kit) => [
      refused(
        sending(kit, Buffer.alloc(0), Buffer.from('{"zin":1}')),
        sending(kit, Buffer.alloc(0), Buffer.from('{}'), { framing: 'chunked' }),
      ),
    ],
  },
  {
    name: 'body:cut-off',
    hole: 'a truncated body is accepted',
    fix: 'Refuse a request whose body ends before its Content-Length.',
    rounds: (kit) => [accepted(kit.sign()), rejected(sending(kit, bodyOf(kit), bodyOf(kit), { framing: 'cut' }))],
  },
  {
    name: 'body:two-lengths',
    hole: 'a request with both Content-Length and chunked encoding is accepted, so two servers can read different bodies',
    fix: 'Keep the HTTP parser strict: return 400 for a request with both.',
    rounds: (kit) => [rejected(sending(kit, bodyOf(kit), bodyOf(kit), { framing: 'both' }))],
  },
]
