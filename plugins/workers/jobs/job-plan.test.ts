import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { WorkerRecord } from '../record/record.js'
import { workerRecord } from '../testing/worker-record.js'
import { bullOptions, jobPlanOf, jobProblems, timeoutOf } from './job-plan.js'

const record = (jobOptions: WorkerRecord['jobOptions']) => workerRecord('mailer', { queueName: 'mail', jobOptions })

describe('options of a job', () => {
  it('are accepted up to their limits', () => {
    for (const options of [
      {},
      { name: 'x'.repeat(100), priority: 'low', attempts: 100, delay: 0, backoff: { type: 'exponential', delay: 0 } },
      { timeout: 1 },
      { timeout: 86_400_000 },
      { deduplication: { id: 'x'.repeat(128) } },
      { deduplication: { id: 'a:b', ttl: 1 } },
      { deduplication: { id: 'a', mode: 'keep-latest' }, delay: 5 },
      { deduplication: { id: 'a', mode: 'debounce', ttl: 1 }, delay: 0 },
      { backoff: { type: 'fixed', delay: 86_400_000, max: 1, jitter: 1 } },
    ]) {
      assert.deepEqual(jobProblems(options), [], JSON.stringify(options))
    }
  })

  it('are rejected beyond them, with the invalid field', () => {
    const rows: readonly (readonly [options: unknown, field: string])[] = [
      [null, 'options'],
      [[], 'options'],
      [{ repeat: {} }, 'options.repeat'],
      [{ name: '' }, 'options.name'],
      [{ name: 'a\0' }, 'options.name'],
      [{ priority: 11 }, 'options.priority'],
      [{ timeout: 0 }, 'options.timeout'],
      [{ timeout: 86_400_001 }, 'options.timeout'],
      [{ timeout: '5' }, 'options.timeout'],
      [{ deduplication: 'x' }, 'options.deduplication'],
      [{ deduplication: { id: '' } }, 'options.deduplication'],
      [{ deduplication: { id: 'x'.repeat(129) } }, 'options.deduplication'],
      [{ deduplication: { id: 'a\0' } }, 'options.deduplication'],
      [{ deduplication: { id: 'x', ttl: 0 } }, 'options.deduplication'],
      [{ deduplication: { id: 'x', ttl: 1.5 } }, 'options.deduplication'],
      [{ deduplication: { id: 'x', mode: null } }, 'options.deduplication'],
      [{ deduplication: { id: 'x', replace: true } }, 'options.deduplication'],
      [{ deduplication: { id: 'x', mode: 'debounce' } }, 'options.deduplication'],
      [{ deduplication: { id: 'x', mode: 'debounce', ttl: 1 }, delay: 5 }, 'options.deduplication'],
      [{ backoff: { type: 'fixed', delay: 1, jitter: 2 } }, 'options.backoff'],
    ]
    for (const [options, field] of rows) {
      assert.deepEqual(
        jobProblems(options).map((one) => [one.field, one.code]),
        [[field, 'INVALID_JOB_OPTIONS']],
        JSON.stringify(options),
      )
    }
  })

  it('can be restricted where some make no sense', () => {
    const found = jobProblems({ delay: 1, timeout: 1 }, 'flow.options', ['delay', 'deduplication'])
    assert.deepEqual(
      found.map((one) => one.field),
      ['flow.options.delay'],
    )
  })

  it('are filled in from the worker, then from the settings', () => {
    const defaults = { attempts: 3, priority: 1 }
    const bare = { name: 'mailer', priority: 1, attempts: 3, backoff: { type: 'exponential', delay: 1000 }, delay: 0 }
    assert.deepEqual(jobPlanOf(record({}), {}, defaults), bare)
    const own = jobPlanOf(record({ attempts: 7, timeout: 500 }), { priority: 'High' }, defaults)
    assert.deepEqual(own, { ...bare, attempts: 7, timeout: 500, priority: 5 })
    assert.equal(jobPlanOf(record({ timeout: 500 }), { timeout: 9 }, defaults).timeout, 9)
  })

  it('carry the timeout to the node that runs the job', () => {
    const plan = jobPlanOf(record({ timeout: 500 }), { deduplication: { id: 'x' } }, { attempts: 1, priority: 10 })
    const options = bullOptions(plan)
    assert.deepEqual([timeoutOf(options), options.priority, options.deduplication], [500, 1, { id: 'x' }])
    assert.equal('name' in options, false)
    for (const foreign of [{}, { timeout: 'soon' }, { timeout: -1 }, { timeout: null }]) assert.equal(timeoutOf(foreign), undefined)
  })
})
