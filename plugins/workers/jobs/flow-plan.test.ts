import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { flowProblems, workersOf } from './flow-plan.js'
import type { FlowSpec } from './types.js'

const chain = (depth: number): FlowSpec => (depth === 1 ? { worker: 'leaf' } : { worker: 'node', children: [chain(depth - 1)] })
const wide = (jobs: number): FlowSpec => ({ worker: 'top', children: Array.from({ length: jobs - 1 }, () => ({ worker: 'leaf' })) })

describe('a flow', () => {
  it('has at most 10 levels and 1000 jobs', () => {
    assert.deepEqual(flowProblems(chain(10)), [])
    assert.match(flowProblems(chain(11))[0]?.message ?? '', /deeper than 10/)
    assert.deepEqual(flowProblems(wide(1000)), [])
    for (const jobs of [1001, 400_000]) assert.match(flowProblems(wide(jobs))[0]?.message ?? '', /more than 1000/)
  })

  it('stops checking a tree that has no end', () => {
    const loop: { worker: string; children: unknown[] } = { worker: 'loop', children: [] }
    loop.children.push(loop)
    assert.equal(flowProblems(loop).length, 1)
  })

  it('is rejected with the path of each problem', () => {
    const found = flowProblems({
      worker: 'top',
      options: { attempts: 0, onFailure: 'continue' },
      children: [
        null,
        { worker: 'a b' },
        { worker: 'fine', queue: 'x' },
        { worker: 'fine', children: {} },
        { worker: 'fine', options: { deduplication: { id: 'x' } } },
        { worker: 'fine', options: { onFailure: 'continue' } },
        { worker: 'fine', options: { onFailure: 'ignore' } },
      ],
    })
    assert.deepEqual(
      found.map(({ field, code }) => [field, code]),
      [
        ['flow.options.attempts', 'INVALID_JOB_OPTIONS'],
        ['flow.options.onFailure', 'INVALID_JOB_OPTIONS'],
        ['flow.children[0]', 'INVALID_FLOW'],
        ['flow.children[1].worker', 'INVALID_WORKER_NAME'],
        ['flow.children[2].queue', 'INVALID_FLOW'],
        ['flow.children[3].children', 'INVALID_FLOW'],
        ['flow.children[4].options.deduplication', 'INVALID_JOB_OPTIONS'],
        ['flow.children[6].options.onFailure', 'INVALID_JOB_OPTIONS'],
      ],
    )
    assert.equal(flowProblems('flow')[0]?.code, 'INVALID_FLOW')
  })

  it('names each of its workers once', () => {
    assert.deepEqual(workersOf({ worker: 'one', children: [{ worker: 'two', children: [{ worker: 'one' }] }, { worker: 'two' }] }), [
      'one',
      'two',
    ])
  })
})
