import { fromBase64, toBase64Url } from '../bytes.js'
import { subtle } from '../web-crypto.js'

/** An Ed25519 key pair of a device. The private key stays on the device. */
export interface DeviceKey {
  readonly privateKey: CryptoKey
  /** Base64url of the 32 raw bytes, for `devicePublicKey` of the login. */
  readonly publicKey: string
}

/**
 * Generates the key pair of a device. The private key cannot be exported unless `extractable` is true; a browser can store the `CryptoKey`
 * in IndexedDB. Other programs that must store it set `extractable` and keep `crypto.subtle.exportKey('pkcs8', …)`.
 * Requires Ed25519 in `crypto.subtle`: Node 20, workerd, and browsers since 2025.
 */
export async function generateDeviceKey(options: { readonly extractable?: boolean } = {}): Promise<DeviceKey> {
  const pair = (await subtle().generateKey('Ed25519', options.extractable ?? false, ['sign', 'verify'])) as CryptoKeyPair
  const raw = new Uint8Array(await subtle().exportKey('raw', pair.publicKey))
  return { privateKey: pair.privateKey, publicKey: toBase64Url(raw) }
}

/** An Ed25519 private key: a `CryptoKey`, or PKCS8 as DER bytes or PEM text. */
export type DevicePrivateKey = CryptoKey | Uint8Array | ArrayBuffer | string

/** Imports a private key. Throws a TypeError if it is not an Ed25519 private key; the message does not quote it. */
export async function importPrivateKey(key: DevicePrivateKey): Promise<CryptoKey> {
  if (key instanceof CryptoKey) {
    if (key.algorithm.name === 'Ed25519' && key.usages.includes('sign')) return key
    throw new TypeError('privateKey must be an Ed25519 key with the usage "sign"')
  }
  const der = typeof key === 'string' ? fromBase64(key.replace(/-----(?:BEGIN|END) PRIVATE KEY-----|\s/g, '')) : key
  try {
    return await subtle().importKey('pkcs8', der as Uint8Array<ArrayBuffer> | ArrayBuffer, 'Ed25519', false, ['sign'])
  } catch {
    throw new TypeError('privateKey must be an Ed25519 key: a CryptoKey, or PKCS8 as DER bytes or PEM text')
  }
}
