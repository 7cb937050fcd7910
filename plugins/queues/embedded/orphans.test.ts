import assert from 'node:assert/strict'
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type { Logger } from 'zin'
import { filesWith } from '../../../scripts/testing/store-dump.js'
import { type EmbeddedStore, openEmbedded } from './open.js'

/** Far above those that PostgreSQL has given. */
const freeNumber = 3_000_000

/** Opens a store, and closes it after the test if the test did not. */
async function open(t: TestContext, options: { readonly dataDir: string; readonly log?: Logger }): Promise<EmbeddedStore> {
  const store = await openEmbedded({ fsync: false, ...options })
  t.after(() => store.close().catch(() => undefined))
  return store
}

/** A new store, whose files hold all its rows, and the file of their table. */
async function scene(t: TestContext) {
  const dataDir = await mkdtemp(join(tmpdir(), 'zin-orphans-'))
  t.after(() => rm(dataDir, { recursive: true, force: true }))
  const store = await open(t, { dataDir })
  await store.pool.query('create table bullmq.noted (value text)')
  await store.pool.query('create unlogged table bullmq.drafts (value text)')
  await store.pool.query("insert into bullmq.noted select what || n from unnest(array['marker-', 'kept-']) what, generate_series(1, 500) n")
  await store.pool.query('create index on bullmq.noted (value)')
  await store.pool.query('vacuum bullmq.noted')
  await store.pool.query('checkpoint')
  const { rows } = await store.pool.query<{ path: string }>("select pg_relation_filepath('bullmq.noted') as path")
  return { dataDir, store, table: String(rows[0]?.path) }
}

/** Copies a table as a killed PostgreSQL leaves a new form of it, an index, a temporary table, and what it had sorted in a file. */
async function plant(dataDir: string, table: string): Promise<readonly string[]> {
  const [queue, folder] = [join(dataDir, 'queue'), dirname(table)]
  const forks = ['', '.1', '_fsm', '_vm', '_init'].map((fork) => `${folder}/${freeNumber}${fork}`)
  const sorted = ['base/pgsql_tmp/pgsql_tmp42.0', 'base/pgsql_tmp/pgsql_tmp42.1.fileset/0.0']
  const planted = [...forks, `${folder}/t3_${freeNumber + 1}`, `${folder}/t3_${freeNumber + 1}.1`, ...sorted]
  for (const file of planted) {
    await mkdir(dirname(join(queue, file)), { recursive: true })
    await cp(join(queue, table), join(queue, file))
  }
  return planted
}

const files = async (dataDir: string): Promise<readonly string[]> => {
  const found = await readdir(join(dataDir, 'queue'), { recursive: true, withFileTypes: true })
  return found.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath.slice(join(dataDir, 'queue').length), name))
}

const keptRows = async ({ pool }: EmbeddedStore): Promise<number> =>
  Number((await pool.query<{ n: string }>("select count(*) as n from bullmq.noted where value like 'kept-%'")).rows[0]?.n)

/** The files of relations that are not there. */
const missing = async ({ pool }: EmbeddedStore, dataDir: string): Promise<readonly string[]> => {
  const { rows } = await pool.query<{ path: string }>(
    `select pg_relation_filepath(oid) || fork as path from pg_class, unnest(array['', '_init']) fork
      where relkind in ('r', 'i', 'S', 't', 'm') and (fork = '' or relpersistence = 'u')`,
  )
  assert.ok(rows.length > 200)
  const there = new Set((await files(dataDir)).map((file) => file.replaceAll('\\', '/').replace(/^\//, '')))
  return rows.map(({ path }) => path).filter((path) => !there.has(path))
}

describe('files that a killed process left in the embedded queue store', () => {
  it('are deleted by a scrub, and no other file', async (t) => {
    const { dataDir, store, table } = await scene(t)
    await store.close()
    await plant(dataDir, table)
    const again = await open(t, { dataDir })
    await again.pool.query("delete from bullmq.noted where value like 'marker-%'")
    await again.scrub()
    assert.deepEqual([await keptRows(again), await missing(again, dataDir)], [500, []])
    await again.close()
    assert.deepEqual(await filesWith(dataDir, 'marker-'), [])

    const last = await open(t, { dataDir })
    assert.equal(await keptRows(last), 500)
    await last.pool.query("insert into bullmq.drafts select 'later'")
    await last.close()
  })

  it('are deleted when the store is opened, and no other file', async (t) => {
    const { store, table } = await scene(t)
    // What a kill at this moment would leave.
    const killed = await mkdtemp(join(tmpdir(), 'zin-orphans-'))
    t.after(() => rm(killed, { recursive: true, force: true }))
    await store.copyTo(join(killed, 'queue'))
    await store.close()
    const before = await files(killed)
    const planted = await plant(killed, table)
    assert.ok((await filesWith(killed, 'marker-')).length > planted.length)
    const again = await open(t, { dataDir: killed })
    const after = await files(killed)
    const left = new Set(after)
    assert.deepEqual(
      [
        after.filter((file) => /pgsql_tmp/.test(file) || basename(file).includes(String(freeNumber).slice(0, 6))),
        before.filter((file) => file.includes('base') && !left.has(file)),
        await missing(again, killed),
        await keptRows(again),
      ],
      [[], [], [], 500],
    )
    await again.close()
  })

  it('fail a scrub when they cannot be found, while the store opens with a warning', async (t) => {
    const { store } = await scene(t)
    const killed = await mkdtemp(join(tmpdir(), 'zin-orphans-'))
    t.after(() => rm(killed, { recursive: true, force: true }))
    await store.copyTo(join(killed, 'queue'))
    await store.close()
    await writeFile(join(killed, 'queue', 'base', 'pgsql_tmp'), 'a file')
    const warnings: string[] = []
    const log = { ...console, warn: (_: unknown, text: string) => warnings.push(text) } as unknown as Logger
    const again = await open(t, { dataDir: killed, log })
    await assert.rejects(again.scrub(), /base\/pgsql_tmp/)
    assert.deepEqual([await keptRows(again), warnings.length], [500, 1])
    await again.close()
  })
})
