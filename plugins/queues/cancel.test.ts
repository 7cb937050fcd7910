import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Job } from 'bullmq'
import fc from '../../scripts/testing/properties.js'
import { cancelJob } from './cancel.js'

/** A store of one job, each of whose commands is atomic, and a worker whose steps may happen between any two commands of the cancel. */
class OneJob {
  state: 'waiting' | 'active' | 'completed' | 'failed' | 'gone' = 'waiting'
  failsNext = false
  ran = false
  aborted = false

  take(): void {
    if (this.state !== 'waiting') return
    this.state = 'active'
    this.ran = true
  }

  end(fails: boolean): void {
    if (this.state === 'active') this.state = fails || this.aborted ? 'failed' : 'completed'
  }

  /** Its worker died: it waits again, or fails if a cancel wanted that. */
  stall(): void {
    if (this.state === 'active') this.state = this.failsNext ? 'failed' : 'waiting'
  }
}

describe('a cancel, between whose commands a worker goes on', () => {
  it('tells what became of the job, and never removes one that has run or runs', async () => {
    const seen = new Set<string>()
    const steps = fc.array(fc.constantFrom('take', 'complete', 'fail', 'stall'), { maxLength: 8 })
    const nodes = fc.constantFrom('this node', 'another', 'one that is lost')
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), steps, fc.boolean(), nodes, async (scheduler, worker, isChild, runsOn) => {
        const job = new OneJob()
        const removedAfterRun: boolean[] = []
        const command = <A extends unknown[], T>(run: (...args: A) => T) => scheduler.scheduleFunction(async (...args: A) => run(...args))
        const facts = { id: '1', ...(isChild && { parentKey: 'p' }) } as Job
        const works = (async () => {
          for (const step of worker) {
            await command(() => (step === 'take' ? job.take() : step === 'stall' ? job.stall() : job.end(step === 'fail')))()
          }
        })()
        const asked = cancelJob(
          { queue: 'q', job: '1', reason: 'raced' },
          {
            find: command(() => (job.state === 'gone' ? undefined : { job: facts, state: job.state })),
            remove: command(() => {
              if (job.state !== 'waiting') return { refused: 'changed' as const }
              removedAfterRun.push(job.ran && !worker.includes('stall'))
              job.state = 'gone'
              return { jobs: [{ queue: 'q', id: '1', state: 'wait', at: 0, attempts: 0 }] }
            }),
            fail: command(() => {
              if (job.state !== 'waiting') return undefined
              job.state = 'failed'
              return []
            }),
            failNext: command(() => {
              if (job.state === 'completed' || job.state === 'failed') return false
              job.failsNext = true
              return true
            }),
            here: () => {
              if (runsOn !== 'this node' || job.state !== 'active') return false
              job.aborted = true
              return true
            },
            elsewhere: command(() => {
              if (job.state !== 'active' || runsOn !== 'another') return false
              job.aborted = true
              return true
            }),
          },
        )
        const [{ outcome, state }] = await scheduler.waitFor(Promise.all([asked, works]))
        seen.add(outcome)
        assert.deepEqual(removedAfterRun.filter(Boolean), [])
        if (outcome === 'removed') assert.equal(job.state, 'gone')
        else assert.notEqual(job.state, 'gone')
        if (outcome === 'failed') assert.equal(job.state, 'failed')
        if (outcome === 'finished') assert.equal(job.state, state)
        if (outcome === 'cancelled') assert.ok(job.ran && job.aborted)
        // It runs no more: neither waits it nor will it wait again.
        if (outcome !== 'removed' && job.state === 'active') assert.ok(job.failsNext || job.aborted)
        assert.notEqual(job.state, 'waiting')
      }),
      { numRuns: 1_000 },
    )
    for (const outcome of ['removed', 'failed', 'finished', 'cancelled', 'orphaned']) assert.ok(seen.has(outcome), outcome)
  })
})
