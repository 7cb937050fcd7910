import { readFile, stat } from 'node:fs/promises'
import { type Logger, messageOf } from 'zin'
import { parseRegistry, type RegisteredStatement, type Registry, RegistryError } from 'zin/plugins/sql-wire'
import { rdbProxyErrors } from './errors.js'

export interface StatementLimits {
  readonly maxSqlBytes: number
  readonly maxParams: number
}

/** Reads a statements file. Throws RDB_PROXY_STATEMENTS, which lists every problem. */
export async function readStatements(file: string, limits: StatementLimits): Promise<Registry> {
  try {
    return await parseRegistry(await readFile(file, 'utf8'), { dialect: 'mysql', ...limits })
  } catch (error) {
    const problems = error instanceof RegistryError ? error.problems : [messageOf(error)]
    throw rdbProxyErrors.RDB_PROXY_STATEMENTS(file, problems)
  }
}

/** Holds the registered statements. A reload replaces all of them, or none if the file is invalid. */
export class Statements {
  readonly #file: string
  readonly #limits: StatementLimits
  readonly #log: Logger
  #registry: Registry | undefined
  #version = ''

  /** @param file empty for no statements. */
  constructor(file: string, limits: StatementLimits, log: Logger) {
    this.#file = file
    this.#limits = limits
    this.#log = log
  }

  get count(): number {
    return this.#registry?.statements.length ?? 0
  }

  get(id: string): RegisteredStatement | undefined {
    return this.#registry?.get(id)
  }

  /** Throws RDB_PROXY_STATEMENTS. */
  async load(): Promise<void> {
    if (this.#file === '') return
    this.#version = await this.#versionOfFile()
    const registry = await readStatements(this.#file, this.#limits)
    for (const warning of registry.warnings) this.#log.warn({ file: this.#file }, warning)
    this.#registry = registry
  }

  /** Reloads the file if it has changed. An invalid file is logged once, and the current statements stay in effect. */
  async look(): Promise<void> {
    if (this.#file === '' || (await this.#versionOfFile()) === this.#version) return
    await this.reload()
  }

  /** Reloads the file. An invalid file is logged, and the current statements stay in effect. */
  async reload(): Promise<void> {
    try {
      await this.load()
      this.#log.info({ file: this.#file, statements: this.count }, 'statements loaded')
    } catch (error) {
      this.#log.error(
        { file: this.#file },
        `the statements file was not reloaded, the current statements stay in effect: ${messageOf(error)}`,
      )
    }
  }

  async #versionOfFile(): Promise<string> {
    const { mtimeMs, size, ino } = await stat(this.#file).catch(() => ({ mtimeMs: 0, size: 0, ino: 0 }))
    return `${mtimeMs} ${size} ${ino}`
  }
}
