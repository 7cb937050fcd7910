import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { definePlugin } from 'zin'
import { createProxyClient, type ProxyClient } from 'zin/clients'
import { edgeProxy } from 'zin/plugins/edge-proxy'
import { rdbProxy } from 'zin/plugins/rdb-proxy'
import { createTestHost, type TestHost } from 'zin/testing'
import { mysqlDatabase } from '../../../scripts/testing/mysql-database.js'
import { type Database, database, databaseService } from '../index.js'
import type { Dialect } from './column-types.js'

/** A database, connected in one of the four ways. */
export interface TestConnection {
  readonly name: string
  readonly dialect: Dialect
  readonly database: Database
  /** The app, with the routes `/row` and `/bytes`. */
  readonly host: TestHost
  /** Of its proxy. */
  readonly client?: ProxyClient
}

const routes = definePlugin({
  name: 'routes',
  version: '1.0.0',
  uses: { database: databaseService },
  setup(ctx) {
    const selected = async (query: ReturnType<typeof sql<Record<string, unknown>>>) =>
      (await query.execute(ctx.services.database.tables())).rows[0]
    ctx.route({
      method: 'GET',
      path: '/row',
      summary: 'A row',
      handler: () => selected(sql`select 5 as small, 9007199254740993 as big, '2024-02-29 23:59:59' as time`),
    })
    ctx.route({
      method: 'GET',
      path: '/bytes',
      summary: 'Bytes',
      handler: async () => (await selected(sql`select x'00ff80' as bytes`))?.bytes,
    })
  },
})

/** Opens one of each kind. @param clean registers a step for the end. */
export async function allConnections(clean: (step: () => unknown) => void): Promise<readonly TestConnection[]> {
  const secret = randomUUID()
  const store = mysqlDatabase('types')
  await store.create()
  clean(() => store.drop())
  const host = async (options: Parameters<typeof createTestHost>[0]): Promise<TestHost> => {
    const made = await createTestHost(options)
    clean(() => made.stop())
    return made
  }
  const app = async (env: Readonly<Record<string, string>>) => {
    const made = await host({ plugins: [database(), routes()], env })
    return { host: made, database: made.service(databaseService) }
  }
  const rdb = { RDB_PROXY_KEY_ID: 'app', RDB_PROXY_SECRET: secret }
  const edge = { EDGE_REMOTE_SECRET: secret, EDGE_REMOTE_MODE: 'sql' }
  const { url: rdbUrl } = await host({ plugins: [rdbProxy()], env: { ...store.env, ...rdb }, listen: true })
  const { url: edgeUrl } = await host({ plugins: [edgeProxy()], env: { ...edge, EDGE_RATE_PER_MINUTE: '0' }, listen: true })
  return [
    { name: 'SQLite', dialect: 'sqlite', ...(await app({})) },
    { name: 'MariaDB', dialect: 'mysql', ...(await app(store.env)) },
    {
      name: 'the relational proxy',
      dialect: 'mysql',
      ...(await app({ DB_CONNECTION: 'rdb', USE_RDB_PROXY: 'true', RDB_PROXY_URL: rdbUrl, ...rdb })),
      client: createProxyClient({ url: rdbUrl, proxy: 'rdb', keyId: 'app', secret }),
    },
    {
      name: 'the edge proxy',
      dialect: 'sqlite',
      ...(await app({ DB_CONNECTION: 'edge-remote', EDGE_REMOTE_URL: edgeUrl, EDGE_REMOTE_KEY_ID: 'app', ...edge })),
      client: createProxyClient({ url: edgeUrl, proxy: 'edge', keyId: 'app', secret }),
    },
  ]
}
