import { LRUCache } from 'lru-cache'
import { isEnvelope, type Sealer, type SigningKey, signingKey, type Unsealed } from 'zin/signing'
import type { Signer } from './contract.js'
import { deviceKey, publicKeyIn } from './device-key.js'
import type { Pending } from './pending.js'
import type { SharedKeyring } from './shared-keyring.js'
import type { DeviceRecord } from './store/devices/contract.js'

/** The keys that a request may have been signed with, and what a fitting one proves. */
export interface Candidates {
  readonly keys: readonly SigningKey[]
  readonly signer: Signer
}

export interface SecretParts {
  readonly sealer: Sealer
  readonly shared: SharedKeyring
  readonly sharedSecretFor: 'none' | 'listed' | 'unknown'
  readonly sharedKeyIds: ReadonlySet<string>
  /** Whether a record may hold its secret in plain text, until it is sealed. */
  readonly legacySecrets: boolean
  /** The secret that the app itself gives for a key id that matches no device. */
  readonly resolve: (keyId: string) => Promise<string | undefined>
  /** Hears that a record was sealed under an earlier master key or not at all, with the envelope to write in its place. */
  readonly stale: (record: DeviceRecord, envelope: string) => void
  /** Hears that a record does not open. */
  readonly unreadable: (record: DeviceRecord) => void
}

/** Finds secrets by key id, and keeps opened ones for a minute at most. */
export class Secrets {
  readonly #parts: SecretParts
  readonly #open = new LRUCache<string, { readonly record: DeviceRecord; readonly key: SigningKey }>({
    max: 10_000,
    ttl: 60_000,
    ttlResolution: 0,
  })

  constructor(parts: SecretParts) {
    this.#parts = parts
  }

  /** The secret of the device, else the one that the app gives, else the shared secret. A removed device has none and falls back to none. */
  find(keyId: string, device: DeviceRecord | undefined, now: number): Pending<Candidates> {
    if (device === undefined) return this.#withoutDevice(keyId, now)
    const key = this.#keyOf(device)
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

  /** What is marked as an envelope or a public key is neither plain nor a secret. */
  #plain({ signingSecret }: DeviceRecord): Unsealed | undefined {
    const marked = isEnvelope(signingSecret) || publicKeyIn(signingSecret) !== undefined
    return this.#parts.legacySecrets && !marked ? { secret: signingSecret, stale: true } : undefined
  }

  #keyOf(device: DeviceRecord): SigningKey | undefined {
    if (device.removedAt !== undefined || device.signingSecret === '') return undefined
    const known = this.#open.get(device.deviceId)
    if (known?.record.signingSecret === device.signingSecret && known.record.userId === device.userId) return known.key
    const opened = this.#parts.sealer.unseal(device.signingSecret, device) ?? this.#plain(device)
    if (opened === undefined) {
      this.#parts.unreadable(device)
      return undefined
    }
    if (opened.stale) this.#parts.stale(device, this.#parts.sealer.seal(opened.secret, device))
    const key = deviceKey(opened.secret)
    this.#open.set(device.deviceId, { record: device, key })
    return key
  }
}
