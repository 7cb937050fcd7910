import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import type { WorkerProcessor } from 'zin/plugins/workers'
import { eventually } from '../../scripts/testing/eventually.js'
import { canaryService } from './contract.js'
import { canaryLab, type Lab } from './testing/canary-lab.js'

const half = { newVersion: '2.0.0', duration: 60_000, steps: [50] }
const broken = (): Promise<never> => Promise.reject(new Error('broken'))

/** The behaviour of the plugin, over HTTP and with real workers. */
export function canaryContract(title: string, env: Readonly<Record<string, string>>): void {
  describe(`canary on ${title}`, () => {
    let lab: Lab
    before(async () => {
      lab = await canaryLab(env)
    })
    after(() => lab.stop())

    it('adds nothing to attempts while no canary is active', () => {
      const hooks = lab.host.host.view.hooks().filter(({ name }) => ['onJobStart', 'onAttemptEnd', 'beforeWorkerChange'].includes(name))
      assert.equal(hooks.length, 3)
      const listeners = hooks.flatMap((hook) => hook.listeners.map(({ plugin }) => plugin))
      assert.equal(listeners.includes('canary'), false, listeners.join())
    })

    it('automatically rolls back a version that always fails, and replays every casualty on the stable one', async () => {
      const name = await lab.worker('bad', () => 'one', broken)
      const rolledBack = lab.reaches(name, 'ROLLED_BACK')
      const started = await lab.call(name, 'start', { newVersion: '2.0.0', trafficPercentage: 50, duration: 60_000 })
      assert.deepEqual([started.status, started.body.canary.state, started.body.canary.trafficPercentage], [200, 'RUNNING', 1])
      const { ids } = await lab.feed(name, rolledBack)

      const { canary } = (await lab.call(name, 'status')).body
      assert.deepEqual([canary.state, canary.trafficPercentage, canary.verdict], ['ROLLED_BACK', 0, 'FAIL'])
      assert.equal(canary.canary.version, '2.0.0')
      assert.ok(canary.canary.failed >= 1 && canary.canary.failed <= 25, `${canary.canary.failed} casualties`)
      assert.deepEqual(
        canary.history.map((event: { to: string }) => event.to),
        ['PENDING', 'RUNNING', 'ROLLING_BACK', 'ROLLED_BACK'],
      )
      const failed = lab.ends.filter(({ outcome, worker }) => worker === name && outcome === 'failed').map(({ job }) => job.id)
      assert.equal(canary.casualties.recorded, failed.length)

      const again = lab.attempts(failed.length)
      const replayed = await lab.call(name, 'replay')
      assert.deepEqual([replayed.status, replayed.body.replayed, replayed.body.left], [200, failed.length, 0])
      for (const end of await again) assert.deepEqual([end.outcome, end.version], ['completed', '1.0.0'])
      for (const id of ids) assert.equal((await lab.workers.job(name, id)).status, 'completed')
      assert.equal((await lab.call(name, 'replay')).body.replayed, 0)

      const decided = await lab.decisionsOn(name)
      assert.deepEqual(
        decided.map(({ kind, rule, verdict }) => [kind, verdict, rule]),
        [
          ['canary', 'started', 'canary/start'],
          ['canary', 'rolled-back', 'canary/fast-path'],
        ],
      )
    })

    it('remembers a version that rolled back, until it is forced', async () => {
      const name = await lab.worker(
        'remembered',
        () => 1,
        () => 2,
      )
      const start = { newVersion: '2.0.0', trafficPercentage: 50, duration: 60_000 }
      assert.equal((await lab.call(name, 'start', start)).status, 200)
      const rolledBack = await lab.call(name, 'rollback?reason=too%20slow%20for%20me')
      assert.deepEqual([rolledBack.status, rolledBack.body.canary.state], [200, 'ROLLED_BACK'])
      assert.deepEqual(rolledBack.body.canary.needs, { jobs: null, minutes: null })
      const [, version] = await lab.workers.versions(name)
      assert.deepEqual([version?.state, version?.refused?.by, version?.refused?.reason], ['refused', 'canary', 'too slow for me'])
      const refused = await lab.call(name, 'start', start)
      assert.deepEqual([refused.status, refused.body.code], [409, 'CANARY_VERSION_REFUSED'])
      assert.match(refused.body.message, /too slow for me.*"force": true/)
      assert.equal((await lab.http('POST', `/api/workers/${name}/versions/2.0.0/activate`)).body.code, 'VERSION_REFUSED')
      assert.equal((await lab.call(name, 'start', { ...start, force: true })).status, 200)
      assert.equal((await lab.call(name, 'rollback')).status, 200)
      assert.equal((await lab.call(name, 'history')).body.canaries.length, 1)
    })

    it('supports each verb, and refuses those that its state does not allow', async () => {
      const name = await lab.worker(
        'verbs',
        () => 1,
        () => 2,
      )
      for (const verb of ['pause', 'resume', 'promote', 'complete', 'rollback', 'replay', 'status', 'history']) {
        const none = await lab.call(name, verb)
        assert.deepEqual([none.status, none.body.code], [409, 'NO_CANARY'], verb)
        assert.equal((await lab.call('nobody', verb)).body.code, 'WORKER_NOT_FOUND', verb)
      }
      const start = {
        newVersion: '2.0.0',
        duration: 600_000,
        steps: [10, { trafficPercentage: 30, gate: true }, 60],
        trafficPercentage: 60,
      }
      assert.equal((await lab.call(name, 'start', start)).body.canary.trafficPercentage, 10)
      const second = await lab.call(name, 'start', start)
      assert.deepEqual([second.status, second.body.code], [409, 'CANARY_IN_PROGRESS'])
      const paused = await lab.call(name, 'pause')
      assert.deepEqual(
        [paused.body.canary.state, paused.body.canary.pausedFor, paused.body.canary.trafficPercentage],
        ['PAUSED', 'manual', 10],
      )
      assert.equal((await lab.call(name, 'resume')).body.canary.state, 'RUNNING')
      const promoted = await lab.call(name, 'promote')
      assert.deepEqual([promoted.body.canary.step, promoted.body.canary.trafficPercentage], [2, 30])
      const activated = await lab.http('POST', `/api/workers/${name}/versions/2.0.0/activate`)
      assert.deepEqual([activated.status, activated.body.code], [409, 'WORKER_CHANGE_DENIED'])
      const off = await lab.http('PUT', `/api/workers/${name}`, { features: { canary: false } })
      assert.equal(off.body.code, 'WORKER_CHANGE_DENIED')
      const completed = await lab.call(name, 'complete')
      assert.deepEqual([completed.status, completed.body.canary.state], [200, 'SUCCEEDED'])
      assert.equal((await lab.workers.get(name)).version, '2.0.0')
      const { history } = (await lab.call(name, 'history')).body
      assert.deepEqual(
        history.map((event: { to: string; actor: { id: string } }) => [event.to, event.actor.id]),
        [
          ['PENDING', 'local'],
          ['RUNNING', 'canary'],
          ['PAUSED', 'local'],
          ['RUNNING', 'local'],
          ['RUNNING', 'local'],
          ['PROMOTING', 'local'],
          ['SUCCEEDED', 'canary'],
        ],
      )
      assert.equal((await lab.call(name, 'rollback')).body.code, 'NO_CANARY')
    })

    it('goes one step further when two people promote it at once', async () => {
      const name = await lab.worker(
        'both',
        () => 1,
        () => 2,
      )
      await lab.call(name, 'start', { newVersion: '2.0.0', duration: 600_000, steps: [10, 20, 40, 80], trafficPercentage: 80 })
      // Not over HTTP, where one may have ended before the other one begins.
      const canaries = lab.host.service(canaryService)
      const both = await Promise.all([canaries.promote(name), canaries.promote(name)])
      assert.deepEqual(
        both.map(({ canary }) => canary.step),
        [2, 2],
      )
      assert.equal((await lab.call(name, 'promote')).body.canary.step, 3)
      await lab.call(name, 'rollback')
    })

    it('refuses invalid requests with specific codes', async () => {
      const name = await lab.worker(
        'invalid',
        () => 1,
        () => 2,
      )
      const good = { newVersion: '2.0.0', trafficPercentage: 10, duration: 1_000 }
      const cases: readonly (readonly [object, string])[] = [
        [{ newVersion: undefined }, 'INVALID_CANARY_VERSION'],
        [{ newVersion: '9.9.9' }, 'INVALID_CANARY_VERSION'],
        [{ newVersion: '1.0.0' }, 'INVALID_CANARY_VERSION'],
        [{ newVersion: 'next' }, 'INVALID_CANARY_VERSION'],
        [{ trafficPercentage: 0 }, 'INVALID_TRAFFIC_PERCENTAGE'],
        [{ trafficPercentage: 101 }, 'INVALID_TRAFFIC_PERCENTAGE'],
        [{ trafficPercentage: '10' }, 'INVALID_TRAFFIC_PERCENTAGE'],
        [{ duration: 0 }, 'INVALID_DURATION'],
        [{ duration: -1 }, 'INVALID_DURATION'],
        [{ successThreshold: 101 }, 'INVALID_THRESHOLD'],
        [{ rollbackThreshold: -1 }, 'INVALID_THRESHOLD'],
        [{ steps: [5, 5] }, 'INVALID_STEPS'],
        [{ steps: [10, 5] }, 'INVALID_STEPS'],
        [{ steps: [20] }, 'INVALID_STEPS'],
        [{ shield: 'yes' }, 'INVALID_CANARY'],
        [{ canary: true }, 'INVALID_CANARY'],
      ]
      for (const [change, code] of cases) {
        const { body, status } = await lab.call(name, 'start', { ...good, ...change })
        assert.deepEqual([status, body.code], [400, code], JSON.stringify(change))
      }
      const { body } = await lab.call(name, 'start', { ...good, autoRolback: true })
      assert.equal(body.message, '"autoRolback" is not a known field; did you mean "autoRollback"?')
      assert.equal((await lab.call('nobody', 'start', good)).status, 404)
      await lab.workers.stop(name)
      const stopped = await lab.call(name, 'start', good)
      assert.deepEqual([stopped.status, stopped.body.code], [409, 'CANARY_WORKER_NOT_RUNNING'])
      await lab.workers.update(name, { features: { canary: false } })
      assert.equal((await lab.call(name, 'start', good)).body.code, 'CANARY_OFF')
    })

    it('reports when no node can load the version', async () => {
      const name = await lab.worker(
        'unhealthy',
        () => 1,
        () => 2,
      )
      const processor = () => 3
      await lab.workers.registerVersion(name, {
        version: '3.0.0',
        processor,
        healthCheck: () => ({ healthy: false, error: 'no database' }),
      })
      const { body, status } = await lab.call(name, 'start', { newVersion: '3.0.0', trafficPercentage: 10, duration: 1_000 })
      assert.deepEqual([status, body.code], [409, 'VERSION_UNHEALTHY'])
      const { canary } = (await lab.call(name, 'status')).body
      assert.deepEqual([canary.state, canary.trafficPercentage], ['FAILED_TO_START', 0])
      assert.match(canary.history.at(-1).reason, /no database/)
    })

    it('pauses instead of rolling back without autoRollback, and ends with its worker', async () => {
      const name = await lab.worker('watched', () => 1, broken)
      const paused = lab.reaches(name, 'PAUSED')
      const start = { newVersion: '2.0.0', trafficPercentage: 50, duration: 60_000, steps: [50], autoRollback: false }
      assert.equal((await lab.call(name, 'start', start)).status, 200)
      await lab.feed(name, paused)
      const { canary } = (await lab.call(name, 'status')).body
      assert.deepEqual([canary.state, canary.pausedFor, canary.trafficPercentage], ['PAUSED', 'regression-observed', 50])
      const term = (await lab.workers.health(name)).terms.find((one) => one.name === 'canary')
      assert.deepEqual([term?.penalty, term?.plugin], [20, 'canary'])
      assert.match(term?.reason ?? '', /^The canary of version 2\.0\.0 is paused \(regression-observed\): .*canary jobs failed/)
      const ended = lab.reaches(name, 'ROLLED_BACK')
      await lab.workers.remove(name)
      assert.equal((await ended).reason, 'The worker was removed')
    })

    it('with shield, reruns jobs that fail on the version on the stable one without using up an attempt', async () => {
      const name = await lab.worker('shielded', () => 1, broken)
      const rolledBack = lab.reaches(name, 'ROLLED_BACK')
      const start = { newVersion: '2.0.0', trafficPercentage: 50, duration: 60_000, steps: [50], shield: true }
      assert.equal((await lab.call(name, 'start', start)).status, 200)
      const { ids } = await lab.feed(name, rolledBack)
      const { canary } = (await lab.call(name, 'status')).body
      assert.ok(canary.canary.failed > 0)
      assert.equal(canary.casualties.recorded, 0)
      for (const id of ids) assert.equal((await lab.workers.job(name, id)).status, 'completed')
    })

    it('returns running jobs to the queue at a rollback with inFlight "abort", without using up an attempt', async () => {
      const hangs: WorkerProcessor = (_job, _token, signal) =>
        new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
      const name = await lab.worker('aborted', () => 'one', hangs, { concurrency: 50 })
      assert.equal((await lab.call(name, 'start', { ...half, inFlight: 'abort' })).status, 200)
      const ids = await Promise.all(Array.from({ length: 30 }, async () => (await lab.workers.enqueue(name, null, { attempts: 1 })).id))
      const statuses = () => Promise.all(ids.map(async (id) => (await lab.workers.job(name, id)).status))
      await eventually('half of the jobs hang', async () => {
        const all = await statuses()
        return all.includes('active') && all.every((status) => status === 'active' || status === 'completed')
      })
      assert.equal((await lab.call(name, 'rollback')).body.canary.state, 'ROLLED_BACK')
      await eventually('every job is done', async () => (await statuses()).every((status) => status === 'completed'))
      assert.equal((await lab.call(name, 'status')).body.canary.casualties.recorded, 0)
    })

    it('replays casualties automatically with autoReplay, including jobs that end after the rollback', async () => {
      let ran = 0
      const some = new EventEmitter()
      const late: WorkerProcessor = async () => {
        await once(some, ++ran === 1 ? 'first' : 'others')
        throw new Error('broken')
      }
      const name = await lab.worker('auto-replay', () => 'one', late, { concurrency: 50 })
      const rolledBack = lab.reaches(name, 'ROLLED_BACK')
      assert.equal((await lab.call(name, 'start', { ...half, autoReplay: true })).status, 200)
      const ids = await Promise.all(Array.from({ length: 30 }, async () => (await lab.workers.enqueue(name, null, { attempts: 1 })).id))
      await eventually('all jobs that go to the version run on it', async () => {
        const all = await Promise.all(ids.map((id) => lab.workers.job(name, id)))
        return ran > 1 && all.filter(({ status }) => status === 'completed').length === ids.length - ran
      })
      some.emit('first')
      await eventually('the first one is a casualty', async () => (await lab.call(name, 'status')).body.canary.casualties.recorded === 1)
      await lab.call(name, 'rollback')
      await rolledBack
      some.emit('others')
      await eventually('every job is done', async () => {
        const all = await Promise.all(ids.map((id) => lab.workers.job(name, id)))
        return all.every(({ status }) => status === 'completed')
      })
      await eventually('each casualty is counted', async () => {
        const { casualties } = (await lab.call(name, 'status')).body.canary
        return casualties.recorded === ran && casualties.replayed === ran
      })
    })

    it('rolls back a canary that nobody resumes within pauseTimeout', async () => {
      const name = await lab.worker(
        'forgotten',
        () => 1,
        () => 2,
      )
      const rolledBack = lab.reaches(name, 'ROLLED_BACK')
      assert.equal((await lab.call(name, 'start', { ...half, pauseTimeout: 1 })).status, 200)
      await lab.call(name, 'pause')
      await rolledBack
      const { history } = (await lab.call(name, 'history')).body
      assert.match(history.at(-2).reason, /^It was paused for \d+ m?s without a decision$/)
      // Nothing is known against the version.
      assert.equal((await lab.workers.versions(name))[1]?.refused, undefined)
      const again = await lab.call(name, 'start', { ...half, pauseTimeout: 1, autoRollback: false })
      assert.equal(again.status, 200, again.body.message)
      await lab.call(name, 'pause')
      await lab.evaluated(name)
      assert.equal((await lab.call(name, 'status')).body.canary.state, 'PAUSED')
      await lab.call(name, 'rollback')
    })

    it('does not start if the version is not loaded within startTimeout', async () => {
      const name = await lab.worker(
        'slow-start',
        () => 1,
        () => 2,
      )
      let loaded: () => void = () => undefined
      const healthCheck = () => new Promise<never>((_resolve, reject) => (loaded = () => reject(new Error('too late'))))
      await lab.workers.registerVersion(name, { version: '3.0.0', processor: () => 3, healthCheck })
      const failed = lab.reaches(name, 'FAILED_TO_START')
      const started = await lab.call(name, 'start?wait=0', { ...half, newVersion: '3.0.0', startTimeout: 1 })
      assert.deepEqual([started.status, started.body.canary.state, started.body.canary.trafficPercentage], [202, 'PENDING', 0])
      assert.match((await failed).reason, /Not every node loaded version 3\.0\.0/)
      loaded()
    })

    // Last, because it advances the clock that the embedded cluster uses for its leases.
    it('promotes a good version automatically, once nobody denies it', async () => {
      const name = await lab.worker(
        'good',
        () => 1,
        () => 2,
        { concurrency: 50 },
      )
      lab.denials.set(name, 'not on Fridays')
      const denied = lab.reaches(name, 'PAUSED')
      // To prove a difference below the tolerance itself would take thousands of jobs.
      const start = { newVersion: '2.0.0', trafficPercentage: 50, duration: 3_600_000, successThreshold: 0, steps: [40, 50] }
      assert.equal((await lab.call(name, 'start', start)).status, 200)
      await lab.feed(name, denied, async () => {
        if ((await lab.call(name, 'status')).body.canary.verdict === 'PASS') lab.later(1_800_000)
      })
      const paused = (await lab.call(name, 'status')).body.canary
      assert.deepEqual([paused.pausedFor, paused.trafficPercentage], ['gate', 50])
      const refused = await lab.call(name, 'complete')
      assert.deepEqual([refused.status, refused.body.code], [409, 'CANARY_PROMOTION_DENIED'])
      assert.match(refused.body.message, /not on Fridays/)

      lab.denials.delete(name)
      const promoted = lab.reaches(name, 'SUCCEEDED')
      assert.equal((await lab.call(name, 'resume')).body.canary.state, 'RUNNING')
      lab.later(1_800_000)
      await lab.feed(name, promoted)
      const { canary } = (await lab.call(name, 'status')).body
      assert.deepEqual([canary.state, canary.verdict, canary.canary.failed], ['SUCCEEDED', 'PASS', 0])
      assert.ok(canary.canary.jobs > 0)
      assert.equal((await lab.workers.get(name)).version, '2.0.0')
      assert.equal((await lab.call(name, 'history')).body.history.at(-1).actor.id, 'canary')
    })
  })
}
