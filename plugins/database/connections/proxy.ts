import type { CompiledQuery, Kysely } from 'kysely'
import { type Clock, type Logger, messageOf, systemClock, withDeadline } from 'zin'
import { createProxyClient, kyselyMysql, kyselyResult, kyselySqlite, kyselyStatement, type SqlClient } from 'zin/clients'
import { databaseErrors } from '../errors.js'
import { isUnavailable } from '../failures.js'
import type { QueryObservers } from '../observers.js'
import { type AgentFetch, agentFetch } from './agent-fetch.js'
import { retryConflicts, retryingDriver } from './conflicts.js'
import type { Connection } from './connection.js'
import { boundedDriver } from './driver.js'
import { withLease } from './lease-lock.js'
import type { ProxyConfig } from './proxy-config.js'
import { createSlots, proxyDriver } from './proxy-driver.js'
import { isWorthRetrying, mapProxyError, noTransactions, proxyRefusal, proxyUnreachable, runsRegisteredOnly } from './proxy-errors.js'
import { bindables } from './values.js'

export interface ProxyDeps {
  readonly clock: Clock
  readonly log: Logger
  readonly queries: QueryObservers
  readonly acquireTimeoutMs: number
  readonly connectTimeoutMs: number
  readonly statementTimeoutMs: number
  readonly migrationTimeoutMs: number
}

/** Maximum number of parameters in one statement: 100 in D1; 256 is the default of the relational proxy. */
const maxParameters = { 'rdb-proxy': 256, 'edge-remote': 100 } as const
const pingLimitMs = 5000

interface Open {
  readonly agent: AgentFetch
  readonly client: SqlClient
  readonly tables: Kysely<unknown>
  /** For migrations: in sql mode, with their timeout. */
  readonly patient: Kysely<unknown>
}

