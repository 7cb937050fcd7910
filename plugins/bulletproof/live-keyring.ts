import { readFile, stat } from 'node:fs/promises'
import { type Logger, messageOf, parseEnvFile, type ZinError } from 'zin'
import { createSharedKeyring, type SharedKeyring } from './shared-keyring.js'

/** What a new `.env` may change while the app runs. */
export const reloadableSettings = ['BULLETPROOF_SIGNING_SECRET', 'BULLETPROOF_SIGNING_SECRET_BK'] as const

type Values = Readonly<Record<string, string | undefined>>

export interface LiveKeyringParts {
  /** The settings as they were at boot. */
  readonly settings: Values
  readonly maxBackups: number
  /** Shorter backups are left out. */
  readonly minBackupBytes: number
  /** Whether the process environment gives a setting; then `.env` does not count. */
  readonly overridden: (name: string) => boolean
  /** The error that forbids a keyring. */
  readonly problemOf: (keyring: SharedKeyring) => ZinError | undefined
  /** Takes the new keys over, or refuses to; then they are tried again. */
  readonly rotate: (take: () => Promise<void>) => Promise<void>
  readonly log: Logger
}

/**
 * The shared keyring of a running app. It takes over the signing secret and its backups from a changed `.env`, so that a
 * rotation needs no restart. What it cannot use it reports once, and the present keys stay.
 */
export class LiveKeyring implements SharedKeyring {
  readonly #parts: LiveKeyringParts
  #keyring: SharedKeyring
  #values: Values
  #seen = ''

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

  /** Looks whether the file changed, at the cost of one stat, and reads it if it did. A missing file changes nothing. */
  async look(file: string): Promise<void> {
    const found = await stat(file).catch(() => undefined)
    if (found === undefined) return
    const version = `${found.ino} ${found.mtimeMs} ${found.size}`
    if (version === this.#seen) return
    this.#seen = version
    try {
      await this.#take(parseEnvFile(await readFile(file, 'utf8'), file), file)
    } catch (error) {
      this.#parts.log.error(`the signing secrets stay as they are, for the changed ${file} cannot be used: ${messageOf(error)}`)
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
    log.info({ keys: keyring.slots }, `the signing secrets of ${file} are in force`)
  }
}
