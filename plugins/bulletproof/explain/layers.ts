/** The layers, as numbered and named by the specification. */
export const layerNames = {
  1: 'Authorization header',
  2: 'Token revocation',
  3: 'Signed-request headers',
  4: 'Timestamp freshness',
  5: 'Nonce replay guard',
  6: 'Signature',
  7: 'Device binding',
  8: 'Timezone binding',
  9: 'User-Agent binding',
} as const

export type Layer = keyof typeof layerNames

/** What to do about a reason; the first matching pattern applies. */
const advice: readonly (readonly [Layer, RegExp, string])[] = [
  [1, /bearer/, 'send one header "Authorization: Bearer <jwt>" with the jwt of the login'],
  [1, /expired/, 'log in again, or pass the time of the capture with --at'],
  [1, /audience|issuer/, 'the token was issued for another app: compare JWT_ISSUER and JWT_AUDIENCE of the two'],
  [1, /signature|key has the id/, 'the token was signed with another key: compare JWT_SECRET or APP_KEY of the app that issued it'],
  [1, /./, 'log in again and send the token unchanged'],
  [2, /./, 'log in again; the user logged out, or an operator ended the session'],
  [3, /missing/, 'sign with zin/signer, and make proxies forward the headers; compare SIGNATURE_HEADER_PREFIX'],
  [3, /repeated/, 'a proxy between client and app adds the header a second time; make it replace or keep the header'],
  [3, /encoded/, 'send signed bodies without Content-Encoding'],
  [3, /overridden/, 'send the real method instead of X-HTTP-Method-Override'],
  [3, /both profiles/, 'use one profile: the five headers or Signature-Input'],
  [3, /./, 'timestamp: 13 digits; nonce: 16 to 128 letters, digits, "_" or "-"; body hash and signature: 64 lower-case hex digits'],
  [4, /old/, 'set the client clock, or sign right before sending; pass the time of the capture with --at'],
  [4, /ahead/, 'set the client clock; signedFetch of zin/signer corrects it by the Date header'],
  [5, /used/, 'sign each attempt separately: a retry needs a new nonce'],
  [5, /older/, 'sign again: the nonce store is newer than this request'],
  [6, /body/, 'sign the exact bytes that are sent; no proxy between client and app may rewrite the body'],
  [6, /target/, 'send the path and query as a URL parser serializes them: no "//", "..", "\\" or unnecessary percent-encoding'],
  [6, /pinned/, 'sign by RFC 9421, as the device did before'],
  [6, /removed/, 'log in again for a new device'],
  [6, /no secret/, 'log in to create a device, or add the key id to sharedKeyIds'],
  [6, /./, 'compare the canonical request below with the one that the client signed, line by line'],
  [7, /key id/, 'send the key id in the device id header'],
  [7, /another device/, 'use the token and the device of the same login'],
  [7, /another user/, 'use the token and the device of the same user'],
  [8, /./, 'send the time zone that the token was issued for, or log in from the new one'],
  [9, /./, 'send the User-Agent of the login, or log in again'],
]

export function adviceFor(layer: Layer, reason: string): string {
  return advice.find(([of, pattern]) => of === layer && pattern.test(reason))?.[2] ?? ''
}
