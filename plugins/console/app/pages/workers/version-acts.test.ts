import assert from 'node:assert/strict'
import { it } from 'node:test'
import { actsOf } from './version-acts.js'

const at = '2026-01-01T00:00:00.000Z'
const first = { version: '1.0.0', activatedAt: at, state: 'drained' } as const
const running = { version: '2.0.0', activatedAt: at, state: 'active' } as const
const halted = { version: '3.0.0', activatedAt: at, state: 'refused', refused: { by: 'workers' } } as const
const fresh = { version: '4.0.0', activatedAt: null, state: 'registered' } as const
const acts = (worker: Parameters<typeof actsOf>[1]) =>
  [first, running, halted, fresh].map((version) =>
    actsOf(version, worker)
      .map(({ label, to }) => `${label} ${to}`)
      .join(', '),
  )

it('a halted rollout is rolled back beside its version, to the one that runs', () => {
  const rollout = { version: '3.0.0', state: 'halted', taken: 0, of: 1 } as const
  assert.deepEqual(acts({ version: '2.0.0', desiredVersion: '3.0.0', rollout }), [
    'Roll back 1.0.0',
    '',
    'Roll back 2.0.0, Try again 3.0.0',
    'Activate 4.0.0',
  ])
})

it('a version that never ran is activated, one that ran before is rolled back to, and the active one has no act', () => {
  assert.deepEqual(acts({ version: '2.0.0', desiredVersion: '2.0.0' }), ['Roll back 1.0.0', '', 'Activate 3.0.0', 'Activate 4.0.0'])
})
