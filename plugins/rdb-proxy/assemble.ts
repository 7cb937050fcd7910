import { join, resolve } from 'node:path'
import type { Clock, Logger, SettingValues } from 'zin'
import { openNonces, type RequestNonces } from 'zin/plugins/bulletproof'
import type { Kv } from 'zin/plugins/kv'
import { signatureHeaderNames } from 'zin/signing'
import { Callers } from './auth/caller.js'
import type { Keys } from './auth/keys.js'
import { Permissions } from './auth/permissions.js'
import { Rates } from './auth/rates.js'
import { Refusals } from './auth/refusals.js'
import { BootCheck, writerCheck } from './boot-check.js'
import type { RdbProxyOptions } from './options.js'
import type { Assembled } from './routes.js'
import { RdbProxy } from './service.js'
import type { rdbProxySettings } from './settings.js'
import { Gateway, type GatewayOptions } from './sql/gateway.js'
import { Receipts } from './sql/receipts.js'
import type { Session } from './sql/session.js'
import { withTimeLimit } from './sql/time-limit.js'
import { Statements } from './statements.js'
import { Streams } from './stream.js'
import { Transactions } from './transactions.js'

export type Settings = SettingValues<typeof rdbProxySettings>

export interface AssembleInput {
  readonly settings: Settings
  readonly headerPrefix: string
  readonly options: RdbProxyOptions
  readonly keys: Keys
  readonly signingRequired: boolean
  readonly app: { readonly rootDir: string; readonly dataDir: string; readonly production: boolean }
  readonly kv: () => Kv | undefined
  /** Whether the app is shutting down. */
  readonly isStopping: () => boolean
  readonly clock: Clock
  readonly log: Logger
}

/** The assembled proxy. */
export interface Running extends Assembled {
  readonly statements: Statements
  readonly nonces: RequestNonces
  readonly gateway: Gateway
  /** Loads statements, opens the nonce store and checks the reading user. Throws errors that must stop the start. */
  start(): Promise<void>
  /** Deletes expired receipts. */
  sweepReceipts(): Promise<void>
  close(): Promise<void>
}

/** Returns the account for reading: the reading user, or else the user that also writes. */
export function readerOf(settings: Settings): { readonly user: string; readonly password: string } {
  if (settings.RDB_PROXY_READ_USERNAME === '') return { user: settings.DB_USERNAME, password: settings.DB_PASSWORD }
  return { user: settings.RDB_PROXY_READ_USERNAME, password: settings.RDB_PROXY_READ_PASSWORD }
}

export function gatewayOf(
  settings: Settings,
  { poolQueue, poolWaitMs }: Pick<RdbProxyOptions, 'poolQueue' | 'poolWaitMs'>,
  checkWriter?: GatewayOptions['checkWriter'],
): Gateway {
  return new Gateway({
    host: settings.DB_HOST,
    port: settings.DB_PORT,
    database: settings.DB_DATABASE,
    writer: { user: settings.DB_USERNAME, password: settings.DB_PASSWORD },
    reader: readerOf(settings),
    poolLimit: settings.RDB_PROXY_POOL_LIMIT,
    queue: poolQueue,
    waitMs: poolWaitMs,
    ...(checkWriter && { checkWriter }),
  })
}

export function assemble({
  settings,
  headerPrefix,
  options,
  keys,
  signingRequired,
  app,
  kv,
  isStopping,
  clock,
  log,
}: AssembleInput): Running {
  const windowMs = settings.RDB_PROXY_SIGNING_WINDOW_MS
  const nonces = openNonces({ kv, folder: join(app.dataDir, 'rdb-proxy'), clock, windowMs })
  const file = settings.RDB_PROXY_STATEMENTS_FILE
  const statements = new Statements(file === '' ? '' : resolve(app.rootDir, file), options, log)
  const registryOnly = settings.RDB_PROXY_MODE === 'registry'
  const { production } = app
  const allowed = options.allowPowerfulAccount || settings.RDB_PROXY_ALLOW_POWERFUL_ACCOUNT
  const gateway = gatewayOf(settings, options, writerCheck({ user: settings.DB_USERNAME, production, allowed, log }))
  const check = new BootCheck({ gateway, user: readerOf(settings).user, production, allowed, log })
  const receipts = new Receipts()
  const proxy = new RdbProxy({
    gateway,
    permissions: new Permissions(statements, registryOnly),
    receipts,
    clock,
    maxTimeoutMs: options.maxTimeoutMs,
    showMessages: !(registryOnly && production),
    checkReads: () => check.check(),
  })
  const half = Math.max(1, Math.floor(settings.RDB_PROXY_POOL_LIMIT / 2))
  const transactions = new Transactions({
    proxy,
    enabled: settings.RDB_PROXY_TRANSACTIONS,
    idleMs: options.transactionIdleMs,
    maxMs: options.transactionMaxMs,
    most: half,
    isStopping,
  })
  const callers = new Callers({
    keys,
    nonces,
    refusals: new Refusals(clock, options.refusalsPerMinute),
    names: signatureHeaderNames(headerPrefix),
    windowMs,
    required: signingRequired,
    clock,
    log,
  })
  return {
    handler: { callers, rates: new Rates(clock, options.inFlight), maxBodyBytes: settings.RDB_PROXY_MAX_BODY_BYTES, log },
    proxy,
    streams: new Streams(proxy, half),
    transactions,
    limits: options,
    statements,
    nonces,
    gateway,
    async start() {
      await statements.load()
      await nonces.open()
      await check.start()
    },
    async sweepReceipts() {
      const before = clock.now() - options.receiptHours * 3_600_000
      const own = { timeoutMs: options.maxTimeoutMs, reads: false }
      const sweepOn = (session: Session) => withTimeLimit(session, gateway.kill, own, () => receipts.sweep(session, before))
      let more = true
      while (more) more = await gateway.use('writing', sweepOn)
    },
    async close() {
      await transactions.close()
      gateway.close()
    },
  }
}
