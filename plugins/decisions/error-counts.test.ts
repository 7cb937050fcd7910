import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { EventStreams, RouteContext } from 'zin'
import type { Decision, Decisions } from './contract.js'
import { withoutErrorMessages } from './error-counts.js'
import { decisionRoutes } from './routes.js'

const error = { class: 'Error', message: 'no mailbox of Alice', count: 3, example: '17' }
const hidden = { ...error, message: '[redacted]' }

describe('messages of errors', () => {
  it('are left out of data of any depth, which otherwise stays', () => {
    const data = { errors: { '2.0.0': [error, error], '1.0.0': [] }, deep: [{ stable: { errors: [error] } }], message: 'stays', none: null }
    assert.deepEqual(withoutErrorMessages(data), {
      errors: { '2.0.0': [hidden, hidden], '1.0.0': [] },
      deep: [{ stable: { errors: [hidden] } }],
      message: 'stays',
      none: null,
    })
  })

  it('are shown in decisions only to callers who may see payloads', async () => {
    const decision = { id: '1', reason: 'worse', inputs: { errors: { '2.0.0': [error] } } } as unknown as Decision
    const decisions = { list: async () => ({ decisions: [decision], pagination: {} }) } as unknown as Decisions
    for (const [may, shown] of [
      [true, error],
      [false, hidden],
    ] as const) {
      const [list] = decisionRoutes(decisions, {} as EventStreams, () => may)
      const body = (await list?.handler({ input: { query: {} } } as unknown as RouteContext & never)) as { decisions: readonly Decision[] }
      assert.deepEqual(body.decisions[0]?.inputs, { errors: { '2.0.0': [shown] } })
    }
  })
})
