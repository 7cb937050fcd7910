import { readFile, stat } from 'node:fs/promises'
import { type Logger, messageOf, parseEnvFile, type ZinError } from 'zin'
import { createSharedKeyring, type SharedKeyring } from './shared-keyring.js'

/** The settings that are reloaded from `.env` while the app runs. */
export const reloadableSettings = ['BULLETPROOF_SIGNING_SECRET', 'BULLETPROOF_SIGNING_SECRET_BK'] as const

type Values = Readonly<Record<string, string | undefined>>

export interface LiveKeyringParts {
  /** The settings at boot. */
  readonly settings: Values
  readonly maxBackups: number
  /** Shorter backups are ignored. */
  readonly minBackupBytes: number
  /** Whether the process environment sets a setting, which then overrides `.env`. */
  readonly overridden: (name: string) => boolean
  /** The error for a keyring that must not be used. */
  readonly problemOf: (keyring: SharedKeyring) => ZinError | undefined
  /** Calls `take` to apply the new keys, or rejects; the file is then tried again. */
  readonly rotate: (take: () => Promise<void>) => Promise<void>
  readonly log: Logger
}

/**
 * The shared keyring of a running app. It reloads the signing secret and its backups when `.env` changes, so that a rotation needs no
 * restart. A file that cannot be used is reported once, and the current keys stay in force.
 */
export class LiveKeyring implements SharedKeyring {
  readonly #parts: LiveKeyringParts
  #keyring: SharedKeyring
  #values: Values
  #seen = ''
  #reported = ''

  constructor(parts: LiveKeyringParts) {
    this.#parts = parts
    this.#values = parts.settings
    this.#keyring = createSharedKeyring(parts.settings, parts.maxBackups, parts.minBackupBytes)
  }

  get source(): SharedKeyring['source'] {
    return this.#keyring.source
  }

  get bytes(): number {
    return this.#keyring.bytes
  }

  get shortBackups(): number {
    return this.#keyring.shortBackups
  }

  get slots(): number {
    return this.#keyring.slots
  }

  keys(now: number): ReturnType<SharedKeyring['keys']> {
    return this.#keyring.keys(now)
  }

  /** Reloads the file if it has changed; otherwise costs one stat. A missing file changes nothing. */
  async look(file: string): Promise<void> {
    const found = await stat(file).catch(() => undefined)
    if (found === undefined) return
    const version = `${found.ino} ${found.mtimeMs} ${found.size}`
    if (version === this.#seen) return
    this.#seen = version
    try {
      await this.#take(parseEnvFile(await readFile(file, 'utf8'), file), file)
      this.#reported = ''
    } catch (error) {
      const problem = `${file} has changed but cannot be used, so the signing secrets stay unchanged: ${messageOf(error)}`
      if (problem !== this.#reported) this.#parts.log.error(problem)
      this.#reported = problem
    }
  }

  async #take(fromFile: Values, file: string): Promise<void> {
    const { settings, maxBackups, minBackupBytes, overridden, problemOf, rotate, log } = this.#parts
    const changed = reloadableSettings.filter((name) => !overridden(name)).map((name) => [name, fromFile[name] ?? ''] as const)
    const values = { ...settings, ...Object.fromEntries(changed) }
    if (reloadableSettings.every((name) => (values[name] ?? '') === (this.#values[name] ?? ''))) return
    const keyring = createSharedKeyring(values, maxBackups, minBackupBytes)
    const problem = problemOf(keyring)
    if (problem !== undefined) throw problem
    const take = async (): Promise<void> => {
      this.#keyring = keyring
      this.#values = values
    }
    await rotate(take).catch((error: unknown) => {
      this.#seen = ''
      throw error
    })
    log.info({ keys: keyring.slots }, `loaded the signing secrets from ${file}`)
  }
}
