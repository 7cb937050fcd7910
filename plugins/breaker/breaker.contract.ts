import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Decision } from 'zin/plugins/decisions'
import type { HealthReport } from 'zin/plugins/workers'
import { eventually } from '../../scripts/testing/eventually.js'
import { type ForkedApp, forkApp } from '../../scripts/testing/forked-app.js'

const app = new URL('./testing/app-child.ts', import.meta.url)

/** Circuit breakers of real processes: one on the embedded stores, or several that share stores. */
export function breakerContract(title: string, env: Readonly<Record<string, string>>, count: number): void {
  describe(`circuit breakers of ${count === 1 ? 'one process' : `${count} processes`} on ${title}`, () => {
    const run = randomUUID().slice(0, 8)
    let rootDir: string
    let apps: readonly ForkedApp[] = []
    /** While this file exists, jobs fail. */
    let broken: string
    let runs: string

    before(async () => {
      rootDir = await mkdtemp(join(tmpdir(), 'zin-breaker-'))
      broken = join(rootDir, 'broken')
      runs = join(rootDir, 'runs')
      await writeFile(runs, '')
      await mkdir(join(rootDir, 'processors'))
      await writeFile(
        join(rootDir, 'processors/mail.mjs'),
        `import { appendFileSync, existsSync } from 'node:fs'
        export const ZinTrustProcessor = async (job) => {
          appendFileSync(${JSON.stringify(runs)}, job.id + '\\n')
          if (job.data === 'poison' || existsSync(${JSON.stringify(broken)})) throw new Error('no mail server')
        }`,
      )
      const settings = { APP_NAME: `breaker-${run}`, CLUSTER_HEARTBEAT_MS: '1000', WORKER_AUTO_START: 'true', ...env }
      const start = () => forkApp({ env: settings, rootDir, app })
      // One after another: the first one migrates the database.
      for (let index = 0; index < count; index++) apps = [...apps, await start()]
    })
    after(async () => {
      await Promise.all(apps.map((one) => one.stop()))
      await rm(rootDir, { recursive: true, force: true })
    })

    const call = async (method: string, path: string, body?: unknown, status = 200) => {
      const answer = await (apps[0] as ForkedApp).call(method, path, body)
      assert.equal(answer.status, status, JSON.stringify(answer.body))
      return answer.body
    }
    const create = (name: string, features: object, rules: object = {}) =>
      call(
        'POST',
        '/api/workers',
        {
          name,
          queueName: name,
          processor: 'mail.mjs',
          features,
          ...(Object.keys(rules).length === 0 ? {} : { extensions: { breaker: rules } }),
        },
        201,
      )
    const enqueue = async (name: string, data: unknown = null, options: object = { attempts: 1 }): Promise<string> =>
      (await call('POST', `/api/workers/${name}/jobs`, { data, options }, 202)).job?.id ?? ''
    const job = async (name: string, id: string) => (await call('GET', `/api/workers/${name}/jobs/${id}`)).job
    const ended = (name: string, ids: readonly string[], status: string) =>
      eventually(`all are ${status}`, async () => {
        for (const id of ids) if ((await job(name, id)).status !== status) return false
        return true
      })
    const circuit = async (name: string) => (await call('GET', `/api/workers/${name}/circuit`)).circuit
    const decided = async (name: string): Promise<readonly Decision[]> =>
      (await call('GET', `/api/decisions?kind=breaker&subject=worker:${name}`)).decisions
    const verdicts = async (name: string) => (await decided(name)).map(({ verdict }) => verdict).reverse()
    const knows = (one: ForkedApp, name: string) => async (): Promise<boolean> => {
      const { terms } = (await one.call('GET', `/api/workers/${name}/health`)).body.health as HealthReport
      return terms.some(({ name: term, penalty }) => term === 'circuit' && penalty === 40)
    }
    const fails = async (name: string): Promise<void> => {
      await writeFile(broken, '')
      await eventually('it is open', async () => {
        await enqueue(name)
        return (await circuit(name)).state !== 'closed'
      })
    }

    it('stay closed for one poison job that fails five times', async () => {
      const name = `poisoned-${run}`
      await create(name, { circuitBreaker: true })
      const id = await enqueue(name, 'poison', { attempts: 5, backoff: { type: 'fixed', delay: 1 } })
      await ended(name, [id], 'failed')
      assert.equal((await job(name, id)).attempts, 5)
      assert.equal((await circuit(name)).state, 'closed')
      assert.deepEqual(await decided(name), [])
    })

    it('open for every process, delay jobs without using up attempts, and close on a reset', async () => {
      const name = `open-${run}`
      await create(name, { circuitBreaker: true }, { openMs: 3_600_000, maxOpenMs: 3_600_000, minimumJobs: 100 })
      await fails(name)
      // The process that opened it stores its decision in the background.
      await eventually('the decision is stored', async () => (await decided(name)).length > 0)
      const [opened] = await decided(name)
      assert.deepEqual(
        [opened?.verdict, opened?.rule, opened?.reason, opened?.acted],
        ['open', 'breaker/consecutive-failures', 'Opened for 60 min: 5 jobs in a row failed', true],
      )
      const { circuits, enabled, rules, state } = await circuit(name)
      assert.deepEqual([enabled, state, rules.openMs, circuits.length], [true, 'open', 3_600_000, 1])
      for (const one of apps) await eventually('the process has heard of it', knows(one, name))
      const ids = await Promise.all(Array.from({ length: 10 }, () => enqueue(name)))
      await ended(name, ids, 'delayed')
      for (const id of ids) assert.equal((await job(name, id)).attempts, 0)
      const ran = (await readFile(runs, 'utf8')).split('\n')
      assert.deepEqual(
        ids.filter((id) => ran.includes(id)),
        [],
      )
      const reset = (await call('POST', `/api/workers/${name}/circuit/reset`)).circuit
      assert.deepEqual([reset.state, reset.circuits], ['closed', []])
      assert.deepEqual((await decided(name)).map(({ actor, reason, rule, verdict }) => [verdict, rule, reason, actor.kind])[0], [
        'closed',
        'breaker/reset',
        'Closed by an operator',
        'local',
      ])
    })

    it('close automatically when the worker recovers, and every delayed job completes in one attempt', async () => {
      const name = `heals-${run}`
      await create(name, { circuitBreaker: true }, { openMs: 500 })
      await fails(name)
      await rm(broken)
      const ids = await Promise.all(Array.from({ length: 12 }, () => enqueue(name)))
      await ended(name, ids, 'completed')
      for (const id of ids) assert.equal((await job(name, id)).attempts, 1)
      await eventually('it is closed', async () => (await circuit(name)).state === 'closed')
      await eventually('the decisions are there', async () => (await verdicts(name)).at(-1) === 'closed')
      assert.deepEqual((await verdicts(name)).slice(-3), ['open', 'half-open', 'closed'])
    })

    it('are off without the feature, and unknown for unknown workers', async () => {
      const name = `plain-${run}`
      await create(name, {})
      const { enabled, state } = await circuit(name)
      assert.deepEqual([enabled, state], [false, 'closed'])
      const refused = await call('POST', `/api/workers/${name}/circuit/reset`, undefined, 409)
      assert.equal(refused.code, 'CIRCUIT_BREAKER_OFF')
      await call('PUT', `/api/workers/${name}`, { features: { circuitBreaker: true, plugins: false } })
      assert.match((await call('POST', `/api/workers/${name}/circuit/reset`, undefined, 409)).message, /"features.plugins" is false/)
      for (const [method, path] of [
        ['GET', 'circuit'],
        ['POST', 'circuit/reset'],
      ] as const)
        assert.equal((await call(method, `/api/workers/nobody-${run}/${path}`, undefined, 404)).code, 'WORKER_NOT_FOUND')
      const invalid = await call('PUT', `/api/workers/${name}`, { extensions: { breaker: { failureRatio: 50 } } }, 400)
      assert.match(invalid.message, /extensions.breaker.failureRatio/)
    })
  })
}
