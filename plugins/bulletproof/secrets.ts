import { LRUCache } from 'lru-cache'
import { isEnvelope, type Sealer, type SigningKey, signingKey, type Unsealed } from 'zin/signing'
import type { Signer } from './contract.js'
import { deviceKey, publicKeyIn } from './device-key.js'
import type { Pending } from './pending.js'
import type { SharedKeyring } from './shared-keyring.js'
import type { DeviceRecord } from './store/devices/contract.js'

/** The keys that a request may be signed with, and the signer that a matching key proves. */
export interface Candidates {
  readonly keys: readonly SigningKey[]
  readonly signer: Signer
}

export interface SecretParts {
  readonly sealer: Sealer
  readonly shared: SharedKeyring
  readonly sharedSecretFor: 'none' | 'listed' | 'unknown'
  readonly sharedKeyIds: ReadonlySet<string>
  /** Whether secrets stored in plain text are accepted, until they are sealed. */
  readonly legacySecrets: boolean
  /** The app's own secret of a key id that matches no device. */
  readonly resolve: (keyId: string) => Promise<string | undefined>
  /** Called when a record is sealed under an earlier master key or not at all, with the envelope to store instead. */
  readonly stale: (record: DeviceRecord, envelope: string) => void
  /** Called when a record cannot be decrypted, at most once per device and minute. */
  readonly unreadable: (record: DeviceRecord) => void
}

/** How often a device whose secret cannot be decrypted is reported, in ms. */
const UNREADABLE_EVERY_MS = 60_000

/** Finds the secrets of key ids, and caches opened ones for up to a minute. */
export class Secrets {
  readonly #parts: SecretParts
  readonly #open = new LRUCache<string, { readonly record: DeviceRecord; readonly key: SigningKey }>({
    max: 10_000,
    ttl: 60_000,
    ttlResolution: 0,
  })

  /** When each device was last reported as unreadable. */
  readonly #reported = new LRUCache<string, number>({ max: 10_000 })

  constructor(parts: SecretParts) {
    this.#parts = parts
  }

  /**
   * Returns the secret of the device, else the one that the app resolves, else the shared secret. A removed device has no secret and no
   * fallback.
   */
  find(keyId: string, device: DeviceRecord | undefined, now: number): Pending<Candidates> {
    if (device === undefined) return this.#withoutDevice(keyId, now)
    const key = this.#keyOf(device, now)
    return { keys: key === undefined ? [] : [key], signer: { kind: 'device', keyId, userId: device.userId } }
  }

  async #withoutDevice(keyId: string, now: number): Promise<Candidates> {
    const secret = await this.#parts.resolve(keyId)
    if (secret !== undefined && secret !== '') return { keys: [signingKey(secret)], signer: { kind: 'resolved', keyId } }
    const { sharedSecretFor, sharedKeyIds } = this.#parts
    const allowed = sharedSecretFor === 'unknown' || (sharedSecretFor === 'listed' && sharedKeyIds.has(keyId))
    return allowed ? this.shared(keyId, now) : { keys: [], signer: { kind: 'shared', keyId } }
  }

  shared(keyId: string, now: number): Candidates {
    return { keys: this.#parts.shared.keys(now), signer: { kind: 'shared', keyId } }
  }

  forget(deviceId: string): void {
    this.#open.delete(deviceId)
  }

  /** A value marked as an envelope or as a public key is not a secret in plain text. */
  #plain({ signingSecret }: DeviceRecord): Unsealed | undefined {
    const marked = isEnvelope(signingSecret) || publicKeyIn(signingSecret) !== undefined
    return this.#parts.legacySecrets && !marked ? { secret: signingSecret, stale: true } : undefined
  }

  #report(device: DeviceRecord, now: number): void {
    const last = this.#reported.get(device.deviceId)
    // The wall clock may also be set back.
    if (last !== undefined && Math.abs(now - last) < UNREADABLE_EVERY_MS) return
    this.#reported.set(device.deviceId, now)
    this.#parts.unreadable(device)
  }

  #keyOf(device: DeviceRecord, now: number): SigningKey | undefined {
    if (device.removedAt !== undefined || device.signingSecret === '') return undefined
    const known = this.#open.get(device.deviceId)
    if (known?.record.signingSecret === device.signingSecret && known.record.userId === device.userId) return known.key
    const opened = this.#parts.sealer.unseal(device.signingSecret, device) ?? this.#plain(device)
    if (opened === undefined) {
      this.#report(device, now)
      return undefined
    }
    if (opened.stale) this.#parts.stale(device, this.#parts.sealer.seal(opened.secret, device))
    const key = deviceKey(opened.secret)
    this.#open.set(device.deviceId, { record: device, key })
    return key
  }
}
