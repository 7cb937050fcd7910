import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { realpathSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { runnable } from '../../scripts/testing/runnable.js'
import { type EmbeddedStore, openEmbedded } from './embedded/open.js'
import { builtTemplate, templateMatches, templateStamp, writeTemplate } from './embedded/template.js'
import { queues } from './index.js'
import { queuesContract } from './queues.contract.js'

const child = runnable(new URL('./testing/unpack-child.ts', import.meta.url))

let folder: string
let template: string
let count = 0
const fresh = async (): Promise<string> => {
  const dir = join(folder, `${++count}`)
  await mkdir(dir)
  return dir
}

/** A file that PostgreSQL does not create: it marks an unpacked store. */
const mark = 'unpacked'
const made = async (dataDir: string): Promise<void> => cp(join(folder, 'initdb', 'queue'), join(dataDir, 'queue'), { recursive: true })

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'zin-template-'))
  template = join(folder, 'template')
  // A truncated template is ignored, and PostgreSQL creates the store.
  await writeFile(template, `${JSON.stringify({ stamp: templateStamp(), sha256: '' })}\n`)
  const store = await openEmbedded({ dataDir: join(folder, 'initdb'), fsync: false, template })
  await store.close()
  const marked = await fresh()
  await made(marked)
  await writeFile(join(marked, 'queue', mark), '')
  await writeTemplate(template, join(marked, 'queue'))
})
after(() => rm(folder, { recursive: true, force: true }))

const facts = async (store: EmbeddedStore): Promise<unknown> => {
  const tables = ['columns', 'routines', 'triggers'].map((view) => `information_schema.${view}`)
  const counts = await Promise.all(tables.map((table) => store.pool.query(`select count(*) as n from ${table}`)))
  const migrations = await store.pool.query('select version from migration order by version')
  const indexes = await store.pool.query("select indexname, indexdef from pg_indexes where schemaname = 'bullmq' order by 1")
  const settings = await store.pool.query(
    "select name, setting from pg_settings where name not like '%file%' and name not like 'data_directory%' order by 1",
  )
  return [...counts, migrations, indexes, settings].map(({ rows }) => rows)
}

describe('a store created from a template', () => {
  it('equals one that PostgreSQL creates: same tables, functions, migrations and settings', async () => {
    const [a, b] = [await fresh(), await fresh()]
    await made(a)
    const original = await openEmbedded({ dataDir: a, fsync: true, template: undefined })
    const unpacked = await openEmbedded({ dataDir: b, fsync: true, template })
    assert.deepEqual(await facts(unpacked), await facts(original))
    await original.close()
    await unpacked.close()
  })

  it('is readable by its owner only, and leaves no other files', async () => {
    const dataDir = await fresh()
    const store = await openEmbedded({ dataDir, fsync: true, template })
    await store.close()
    assert.deepEqual(await readdir(dataDir), ['queue'])
    assert.equal((await stat(join(dataDir, 'queue'))).mode & 0o077, 0)
    assert.equal((await stat(join(dataDir, 'queue', mark))).mode & 0o077, 0)
  })

  it('never replaces an existing one', async () => {
    const dataDir = await fresh()
    await made(dataDir)
    const store = await openEmbedded({ dataDir, fsync: false, template })
    await store.close()
    assert.ok(!(await readdir(join(dataDir, 'queue'))).includes(mark))
  })

  it('replaces an empty folder', async () => {
    const dataDir = await fresh()
    await mkdir(join(dataDir, 'queue'))
    const store = await openEmbedded({ dataDir, fsync: false, template })
    await store.close()
    assert.ok((await readdir(join(dataDir, 'queue'))).includes(mark))
  })

  it('is complete or absent when the process is killed while unpacking, and the next start creates it', async () => {
    const dataDir = await fresh()
    const killed = spawn(process.execPath, [...child.execArgv, child.file, dataDir, template], { stdio: 'inherit' })
    assert.deepEqual(await once(killed, 'exit'), [null, 'SIGKILL'])
    assert.deepEqual((await readdir(dataDir)).sort(), ['lock', 'queue.new'])
    const store = await openEmbedded({ dataDir, fsync: true, template })
    await store.pool.query('select count(*) from job')
    await store.close()
    assert.deepEqual(await readdir(dataDir), ['queue'])
    assert.ok((await readdir(join(dataDir, 'queue'))).includes(mark))
  })
})

describe('a template', () => {
  const changed = async (change: (content: Buffer) => Buffer): Promise<string> => {
    const file = join(await fresh(), 'template')
    await writeFile(file, change(await readFile(template)))
    return file
  }

  it('is ignored when it is truncated: PostgreSQL creates the store', async () => {
    assert.deepEqual(await readdir(join(folder, 'initdb')), ['queue'])
    assert.ok((await readdir(join(folder, 'initdb', 'queue'))).includes('PG_VERSION'))
  })

  it('is used when the running versions created it and it is intact', async () => {
    assert.equal(await templateMatches(template), true)
    const old = await changed((content) => Buffer.from(content.toString('latin1').replace('bullmq@', 'bullmq@0.'), 'latin1'))
    const cut = await changed((content) => content.subarray(0, -100))
    const flipped = await changed((content) => Buffer.from(content.with(-9, ~(content.at(-9) ?? 0) & 255)))
    const nothing = await changed(() => Buffer.alloc(0))
    const files = [old, cut, flipped, nothing, join(folder, 'absent')]
    assert.deepEqual(await Promise.all(files.map(templateMatches)), [false, false, false, false, false])
  })

  it('is in the build of the package', () => {
    assert.equal(realpathSync(builtTemplate() ?? ''), fileURLToPath(new URL('../../dist/queue-template', import.meta.url)))
  })
})

queuesContract('an embedded store created from a template', async () => {
  const dataDir = await fresh()
  const store = await openEmbedded({ dataDir, fsync: false, template })
  await store.close()
  return { plugins: [queues()], env: { QUEUE_FSYNC: 'off' }, dataDir }
})
