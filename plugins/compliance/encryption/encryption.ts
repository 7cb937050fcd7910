import { checkedValue } from 'zin'
import type { ComplianceContext, CompliancePart, Control } from '../part.js'
import type { Marks } from '../store/marks.js'
import { Cipher, isEncrypted } from './cipher.js'
import { isStale, open, seal } from './envelope.js'
import { encryptionErrors } from './errors.js'
import { type EncryptionKeys, encryptionKeys } from './key-ring.js'
import { Reencryption, type ReencryptionProgress } from './reencryption.js'

/**
 * The part that encrypts stored jobs. Encrypted jobs stay readable after the setting is turned off.
 *
 * @param keepDigestKeys Keeps the keys of the digests of subjects under the current key.
 */
export function encryptionPart(ctx: ComplianceContext, marks: Marks, keepDigestKeys: () => Promise<unknown>): CompliancePart {
  const { host, log, services, settings } = ctx
  const on = settings.WORKER_ENCRYPTION
  const keys = checkedValue(
    ctx,
    () => encryptionKeys(settings),
    () => undefined,
  )
  if (keys === undefined) {
    ctx.onCheck(() => {
      if (on && host.app.production && settings.WORKER_ENCRYPTION_KEYS === '') throw encryptionErrors.COMPLIANCE_ENCRYPTION_KEY_MISSING()
    })
    if (on && host.roles.size > 0) log.warn('jobs are stored unencrypted: neither APP_KEY nor WORKER_ENCRYPTION_KEYS is set')
    return { controls: () => [control(on, undefined)] }
  }
  const cipher = new Cipher(keys)
  restoreWith(ctx, cipher)
  // Clear fields are stored under `clear`; the plaintext location is searched as well, for jobs stored unencrypted.
  ctx.hooks.on('placeJobField', (places, queue, path) => {
    if (on && !clearFieldsOf(ctx, queue).includes(path)) throw encryptionErrors.COMPLIANCE_FIELD_ENCRYPTED(queue, path)
    return [['clear', path], ...places]
  })
  if (!on) return { controls: () => [control(false, keys)] }
  transformWith(ctx, cipher)

  const reencryption = new Reencryption({
    queues: services.queues,
    marks,
    keepDigestKeys,
    log,
    keyId: keys.current.id,
    isStale: (part) => isStale(cipher, part),
  })
  ctx.onStart(() => {
    let leads = new AbortController()
    let running = Promise.resolve()
    const stop = async (): Promise<void> => {
      leads.abort()
      await running
    }
    const leadership = services.cluster.lead('compliance.encryption', {
      onGain() {
        leads = new AbortController()
        running = reencryption.run(leads.signal)
      },
      onLoss: () => void stop(),
    })
    ctx.onStop(async () => {
      await stop()
      await leadership.resign()
    })
  })
  return { controls: async () => [control(true, keys, await reencryption.read())] }
}

function restoreWith({ hooks }: ComplianceContext, cipher: Cipher): void {
  hooks.on('restoreJobData', (stored, queue) => open(cipher, stored, { queue, part: 'data' }))
  hooks.on('restoreJobResult', (stored, queue) => open(cipher, stored, { queue, part: 'result' }))
  hooks.on('restoreJobText', (stored, queue, part) => (isEncrypted(stored) ? cipher.decrypt(stored, { queue, part }) : undefined))
}

/** Returns the paths of a queue's fields that are also stored unencrypted. */
function clearFieldsOf({ options: { clearFields } }: ComplianceContext, queue: string): readonly string[] {
  return Object.hasOwn(clearFields, queue) ? (clearFields[queue] ?? []) : []
}

function transformWith(ctx: ComplianceContext, cipher: Cipher): void {
  const { hooks } = ctx
  hooks.on('transformJobData', (data, queue) => seal(cipher, data, { queue, part: 'data' }, clearFieldsOf(ctx, queue)))
  hooks.on('transformJobResult', (result, queue) => seal(cipher, result, { queue, part: 'result' }))
  hooks.on('transformJobText', (text, queue, part) => cipher.encrypt(text, { queue, part }))
}

function control(on: boolean, keys: EncryptionKeys | undefined, reencryption?: ReencryptionProgress): Control {
  const acts = on && keys !== undefined
  const { state = 'idle', unreadable = 0 } = reencryption ?? {}
  const gaps = [
    ...(on && keys === undefined ? ['No key is configured: set APP_KEY or WORKER_ENCRYPTION_KEYS'] : []),
    ...(unreadable > 0 ? [`${unreadable} stored jobs cannot be read with the configured keys: add the missing key`] : []),
  ]
  return {
    id: 'encryption/jobs',
    title: 'Payloads, results, error messages and logs of jobs are encrypted at rest',
    state: !on ? 'off' : acts && gaps.length === 0 ? 'met' : 'gap',
    evidence: {
      algorithm: acts ? 'AES-256-GCM' : null,
      currentKey: keys?.current.id ?? null,
      keys: keys?.ids.length ?? 0,
      reencryption: state,
    },
    gaps,
  }
}