/** A database behind the relational proxy or the edge proxy. Each statement is one signed request; there are no sessions. */
export function proxyConnection(config: ProxyConfig, deps: ProxyDeps): Connection {
  const where = `behind the proxy ${config.url}`
  const dialect = config.driver === 'rdb-proxy' ? 'mysql' : 'sqlite'
  /** Shared by all handles and batches, so that a connection is always left for pings. */
  const slots = createSlots(config.poolLimit)
  const late = () => databaseErrors.DATABASE_BUSY(config.name, deps.acquireTimeoutMs)
  let open: Open | undefined
  let opening: Promise<void> | undefined
  let connected = false
  /** Whether the proxy has responded once; the tables can be used only then. */
  let reached = false

  const checked = (query: CompiledQuery): CompiledQuery => ({
    ...query,
    parameters: bindables(query.parameters, { dialect, sql: query.sql, where }),
  })

  const saw = (error: unknown, sql = ''): unknown => {
    const mapped = error === undefined ? undefined : mapProxyError(error, where, sql)
    if (error === undefined) connected = true
    else if (isUnavailable(mapped)) connected = false
    return mapped
  }

  const clientOf = ({ fetch }: AgentFetch, mode: ProxyConfig['mode'], timeoutMs: number): SqlClient =>
    createProxyClient({
      url: config.url,
      proxy: config.driver === 'rdb-proxy' ? 'rdb' : 'edge',
      ...(config.secret === '' ? {} : { keyId: config.keyId, secret: config.secret }),
      mode,
      fetch,
      headers: config.headers,
      headerPrefix: config.headerPrefix,
      timeoutMs,
    })

  const handleOf = async (client: SqlClient): Promise<Kysely<unknown>> => {
    const { Kysely, MysqlDialect, SqliteDialect } = await import('kysely')
    const base = dialect === 'mysql' ? kyselyMysql(client, MysqlDialect) : kyselySqlite(client, SqliteDialect)
    return new Kysely<unknown>({
      ...deps.queries.logOf(config.name, dialect),
      dialect: {
        ...base,
        createAdapter: () => Object.assign(base.createAdapter(), { maxParameters: maxParameters[config.driver] }),
        createDriver: () =>
          boundedDriver(
            retryingDriver(
              proxyDriver(base.createDriver(), {
                checked,
                slots,
                outcome: saw,
                notBegun: (error) => noTransactions(error, config, where),
              }),
            ),
            {
              acquireTimeoutMs: deps.acquireTimeoutMs,
              late,
            },
          ),
      },
    })
  }

  const inSlot = async <T>(work: () => Promise<T>): Promise<T> => {
    const turn = slots.take()
    await withDeadline(turn, deps.acquireTimeoutMs, late).catch((error: unknown) => {
      void turn.then(() => slots.give())
      throw error
    })
    try {
      return await work()
    } finally {
      slots.give()
    }
  }

  const openClients = async (): Promise<Open> => {
    // One more, for pings.
    const agent = await agentFetch(config.url, config.poolLimit + 1)
    const client = clientOf(agent, config.mode, deps.statementTimeoutMs)
    return { agent, client, tables: await handleOf(client), patient: await handleOf(clientOf(agent, 'sql', deps.migrationTimeoutMs)) }
  }

  const close = (): void => {
    open?.agent.close()
    open = undefined
    connected = false
    reached = false
  }

  const connect = async (): Promise<void> => {
    open ??= await openClients()
    try {
      await reach(open.client, config, deps)
      connected = true
    } catch (error) {
      if (!reached) close()
      throw error
    }
    reached = true
  }

  const opened = () => {
    if (!open || !reached) throw databaseErrors.DATABASE_NOT_STARTED(config.name)
    return open
  }

  return {
    name: config.name,
    dialect,
    shared: true,
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
    async batch(queries) {
      const { client } = opened()
      const began = deps.clock.monotonic()
      const notify = (error?: unknown): void => {
        const sql = queries.map((query) => query.sql).join('; ')
        const ms = deps.clock.monotonic() - began
        deps.queries.notify({ connection: config.name, dialect, sql, ms, ...(error === undefined ? {} : { error }) })
      }
      return retryConflicts(async () => {
        try {
          const statements = queries.map((query) => kyselyStatement(checked(query)))
          const results = await inSlot(() => client.transaction(statements))
          saw(undefined)
          if (deps.queries.active) notify()
          return results.map((result) => kyselyResult(result, result.meta.changes === undefined))
        } catch (error) {
          if (deps.queries.active) notify(error)
          throw saw(error, queries.map(({ sql }) => sql).join('; '))
        }
      })
    },
    writeFault: () => Promise.resolve(undefined),
    async ping(signal) {
      const started = deps.clock.monotonic()
      try {
        await opened().client.queryOne('select 1', [], { signal, timeoutMs: pingLimitMs })
        saw(undefined)
      } catch (error) {
        if (!runsRegisteredOnly(error)) throw saw(error)
      }
      return Math.round(deps.clock.monotonic() - started)
    },
    exclusive: (task) => withLease(opened().patient, { where, log: deps.log }, task),
    step: (task) => task(opened().patient),
    async close() {
      await opening?.catch(() => undefined)
      close()
    },
  }
}

/** Sends queries until the proxy and its database respond or the time is up; a refusal (wrong secret, registry mode) is not retried. */
async function reach(client: SqlClient, config: ProxyConfig, { log, connectTimeoutMs }: ProxyDeps): Promise<void> {
  // Real time, not the app's clock: this waits for a server.
  const deadline = systemClock.monotonic() + connectTimeoutMs
  for (let wait = 100, warned = false; ; wait = Math.min(wait * 2, 2000)) {
    try {
      await client.queryOne('select 1', [], { timeoutMs: Math.max(1, deadline - systemClock.monotonic()) })
      return
    } catch (error) {
      // The proxy is reachable; statements that are not registered fail when they are sent.
      if (config.mode === 'registry' && runsRegisteredOnly(error)) return
      if (!isWorthRetrying(error)) throw proxyRefusal(config, error)
      if (systemClock.monotonic() + wait >= deadline) throw proxyUnreachable(config, connectTimeoutMs, error)
      if (!warned) log.warn({ url: config.url, reason: messageOf(error) }, 'database proxy not reachable yet, retrying')
      warned = true
    }
    await new Promise((resolve) => setTimeout(resolve, wait))
  }
}
