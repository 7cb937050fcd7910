import type { SignatureHeaderNames } from 'zin'
import { type Attack, refused } from '../attack.js'
import { withHeader } from '../wire.js'

const five = ['keyId', 'timestamp', 'nonce', 'bodySha256', 'signature'] as const satisfies readonly (keyof SignatureHeaderNames)[]
const mend = 'Refuse a request unless all five signature headers and the device id are there, each once and not empty.'

/** Headers taken away or emptied. */
export const missingAttacks: readonly Attack[] = [
  {
    name: 'missing:everything',
    hole: 'the target answers without any credentials; it does not list "auth" and "bulletproof"',
    mend: 'List use: ["auth", "bulletproof"] on the route.',
    rounds: (kit) => {
      const { names } = kit.parts
      const bare = ['authorization', ...five.map((key) => names[key]), names.deviceId].reduce(
        (request, name) => withHeader(request, name, undefined),
        kit.sign(),
      )
      return [refused(bare)]
    },
  },
  {
    name: 'missing:signature-headers',
    hole: 'a token alone is enough: a request without any signature header is taken, so a stolen token opens everything',
    mend: 'List "bulletproof" on the route, and refuse requests without signature headers even when the token is good.',
    rounds: (kit) => [
      refused(
        [...five.map((key) => kit.parts.names[key]), kit.parts.names.deviceId].reduce(
          (request, name) => withHeader(request, name, undefined),
          kit.sign(),
        ),
      ),
    ],
  },
  {
    name: 'missing:authorization',
    hole: 'a signature alone is enough: no token is asked for',
    mend: 'List "auth" before "bulletproof", and refuse a request without a bearer token.',
    rounds: (kit) => [
      refused(
        withHeader(kit.sign(), 'authorization', undefined),
        withHeader(kit.sign(), 'authorization', ''),
        withHeader(kit.sign(), 'authorization', 'Bearer '),
        withHeader(kit.sign(), 'authorization', kit.parts.me.token),
        withHeader(kit.sign(), 'authorization', `Basic ${kit.parts.me.token}`),
      ),
    ],
  },
  ...[...five, 'deviceId' as const].map(
    (key): Attack => ({
      name: `missing:${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`).replace('sha256', '').replace(/-$/, '')}`,
      hole: `a request without its ${key} header, or with an empty one, is taken`,
      mend,
      rounds: (kit) => [refused(withHeader(kit.sign(), kit.parts.names[key], undefined), withHeader(kit.sign(), kit.parts.names[key], ''))],
    }),
  ),
]
