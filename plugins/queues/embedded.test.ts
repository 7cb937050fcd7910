import assert from 'node:assert/strict'
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { after, before, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { createTestHost } from 'zin/testing'
import { runnable } from '../../scripts/testing/runnable.js'
import { filesWith } from '../../scripts/testing/store-dump.js'
import { openEmbedded } from './embedded/open.js'
import { encodeValue } from './embedded/values.js'
import { queues, queuesService } from './index.js'

const linux = { skip: process.platform !== 'linux' }
const child = runnable(new URL('./testing/embedded-child.ts', import.meta.url))
const run = (
  rootDir: string,
  mode: string,
): { readonly process: ChildProcessByStdio<Writable, Readable, null>; readonly lines: AsyncIterable<string> } => {
  const started = spawn(process.execPath, [...child.execArgv, child.file, rootDir, mode], { stdio: ['pipe', 'pipe', 'inherit'] })
  return { process: started, lines: createInterface({ input: started.stdout }) }
}

describe('the embedded queue store', () => {
  let rootDir: string
  before(async () => {
    rootDir = await mkdtemp(join(tmpdir(), 'zin-embedded-'))
    await mkdir(dataDir(), { recursive: true })
  })
  after(() => rm(rootDir, { recursive: true, force: true }))
  const dataDir = (): string => join(rootDir, '.zin', 'data')

  it('keeps every acknowledged job when its process is killed, rejects a second process, and finishes the remaining jobs afterwards', async () => {
    const first = run(rootDir, 'work')
    const added = new Set<string>()
    const completed = new Set<string>()
    let refusal = ''
    for await (const line of first.lines) {
      const [what, name = ''] = line.split(' ')
      if (what === 'added') added.add(name)
      if (what === 'completed') completed.add(name)
      if (line === 'open') {
        for await (const line of run(rootDir, 'refused').lines) refusal += line
        first.process.stdin.write('go')
      }
      if (added.size >= 150 && completed.size >= 50) first.process.kill('SIGKILL')
    }
    assert.match(refusal, new RegExp(`^error .*${first.process.pid}`, 's'), 'the second process names the pid of the first')
    assert.match(refusal, /in use/)

    const left = await openEmbedded({ dataDir: dataDir(), fsync: false })
    const locked = await left.pool.query("select id from job where state = 'active' and locked_until_ms > 0")
    assert.deepEqual(locked.rows, [], 'jobs of the killed process do not wait for their locks to run out')
    await left.close()

    const host = await createTestHost({ plugins: [queues()], dataDir: dataDir() })
    const service = host.service(queuesService)
    const worker = service.worker('crash', async () => undefined, { concurrency: 5, stalledInterval: 500 })
    await new Promise<void>((resolve) => {
      worker.on('completed', async () => {
        const { waiting, active } = await service.counts('crash')
        if (waiting + active === 0) resolve()
      })
    })
    const { completed: kept, failed } = await service.counts('crash')
    const names = new Set((await service.list('crash', 'completed', { offset: 0, limit: kept })).map((job) => job.name))
    assert.equal(failed, 0)
    assert.deepEqual(
      [...added].filter((name) => !names.has(name)),
      [],
    )
    assert.deepEqual(
      [...completed].filter((name) => !names.has(name)),
      [],
    )
    await host.stop()
    assert.ok(!(await readdir(dataDir())).includes('lock'), 'a clean stop removes the lock')
  })

  it('reclaims a lock whose pid has been reused by another process', async () => {
    await writeFile(join(dataDir(), 'lock'), JSON.stringify({ pid: process.pid, started: '1', host: hostname() }))
    const store = await openEmbedded({ dataDir: dataDir(), fsync: true })
    assert.equal((JSON.parse(await readFile(join(dataDir(), 'lock'), 'utf8')) as { pid: number }).pid, process.pid)
    await assert.rejects(openEmbedded({ dataDir: dataDir(), fsync: true }), { code: 'ZIN_DATA_IN_USE', message: /\(this process\)/ })
    await store.close()
  })

  it('reclaims the lock of a zombie process', linux, async () => {
    const parent = spawn('sh', ['-c', 'sleep 600 & echo $!; exec sleep 600'], { stdio: ['ignore', 'pipe', 'ignore'] })
    try {
      const [line] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string]
      const pid = Number(line)
      const fields = async () => (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? []
      const holder = { pid, started: (await fields())[19], host: hostname() }
      await writeFile(join(dataDir(), 'lock'), JSON.stringify(holder))
      await assert.rejects(openEmbedded({ dataDir: dataDir(), fsync: true }), { code: 'ZIN_DATA_IN_USE' })
      process.kill(pid, 'SIGKILL')
      while ((await fields())[0] !== 'Z') await turn()
      await (await openEmbedded({ dataDir: dataDir(), fsync: true })).close()
    } finally {
      parent.kill('SIGKILL')
    }
  })

  it('reclaims a lock from before the last boot of the machine, even if a process has the same pid and start time', linux, async () => {
    const started = (await readFile(`/proc/${process.ppid}/stat`, 'utf8')).split(') ')[1]?.split(' ')[19]
    const holder = { pid: process.ppid, started, host: hostname() }
    await writeFile(join(dataDir(), 'lock'), JSON.stringify(holder))
    await assert.rejects(openEmbedded({ dataDir: dataDir(), fsync: true }), { code: 'ZIN_DATA_IN_USE' })
    await writeFile(join(dataDir(), 'lock'), JSON.stringify({ ...holder, boot: 'an earlier one' }))
    await (await openEmbedded({ dataDir: dataDir(), fsync: true })).close()
  })

  it('removes the dead rows of finished jobs in a maintenance run', async () => {
    const store = await openEmbedded({ dataDir: dataDir(), fsync: false })
    const size = async (): Promise<number> =>
      Number((await store.pool.query<{ size: string }>("select pg_total_relation_size('job') as size")).rows[0]?.size)
    for (let i = 0; i < 20; i++) await store.pool.query('update job set locked_until_ms = $1', [i])
    const grown = await size()
    await store.maintain()
    for (let i = 0; i < 20; i++) await store.pool.query('update job set locked_until_ms = $1', [i])
    assert.ok((await size()) <= grown * 1.1, 'freed rows are reused')
    await store.close()
    await assert.rejects(store.pool.query('select 1'), { message: 'Cannot use a pool after calling end on the pool' })
  })

  it('leaves nothing of removed rows in its files after a scrub, also not in the planner statistics of an index that no row is left in', async () => {
    const store = await openEmbedded({ dataDir: dataDir(), fsync: false })
    // As the fields are indexed that the option `search` declares.
    await store.pool.query('create table bullmq.searched (queue text, value text)')
    await store.pool.query("create index on bullmq.searched (lower(value)) where queue = 'orders'")
    await store.pool.query(
      "insert into bullmq.searched select q, 'marker-' || q from generate_series(1, 50), unnest(array['orders', 'mails']) q",
    )
    const statistics = async (): Promise<number> => {
      const { rows } = await store.pool.query<{ found: string }>(
        "select count(*) as found from pg_catalog.pg_statistic s where s::text like '%marker-orders%'",
      )
      return Number(rows[0]?.found)
    }
    await store.maintain()
    const before = await statistics()
    await store.pool.query("delete from bullmq.searched where queue = 'orders'")
    await store.scrub()
    const after = await statistics()
    await store.pool.query('drop table bullmq.searched')
    await store.close()
    assert.deepEqual([before > 0, after, await filesWith(dataDir(), 'marker-orders')], [true, 0, []])
  })

  it('leaves nothing of removed rows in segments of its log that an earlier version kept for reuse', async () => {
    const store = await openEmbedded({ dataDir: dataDir(), fsync: false })
    await store.pool.query('create table bullmq.noted (value text)')
    await store.pool.query('set wal_recycle = on')
    for (let segment = 0; segment < 5; segment++) {
      await store.pool.query("insert into bullmq.noted select 'marker-kept' from generate_series(1, 50)")
      await store.pool.query('select pg_switch_wal()')
    }
    await store.pool.query('checkpoint')
    await store.pool.query('reset wal_recycle')
    const kept = (await filesWith(dataDir(), 'marker-kept')).filter((file) => file.includes('pg_wal')).length
    await store.pool.query('delete from bullmq.noted')
    await store.scrub()
    await store.pool.query('drop table bullmq.noted')
    await store.close()
    // The segment in use, and two more, were always overwritten.
    assert.deepEqual([kept > 3, await filesWith(dataDir(), 'marker-kept')], [true, []])
  })

  it('reports maintenance that fails, and closes all the same', async () => {
    const store = await openEmbedded({ dataDir: dataDir(), fsync: false })
    await store.pool.query('create table bullmq.damaged (n int)')
    await store.pool.query(`create function fails_later(n int) returns int immutable language plpgsql as
      $$ begin if current_setting('test.fails', true) = 'yes' then raise exception 'damaged'; end if; return n; end $$`)
    await store.pool.query('create index on bullmq.damaged (fails_later(n))')
    await store.pool.query('insert into bullmq.damaged values (1)')
    await store.pool.query("select set_config('test.fails', 'yes', false)")
    await assert.rejects(store.maintain(), /damaged/)
    await store.close()
    await (await openEmbedded({ dataDir: dataDir(), fsync: false })).close()
  })

  it('delivers a notification once, after the statement that caused it, also to listeners added in between', async () => {
    const store = await openEmbedded({ dataDir: dataDir(), fsync: false })
    const client = await store.pool.connect()
    await client.query('LISTEN bullmq_jobs')
    const received: string[] = []
    await store.pool.query("select pg_notify('bullmq_jobs', 'a'), pg_notify('bullmq_jobs', 'b'), pg_notify('bullmq_events', 'c')")
    client.on('notification', ({ payload }: { readonly payload: string }) => received.push(payload))
    await turn()
    await turn()
    client.release()
    await store.close()
    assert.deepEqual(received, ['a', 'b'])
  })

  it('isolates a transaction of one client from statements of others, and rolls back an open one on release', async () => {
    const store = await openEmbedded({ dataDir: dataDir(), fsync: false })
    const client = await store.pool.connect()
    await client.query('begin')
    await client.query("insert into meta (queue, field, value) values ('tx', 'a', '1')")
    const outside = store.pool.query<{ n: string }>("select count(*) as n from meta where queue = 'tx'")
    client.release()
    assert.equal(Number((await outside).rows[0]?.n), 0)
    await assert.rejects(store.pool.query('select * from nothing where a = $1', [1]), { code: '42P01' })
    assert.equal((await store.pool.query<{ v: number }>('select $1::int as v', [7])).rows[0]?.v, 7)
    await store.close()
  })

  it('embeds the declared PostgreSQL version, and rejects files of another one', async () => {
    const store = await openEmbedded({ dataDir: dataDir(), fsync: false })
    const { rows } = await store.pool.query<{ server_version_num: string; enable_seqscan: string }>(
      "select current_setting('server_version_num') as server_version_num, current_setting('enable_seqscan') as enable_seqscan",
    )
    await store.close()
    const version = (await readFile(join(dataDir(), 'queue', 'PG_VERSION'), 'utf8')).trim()
    assert.equal(Math.floor(Number(rows[0]?.server_version_num) / 10_000), Number(version))
    assert.equal(rows[0]?.enable_seqscan, 'off')
    await writeFile(join(dataDir(), 'queue', 'PG_VERSION'), '17\n')
    await assert.rejects(openEmbedded({ dataDir: dataDir(), fsync: false }), {
      code: 'QUEUE_DATA_VERSION',
      message: /PostgreSQL 17.*embeds 18/,
    })
    assert.ok(!(await readdir(dataDir())).includes('lock'), 'a failed open leaves no lock')
  })
})

describe('values of the embedded queue store', () => {
  it('are encoded as PostgreSQL parses them', () => {
    assert.equal(encodeValue(undefined), null)
    assert.equal(encodeValue(1_795_861_806_385.25), '1795861806386')
    assert.deepEqual(encodeValue([-0.5, 2]), '{"0","2"}')
    for (const number of [Number.NaN, Number.POSITIVE_INFINITY]) assert.throws(() => encodeValue(number), RangeError)
    assert.equal(encodeValue(true), 'true')
    assert.equal(encodeValue({ a: 'b' }), '{"a":"b"}')
    assert.equal(encodeValue([1, null, 'a"b\\', [true]]), '{"1",NULL,"a\\"b\\\\",{"true"}}')
    assert.equal(encodeValue(new Date(0)), '1970-01-01T00:00:00.000Z')
  })
})
