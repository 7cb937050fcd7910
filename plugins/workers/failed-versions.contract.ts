import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { decisions, decisionsService } from 'zin/plugins/decisions'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { createTestHost } from 'zin/testing'
import { cleanUp } from '../../scripts/testing/clean-up.js'
import { eventually } from '../../scripts/testing/eventually.js'
import { writeProcessors } from '../../scripts/testing/processor-files.js'
import { workers, workersService } from './index.js'
import { signal } from './testing/signal.js'

const good = "export default () => 'good'"
const throws = "throw new Error('broken at import\\nin its second line')\nexport default () => 1"

export interface FailedVersionsBackend {
  readonly env: Readonly<Record<string, string>>
  /** Whether several nodes share the stores. */
  readonly shared: boolean
}

/** Versions of workers that cannot run: what is decided, and what goes on. */
export function failedVersionsContract(title: string, { env, shared }: FailedVersionsBackend): void {
  describe(`a version that cannot run, on ${title}`, () => {
    const node = async (t: TestContext, name: string, files: Readonly<Record<string, string>>) => {
      const later = cleanUp(t)
      const rootDir = await mkdtemp(join(tmpdir(), 'zin-failed-'))
      later(() => rm(rootDir, { recursive: true, force: true }))
      const folder = await writeProcessors(rootDir, files)
      let done = signal<unknown>()
      const host = await createTestHost({
        plugins: [
          database(),
          kv(),
          cluster(),
          queues(),
          ops(),
          decisions(),
          workers({ healthChecks: { [`${name}@3.0.0`]: () => ({ healthy: false, error: 'not today' }) } }),
        ],
        hooks: { onJobComplete: (_worker, _job, result) => done.fire(result) },
        rootDir,
        env: { ...env, WORKER_AUTO_START: 'true', CLUSTER_NAME: name, APP_NAME: name },
      })
      later(() => host.stop())
      const service = host.service(workersService)
      const answer = async () => {
        done = signal<unknown>()
        await service.enqueue(name, null)
        return done.promise
      }
      const decided = async (verdict: string) => {
        await host.service(decisionsService).flush()
        const { decisions: all } = await host.service(decisionsService).list({ subject: `worker:${name}` })
        return all.filter((one) => one.verdict === verdict)
      }
      return { answer, decided, folder, host, service }
    }
    const fresh = () => `failed-${randomUUID().slice(0, 8)}`

    it('is decided, and fails the worker with the reason when it is the only one', async (t) => {
      const name = fresh()
      const { decided, service } = await node(t, name, { 'throws.mjs': throws })
      await service.create({ name, queueName: name, processor: 'throws.mjs' }).catch(() => undefined)
      await eventually('it has failed', async () => (await service.get(name)).state === 'FAILED')
      assert.match((await service.get(name)).lastError ?? '', /broken at import/)
      const [decision, ...others] = await decided('failed')
      assert.deepEqual([decision?.kind, decision?.rule, decision?.inputs?.version, others], ['start', 'workers/start', '1.0.0', []])
      assert.match(
        decision?.reason ?? '',
        /^On node \S+: worker "\S+" did not start: .*broken at import in its second line\. It takes no jobs/,
      )
    })

    for (const [what, version, why] of [
      ['fails at import', '2.0.0', /broken at import/],
      ['is not healthy', '3.0.0', /not today/],
    ] as const)
      it(`is decided when it ${what}, and the previous version goes on`, async (t) => {
        const name = fresh()
        const { answer, decided, service } = await node(t, name, { 'good.mjs': good, 'throws.mjs': throws })
        await service.create({ name, queueName: name, processor: 'good.mjs' }, { waitMs: 30_000 })
        await service.registerVersion(name, { version, processor: version === '2.0.0' ? 'throws.mjs' : 'good.mjs' })
        await assert.rejects(service.activate(name, version, { waitMs: 30_000 }), why)
        assert.equal(await answer(), 'good')
        assert.equal((await service.get(name)).rollout?.state, 'halted')
        const [decision] = await decided('kept')
        assert.deepEqual([decision?.kind, decision?.inputs?.version], ['rollout', version])
        assert.match(decision?.reason ?? '', why)
      })

    it('is decided when its worker fails by its health checks', async (t) => {
      const name = fresh()
      const { decided, service } = await node(t, name, { 'good.mjs': good })
      await service.create({ name, queueName: name, processor: 'good.mjs' }, { waitMs: 30_000 })
      await service.local.fail(name, new Error('no database'))
      const [decision, ...others] = await decided('failed')
      assert.deepEqual([decision?.kind, decision?.inputs?.version, others], ['start', '1.0.0', []])
      assert.match(
        decision?.reason ?? '',
        /^On node \S+: worker "\S+" FAILED: no database\. It takes no jobs here until it is started again$/,
      )
    })

    it('is not activated when its file is not on the node, and the previous version goes on', async (t) => {
      const name = fresh()
      const { answer, folder, service } = await node(t, name, { 'good.mjs': good, 'gone.mjs': good })
      await service.create({ name, queueName: name, processor: 'good.mjs' }, { waitMs: 30_000 })
      await service.registerVersion(name, { version: '2.0.0', processor: 'gone.mjs' })
      await rm(join(folder, 'gone.mjs'))
      await assert.rejects(service.activate(name, '2.0.0'), { code: 'INVALID_PROCESSOR_PATH' })
      assert.equal(await answer(), 'good')
    })

    if (shared)
      it('of a rolling deployment fails on the new node only, which is shown and decided, and the others go on', async (t) => {
        const name = fresh()
        const old = await node(t, name, { 'task.mjs': good })
        await old.service.create({ name, queueName: name, processor: 'task.mjs' }, { waitMs: 30_000 })
        const next = await node(t, name, { 'task.mjs': throws })
        await eventually('the new node has failed', async () => ((await old.service.get(name)).failedOn ?? []).length === 1)
        const { lastError, state } = await old.service.get(name)
        assert.deepEqual([state, lastError?.includes('broken at import')], ['running', true])
        assert.equal((await next.decided('failed')).length, 1)
        assert.equal(await old.answer(), 'good')
      })
  })
}
