import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { autoStart } from './auto-start.js'
import { recordOf } from './record/make.js'
import type { CreateWorker } from './record/record.js'
import type { Desired } from './store/contract.js'
import { desired } from './testing/stored-worker.js'

const record = (input: Partial<CreateWorker>) => recordOf({ name: 'abc', queueName: 'abc', ...input }, { concurrency: 5, driver: 'memory' })
const onDb = { infrastructure: { persistence: { driver: 'db' as const } } }
const rows: readonly (readonly [
  what: string,
  global: boolean,
  worker: Partial<CreateWorker>,
  stored: Desired | undefined,
  starts: boolean,
])[] = [
  ['the global setting is true and autoStart is absent', true, {}, undefined, true],
  ['the global setting is true and autoStart is null', true, { autoStart: null }, undefined, true],
  ['the global setting is true and autoStart is true', true, { autoStart: true }, undefined, true],
  ['autoStart is false', true, { autoStart: false }, undefined, false],
  ['the global setting is false', false, {}, undefined, false],
  ['the global setting is false, even with autoStart true', false, { autoStart: true }, undefined, false],
  ['activeStatus is false', true, { activeStatus: false, autoStart: true }, undefined, false],
  ['it is stored by another driver than the configured one', true, onDb, undefined, false],
  [
    'it is stored by an edge binding and the configured driver is another one',
    true,
    { infrastructure: { persistence: { driver: 'edge-sql' } } },
    undefined,
    false,
  ],
  ['at boot, an operator stopped it', true, { autoStart: true }, desired({ state: 'stopped', by: 'operator' }), false],
  ['at boot, it was stopped by the rule and the rule allows it now', true, {}, desired({ state: 'stopped', by: 'rule' }), true],
  ['at boot, an operator started it', true, {}, desired({ state: 'running', by: 'operator' }), true],
  ['at boot, an operator started it and the global setting is false', false, {}, desired({ state: 'running', by: 'operator' }), false],
]

describe('the auto-start rule', () => {
  for (const [what, global, worker, stored, starts] of rows) {
    it(`${starts ? 'starts' : 'does not start'} a worker when ${what}`, () => {
      const { start, reason } = autoStart({ global, driver: 'memory' }, record(worker), stored)
      assert.equal(start, starts, reason)
    })
  }
})
