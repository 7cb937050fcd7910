import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { ZinError } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { createTestHost, type TestHost } from 'zin/testing'
import fc from '../../scripts/testing/properties.js'
import { type Workers, workers, workersService } from './index.js'

interface Step {
  readonly action: Action
  /** Turns of the event loop before the action. */
  readonly turns: number
  /** Whether the next step waits until the action is done. */
  readonly awaited: boolean
}

const actions = {
  start: (service: Workers, name: string) => service.start(name),
  stop: (service: Workers, name: string) => service.stop(name),
  restart: (service: Workers, name: string) => service.restart(name),
  pause: (service: Workers, name: string) => service.pause(name),
  resume: (service: Workers, name: string) => service.resume(name),
  grow: (service: Workers, name: string) => service.update(name, { concurrency: 7 }),
  shrink: (service: Workers, name: string) => service.update(name, { concurrency: 1 }),
  scale: (service: Workers, name: string) => service.scale(name, 3),
  unscale: (service: Workers, name: string) => service.scale(name, null),
  limit: (service: Workers, name: string) => service.update(name, { rateLimit: { max: 1, duration: 60_000 } }),
  add: (service: Workers, name: string) => service.enqueue(name, null),
  delay: (service: Workers, name: string) => service.enqueue(name, null, { delay: 60_000 }),
} as const

type Action = keyof typeof actions

const rounds = 25
const workersPerRound = 8

const step: fc.Arbitrary<Step> = fc.record({
  action: fc.constantFrom(...(Object.keys(actions) as Action[])),
  turns: fc.oneof(fc.constant(0), fc.nat(40)),
  awaited: fc.boolean(),
})
const sequences = fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: workersPerRound, size: 'max' })

/**
 * Workers are started, paused, scaled and stopped in random orders and at random moments, and then their plugin is disabled at once: 200
 * sequences. Names are unique per run, so stores may be shared.
 */
export function sequencesContract(title: string, env: Readonly<Record<string, string>>): void {
  describe(`workers in random sequences on ${title}`, () => {
    let host: TestHost
    before(async () => {
      host = await createTestHost({
        plugins: [database(), kv(), cluster(), queues(), ops(), workers()],
        env: { ...env, WORKER_AUTO_START: 'true' },
      })
      await host.disable('workers')
    })
    after(() => host.stop())

    const run = async (service: Workers, steps: readonly Step[]): Promise<void> => {
      const name = `sequence-${randomUUID()}`
      await service.create({ name, queueName: name, processor: () => 1 })
      const running: Promise<unknown>[] = []
      for (const { action, turns, awaited } of steps) {
        for (let turn = 0; turn < turns; turn++) await setImmediate()
        const done = actions[action](service, name).catch((error: unknown) => {
          if (!(error instanceof ZinError && error.code === 'WORKER_STOPPED')) throw error
        })
        running.push(done)
        if (awaited) await done
      }
      await Promise.all(running)
    }

    it('leave no wait, timer or connection when the plugin stops right after the last step', async () => {
      const property = fc.asyncProperty(sequences, async (all) => {
        await host.enable('workers')
        const outcomes = await Promise.allSettled(all.map((steps) => run(host.service(workersService), steps)))
        await host.disable('workers')
        await host.assertNothingOpen('workers')
        assert.deepEqual(
          outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : [])),
          [],
        )
      })
      await fc.assert(property, { numRuns: rounds, seed: 31, endOnFailure: true })
    })
  })
}
