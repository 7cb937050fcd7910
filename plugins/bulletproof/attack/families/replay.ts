import { randomUUID } from 'node:crypto'
import { type Attack, accepted, refused } from '../attack.js'
import { withHeader } from '../wire.js'

const fix =
  'Claim the nonce atomically (SET NX, INSERT … ON CONFLICT DO NOTHING) once the signature and the body hash match, and keep it until timestamp + window.'

/** Number of concurrent copies. */
export const raceCopies = 50

/** Send one request several times. */
export const replayAttacks: readonly Attack[] = [
  {
    name: 'replay:again',
    hole: 'a captured request can be sent again: its nonce is not remembered',
    fix,
    rounds: (kit) => {
      const request = kit.sign()
      return [accepted(request), refused(request), refused(request, request)]
    },
  },
  {
    name: 'replay:race',
    hole: 'concurrent copies are accepted more than once: the nonce is checked and stored in two steps',
    fix,
    rounds: (kit) => [{ requests: Array<ReturnType<typeof kit.sign>>(raceCopies).fill(kit.sign()), expect: 'once' }],
  },
  {
    name: 'replay:other-key-id',
    hole: 'a captured request can be sent again under another key id: nonces are kept per header instead of per secret',
    fix: 'Scope the nonce by the secret that verified the request, never by the key id that the request names.',
    rounds: (kit) => {
      const { names } = kit.parts
      const request = kit.sign()
      const renamed = `zin-attack-${randomUUID().slice(0, 8)}`
      return [accepted(request), refused(withHeader(withHeader(request, names.keyId, renamed), names.deviceId, renamed))]
    },
  },
  {
    name: 'replay:ahead-of-time',
    hole: 'a request dated in the future can be sent again',
    fix,
    rounds: (kit) => {
      const request = kit.sign({ timestamp: String(kit.parts.now() + kit.parts.windowMs - kit.parts.marginMs) })
      return [accepted(request, 'the app does not accept requests dated ahead'), refused(request)]
    },
  },
  {
    name: 'replay:after-window',
    hole: 'a request dated in the future can be sent again one window later: its nonce is forgotten before its timestamp is too old',
    fix: 'Keep the nonce until timestamp + window, not for one window after its arrival.',
    unless: (kit) => (kit.parts.patient ? undefined : 'it waits for a full window; pass --slow'),
    rounds: (kit) => {
      const { windowMs, marginMs, now } = kit.parts
      const request = kit.sign({ timestamp: String(now() + windowMs - marginMs) })
      return [
        accepted(request, 'the app does not accept requests dated ahead'),
        { ...refused(request), afterMs: windowMs + 1 },
        { ...refused(request), afterMs: Math.max(1, windowMs - 2 * marginMs) },
      ]
    },
  },
]
