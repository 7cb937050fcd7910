import type { SignatureHeaderNames } from 'zin/signing'
import { type Attack, refused } from '../attack.js'
import { withHeader } from '../wire.js'

const headers = {
  'key-id': 'keyId',
  timestamp: 'timestamp',
  nonce: 'nonce',
  'body-hash': 'bodySha256',
  signature: 'signature',
  'device-id': 'deviceId',
} as const satisfies Readonly<Record<string, keyof SignatureHeaderNames>>
const fix = 'Require all five signature headers and the device id, each exactly once and not empty.'

/** Remove or empty headers. */
export const missingAttacks: readonly Attack[] = [
  {
    name: 'missing:everything',
    hole: 'the route is not guarded: the target accepts requests without credentials; it does not list "auth" and "bulletproof"',
    fix: 'List use: ["auth", "bulletproof"] on the route.',
    rounds: (kit) => {
      const { names } = kit.parts
      const bare = ['authorization', ...Object.values(headers).map((key) => names[key])].reduce(
        (request, name) => withHeader(request, name, undefined),
        kit.sign(),
      )
      return [refused(bare)]
    },
  },
  {
    name: 'missing:signature-headers',
    hole: 'a token alone is enough: a request without signature headers is accepted, so a stolen token gives full access',
    fix: 'List "bulletproof" on the route, and refuse requests without signature headers even when the token is valid.',
    rounds: (kit) => [
      refused(
        Object.values(headers)
          .map((key) => kit.parts.names[key])
          .reduce((request, name) => withHeader(request, name, undefined), kit.sign()),
      ),
    ],
  },
  {
    name: 'missing:authorization',
    hole: 'a signature alone is enough: no token is required',
    fix: 'List "auth" before "bulletproof", and refuse a request without a bearer token.',
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
  ...Object.entries(headers).map(
    ([name, key]): Attack => ({
      name: `missing:${name}`,
      hole: `a request without its ${name} header, or with an empty one, is taken`,
      fix,
      rounds: (kit) => [refused(withHeader(kit.sign(), kit.parts.names[key], undefined), withHeader(kit.sign(), kit.parts.names[key], ''))],
    }),
  ),
]
