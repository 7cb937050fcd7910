import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import { type DerivedKey, type KeyRing, type KeySettings, keysFor } from '../keys.js'
import type { Marks } from '../store/marks.js'

/** Marks the digests in the option `subject` of a stored job. */
const scheme = 'zs1:'
const digestLength = 43

/** The digests of a subject under every known key. */
export interface AllDigests {
  readonly digests: readonly string[]
  /** Ids of earlier keys that are not known, so that digests under them are not found. */
  readonly lost: readonly string[]
}

const markPrefix = 'subjects.key:'

/**
 * Creates digests that replace subject ids wherever they are stored: an HMAC under a separate key, so that neither the index nor the
 * options of a job contain the id. A digest cannot be renewed without the id, so its key is kept, encrypted under the current `APP_KEY`,
 * after the `APP_KEY` that it was derived from is removed.
 */
export class SubjectDigests {
  readonly #keys: KeyRing
  readonly #seals: KeyRing
  readonly #unkeyed: DerivedKey
  readonly #marks: Pick<Marks, 'list' | 'set'>

  constructor(settings: KeySettings, marks: Pick<Marks, 'list' | 'set'>) {
    this.#keys = keysFor('subjects', settings)
    this.#seals = keysFor('subject-keys', settings)
    this.#unkeyed = keysFor('subject-keys', { APP_KEY: '', APP_KEY_BK: '' }).current
    this.#marks = marks
  }

  /** Returns the digest under the current key. */
  of(subject: string): string {
    return digest(this.#keys.current.key, subject)
  }

  /** Returns the digests under the configured keys. */
  allKnown(subject: string): readonly string[] {
    return this.#keys.all.map(({ key }) => digest(key, subject))
  }

  /** Returns the digests under all keys, the current one first. */
  async allOf(subject: string): Promise<AllDigests> {
    const { keys, lost } = await this.keep()
    return { digests: keys.map((key) => digest(key, subject)), lost }
  }

  /** Keeps all keys under the current `APP_KEY`. Resolves to the known ones, the current one first, and the ids of the others. */
  async keep(): Promise<{ readonly keys: readonly Buffer[]; readonly lost: readonly string[] }> {
    const stored = new Map((await this.#marks.list(markPrefix)).map(({ name, value }) => [name.slice(markPrefix.length), value]))
    const known = new Map(this.#keys.all.map(({ id, key }) => [id, key]))
    const lost: string[] = []
    for (const [id, sealed] of stored) {
      if (known.has(id)) continue
      const key = this.#opened(id, sealed)
      if (key === undefined) lost.push(id)
      else known.set(id, key)
    }
    for (const [id, key] of known) {
      const under = stored.get(id)?.split(':', 1)[0]
      // One that a newer process has sealed stays: this one does not know its key.
      if (under === this.#seals.current.id || (under !== undefined && this.#sealOf(under) === undefined)) continue
      await this.#marks.set(markPrefix + id, this.#sealed(id, key))
    }
    return { keys: [...known.values()], lost }
  }

  #sealOf(id: string): DerivedKey | undefined {
    return this.#seals.find(id) ?? (id === this.#unkeyed.id ? this.#unkeyed : undefined)
  }

  #sealed(id: string, key: Buffer): string {
    const { current } = this.#seals
    const nonce = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', current.key, nonce).setAAD(Buffer.from(id))
    const body = Buffer.concat([nonce, cipher.update(key), cipher.final(), cipher.getAuthTag()])
    return `${current.id}:${body.toString('base64url')}`
  }

  #opened(id: string, sealed: string): Buffer | undefined {
    const [by = '', text = ''] = sealed.split(':')
    const seal = this.#sealOf(by)
    const body = Buffer.from(text, 'base64url')
    if (seal === undefined || body.length < 28) return undefined
    try {
      const cipher = createDecipheriv('aes-256-gcm', seal.key, body.subarray(0, 12)).setAAD(Buffer.from(id)).setAuthTag(body.subarray(-16))
      return Buffer.concat([cipher.update(body.subarray(12, -16)), cipher.final()])
    } catch {
      return undefined
    }
  }
}

/** Says which digests are not searched; undefined if all are. */
export function lostText(lost: readonly string[]): string | undefined {
  if (lost.length === 0) return undefined
  return `Jobs that name a subject under an earlier APP_KEY are not found, because that key is not configured (${lost.join(', ')}): add it to APP_KEY_BK`
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
