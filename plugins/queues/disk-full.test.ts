import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { health } from 'zin/plugins/health'
import { createTestHost } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { smallDisk } from '../../scripts/testing/small-disk.js'
import { type Queues, queues, queuesService } from './index.js'

const mebibyte = 2 ** 20
const ample = 500 * mebibyte

/** A started app whose data directory is on a small disk. */
async function scene(t: TestContext, env: Record<string, string> = { QUEUE_FSYNC: 'off' }) {
  const dataDir = await mkdtemp(join(tmpdir(), 'zin-disk-full-'))
  t.after(() => rm(dataDir, { recursive: true, force: true }))
  const disk = smallDisk(dataDir, ample)
  t.after(() => disk.restore())
  const start = () => createTestHost({ plugins: [health({ showChecks: true }), queues()], dataDir, env })
  const host = await start()
  t.after(() => host.stop())
  return { dataDir, disk, host, service: host.service(queuesService), start }
}

interface Filled {
  readonly stored: number
  readonly refusals: readonly string[]
}

/** Adds jobs of 40 KB until `refused` adds in all were refused. */
async function fill(service: Queues, refused: number): Promise<Filled> {
  let stored = 0
  const refusals: string[] = []
  while (refusals.length < refused) {
    try {
      await service.add('fill', 'x', { text: randomBytes(30_000).toString('base64') })
      stored++
    } catch (error) {
      const { code, status } = error as { readonly code?: string; readonly status?: number }
      refusals.push(`${status} ${code}`)
    }
  }
  return { stored, refusals }
}

const waiting = async (service: Queues): Promise<number> => (await service.counts('fill')).waiting
const accepts = (service: Queues) =>
  eventually('jobs are accepted', () =>
    service.add('fill', 'later', {}).then(
      () => true,
      () => false,
    ),
  )

/** How the disk becomes full, whether jobs can be read meanwhile, and whether the queue syncs. */
const kinds = {
  'is nearly full': { free: 14 * mebibyte, told: true, reads: true, QUEUE_FSYNC: 'off' },
  'is full at once': { free: 0, told: true, reads: true, QUEUE_FSYNC: 'on' },
  'has a quota that does not show': { free: 3 * mebibyte, told: false, reads: false, QUEUE_FSYNC: 'off' },
  'has a quota that does not show and is used up': { free: 0, told: false, reads: false, QUEUE_FSYNC: 'on' },
}

describe('the embedded queue, when its disk', () => {
  for (const [kind, { QUEUE_FSYNC, free, reads, told }] of Object.entries(kinds)) {
    it(`${kind}, refuses jobs with 503, continues when there is space, stops in order, and keeps every job that it accepted`, async (t) => {
      const { disk, host, service, start } = await scene(t, { QUEUE_FSYNC })
      Object.assign(disk, { free, told })
      const { refusals, stored } = await fill(service, 20)
      assert.deepEqual(
        refusals.filter((one) => !/^503 QUEUE_(DISK_FULL|CONNECTION_ERROR)$/.test(one)),
        [],
      )
      if (reads) assert.deepEqual([...new Set(refusals)], ['503 QUEUE_DISK_FULL'])
      if (reads) assert.equal(await waiting(service), stored)
      disk.free = ample
      await accepts(service)
      assert.equal(await waiting(service), stored + 1)
      disk.free = free
      const again = await fill(service, 3)
      await host.stop()
      disk.free = ample
      const next = await start()
      t.after(() => next.stop())
      assert.equal(await waiting(next.service(queuesService)), stored + 1 + again.stored)
    })
  }

  it('is full, stores the outcome of a running job when there is space, and then runs the next one', async (t) => {
    const { disk, service } = await scene(t)
    const started: string[] = []
    let finish: () => void = () => undefined
    const finishing = new Promise<void>((resolve) => {
      finish = resolve
    })
    const worker = service.worker('run', async ({ name }) => {
      started.push(name)
      if (name === 'first') await finishing
      return name
    })
    const active = once(worker, 'active')
    const first = await service.add('run', 'first', {})
    await active
    disk.free = 0
    assert.deepEqual((await fill(service, 1)).refusals, ['503 QUEUE_DISK_FULL'])
    await assert.rejects(service.add('run', 'second', {}), { code: 'QUEUE_DISK_FULL', status: 503 })
    finish()
    const completed = once(worker, 'completed')
    disk.free = ample
    await completed
    const third = once(worker, 'completed')
    await service.add('run', 'third', {})
    await third
    assert.equal((await service.job('run', first.id ?? ''))?.state, 'completed')
    assert.deepEqual(started, ['first', 'third'])
  })

  it('is full at the start, reads, and is not ready until there is space', async (t) => {
    const { disk, host, service, start } = await scene(t)
    const check = async ({ inject }: Pick<typeof host, 'inject'>) => {
      const { body, status } = await inject({ path: '/health/ready' })
      return [status, body.dependencies.queues.status]
    }
    await service.add('fill', 'x', {})
    assert.deepEqual(await check(host), [200, 'ready'])
    await host.stop()
    disk.free = 5 * mebibyte
    const again = await start()
    t.after(() => again.stop())
    const reading = again.service(queuesService)
    assert.equal(await waiting(reading), 1)
    await assert.rejects(reading.add('fill', 'y', {}), { code: 'QUEUE_DISK_FULL', status: 503 })
    assert.deepEqual(await check(again), [503, 'unavailable'])
    disk.free = ample
    await accepts(reading)
    assert.deepEqual(await check(again), [200, 'ready'])
  })
})
