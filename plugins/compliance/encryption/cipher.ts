import { createCipheriv, createDecipheriv, randomFillSync } from 'node:crypto'
import { KeepJobError } from 'zin/plugins/queues'
import type { EncryptionKey, EncryptionKeys } from './key-ring.js'

/** The context that an encrypted text is bound to; in another context, it cannot be decrypted. */
export interface Place {
  readonly queue: string
  /** `data`, `result`, `error`, `stack` or `log`. */
  readonly part: string
}

const scheme = 'zc1'
const algorithm = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16
/** Nonces generated at a time. */
const noncesAtOnce = 256
/** Maximum number of cached bindings; an app has a few per queue. */
const mostBindings = 5_000

/** Whether a text has the format of {@link Cipher.encrypt}. */
export function isEncrypted(text: string): boolean {
  return text.startsWith(`${scheme}.`) && /^zc1\.[A-Za-z0-9_-]{1,32}\.[A-Za-z0-9_-]{38,}$/.test(text.slice(0, 200))
}

/** Returns the key id of an encrypted text. */
export function keyIdOf(text: string): string {
  return text.slice(scheme.length + 1, text.indexOf('.', scheme.length + 1))
}

/** Encrypts texts with AES-256-GCM as `zc1.<key id>.<nonce, ciphertext and tag as base64url>`. */
export class Cipher {
  readonly #keys: EncryptionKeys
  readonly #nonces = Buffer.allocUnsafe(nonceBytes * noncesAtOnce)
  readonly #bindings = new Map<string, Buffer>()
  #used = noncesAtOnce

  constructor(keys: EncryptionKeys) {
    this.#keys = keys
  }

  /** Whether a text should be re-encrypted: it is plaintext, or encrypted with an earlier key. */
  isStale(text: string): boolean {
    return !isEncrypted(text) || keyIdOf(text) !== this.#keys.current.id
  }

  encrypt(text: string, place: Place): string {
    const { current } = this.#keys
    const nonce = this.#nonce()
    const cipher = createCipheriv(algorithm, current.key, nonce, { authTagLength: tagBytes }).setAAD(this.#boundTo(current, place))
    const body = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
    return `${scheme}.${current.id}.${body.toString('base64url')}`
  }

  /** Decrypts a text. Throws a KeepJobError if its key is not configured, and an error if it was changed or belongs to another place. */
  decrypt(text: string, place: Place): string {
    const id = keyIdOf(text)
    const key = this.#keys.find(id)
    if (key === undefined) {
      throw new KeepJobError(
        `it is encrypted with the key "${id}", which is not configured (configured: ${this.#keys.ids.join(', ')}). Add that key to WORKER_ENCRYPTION_KEYS, or the earlier APP_KEY to APP_KEY_BK`,
      )
    }
    const body = Buffer.from(text.slice(scheme.length + id.length + 2), 'base64url')
    const decipher = createDecipheriv(algorithm, key.key, body.subarray(0, nonceBytes), { authTagLength: tagBytes })
      .setAAD(this.#boundTo(key, place))
      .setAuthTag(body.subarray(-tagBytes))
    try {
      return Buffer.concat([decipher.update(body.subarray(nonceBytes, -tagBytes)), decipher.final()]).toString('utf8')
    } catch {
      throw new Error(`it cannot be decrypted with the key "${id}": it was changed in the store, or moved from another queue or part`)
    }
  }

  /**
   * Binds to the queue and the part, but not to the job: a payload is encrypted before its job has an id, all jobs of a schedule share one,
   * and a retry or a duplicate keeps it. Values that move to another queue (dead letters, schedules) are decrypted and re-encrypted.
   */
  #boundTo({ id }: EncryptionKey, { part, queue }: Place): Buffer {
    const place = `${id}/${part}/${queue}`
    const known = this.#bindings.get(place)
    if (known !== undefined) return known
    const made = Buffer.from(JSON.stringify([scheme, id, queue, part]))
    if (this.#bindings.size >= mostBindings) this.#bindings.clear()
    this.#bindings.set(place, made)
    return made
  }

  #nonce(): Buffer {
    if (this.#used === noncesAtOnce) {
      randomFillSync(this.#nonces)
      this.#used = 0
    }
    const from = this.#used++ * nonceBytes
    return this.#nonces.subarray(from, from + nonceBytes)
  }
}
