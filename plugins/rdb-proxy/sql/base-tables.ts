import type { Session } from './session.js'
import type { TableName } from './stateless.js'

/** More tables are not remembered: reads of any table then count as having state. */
const mostTables = 10_000
/** How long the list is used without reading it again, in ms. */
const freshMs = 10_000
/** How long it is used at all, in ms: if it cannot be read, nothing is known. */
const validMs = 60_000

const select = `select table_schema as s, table_name as t, table_type in ('BASE TABLE', 'SYSTEM VERSIONED') as base
  from information_schema.tables where table_schema not in ('information_schema', 'mysql', 'performance_schema', 'sys')
  limit ${mostTables + 1}`

interface Row {
  readonly s: string
  readonly t: string
  readonly base: number | string
}

export interface BaseTablesOptions {
  /** Schema of names without one. */
  readonly database: string
  /** Runs a statement of the proxy on a connection for reading. */
  readonly read: (work: (session: Session) => Promise<readonly Row[]>) => Promise<readonly Row[]>
  /** Monotonic, in ms. */
  readonly now?: () => number
}

/**
 * Knows which names are base tables, without a statement per request. It reads the list in the background, and again after each schema
 * change through this process and every 10 s of use. A base table that another process replaces by a view counts as one for that long.
 */
export class BaseTables {
  readonly #options: BaseTablesOptions
  readonly #now: () => number
  #names: ReadonlySet<string> | undefined
  #readAt = 0
  #isReading = false
  /** Counts schema changes. */
  #version = 0

  constructor(options: BaseTablesOptions) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
  }

  /** Changes when the schema does. */
  get version(): number {
    return this.#version
  }

  /** Whether all are base tables for certain. */
  has(tables: readonly TableName[]): boolean {
    const { database } = this.#options
    if (tables.every(({ schema = database }) => isBuiltIn(schema))) return true
    const age = this.#now() - this.#readAt
    if (this.#names === undefined || age > freshMs) this.#read()
    const names = age > validMs ? undefined : this.#names
    return names !== undefined && tables.every(({ schema = database, table }) => isBuiltIn(schema) || names.has(keyOf(schema, table)))
  }

  /** Call before and after a schema change. */
  forget(): void {
    this.#version++
    this.#names = undefined
  }

  #read(): void {
    if (this.#isReading) return
    this.#isReading = true
    void this.#load().finally(() => {
      this.#isReading = false
    })
  }

  async #load(): Promise<void> {
    const version = this.#version
    const began = this.#now()
    const rows = await this.#options.read((session) => session.rows<Row>(select)).catch(() => undefined)
    if (rows === undefined || version !== this.#version) return
    const others = new Set(rows.filter(({ base }) => Number(base) !== 1).map(({ s, t }) => keyOf(s, t)))
    // Where names differ by case, all of them must be base tables.
    const names = rows.map(({ s, t }) => keyOf(s, t)).filter((key) => !others.has(key))
    this.#names = new Set(rows.length > mostTables ? [] : names)
    this.#readAt = began
  }
}

/** Nobody can create a view there. */
function isBuiltIn(schema: string): boolean {
  return schema.toLowerCase() === 'information_schema'
}

function keyOf(schema: string, table: string): string {
  return `${schema}\0${table}`.toLowerCase()
}
