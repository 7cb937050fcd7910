import assert from 'node:assert/strict'
import { it } from 'node:test'
import { makeReport, reportText } from './report.js'

it('a report names the part whose evidence cannot be read', async () => {
  const report = await makeReport({
    app: { name: 'shop', environment: 'test' },
    now: 0,
    parts: { audit: { controls: () => Promise.reject(new Error('the disk is full')) }, hipaa: { controls: () => [] } },
  })
  assert.equal(report.summary.gaps, 1)
  assert.deepEqual(reportText(report).slice(-2), [
    '✗ The controls of the part "audit" can be read (audit/unread)',
    '  ! The evidence could not be read: the disk is full',
  ])
})

it('a report does not wait for a part that does not respond', async () => {
  const { controls } = await makeReport({
    app: { name: 'shop', environment: 'test' },
    now: 0,
    parts: { audit: { controls: () => new Promise(() => undefined) } },
    waitMs: 1,
  })
  assert.deepEqual(controls[0]?.gaps, ['The evidence could not be read: no response within 1 ms'])
})
