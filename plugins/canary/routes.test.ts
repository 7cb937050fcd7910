import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { RouteContext } from 'zin'
import type { Canaries } from './contract.js'
import { canaryRoutes } from './routes.js'

it('every route of a canary shows messages of errors only to callers who may see payloads', async () => {
  const error = (message: string) => ({ class: 'Error', message, count: 1, example: '1' })
  const answer = {
    canary: { state: 'ROLLED_BACK', canary: { errors: [error('no mailbox of Alice')] } },
    history: [{ errors: [error('Alice')] }],
  }
  const canaries = new Proxy({}, { get: (_target, verb) => async () => (verb === 'status' ? answer.canary : answer) }) as Canaries
  const ctx = { input: { params: { name: 'emails' }, query: { wait: 0 }, body: {} } } as unknown as RouteContext & never
  for (const may of [true, false]) {
    const routes = canaryRoutes(canaries, { allow: () => may, demand: () => undefined })
    assert.equal(routes.length, 9)
    for (const { handler, path } of routes) assert.equal(JSON.stringify(await handler(ctx)).includes('Alice'), may, path)
  }
})
