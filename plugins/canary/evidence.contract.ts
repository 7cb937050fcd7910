import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import type { WorkerProcessor } from 'zin/plugins/workers'
import { eventually } from '../../scripts/testing/eventually.js'
import { canaryLab, type Lab } from './testing/canary-lab.js'

const half = { newVersion: '2.0.0', duration: 60_000, steps: [50] }
const broken = (): Promise<never> => Promise.reject(new Error('broken'))

/** What a canary knows about its versions, its casualties and its worker, over HTTP and with real workers. */
export function evidenceContract(title: string, env: Readonly<Record<string, string>>): void {
  describe(`a canary on ${title}`, () => {
    let lab: Lab
    before(async () => {
      lab = await canaryLab(env)
    })
    after(() => lab.stop())

    it('tells the errors of each version, also those of jobs that a retry completed', async () => {
      let jobs = 0
      const name = await lab.worker(
        'told',
        () => 1,
        () => Promise.reject(new TypeError(`no mailbox "box-${++jobs}" of user ${jobs}`)),
      )
      const rolledBack = lab.reaches(name, 'ROLLED_BACK')
      assert.equal((await lab.call(name, 'start', half)).status, 200)
      const { ids } = await lab.feed(name, rolledBack, undefined, { attempts: 2, backoff: { type: 'fixed', delay: 0 } })
      await eventually('all are completed', async () =>
        (await Promise.all(ids.map((id) => lab.workers.job(name, id)))).every(({ status }) => status === 'completed'),
      )
      const { canary } = (await lab.call(name, 'status')).body
      const [error, ...others] = canary.canary.errors
      assert.deepEqual([error.class, error.message, others], ['TypeError', 'no mailbox <value> of user <n>', []])
      assert.ok(error.count >= canary.canary.failed && ids.includes(error.example), JSON.stringify(error))
      assert.deepEqual(canary.stable.errors, [])

      const { inputs } = (await lab.decisionsOn(name)).at(-1) ?? {}
      const decided = (inputs?.errors as Record<string, readonly { readonly message: string }[]>)['2.0.0']
      assert.equal(decided?.[0]?.message, error.message)
      const history = (await lab.call(name, 'history')).body.history.at(-1)
      assert.equal(history.errors[0].message, error.message)
      const { evidence } = (await lab.workers.versions(name))[1]?.refused ?? {}
      assert.equal((evidence as { errors: typeof canary.errors }).errors.canary[0].message, error.message)
      const lines = lab.host.logs.filter(({ msg = '' }) => msg.includes(name) && msg.includes('no mailbox <value>'))
      assert.deepEqual(
        lines.map(({ level, msg = '' }) => [level, /ROLLED_BACK\..*Most frequent errors of 2\.0\.0: TypeError: no mailbox/.test(msg)]),
        [['warn', true]],
      )
    })

    it('is paused as inconclusive when stable fails as much, and its version is not refused', async () => {
      const name = await lab.worker('outage', broken, broken)
      await lab.jobs(name, 12)
      const paused = lab.reaches(name, 'PAUSED')
      assert.equal((await lab.call(name, 'start', half)).status, 200)
      const { ids } = await lab.feed(name, paused)
      const { canary } = (await lab.call(name, 'status')).body
      assert.deepEqual([canary.state, canary.pausedFor, canary.evidence.rule], ['PAUSED', 'inconclusive', 'canary/outage'])
      assert.match((await paused).reason, /^Stable fails too: /)
      assert.deepEqual([canary.stable.errors[0].message, canary.canary.errors[0].message], ['broken', 'broken'])
      assert.ok(ids.length > 0)
      // The jobs of the outage are no reason to pause it again.
      assert.equal((await lab.call(name, 'resume')).body.canary.state, 'RUNNING')
      await lab.evaluated(name)
      assert.equal((await lab.call(name, 'status')).body.canary.state, 'RUNNING')
      assert.equal((await lab.workers.versions(name))[1]?.refused, undefined)
      await lab.call(name, 'rollback')
    })

    for (const [when, before, during] of [
      ['begins on a young worker', { ok: 200, bad: 0 }, 0],
      ['has begun on a young worker', { ok: 200, bad: 60 }, 0],
      ['begins on a worker without history', { ok: 0, bad: 0 }, 0],
      ['begins during the canary of a young worker', { ok: 200, bad: 0 }, 100],
    ] as const) {
      it(`is paused as inconclusive, and goes no further, when an outage ${when}`, async () => {
        let down = false
        const run = () => (down ? broken() : 1)
        const name = await lab.worker(`out-${before.ok}-${before.bad}-${during}`, run, run, { concurrency: 20 })
        await lab.jobs(name, before.ok)
        down = before.bad > 0
        await lab.jobs(name, before.bad)
        down = during === 0
        const paused = Promise.race([lab.reaches(name, 'PAUSED'), lab.reaches(name, 'ROLLED_BACK')])
        const steps = [{ trafficPercentage: 20, duration: during === 0 ? 100 : 600_000 }, 50]
        assert.equal((await lab.call(name, 'start', { newVersion: '2.0.0', duration: 600_000, steps })).status, 200)
        await lab.jobs(name, during)
        down = true
        await lab.feed(name, paused)
        const { canary } = (await lab.call(name, 'status')).body
        assert.deepEqual([canary.state, canary.pausedFor, canary.evidence.rule], ['PAUSED', 'inconclusive', 'canary/outage'])
        assert.match((await paused).reason, /^Stable fails too: /)
        assert.equal(canary.step, 1, 'it does not advance while its jobs fail')
        await lab.call(name, 'rollback')
      })
    }

    it('succeeds at the end of its duration with the health of successThreshold', async () => {
      const name = await lab.worker(
        'threshold',
        () => 1,
        () => 2,
      )
      const succeeded = lab.reaches(name, 'SUCCEEDED')
      assert.equal((await lab.call(name, 'start', { ...half, duration: 1_000, successThreshold: 50 })).status, 200)
      await lab.feed(name, succeeded)
      const { canary } = (await lab.call(name, 'status')).body
      assert.deepEqual([canary.verdict, canary.evidence.rule, canary.canary.failed], ['PASS', 'canary/success-threshold', 0])
      assert.ok(canary.canary.jobs >= 50, canary.canary.jobs)
      assert.equal((await lab.workers.get(name)).version, '2.0.0')
    })

    it('is refused when a feature of its worker would turn off what it needs', async () => {
      for (const [features, field, code, reason] of [
        [{ plugins: false }, { shield: true }, 'CANARY_FEATURE_OFF', /"features\.plugins".*"shield" would have no effect/],
        [{ plugins: false }, { inFlight: 'abort' }, 'CANARY_FEATURE_OFF', /"features\.plugins".*"inFlight": "abort" would have no effect/],
        [{ versioning: false }, {}, 'CANARY_FEATURE_OFF', /"features\.versioning"/],
      ] as const) {
        const name = await lab.worker(
          `cut-${Object.keys(field).join('') || 'versions'}`,
          () => 1,
          () => 2,
        )
        await lab.workers.update(name, { features })
        const { body, status } = await lab.call(name, 'start', { ...half, ...field })
        assert.deepEqual([status, body.code], [409, code])
        assert.match(body.message, reason)
        assert.equal((await lab.call(name, 'status')).body.code, 'NO_CANARY')
      }
      const name = await lab.worker(
        'kept-plugins',
        () => 1,
        () => 2,
      )
      assert.equal((await lab.call(name, 'start', { ...half, shield: true })).status, 200)
      const off = await lab.http('PUT', `/api/workers/${name}`, { features: { plugins: false } })
      assert.equal(off.body.code, 'WORKER_CHANGE_DENIED')
      await lab.call(name, 'rollback')
    })

    it('says its steps when it starts', async () => {
      const name = await lab.worker(
        'steps',
        () => 1,
        () => 2,
      )
      const { body } = await lab.call(name, 'start', { newVersion: '2.0.0', trafficPercentage: 50, duration: 3_600_000 })
      assert.match(body.message, /version 2\.0\.0 gets 1, 5, 10, 25 and 50 % of the jobs in 5 steps of 12 min, and 1\.0\.0 the rest$/)
      await lab.call(name, 'rollback')
    })

    it('belongs to its worker, and not to a later one of the same name', async () => {
      const [one, two] = [() => 1, () => 2]
      const name = await lab.worker('recreated', one, two)
      for (const end of ['rollback', undefined]) {
        assert.equal((await lab.call(name, 'start', half)).status, 200)
        if (end !== undefined) await lab.call(name, end)
        await lab.workers.remove(name)
        await lab.workers.create({ name, queueName: name, processor: one })
        await lab.workers.registerVersion(name, { version: '2.0.0', processor: two })
        for (const verb of ['status', 'history', 'rollback', 'replay'])
          assert.equal((await lab.call(name, verb)).body.code, 'NO_CANARY', verb)
        assert.equal((await lab.workers.versions(name))[1]?.refused, undefined)
      }
      const started = await lab.call(name, 'start', half)
      assert.equal(started.status, 200, started.body.message)
      assert.deepEqual((await lab.call(name, 'history')).body.canaries, [])
      await lab.call(name, 'rollback')
    })

    it('replays jobs that were running at the rollback, and says how many may still fail', async () => {
      const gate = new EventEmitter()
      let ran = 0
      const late: WorkerProcessor = async () => {
        ran++
        await once(gate, 'open')
        throw new Error('broken')
      }
      const name = await lab.worker('in-flight', () => 'one', late, { concurrency: 50 })
      for (const wait of [0, 30_000]) {
        ran = 0
        assert.equal((await lab.call(name, 'start', { ...half, force: true })).status, 200)
        const ids = await Promise.all(Array.from({ length: 30 }, async () => (await lab.workers.enqueue(name, null, { attempts: 1 })).id))
        const statuses = () => Promise.all(ids.map(async (id) => (await lab.workers.job(name, id)).status))
        await eventually('the jobs of the version run', async () => {
          const all = await statuses()
          return ran > 0 && all.filter((status) => status === 'completed').length === ids.length - ran
        })
        assert.equal((await lab.call(name, 'rollback')).body.canary.state, 'ROLLED_BACK')
        const replaying = lab.http('POST', `/api/workers/${name}/canary/replay?wait=${wait}`)
        if (wait === 0) {
          const { body } = await replaying
          assert.deepEqual([body.replayed, body.pending], [0, ran])
          assert.match(body.message, /still run on version 2\.0\.0 and are replayed if they fail$/)
        }
        gate.emit('open')
        const { body } = await replaying
        if (wait > 0) assert.equal(body.pending, 0)
        await eventually('every job is done', async () => (await statuses()).every((status) => status === 'completed'))
        await eventually('each casualty is counted', async () => (await lab.call(name, 'status')).body.canary.casualties.replayed === ran)
        await eventually('nothing is left', async () => (await lab.call(name, 'replay')).body.left === 0)
      }
    })
  })
}
