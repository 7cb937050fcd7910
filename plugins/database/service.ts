import { access } from 'node:fs/promises'
import type { Clock, Logger, Migration } from 'zin'
import type { ConnectionConfig } from './connections/config.js'
import { retryConflicts } from './connections/conflicts.js'
import type { Connection } from './connections/connection.js'
import { mysqlConnection } from './connections/mysql.js'
import { proxyConnection } from './connections/proxy.js'
import { sqliteConnection } from './connections/sqlite.js'
import type { Database } from './contract.js'
import { databaseErrors } from './errors.js'
import { isUnavailable, isUniqueViolation } from './failures.js'
import { createMigrator } from './migrator/migrator.js'
import type { App } from './migrator/owner.js'
import { QueryObservers } from './observers.js'
import { insertIfAbsent, upsert } from './writes.js'

export interface DatabaseDeps {
  readonly configs: readonly [ConnectionConfig, ...ConnectionConfig[]]
  readonly clock: Clock
  readonly log: Logger
  /** Migrations of all plugins, in the order of application. Default: none. */
  readonly known?: () => readonly { readonly plugin: string; readonly migration: Migration }[]
  /** The app that must own the database. Default: any. */
  readonly app?: App
  readonly connectTimeoutMs: number
  readonly acquireTimeoutMs: number
  readonly statementTimeoutMs: number
  readonly migrationTimeoutMs: number
}

/** The service, with the methods reserved for the plugin itself. */
export interface OwnedDatabase extends Database {
  /** The connection `default`. */
  readonly main: Connection
  close(): Promise<void>
}

type Row = Readonly<Record<string, unknown>>
type Keyed = readonly [key: readonly string[], row: Row, name?: string | undefined]

function isKeyed(args: Keyed | readonly [row: Row, name?: string | undefined]): args is Keyed {
  return Array.isArray(args[0])
}

export function createDatabase({ configs, known = () => [], ...deps }: DatabaseDeps): OwnedDatabase {
  const queries = new QueryObservers()
  const parts = { ...deps, queries }
  const make = (config: ConnectionConfig): Connection =>
    config.driver === 'sqlite'
      ? sqliteConnection(config, parts)
      : config.driver === 'rdb'
        ? mysqlConnection(config, parts)
        : proxyConnection(config, parts)
  const main = make(configs[0])
  const connections = new Map([main, ...configs.slice(1).map(make)].map((connection) => [connection.name, connection]))

  const named = (name = 'default'): Connection => {
    const connection = connections.get(name)
    if (!connection) throw databaseErrors.DATABASE_UNKNOWN_CONNECTION(name, [...connections.keys()])
    return connection
  }

  return {
    main,
    dialect: main.dialect,
    dialectOf: (name) => named(name).dialect,
    get connected() {
      return main.connected
    },
    async connect() {
      await Promise.all([...connections.values()].map((connection) => connection.connect()))
    },
    async checkExists() {
      const [config] = configs
      if (config.driver !== 'sqlite') return
      await access(config.file).catch((error: unknown) => {
        throw databaseErrors.DATABASE_MISSING(config.file, error as Error)
      })
    },
    tables: (name) => named(name).tables(),
    transaction: (work, name) => {
      const { callers, tables } = named(name)
      const once = () => tables().transaction().execute(work)
      return retryConflicts(() => (callers === undefined ? once() : callers.run(once)))
    },
    inOwnTransaction: (name) => named(name).callers?.within(({ state }) => state === 'open') ?? false,
    batch: async (queries, name) => (queries.length === 0 ? [] : named(name).batch(queries.map((query) => query.compile()))),
    ping: (signal) => main.ping(signal),
    writeFault: (signal) => main.writeFault(signal),
    async upsert(table, key, row, name) {
      const { dialect, tables } = named(name)
      await upsert(tables(), dialect, table, key, row)
    },
    insertIfAbsent: async (table: string, ...args: Keyed | readonly [row: Row, name?: string | undefined]) => {
      if (!isKeyed(args)) return insertIfAbsent(named(args[1]).tables(), table, undefined, args[0])
      const [key, row, name] = args
      return insertIfAbsent(named(name).tables(), table, key, row)
    },
    observe: (observer) => queries.add(observer),
    isUniqueViolation,
    isUnavailable,
    migrations: createMigrator({ connection: main, known, app: deps.app, clock: deps.clock, log: deps.log }),
    async close() {
      await Promise.all([...connections.values()].map((connection) => connection.close()))
    },
  }
}
