import { toHex } from '../bytes.js'
import { KEY_ID_PATTERN, NONCE_PATTERN, type SignatureHeaderNames } from '../canonical.js'
import { fault, type SignatureClaim, type SignatureFault } from '../claim.js'
import {
  CREATED_PATTERN,
  componentNames,
  FIELD_PATTERN,
  SIGNATURE_BYTES,
  SIGNATURE_TAG,
  type SignatureAlgorithm,
  type SignatureParameters,
} from './signature-base.js'
import { type BareItem, type InnerList, type Member, parseDictionary } from './structured-fields.js'

/** A signature with Zin's tag. */
export interface OwnSignature {
  readonly label: string
  readonly list: InnerList
}

/** Returns the signatures with Zin's tag in a `Signature-Input`; `undefined` if the field is malformed. */
export function ownSignatures(signatureInput: string): readonly OwnSignature[] | undefined {
  const members = parseDictionary(signatureInput)
  return members === undefined ? undefined : [...members].flatMap(([label, member]) => (isOwn(member) ? [{ label, list: member }] : []))
}

function isOwn(member: Member): member is InnerList {
  return member.kind === 'list' && text(member.params.get('tag')) === SIGNATURE_TAG
}

/** SHA-256 of the empty body. */
const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
const AUTHORITY_PATTERN = /^(?:[a-z0-9._~-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/
const PARAMETERS = 'created,nonce,keyid,alg,tag'

/**
 * Layer 3 of profile rfc9421. The signature must cover exactly method, authority, path, query and those of the four headers that the
 * request has, in the defined order, and have exactly the five parameters, in their order.
 *
 * @param headers values by lower-case name; no header is repeated.
 */
export function readOwnSignature(
  { label, list }: OwnSignature,
  headers: ReadonlyMap<string, string | undefined>,
  names: SignatureHeaderNames,
): SignatureClaim | SignatureFault {
  const parameters = readParameters(list)
  if (parameters === undefined) return fault(3, 'malformed signature parameters')
  const authority = headers.get('host') ?? ''
  if (!AUTHORITY_PATTERN.test(authority)) return fault(3, 'the host is ambiguous')
  const deviceId = headers.get(names.deviceId)
  if (deviceId === undefined) return fault(3, `missing ${names.deviceId}`)
  const fields = {
    contentType: headers.get('content-type'),
    contentDigest: headers.get('content-digest'),
    authorization: headers.get('authorization'),
    deviceId,
  }
  if (Object.values(fields).some((value) => value !== undefined && !FIELD_PATTERN.test(value)))
    return fault(3, 'a covered header contains more than printable ASCII')
  const listed = list.items.map(({ value, params }) => (params.size === 0 ? text(value) : undefined))
  if (listed.join('\n') !== componentNames(fields, names.deviceId).join('\n'))
    return fault(3, 'the covered components are not exactly the required ones')
  const signature = bytes(headers.get('signature'), label)
  if (signature?.length !== SIGNATURE_BYTES[parameters.alg]) return fault(3, 'malformed signature')
  const bodySha256 = fields.contentDigest === undefined ? EMPTY_SHA256 : digest(fields.contentDigest)
  if (bodySha256 === undefined) return fault(3, 'malformed content-digest')
  return {
    ok: true,
    profile: 'rfc9421',
    alg: parameters.alg,
    keyId: parameters.keyId,
    timestamp: `${parameters.created}000`,
    nonce: parameters.nonce,
    bodySha256,
    signature: toHex(signature),
    deviceId,
    timezone: headers.get(names.timezone),
    userAgent: headers.get('user-agent'),
    covered: { authority, fields, deviceIdHeader: names.deviceId },
  }
}

function readParameters({ params }: InnerList): SignatureParameters | undefined {
  if ([...params.keys()].join() !== PARAMETERS) return undefined
  const created = params.get('created')
  const [nonce, keyId, alg] = ['nonce', 'keyid', 'alg'].map((name) => text(params.get(name)) ?? '') as [string, string, string]
  if (created?.type !== 'integer' || !CREATED_PATTERN.test(String(created.value))) return undefined
  if (!NONCE_PATTERN.test(nonce) || !KEY_ID_PATTERN.test(keyId) || !Object.hasOwn(SIGNATURE_BYTES, alg)) return undefined
  return { created: String(created.value), nonce, keyId, alg: alg as SignatureAlgorithm }
}

/** Accepts exactly one `sha-256`: a further algorithm would not be checked. */
function digest(field: string): string | undefined {
  const sha256 = parseDictionary(field)?.size === 1 ? bytes(field, 'sha-256') : undefined
  return sha256?.length === 32 ? toHex(sha256) : undefined
}

/** Returns the bytes of a member without parameters. */
function bytes(field: string | undefined, key: string): Uint8Array | undefined {
  const member = field === undefined ? undefined : parseDictionary(field)?.get(key)
  return member?.kind === 'item' && member.params.size === 0 && member.value.type === 'bytes' ? member.value.value : undefined
}

function text(item: BareItem | undefined): string | undefined {
  return item?.type === 'string' ? item.value : undefined
}
