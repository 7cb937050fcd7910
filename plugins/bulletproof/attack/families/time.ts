import { type Attack, refused } from '../attack.js'
import type { Kit } from '../kit.js'
import type { WireRequest } from '../wire.js'

const day = 86_400_000
const grammar = 'Accept a timestamp of exactly 13 digits (ms since 1970), and sign the header verbatim.'

function dated(kit: Kit, ms: number): WireRequest {
  return kit.sign({ timestamp: String(kit.parts.now() + ms) })
}

/** Correctly signed, with a wrong time. */
export const timeAttacks: readonly Attack[] = [
  {
    name: 'skew:old',
    hole: 'requests older than the window are accepted',
    fix: 'Refuse timestamps that are older than the window.',
    rounds: (kit) => [refused(dated(kit, -kit.parts.windowMs - kit.parts.marginMs), dated(kit, -day), dated(kit, -365 * day))],
  },
  {
    name: 'skew:ahead',
    hole: 'requests dated beyond the window are accepted, so they can be stored and used later',
    fix: 'Refuse timestamps that are further in the future than the window.',
    rounds: (kit) => [refused(dated(kit, kit.parts.windowMs + kit.parts.marginMs), dated(kit, day), dated(kit, 3650 * day))],
  },
  {
    name: 'timestamp:grammar',
    hole: 'malformed timestamps are parsed as numbers, so two strings can mean the same time',
    fix: grammar,
    rounds: (kit) => {
      const now = String(kit.parts.now())
      const seconds = now.slice(0, 10)
      const forms = [
        `0${now}`,
        `+${now}`,
        `${now}.0`,
        `${now}abc`,
        seconds,
        `${now.slice(0, 1)}.${now.slice(1)}e12`,
        `0x${Number(now).toString(16)}`,
      ]
      return [refused(...[...forms, '0', '-1', 'NaN', 'Infinity', '9'.repeat(13)].map((timestamp) => kit.sign({ timestamp })))]
    },
  },
]
