import type { Kysely } from 'kysely'
import type { ConnectionOptions, Connection as MysqlSocket, Pool, PoolConnection } from 'mysql2'
import type { Clock, Logger } from 'zin'
import { messageOf, systemClock } from 'zin'
import { databaseErrors } from '../errors.js'
import { isUnavailable } from '../failures.js'
import type { MysqlConfig } from './config.js'
import { retryingDriver } from './conflicts.js'
import type { Connection } from './connection.js'
import { boundedDriver } from './driver.js'
import { refusal, unreachable } from './mysql-messages.js'
import { createPinger } from './mysql-ping.js'
import { type OpenSocket, openSocket, query } from './mysql-socket.js'

export interface MysqlDeps {
  readonly clock: Clock
  readonly log: Logger
  readonly acquireTimeoutMs: number
  readonly connectTimeoutMs: number
}

/** How long a process waits for another one's migrations, in seconds. */
const migrationWaitSeconds = 300
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
    supportBigNumbers: true,
    maxPreparedStatements: 256,
    connectTimeout: Math.min(deps.connectTimeoutMs, 5000),
    enableKeepAlive: true,
  }
  const socket: OpenSocket = (limitMs) => openSocket(options, limitMs)
  const pinger = createPinger(socket, deps.clock, where)
  let open: { readonly pool: Pool; readonly sockets: Set<PoolConnection>; readonly tables: Kysely<unknown> } | undefined
  let opening: Promise<void> | undefined
  let connected = false

  const saw = (error: unknown): void => {
    if (error === undefined) connected = true
    else if (isUnavailable(error)) connected = false
  }

  const openPool = async () => {
    const [{ Kysely, MysqlDialect }, { createPool }] = await Promise.all([import('kysely'), import('mysql2')])
    const pool = createPool({ ...options, connectionLimit: config.poolLimit })
    const sockets = new Set<PoolConnection>()
    pool.on('connection', (connection: PoolConnection) => {
      sockets.add(connection)
      connection.on('error', saw)
      connection.on('end', () => sockets.delete(connection))
    })
    const dialect = new MysqlDialect({ pool })
    const tables = new Kysely<unknown>({
      dialect: {
        createAdapter: () => dialect.createAdapter(),
        createIntrospector: (db) => dialect.createIntrospector(db),
        createQueryCompiler: () => dialect.createQueryCompiler(),
        createDriver: () =>
          boundedDriver(retryingDriver(dialect.createDriver()), {
            name: config.name,
            acquireTimeoutMs: deps.acquireTimeoutMs,
            onAcquire: saw,
          }),
      },
    })
    return { pool, sockets, tables }
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
    where,
    get connected() {
      return connected
    },
    tables: () => opened().tables,
    connect: () => {
      if (open && connected) return Promise.resolve()
      opening ??= connect().finally(() => {
        opening = undefined
      })
      return opening
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
    // A lock of the server belongs to a connection: it ends with the process, however that ends.
    async exclusive(task) {
      const holder = await socket(deps.connectTimeoutMs)
      try {
        const name = `zin_migrate:${config.database}`.slice(0, 64)
        const [row] = await query<{ got: number | null }>(holder, 'select get_lock(?, ?) as got', [name, migrationWaitSeconds])
        if (row?.got !== 1) throw databaseErrors.MIGRATION_LOCKED(where, migrationWaitSeconds * 1000)
        return await task()
      } finally {
        holder.destroy()
      }
    },
    step: (task) => task(opened().tables),
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

/** Tries to log in until it works or the time is over; a refusal (wrong password, no such database) is not retried. */
async function reach(socket: OpenSocket, config: MysqlConfig, { log, connectTimeoutMs }: MysqlDeps): Promise<void> {
  // Waiting for a server happens in real time, whatever clock the app has.
  const deadline = systemClock.monotonic() + connectTimeoutMs
  for (let wait = 100, told = false; ; wait = Math.min(wait * 2, 2000)) {
    let attempt: MysqlSocket | undefined
    try {
      attempt = await socket(Math.max(1, deadline - systemClock.monotonic()))
      return
    } catch (error) {
      if (!isUnavailable(error)) throw refusal(config, error)
      if (systemClock.monotonic() + wait >= deadline) throw unreachable(config, connectTimeoutMs, error)
      if (!told) log.warn({ host: config.host, port: config.port, reason: messageOf(error) }, 'database not reachable yet, trying again')
      told = true
    } finally {
      attempt?.destroy()
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
  for (const socket of sockets) socket.destroy()
}
