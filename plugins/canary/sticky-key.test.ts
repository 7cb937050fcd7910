import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { stickyKey } from './sticky-key.js'

describe('the sticky key of a job', () => {
  const data = { tenant: { id: 7 }, list: ['a'] }
  for (const [title, job, stickyBy, key] of [
    ['is its id', { id: '1', opts: {} }, undefined, '1'],
    ['is its deduplication id', { id: '1', opts: { deduplication: { id: 'd' } } }, undefined, 'd'],
    ['is the id of its flow before all others', { id: '1', opts: { flowRoot: 'f', deduplication: { id: 'd' } } }, undefined, 'f'],
    ['is the value at stickyBy', { id: '1', opts: { flowRoot: 'f' }, data }, 'tenant.id', '7'],
    ['is its id when its data lack stickyBy', { id: '1', opts: {}, data }, 'tenant.name', '1'],
    ['is its id when the value is not a string or number', { id: '1', opts: {}, data }, 'list', '1'],
    ['is its id when stickyBy is inherited', { id: '1', opts: {}, data }, 'constructor.name', '1'],
  ] as const)
    it(title, () => assert.equal(stickyKey(job, stickyBy), key))
})
