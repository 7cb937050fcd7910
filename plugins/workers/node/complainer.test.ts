import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fakeClock, memoryLogger } from 'zin/testing'
import { complainer } from './complainer.js'

const away = (text: string) => Object.assign(new Error(text), { code: 'ECONNREFUSED' })

function complaints() {
  const log = memoryLogger()
  const clock = fakeClock()
  const isUnavailable = (error: unknown) => (error as { code?: string }).code === 'ECONNREFUSED'
  return { log, clock, complain: complainer('emails', { clock, log, queues: { isUnavailable } }) }
}

test('errors of a store that is down are logged once in 30 s per message, even if they alternate, and without a stack trace', () => {
  const { clock, complain, log } = complaints()
  for (let round = 0; round < 10; round++) for (const text of ['refused', 'no response']) complain(away(text))
  assert.deepEqual(
    log.lines.map(({ msg }) => msg),
    ['worker "emails": refused', 'worker "emails": no response'],
  )
  assert.ok(log.lines.every(({ err }) => err === undefined))
  clock.advance(30_000)
  complain(away('refused'))
  assert.equal(log.lines.length, 3)
})

test('any other error is logged with its stack trace', () => {
  const { complain, log } = complaints()
  const error = new TypeError('x is not a function')
  complain(error)
  assert.match(JSON.stringify(log.lines[0]?.err), /x is not a function.*complainer\.test/)
})
