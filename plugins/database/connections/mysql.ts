import type { Kysely } from 'kysely'
import type { ConnectionOptions, Connection as MysqlSocket, Pool, PoolConnection } from 'mysql2'
import type { Clock, Logger } from 'zin'
import { messageOf, systemClock } from 'zin'
import { databaseErrors } from '../errors.js'
import { isUnavailable } from '../failures.js'
import type { QueryObservers } from '../observers.js'
import { batchInTransaction } from './batch.js'
import type { MysqlConfig } from './config.js'
import { retryingDriver } from './conflicts.js'
import type { Connection } from './connection.js'
import { boundedDriver } from './driver.js'
import { migrationLock } from './mysql-lock.js'
import { refusal, silent, unreachable } from './mysql-messages.js'
import { createPinger } from './mysql-ping.js'
import { boundedPool } from './mysql-pool.js'
import { typedResults } from './mysql-results.js'
import { discard, killOn, type OpenSocket, openSocket } from './mysql-socket.js'

export interface MysqlDeps {
  readonly clock: Clock
  readonly log: Logger
  readonly queries: QueryObservers
  readonly acquireTimeoutMs: number
  readonly connectTimeoutMs: number
  readonly statementTimeoutMs: number
  readonly migrationTimeoutMs: number
}

const closeTimeoutMs = 5000

/** A pool on a MySQL or MariaDB server. */
export function mysqlConnection(config: MysqlConfig, deps: MysqlDeps): Connection {
  const where = `${config.database} on ${config.host}:${config.port}`
  const options: ConnectionOptions = {
    host: config.host,
    port: config.port,
    database: config.database,
    user: config.username,
    password: config.password,
    charset: 'utf8mb4',
    timezone: 'Z',
    ...typedResults,
    maxPreparedStatements: 256,
    connectTimeout: Math.min(deps.connectTimeoutMs, deps.statementTimeoutMs, 5000),
    enableKeepAlive: true,
  }
  const socket: OpenSocket = (limitMs) => openSocket(options, limitMs)
  const pinger = createPinger(socket, deps.clock, where)
  let open: OpenPool | undefined
  let opening: Promise<void> | undefined
  let connected = false

  const saw = (error: unknown): void => {
    if (error === undefined) connected = true
    else if (isUnavailable(error)) connected = false
  }

  const openPool = async (): Promise<OpenPool> => {
    const [{ Kysely, MysqlDialect }, { createPool }] = await Promise.all([import('kysely'), import('mysql2')])
    const pool = createPool({ ...options, connectionLimit: config.poolLimit })
    const sockets = new Set<PoolConnection>()
    pool.on('connection', (connection: PoolConnection) => {
      sockets.add(connection)
      connection.on('error', saw)
      connection.on('end', () => sockets.delete(connection))
    })
    const onLost = (connection: PoolConnection, error: unknown): void => {
      sockets.delete(connection)
      saw(error)
      // The server may be healthy and only the statement slow: it must not keep running beside its replacement in the pool.
      void killOn(socket, connection.threadId)
    }
    const handle = (statementTimeoutMs: number): Kysely<unknown> => {
      const dialect = new MysqlDialect({
        pool: boundedPool(pool, { statementTimeoutMs, where, onLost, onChanged: (connection) => void sockets.delete(connection) }),
      })
      return new Kysely<unknown>({
        ...deps.queries.logOf(config.name, 'mysql'),
        dialect: {
          createAdapter: () => dialect.createAdapter(),
          createIntrospector: (db) => dialect.createIntrospector(db),
          createQueryCompiler: () => dialect.createQueryCompiler(),
          createDriver: () =>
            boundedDriver(retryingDriver(dialect.createDriver()), {
              late: () =>
                connected ? databaseErrors.DATABASE_BUSY(config.name, deps.acquireTimeoutMs) : silent(where, deps.acquireTimeoutMs),
              acquireTimeoutMs: deps.acquireTimeoutMs,
              onAcquire: saw,
            }),
        },
      })
    }
    return { pool, sockets, tables: handle(deps.statementTimeoutMs), patient: handle(deps.migrationTimeoutMs) }
  }

  const connect = async (): Promise<void> => {
    await reach(socket, config, deps)
    open ??= await openPool()
    connected = true
  }

  const opened = () => {
    if (!open) throw databaseErrors.DATABASE_NOT_STARTED(config.name)
    return open
  }

  return {
    name: config.name,
    dialect: 'mysql',
    shared: true,
    where,
    get connected() {
      return connected
    },
    tables: () => opened().tables,
    batch: (queries) => batchInTransaction(opened().tables, queries),
    connect: () => {
      if (open && connected) return Promise.resolve()
      opening ??= connect().finally(() => {
        opening = undefined
      })
      return opening
    },
    async writeFault(signal) {
      return (await pinger.isReadOnly(signal)) ? `the server at ${where} is read-only, as a replica is` : undefined
    },
    async ping(signal) {
      try {
        const ms = await pinger.ping(signal)
        saw(undefined)
        return ms
      } catch (error) {
        saw(error)
        throw error
      }
    },
    async exclusive(task) {
      const holder = await socket(deps.connectTimeoutMs)
      try {
        await migrationLock(holder, { database: config.database, where, limitMs: deps.statementTimeoutMs, log: deps.log })
        return await task()
      } finally {
        discard(holder)
      }
    },
    step: (task) => task(opened().patient),
    async close() {
      await opening?.catch(() => undefined)
      pinger.close()
      const closing = open
      open = undefined
      connected = false
      if (closing) await endPool(closing.pool, closing.sockets)
    },
  }
}

interface OpenPool {
  readonly pool: Pool
  readonly sockets: Set<PoolConnection>
  readonly tables: Kysely<unknown>
  /** For migrations, whose statements may take long. */
  readonly patient: Kysely<unknown>
}

/** Tries to log in until it succeeds or the time is up; a refusal (wrong password, unknown database) is not retried. */
async function reach(socket: OpenSocket, config: MysqlConfig, { log, connectTimeoutMs }: MysqlDeps): Promise<void> {
  // Real time, not the app's clock: this waits for a server.
  const deadline = systemClock.monotonic() + connectTimeoutMs
  for (let wait = 100, warned = false; ; wait = Math.min(wait * 2, 2000)) {
    let attempt: MysqlSocket | undefined
    try {
      attempt = await socket(Math.max(1, deadline - systemClock.monotonic()))
      return
    } catch (error) {
      if (!isUnavailable(error)) throw refusal(config, error)
      if (systemClock.monotonic() + wait >= deadline) throw unreachable(config, connectTimeoutMs, error)
      if (!warned) log.warn({ host: config.host, port: config.port, reason: messageOf(error) }, 'database not reachable yet, retrying')
      warned = true
    } finally {
      if (attempt) discard(attempt)
    }
    await new Promise((resolve) => setTimeout(resolve, wait))
  }
}

async function endPool(pool: Pool, sockets: ReadonlySet<PoolConnection>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, closeTimeoutMs)
  })
  await Promise.race([
    new Promise<void>((resolve) => {
      pool.end(() => resolve())
    }),
    late,
  ])
  clearTimeout(timer)
  for (const socket of sockets) discard(socket)
}
