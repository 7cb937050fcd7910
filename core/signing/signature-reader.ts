import { KEY_ID_PATTERN, NONCE_PATTERN, type SignatureHeaderNames, TIMESTAMP_PATTERN } from './canonical.js'
import { fault, type SignatureClaim, type SignatureFault } from './claim.js'
import { ownSignatures, readOwnSignature } from './rfc9421/reader.js'
import { SIGNATURE_TAG } from './rfc9421/signature-base.js'

const hex64 = /^[0-9a-f]{64}$/
/** Headers that must not be repeated: Node joins or drops repeats, so the app could read other values than were signed. */
const singleHeaders: ReadonlySet<string> = new Set([
  ...['authorization', 'host', 'user-agent', 'content-type', 'content-length', 'content-encoding', 'transfer-encoding'],
  ...['signature-input', 'signature', 'content-digest'],
])

/**
 * Layer 3: checks that the headers of one profile are present once and well formed, and that nothing makes the request
 * ambiguous. The profile is rfc9421 if a `Signature-Input` has Zin's tag, otherwise v1; never both. Signatures with other
 * tags are ignored.
 *
 * @param rawHeaders like `req.rawHeaders`: alternating names and values, including repeated headers.
 */
export type SignatureReader = (rawHeaders: readonly string[]) => SignatureClaim | SignatureFault

/** Reads one signature. For more than one, create a {@link SignatureReader} once: it does not rebuild its tables for each call. */
export function readSignature(rawHeaders: readonly string[], names: SignatureHeaderNames): SignatureClaim | SignatureFault {
  return signatureReader(names)(rawHeaders)
}

/** Creates the reader of layer 3 for the given header names. */
export function signatureReader(names: SignatureHeaderNames): SignatureReader {
  // Values are indexed by the position of their header: each name of a request is looked up once.
  const places = new Map<string, number>()
  const place = (name: string): number => {
    const known = places.get(name) ?? places.size
    places.set(name, known)
    return known
  }
  for (const name of [...singleHeaders, ...Object.values(names)]) place(name)
  const five = fiveOf(names)
  const [atKeyId, atTimestamp, atNonce, atBodySha256, atSignature] = five.map(place) as [number, number, number, number, number]
  const [atDeviceId, atTimezone, atUserAgent] = [place(names.deviceId), place(names.timezone), place('user-agent')]
  const [atEncoding, atInput] = [place('content-encoding'), place('signature-input')]
  const none: readonly undefined[] = Array.from({ length: places.size }, () => undefined)

  const readOwn = (values: readonly (string | undefined)[], input: string): SignatureClaim | SignatureFault | undefined => {
    const own = ownSignatures(input)
    if (own === undefined) return fault(3, 'malformed signature-input')
    if (own.length > 1) return fault(3, 'more than one signature has the tag of Zin')
    if (own[0] === undefined) return undefined
    if (five.some((name) => values[place(name)] !== undefined)) return fault(3, 'signed with both profiles')
    return readOwnSignature(own[0], new Map([...places].map(([name, at]) => [name, values[at]])), names)
  }

  return (rawHeaders) => {
    const values: (string | undefined)[] = none.slice()
    for (let index = 0; index < rawHeaders.length; index += 2) {
      const name = (rawHeaders[index] as string).toLowerCase()
      const at = places.get(name)
      if (at === undefined) {
        if (name === 'x-http-method-override') return fault(3, 'the method is overridden by a header')
        continue
      }
      if (values[at] !== undefined) return fault(3, `the header ${name} is repeated`)
      values[at] = rawHeaders[index + 1] as string
    }
    const encoding = values[atEncoding]
    if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return fault(3, 'the body is encoded')
    const input = values[atInput]
    const own = input === undefined ? undefined : readOwn(values, input)
    if (own !== undefined) return own

    const keyId = values[atKeyId]
    const timestamp = values[atTimestamp]
    const nonce = values[atNonce]
    const bodySha256 = values[atBodySha256]
    const signature = values[atSignature]
    if (keyId === undefined || timestamp === undefined || nonce === undefined || bodySha256 === undefined || signature === undefined)
      return fault(3, `missing ${five.filter((name) => values[place(name)] === undefined).join(', ')}`)
    if (!KEY_ID_PATTERN.test(keyId)) return malformed(names.keyId)
    if (!TIMESTAMP_PATTERN.test(timestamp)) return malformed(names.timestamp)
    if (!NONCE_PATTERN.test(nonce)) return malformed(names.nonce)
    if (!hex64.test(bodySha256)) return malformed(names.bodySha256)
    if (!hex64.test(signature)) return malformed(names.signature)

    return {
      ok: true,
      profile: 'v1',
      alg: 'hmac-sha256',
      keyId,
      timestamp,
      nonce,
      bodySha256,
      signature,
      deviceId: values[atDeviceId],
      timezone: values[atTimezone],
      userAgent: values[atUserAgent],
    }
  }
}

function malformed(name: string): SignatureFault {
  return fault(3, `malformed ${name}`)
}

function fiveOf(names: SignatureHeaderNames): readonly string[] {
  return [names.keyId, names.timestamp, names.nonce, names.bodySha256, names.signature]
}

/** Whether a request has any of the five headers or Zin's tag, and is thus meant to be signed. */
export function isSigned(headers: Readonly<Record<string, unknown>>, names: SignatureHeaderNames): boolean {
  const { keyId, timestamp, nonce, bodySha256, signature } = names
  const isOfV1 =
    headers[signature] !== undefined ||
    headers[keyId] !== undefined ||
    headers[timestamp] !== undefined ||
    headers[nonce] !== undefined ||
    headers[bodySha256] !== undefined
  if (isOfV1) return true
  const input = headers['signature-input']
  return input !== undefined && String(input).includes(`"${SIGNATURE_TAG}"`)
}
