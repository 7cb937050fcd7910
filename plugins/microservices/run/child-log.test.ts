import assert from 'node:assert/strict'
import { test } from 'node:test'
import { childLog } from './child-log.js'
import type { ChildLine } from './child-protocol.js'

test('Log lines that the app does not receive in time are dropped, and one warning states their number', () => {
  const sent: ChildLine[] = []
  const waiting: (() => void)[] = []
  const log = childLog('info', (line, done) => {
    sent.push(line)
    waiting.push(done)
  })
  for (let line = 0; line < 10_007; line++) log.info('flood')
  assert.equal(sent.length, 10_000)
  for (const done of waiting.splice(0)) done()
  const more = sent.slice(10_000)
  assert.deepEqual(
    more.map(({ level, facts }) => [level, facts]),
    [['warn', { dropped: 7 }]],
  )
  for (const done of waiting.splice(0)) done()
  log.info('later')
  assert.deepEqual([sent.length, sent.at(-1)?.message], [10_002, 'later'])
})
