import { createHash, createPrivateKey, createPublicKey, createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto'
import { joinErrors, messageOf } from 'zin'
import { jwtErrors } from './errors.js'

export type Algorithm = 'HS256' | 'RS256' | 'ES256' | 'EdDSA'

/** The signing key, and the verification keys by key id. */
export interface Keyring {
  readonly algorithm: Algorithm
  /** Name of the signing key in the token header. */
  readonly kid: string
  /** Absent when only a public key is configured: tokens are then verified but never issued. */
  readonly signing: KeyObject | undefined
  readonly verifying: ReadonlyMap<string, KeyObject>
  /** Ids of the keys that were derived from previous master keys. */
  readonly former: ReadonlySet<string>
  /** Whether the key was generated for this process, because none is set. */
  readonly ephemeral: boolean
  /** Why the configured keys cannot be used, if so: commands that need no started app issue no tokens with the generated one instead. */
  readonly fault?: unknown
  /** Warnings to log at boot. */
  readonly warnings: readonly string[]
}

/** The configured keys. An empty string means not set. */
export interface KeyMaterial {
  readonly algorithm: Algorithm
  readonly secret: string
  /** Previous secrets: for verification only. */
  readonly earlierSecrets?: readonly string[]
  readonly appKey: string
  /** Previous master keys: without `secret`, the keys derived from them verify, too. */
  readonly earlierAppKeys?: readonly string[]
  readonly privateKey: string
  readonly publicKey: string
  /** Public keys of earlier and next private keys: for verification only. */
  readonly otherPublicKeys?: readonly string[]
  readonly production: boolean
}

const minBytes = 32
const derivedBytes = 32
const label = 'zin/jwt/v1'

/** Creates the keyring of one host. Throws a ZinError that names the setting when a key is missing, short in production, or unreadable. */
export function readKeys(material: KeyMaterial): Keyring {
  return material.algorithm === 'HS256' ? secretKeys(material) : pemKeys(material)
}

function secretKeys(material: KeyMaterial): Keyring {
  const { algorithm, production } = material
  const [name, text] = material.secret !== '' ? (['JWT_SECRET', material.secret] as const) : (['APP_KEY', material.appKey] as const)
  if (text === '') {
    if (production) throw jwtErrors.JWT_KEY_MISSING(algorithm, 'JWT_SECRET or APP_KEY')
    const warning =
      'neither JWT_SECRET nor APP_KEY is set: tokens are signed with a random key and are valid only until this process ends; set APP_KEY in .env'
    return { ...randomKeys(), warnings: [warning] }
  }
  const bytes = Buffer.from(text, 'utf8')
  const [secrets, appKeys] = [material.earlierSecrets ?? [], material.earlierAppKeys ?? []].map((list) =>
    list.map((one) => Buffer.from(one, 'utf8')),
  )
  // With a secret of its own, tokens were never signed with a master key.
  const former = name === 'APP_KEY' ? (appKeys ?? []).map(derived) : []
  const all = [
    [name, bytes],
    ...(secrets ?? []).map((key) => ['JWT_SECRET_BK', key] as const),
    ...(appKeys ?? []).map((key) => ['APP_KEY_BK', key] as const),
  ] as const
  const short = all
    .filter(([, { length }]) => length < minBytes && production)
    .map(([from, { length }]) => jwtErrors.JWT_KEY_TOO_SHORT(from, length))
  if (short.length > 0) throw joinErrors(short)
  const warnings = bytes.length < minBytes ? [`${name} has ${bytes.length} bytes; production refuses fewer than ${minBytes}`] : []
  const key = name === 'APP_KEY' ? derived(bytes) : bytes
  return keyring(algorithm, createSecretKey(key), warnings, { secrets, former })
}

/** A key of this process. */
export function randomKeys(): Keyring {
  return { ...keyring('HS256', createSecretKey(randomBytes(derivedBytes)), []), ephemeral: true }
}

/** APP_KEY serves several purposes, so each uses a derived key; JWT_SECRET is shared with other issuers and used as is. */
function derived(appKey: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', appKey, '', label, derivedBytes))
}

function pemKeys({ algorithm, privateKey, publicKey, otherPublicKeys = [] }: KeyMaterial): Keyring {
  if (privateKey === '' && publicKey === '')
    throw jwtErrors.JWT_KEY_MISSING(algorithm, 'JWT_PRIVATE_KEY (or JWT_PUBLIC_KEY to only verify tokens)')
  const signing = privateKey === '' ? undefined : readPem('JWT_PRIVATE_KEY', privateKey, createPrivateKey, algorithm)
  const checking =
    publicKey === '' ? createPublicKey(signing as KeyObject) : readPem('JWT_PUBLIC_KEY', publicKey, createPublicKey, algorithm)
  if (signing !== undefined && !createPublicKey(signing).equals(checking))
    throw jwtErrors.JWT_KEY_INVALID('JWT_PUBLIC_KEY', 'it is not the public key of JWT_PRIVATE_KEY')
  const others = otherPublicKeys.map((pem) => readPem('JWT_PUBLIC_KEY_BK', pem, readPublic, algorithm))
  const [kid] = namedKey(checking)
  const verifying = new Map([checking, ...others].map(namedKey))
  return { algorithm, kid, signing, verifying, former: new Set(), ephemeral: false, warnings: [] }
}

function namedKey(key: KeyObject): readonly [kid: string, key: KeyObject] {
  return [fingerprint(key.export({ type: 'spki', format: 'der' })), key]
}

/** A private key here would be published by nobody, but is in the wrong place. */
function readPublic(pem: string): KeyObject {
  if (/PRIVATE KEY/.test(pem)) throw new Error('it is a private key; write its public key')
  return createPublicKey(pem)
}

const kinds = {
  RS256: {
    fits: ({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject) =>
      asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) >= 2048,
    needs: 'an RSA key of at least 2048 bits',
  },
  ES256: {
    fits: ({ asymmetricKeyDetails }: KeyObject) => asymmetricKeyDetails?.namedCurve === 'prime256v1',
    needs: 'a key on the curve P-256',
  },
  EdDSA: { fits: ({ asymmetricKeyType }: KeyObject) => asymmetricKeyType === 'ed25519', needs: 'an Ed25519 key' },
} as const

function readPem(name: string, text: string, read: (pem: string) => KeyObject, algorithm: Algorithm): KeyObject {
  let key: KeyObject
  try {
    key = read(text.replaceAll('\\n', '\n'))
  } catch (error) {
    throw jwtErrors.JWT_KEY_INVALID(name, `it is not a PEM key (${messageOf(error)})`)
  }
  const { fits, needs } = kinds[algorithm as keyof typeof kinds]
  if (!fits(key)) throw jwtErrors.JWT_KEY_INVALID(name, `${algorithm} requires ${needs}`)
  return key
}

interface EarlierKeys {
  readonly secrets?: readonly Buffer[] | undefined
  readonly former?: readonly Buffer[]
}

function keyring(
  algorithm: Algorithm,
  key: KeyObject,
  warnings: readonly string[],
  { former = [], secrets = [] }: EarlierKeys = {},
): Keyring {
  const kid = fingerprint(key.export())
  const verifying = new Map([...[...former, ...secrets].map((bytes) => [fingerprint(bytes), createSecretKey(bytes)] as const), [kid, key]])
  const others = new Set([kid, ...secrets.map(fingerprint)])
  const formerIds = former.map(fingerprint).filter((id) => !others.has(id))
  return { algorithm, kid, signing: key, verifying, former: new Set(formerIds), ephemeral: false, warnings }
}

/** Identifies a key without revealing it: a secret has 32 bytes of entropy, so 8 bytes of its labelled hash are safe to publish. */
function fingerprint(key: Buffer): string {
  return createHash('sha256').update(`${label}/kid`).update(key).digest('hex').slice(0, 16)
}
