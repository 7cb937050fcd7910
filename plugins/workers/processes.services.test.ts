import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { queues, queuesService } from 'zin/plugins/queues'
import { createTestHost } from 'zin/testing'
import { type ForkedApp, forkApp } from '../../scripts/testing/forked-app.js'
import { writeProcessors } from '../../scripts/testing/processor-files.js'

const redisUrl = process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set'
const run = randomUUID().slice(0, 8)
const app = new URL('./testing/app-child.ts', import.meta.url)

/** The status of a worker on one node. */
interface OnNode {
  readonly node: string
  readonly state: string
  readonly version: string | null
  readonly placed: boolean
  readonly concurrency: number
}

describe('three processes on one Redis', () => {
  let rootDir: string
  let apps: ForkedApp[] = []
  /** A line with job and process for each run of a job. */
  const runsFile = (): string => join(rootDir, 'runs')
  /** The lease of a process is three times this. */
  const env = {
    APP_NAME: `three-${run}`,
    REDIS_URL: redisUrl,
    WORKER_PERSISTENCE_DRIVER: 'kvstore',
    WORKER_AUTO_START: 'true',
    WORKER_INTERVAL_MS: '500',
    CLUSTER_HEARTBEAT_MS: '1000',
    WORKER_TIMEOUT: '5',
  }
  const start = () => forkApp({ app, env, rootDir })

  before(async () => {
    rootDir = await mkdtemp(join(tmpdir(), 'zin-three-'))
    const say = (text: string): string => `export const ZinTrustProcessor = async () => ${JSON.stringify(text)}`
    const count = `import { open } from 'node:fs/promises'
      const runs = await open(${JSON.stringify(runsFile())}, 'a')
      export const ZinTrustProcessor = (job) => runs.write(\`\${job.id} \${process.pid}\\n\`)`
    await writeProcessors(rootDir, {
      'one.mjs': say('one'),
      'two.mjs': say('two'),
      'broken.mjs': 'throw new Error("broken on purpose")',
      'count.mjs': count,
    })
    apps = await Promise.all([start(), start(), start()])
  })
  after(async () => {
    await Promise.all(apps.map((app) => app.stop()))
    await rm(rootDir, { recursive: true, force: true })
  })

  const [first, second] = [() => apps[0] as ForkedApp, () => apps[1] as ForkedApp]
  const pidOf = (node: string): number => Number(node.split(':')[1])
  const nodesOf = async (name: string, through = second()): Promise<readonly OnNode[]> =>
    (await through.call('GET', `/api/workers/${name}/nodes`)).body.nodes
  /** The statuses of the nodes, once all of them are as expected. */
  const eventually = async (name: string, fits: (nodes: readonly OnNode[]) => boolean): Promise<readonly OnNode[]> => {
    for (;;) {
      const nodes = await nodesOf(name)
      if (fits(nodes)) return nodes
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  const create = async (name: string, more: object = {}) => {
    const answer = await first().call('POST', '/api/workers', { name, queueName: name, processor: 'one.mjs', ...more })
    assert.equal(answer.status, 201, JSON.stringify(answer.body))
    return answer.body.worker
  }
  /** An operation that every process must apply within a second; otherwise the response is 202. */
  const applied = async (method: string, path: string, body?: unknown) => {
    const answer = await first().call(method, `${path}?wait=1000`, body)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    assert.equal(answer.body.operation.targets.length, 3)
    assert.equal(answer.body.operation.applied.length, 3)
    return answer.body
  }

  it('start, stop, restart and change together, within a second, whichever gets the request', async () => {
    const name = `together-${run}`
    await create(name, { autoStart: false })
    const path = `/api/workers/${name}`
    const states = async () => (await nodesOf(name)).map(({ state }) => state)
    await applied('POST', `${path}/start`)
    assert.deepEqual(await states(), ['running', 'running', 'running'])
    await applied('PUT', path, { concurrency: 17 })
    assert.deepEqual(
      (await nodesOf(name)).map(({ concurrency }) => concurrency),
      [17, 17, 17],
    )
    await applied('POST', `${path}/restart`)
    assert.deepEqual(await states(), ['running', 'running', 'running'])
    await applied('POST', `${path}/pause`)
    assert.deepEqual(await states(), ['paused', 'paused', 'paused'])
    await applied('POST', `${path}/resume`)
    await applied('POST', `${path}/stop`)
    assert.deepEqual(await states(), ['stopped', 'stopped', 'stopped'])
    assert.equal((await second().call('GET', path)).body.worker.state, 'stopped')
    await second().call('DELETE', path)
    assert.equal((await first().call('GET', path)).status, 404)
  })

  it('run a worker without clustering in one process, and follow changes of its record', async () => {
    const name = `alone-${run}`
    await create(name, { features: { clustering: false } })
    const running = (nodes: readonly OnNode[]): number => nodes.filter(({ state }) => state === 'running').length
    assert.equal((await eventually(name, (nodes) => running(nodes) > 0)).length, 1)
    await first().call('PUT', `/api/workers/${name}`, { features: {} })
    await eventually(name, (nodes) => running(nodes) === 3)
    await first().call('PUT', `/api/workers/${name}`, { features: { clustering: false } })
    await eventually(name, (nodes) => running(nodes) === 1)
    await first().call('DELETE', `/api/workers/${name}`)
  })

  it('roll a version out one after another, and back', async () => {
    const name = `versions-${run}`
    await create(name)
    await eventually(name, (nodes) => nodes.filter(({ state }) => state === 'running').length === 3)
    const path = `/api/workers/${name}`
    const registered = await second().call('POST', `${path}/versions`, { version: '1.1.0', description: 'says two', processor: 'two.mjs' })
    assert.equal(registered.status, 201, JSON.stringify(registered.body))
    await applied('POST', `${path}/versions/1.1.0/activate`)
    assert.deepEqual(
      (await nodesOf(name)).map(({ version }) => version),
      ['1.1.0', '1.1.0', '1.1.0'],
    )
    const { versions } = (await second().call('GET', `${path}/versions`)).body
    assert.deepEqual(
      versions.map(({ version, state }: { version: string; state: string }) => [version, state]),
      [
        ['1.0.0', 'drained'],
        ['1.1.0', 'active'],
      ],
    )
    await applied('POST', `${path}/versions/1.0.0/activate`)
    assert.deepEqual(
      (await nodesOf(name)).map(({ version }) => version),
      ['1.0.0', '1.0.0', '1.0.0'],
    )
    await first().call('DELETE', path)
  })

  it('halt the rollout of an unhealthy version, and keep the previous one, even when the process that refused it is killed', async () => {
    const name = `refused-${run}`
    await create(name)
    await eventually(name, (nodes) => nodes.filter(({ state }) => state === 'running').length === 3)
    await writeProcessors(rootDir, { 'unwell.mjs': 'export default () => ({ healthy: false, error: "not today" })' })
    const path = `/api/workers/${name}`
    await first().call('POST', `${path}/versions`, { version: '2.0.0', processor: 'two.mjs', healthCheck: 'unwell.mjs' })
    const answer = await first().call('POST', `${path}/versions/2.0.0/activate`)
    assert.deepEqual([answer.status, answer.body.code], [409, 'VERSION_UNHEALTHY'])
    assert.match(answer.body.message, /not today; the rollout halted/)
    const { rollout } = (await second().call('GET', path)).body.worker
    assert.deepEqual([rollout.version, rollout.state, rollout.taken, rollout.of], ['2.0.0', 'halted', 0, 3])

    const refuser = apps.find(({ pid }) => pid === pidOf(rollout.node)) ?? assert.fail('no process refused')
    await refuser.kill()
    apps[apps.indexOf(refuser)] = await start()
    // The killed process counts as running until its lease ends.
    const ofApps = (known: readonly OnNode[]): readonly OnNode[] => known.filter(({ node }) => apps.some(({ pid }) => pid === pidOf(node)))
    const nodes = await eventually(name, (known) => ofApps(known).filter(({ state }) => state === 'running').length === 3)
    assert.deepEqual([...new Set(ofApps(nodes).map(({ version }) => version))], ['1.0.0'])
    await first().call('DELETE', path)
  })

  it('reassign the workers of a killed process when its lease ends, and lose no job', async () => {
    const name = `count-${run}`
    await create(name, { processor: 'count.mjs', concurrency: 20, placement: { nodes: 2 }, autoStart: false })
    const path = `/api/workers/${name}`
    const jobs = 20_000
    const requested = 1_500
    await Promise.all(
      Array.from({ length: requested }, async (_, n) => {
        const answer = await (apps[n % 3] as ForkedApp).call('POST', `${path}/jobs`, { data: n, options: { attempts: 1 } })
        assert.equal(answer.status, 202, JSON.stringify(answer.body))
      }),
    )
    await addJobs(name, jobs - requested)
    const started = await first().call('POST', `${path}/start`)
    assert.equal(started.body.operation.targets.length, 2)
    const placed = (await nodesOf(name)).filter((node) => node.placed).map(({ node }) => pidOf(node))
    assert.equal(placed.length, 2)
    const victim = apps.find((app) => placed.includes(app.pid) && app !== second()) as ForkedApp
    await someRuns(2000)
    await victim.kill()
    const running = (nodes: readonly OnNode[]) =>
      nodes.filter((node) => node.state === 'running' && node.placed).map(({ node }) => pidOf(node))
    const taken = await eventually(name, (nodes) => running(nodes).length === 2 && !running(nodes).includes(victim.pid))
    assert.equal(taken.find(({ node }) => pidOf(node) === victim.pid)?.state, 'unknown')

    for (;;) {
      const { counts, failed } = (await second().call('GET', `${path}/metrics`)).body.metrics
      assert.equal(counts.failed, 0)
      // Attempts that were lost with the killed process.
      assert.ok(failed <= 20)
      if (counts.waiting + counts.active + counts.delayed === 0) break
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    const pids = new Map<string, string[]>()
    for (const { job, pid } of await runsSoFar()) pids.set(job, [...(pids.get(job) ?? []), pid])
    assert.equal(pids.size, jobs)
    // A job ran twice only if the killed process was running it, and then once more elsewhere.
    const twice = [...pids.values()].filter(({ length }) => length > 1)
    assert.ok(twice.length <= 20)
    for (const ran of twice) assert.deepEqual([ran.length, ran.filter((pid) => pid === `${victim.pid}`).length], [2, 1])
    apps[apps.indexOf(victim)] = await start()
  })

  /** Adds jobs directly to Redis, like another app: one request each would take longer than running them. */
  async function addJobs(queue: string, count: number): Promise<void> {
    const producer = await createTestHost({ plugins: [queues()], env: { APP_NAME: env.APP_NAME, REDIS_URL: redisUrl }, roles: ['http'] })
    const bulk = Array.from({ length: 500 }, (_, data) => ({ name: queue, data, options: { attempts: 1 } }))
    for (let added = 0; added < count; added += bulk.length) {
      await producer.service(queuesService).addBulk(queue, bulk.slice(0, count - added))
    }
    await producer.stop()
  }

  async function runsSoFar(): Promise<readonly { readonly job: string; readonly pid: string }[]> {
    const lines = (await readFile(runsFile(), 'utf8').catch(() => '')).split('\n').slice(0, -1)
    return lines.map((line) => line.split(' ')).map(([job = '', pid = '']) => ({ job, pid }))
  }

  /** Resolves when jobs have run this often. */
  async function someRuns(wanted: number): Promise<void> {
    while ((await runsSoFar()).length < wanted) await new Promise((resolve) => setTimeout(resolve, 20))
  }
})
