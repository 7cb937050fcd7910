import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { QueueKeys } from 'bullmq'
import { isJobId, jobIdFault } from './job-id.js'

describe('the id of a job', () => {
  it('is none of the keys that BullMQ keeps beside the jobs', () => {
    for (const key of Object.keys(new QueueKeys('p').getKeys('q'))) {
      assert.notEqual(jobIdFault(key), undefined, key)
      assert.equal(isJobId(key), false, key)
    }
  })

  it('is refused where a store or a URL would change its meaning', () => {
    for (const id of [
      '',
      '.',
      '..',
      'a:b',
      '12',
      '-1',
      '007',
      '-0',
      'NaN',
      '-1.5',
      '-1e3',
      '-Infinity',
      'a\0',
      'a\nb',
      '\ud800',
      'x'.repeat(201),
    ])
      assert.notEqual(jobIdFault(id), undefined, id)
  })

  it('may be any other text', () => {
    for (const id of ['a', 'order-12', '12a', 'é ü/?#%&', '...', '-1a', 'META', 'x'.repeat(200)]) {
      assert.equal(jobIdFault(id), undefined, id)
      assert.equal(isJobId(id), true, id)
    }
  })

  it('is also found if the queue assigned it', () => {
    for (const id of ['1', 'repeat:nightly:1764000000000']) assert.equal(isJobId(id), true, id)
  })
})
