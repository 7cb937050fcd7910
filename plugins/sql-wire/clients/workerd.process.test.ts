import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { it } from 'node:test'
import { build } from 'esbuild'
import { Miniflare } from 'miniflare'
import { edgeProxy } from 'zin/plugins/edge-proxy'
import { createTestHost } from 'zin/testing'
import { cleanUp } from '../../../scripts/testing/clean-up.js'

const worker = `
import { drizzle } from 'drizzle-orm/sqlite-proxy'
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { Kysely, SqliteDialect } from 'kysely'
import { createProxyClient, drizzleSqlite, kyselySqlite } from 'zin/clients'

const notes = sqliteTable('notes', { id: text('id').primaryKey(), at: integer('at') })

export default {
  async fetch(_request, { url, secret }) {
    const client = createProxyClient({ url, proxy: 'edge', keyId: 'worker', secret })
    await client.exec('create table notes (id text primary key, at integer)')
    const written = await client.exec('insert into notes values (?, ?)', ['a', 2n ** 60n], { idempotencyKey: true })
    await drizzle(...drizzleSqlite(client)).insert(notes).values({ id: 'b', at: 7 })
    const rows = await new Kysely({ dialect: kyselySqlite(client, SqliteDialect) }).selectFrom('notes').selectAll().orderBy('id').execute()
    const refused = await createProxyClient({ url, proxy: 'edge', keyId: 'worker', secret: 'wrong' }).query('select 1').catch(({ code }) => code)
    return Response.json({ changes: written.changes, rows: rows.map(({ id, at }) => [id, String(at)]), refused })
  },
}`

it('a client in workerd writes and reads through the edge proxy, with Kysely and drizzle', async (t) => {
  const atEnd = cleanUp(t)
  const secret = randomUUID()
  const env = { EDGE_REMOTE_SECRET: secret, EDGE_REMOTE_MODE: 'sql' }
  const host = await createTestHost({ plugins: [edgeProxy()], env, listen: true })
  atEnd(() => host.stop())
  const { outputFiles } = await build({
    stdin: { contents: worker, resolveDir: process.cwd(), loader: 'js' },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['workerd', 'worker', 'import'],
    tsconfig: 'tsconfig.json',
    logLevel: 'error',
  })
  const bindings = { url: host.url, secret }
  const miniflare = new Miniflare({ modules: true, script: outputFiles[0]?.text ?? '', compatibilityDate: '2025-01-01', bindings })
  atEnd(() => miniflare.dispose())
  const response = await miniflare.dispatchFetch('http://worker.test/')
  assert.deepEqual(await response.json(), {
    changes: 1,
    rows: [
      ['a', String(2n ** 60n)],
      ['b', '7'],
    ],
    refused: 'UNAUTHORIZED',
  })
})
