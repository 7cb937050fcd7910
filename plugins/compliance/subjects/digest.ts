import { createHmac } from 'node:crypto'
import { type KeySettings, keysFor } from '../keys.js'

/** Marks the digests in the option `subject` of a stored job. */
const scheme = 'zs1:'
const digestLength = 43

/**
 * Creates digests that replace subject ids wherever they are stored: an HMAC under a separate key, so that neither the index nor the
 * options of a job contain the id.
 */
export class SubjectDigests {
  readonly #keys: readonly Buffer[]

  constructor(settings: KeySettings) {
    this.#keys = keysFor('subjects', settings).all.map(({ key }) => key)
  }

  /** Returns the digest under the current key. */
  of(subject: string): string {
    return digest(this.#keys[0] as Buffer, subject)
  }

  /** Returns the digests under all keys, including earlier ones. */
  allOf(subject: string): readonly string[] {
    return this.#keys.map((key) => digest(key, subject))
  }
}

function digest(key: Buffer, subject: string): string {
  return createHmac('sha256', key).update(subject, 'utf8').digest('base64url')
}

/** Packs digests for the option `subject`. */
export function packed(digests: readonly string[]): string {
  return scheme + digests.join('')
}

/** Returns the digests in an option `subject`; empty for anything else. */
export function unpacked(option: unknown): readonly string[] {
  if (typeof option !== 'string' || !option.startsWith(scheme)) return []
  const text = option.slice(scheme.length)
  if (text.length % digestLength !== 0 || !/^[A-Za-z0-9_-]+$/.test(text)) return []
  return Array.from({ length: text.length / digestLength }, (_, i) => text.slice(i * digestLength, (i + 1) * digestLength))
}
