import { createCipheriv, createDecipheriv, createHash, createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto'

/** The row that an envelope is bound to. In another row it cannot be opened. */
export interface SealBinding {
  readonly deviceId: string
  readonly userId: string
}

export interface Unsealed {
  readonly secret: string
  /** True if it was sealed with an earlier master key and should be sealed again. */
  readonly stale: boolean
}

/** Encrypts secrets at rest: AES-256-GCM with a key derived from the app's master key. */
export interface Sealer {
  /** Returns `zs1.<kid>.<iv>.<ct>.<tag>`; the kid is hex, the parts after it are base64url. */
  seal(secret: string, binding: SealBinding): string
  /**
   * Opens an envelope. Returns `undefined` if the text is not an envelope, was sealed with an unknown key, was modified, or belongs to
   * another row.
   */
  unseal(envelope: string, binding: SealBinding): Unsealed | undefined
}

const SCHEME = 'zs1'

/** Whether a text has the form of an envelope, not whether it can be opened. */
export function isEnvelope(text: string): boolean {
  return text.startsWith(`${SCHEME}.`)
}

interface Kek {
  readonly kid: string
  readonly key: KeyObject
}

/** @param masterKeys the current one first, then earlier ones that may still open old envelopes; at least one. */
export function createSealer(masterKeys: readonly [string, ...string[]]): Sealer {
  const keks = masterKeys.map(kekOf)
  const current = keks[0] as Kek
  return {
    seal(secret, binding) {
      const iv = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', current.key, iv).setAAD(aad(binding, current.kid))
      const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
      return [SCHEME, current.kid, ...[iv, sealed, cipher.getAuthTag()].map((part) => part.toString('base64url'))].join('.')
    },

    unseal(envelope, binding) {
      const [scheme, kid, iv, sealed, tag, ...rest] = envelope.split('.')
      const kek = keks.find((candidate) => candidate.kid === kid)
      if (scheme !== SCHEME || kek === undefined || iv === undefined || sealed === undefined || tag === undefined || rest.length > 0)
        return undefined
      try {
        const decipher = createDecipheriv('aes-256-gcm', kek.key, Buffer.from(iv, 'base64url'), { authTagLength: 16 })
          .setAAD(aad(binding, kek.kid))
          .setAuthTag(Buffer.from(tag, 'base64url'))
        const secret = Buffer.concat([decipher.update(Buffer.from(sealed, 'base64url')), decipher.final()]).toString('utf8')
        return { secret, stale: kek !== current }
      } catch {
        return undefined
      }
    },
  }
}

function kekOf(master: string): Kek {
  const key = Buffer.from(hkdfSync('sha256', Buffer.from(master, 'utf8'), '', 'zin/device-seal/v1', 32))
  const kid = createHash('sha256').update('zin/device-seal/v1/kid').update(key).digest('hex').slice(0, 8)
  return { kid, key: createSecretKey(key) }
}

/** JSON separates the three fields unambiguously, whatever they contain. */
function aad({ deviceId, userId }: SealBinding, kid: string): Buffer {
  return Buffer.from(JSON.stringify([deviceId, userId, kid]))
}
