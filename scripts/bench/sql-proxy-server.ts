// A server of the SQL bench: bare Koa with mysql2, or the relational proxy. Arguments: kind, data folder, port of the database.
import Koa from 'koa'
import mysql from 'mysql2/promise'
import { plainEnv } from '../../core/config/read-settings.js'
import { Host } from '../../core/host/host.js'
import type { OwnedLogger } from '../../core/log/logger.js'
import { rdbProxy } from '../../plugins/rdb-proxy/index.js'

const [, , kind, folder = '', dbPort = ''] = process.argv

/**
 * A minimal hand-written server: one route that runs the SQL of its body. Per request, it collects and parses the JSON body, waits for one of
 * ten pooled connections, runs a cached prepared statement (`pool.execute`, one round trip) and sends the rows as JSON. It checks nothing.
 */
async function startBare(): Promise<number> {
  const pool = mysql.createPool({
    host: '127.0.0.1',
    port: Number(dbPort),
    user: 'zin',
    password: 'zin',
    database: 'zin',
    connectionLimit: 10,
  })
  const app = new Koa()
  app.use(async (ctx) => {
    const chunks: Buffer[] = []
    for await (const chunk of ctx.req) chunks.push(chunk as Buffer)
    const { sql, params } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { sql: string; params: (string | number)[] }
    const [rows] = await pool.execute(sql, params)
    ctx.body = { rows }
  })
  return new Promise((resolve) => {
    const server = app.listen(0, '127.0.0.1', () => resolve((server.address() as { readonly port: number }).port))
  })
}

/**
 * The proxy as it is deployed. Per request, it does the same with as many connections, also in one round trip. In addition, it reads the
 * signature headers, verifies the HMAC and the hash of the body, records the nonce, checks the shape of the body, the scopes and the keywords
 * of the statement, binds integers as BIGINT, counts rows and bytes as they arrive, limits the time, and sends the columns and the times.
 */
async function startProxy(): Promise<number> {
  const quiet = (): void => undefined
  const log: OwnedLogger = {
    level: 'info',
    trace: quiet,
    debug: quiet,
    info: quiet,
    warn: quiet,
    error: quiet,
    fatal: quiet,
    child: () => log,
    close: async () => undefined,
  }
  const env = {
    // As deployed: outside production, each response is checked against its schema.
    NODE_ENV: 'production',
    HOST: '127.0.0.1',
    PORT: '0',
    LOG_REQUESTS: 'false',
    ZIN_DATA_DIR: folder,
    DB_HOST: '127.0.0.1',
    DB_PORT: dbPort,
    DB_USERNAME: 'zin',
    DB_PASSWORD: 'zin',
    RDB_PROXY_READ_USERNAME: 'bench_reader',
    RDB_PROXY_READ_PASSWORD: 'reads',
    RDB_PROXY_ALLOW_POWERFUL_ACCOUNT: 'true',
    RDB_PROXY_SECRET: 'secret-of-the-bench-with-32-bytes-or-more',
    RDB_PROXY_STATEMENTS_FILE: `${folder}/statements.json`,
  }
  const plugins = [rdbProxy({ inFlight: 1000, poolQueue: 1000, poolWaitMs: 10_000 })]
  const host = new Host({ plugins }, { rootDir: folder, env: plainEnv(env), log })
  return (await host.start({ listen: true }))?.port ?? 0
}

process.on('disconnect', () => process.exit())
// On request, sends the CPU time that the process has used so far.
process.on('message', () => {
  process.send?.(process.cpuUsage())
})
process.send?.(await (kind === 'bare' ? startBare() : startProxy()))
