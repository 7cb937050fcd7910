import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { access, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { cleanUp } from '../../scripts/testing/clean-up.js'
import { forkApp } from '../../scripts/testing/forked-app.js'
import { writeProcessors } from '../../scripts/testing/processor-files.js'

const run = randomUUID().slice(0, 8)
const app = new URL('./testing/app-child.ts', import.meta.url)

/** The first run of a job creates a file and never ends. */
const hangOnce = `import { access, writeFile } from 'node:fs/promises'
export const ZinTrustProcessor = async ({ data }) => {
  if (await access(data.file).then(() => true, () => false)) return 'done'
  await writeFile(data.file, '')
  await new Promise(() => {})
}`

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  )

/** The deadline is that of the test. */
async function until(test: () => Promise<boolean>): Promise<void> {
  while (!(await test())) await new Promise((resolve) => setTimeout(resolve, 50))
}

it('jobs of a frozen node run on another one while the frozen node still has its lease', { timeout: 120_000 }, async (t) => {
  const rootDir = await mkdtemp(join(tmpdir(), 'zin-stalled-'))
  const atEnd = cleanUp(t)
  atEnd(() => rm(rootDir, { recursive: true, force: true }))
  await writeProcessors(rootDir, { 'hang-once.mjs': hangOnce })
  const env = {
    APP_NAME: `stalled-${run}`,
    REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set',
    WORKER_PERSISTENCE_DRIVER: 'kvstore',
    WORKER_AUTO_START: 'true',
    WORKER_INTERVAL_MS: '500',
    // A lease lasts three minutes, longer than this test.
    CLUSTER_HEARTBEAT_MS: '60000',
  }
  const frozen = await forkApp({ app, env, rootDir })
  atEnd(() => frozen.kill())
  // With this many workers, the frozen node is first in the order of some, and second in that of others.
  const names = Array.from({ length: 6 }, (_, index) => `stalled-${index}-${run}`)
  for (const name of names) {
    const created = await frozen.call('POST', '/api/workers', { name, queueName: name, processor: 'hang-once.mjs' })
    assert.equal(created.status, 201, JSON.stringify(created.body))
    const file = join(rootDir, name)
    assert.equal((await frozen.call('POST', `/api/workers/${name}/jobs`, { data: { file } })).status, 202)
    await until(() => exists(file))
  }
  const other = await forkApp({ app, env, rootDir })
  atEnd(() => other.stop())
  const running = async (name: string): Promise<number> => {
    const { nodes } = (await other.call('GET', `/api/workers/${name}/nodes`)).body
    return nodes.filter(({ state }: { state: string }) => state === 'running').length
  }
  for (const name of names) await until(async () => (await running(name)) === 2)
  frozen.freeze()
  for (const name of names) {
    await until(async () => {
      const { counts } = (await other.call('GET', `/api/workers/${name}/metrics`)).body.metrics
      return counts.completed === 1
    })
  }
  const { nodes } = (await other.call('GET', '/api/nodes')).body
  assert.deepEqual(
    nodes.map(({ alive }: { alive: boolean }) => alive),
    [true, true],
  )
})
