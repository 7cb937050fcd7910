import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { createTestHost, type TestHost } from 'zin/testing'
import { writeProcessors } from '../../scripts/testing/processor-files.js'
import { type Isolation, type Workers, workers, workersService } from './index.js'

/** Each does harm unless its data says otherwise. */
const harms = {
  blocks: 'for (;;);',
  throws: 'throw new Error("on purpose")',
  leaks: 'const kept = []; for (;;) kept.push(new Array(1e6).fill(Math.random()))',
  exits: 'process.exit(3)',
  ignores: 'await new Promise(() => setInterval(() => undefined, 1000))',
}
type Harm = keyof typeof harms

describe('a processor that runs isolated', () => {
  let rootDir: string
  let host: TestHost
  let service: Workers
  /** How jobs ended, and who waits for them; a job may end before anyone waits. */
  const ended = new Map<string, unknown>()
  const waiting = new Map<string, (outcome: unknown) => void>()

  before(async () => {
    rootDir = await mkdtemp(join(tmpdir(), 'zin-isolation-'))
    const codes = Object.entries(harms).map(([name, code]) => [
      `${name}.mjs`,
      `export const ZinTrustProcessor = async (job) => { if (job.data.good) return 'good'; ${code} }`,
    ])
    await writeProcessors(rootDir, Object.fromEntries(codes))
    const done = (worker: string, id: string, outcome: unknown): void => {
      const key = `${worker}/${id}`
      ended.set(key, outcome)
      waiting.get(key)?.(outcome)
    }
    host = await createTestHost({
      plugins: [
        database(),
        kv(),
        cluster(),
        queues(),
        ops(),
        workers({ processors: { neighbour: (job) => job.data.n }, sandbox: { memoryMb: 32 } }),
      ],
      hooks: {
        onJobComplete: (worker, job, result) => done(worker, job.id, result),
        onJobFailed: (worker, job, error) => done(worker, job.id, error),
      },
      rootDir,
      env: { WORKER_AUTO_START: 'true', WORKER_TIMEOUT: '5' },
    })
    service = host.service(workersService)
    await service.create({ name: 'neighbour', queueName: 'neighbour', concurrency: 5 })
  })
  after(async () => {
    await host.stop()
    await rm(rootDir, { recursive: true, force: true })
  })

  /** Adds a job and returns its outcome: a result, or an error. */
  const run = async (worker: string, data: unknown, options: { readonly timeout?: number } = {}): Promise<unknown> => {
    const { id } = await service.enqueue(worker, data, { attempts: 1, ...options })
    const key = `${worker}/${id}`
    return ended.has(key) ? ended.get(key) : new Promise((resolve) => waiting.set(key, resolve))
  }

  const rows: readonly (readonly [harm: Harm, isolation: Isolation, error: RegExp])[] = [
    ['blocks', 'thread', /longer than its timeout of 1000 ms/],
    ['blocks', 'process', /longer than its timeout of 1000 ms/],
    ['throws', 'thread', /on purpose/],
    ['throws', 'process', /on purpose/],
    ['leaks', 'thread', /more than 32 MiB of memory/],
    ['leaks', 'process', /signal SIGABRT/],
    ['exits', 'thread', /exit code 3 \(its code called process\.exit\)$/],
    ['exits', 'process', /exit code 3 \(its code called process\.exit\)$/],
    ['ignores', 'thread', /longer than its timeout of 1000 ms/],
    ['ignores', 'process', /longer than its timeout of 1000 ms/],
  ]
  for (const [harm, isolation, error] of rows) {
    it(`that ${harm} in a ${isolation} fails its own attempt and affects nothing else`, async () => {
      const name = `${harm}-${isolation}`
      await service.create({ name, queueName: name, processor: `${harm}.mjs`, isolation, concurrency: 2 })
      // Only jobs that would never end; the others may take as long as a busy machine needs to start their process.
      const bad = run(name, {}, harm === 'blocks' || harm === 'ignores' ? { timeout: 1000 } : {})
      const beside = Promise.all(Array.from({ length: 20 }, (_, n) => run('neighbour', { n })))
      assert.deepEqual(
        await beside,
        Array.from({ length: 20 }, (_, n) => n),
      )
      assert.equal((await host.inject({ path: `/api/workers/${name}/status` })).status, 200)
      const failed = await bad
      assert.ok(failed instanceof Error)
      assert.match(failed.message, error)
      assert.equal(await run(name, { good: true }), 'good')
      assert.equal((await service.get(name)).state, 'running')
      await service.remove(name)
    })
  }
})
