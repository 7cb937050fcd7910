import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { CommandContext } from 'zin'
import { resourceCommands } from './cli.js'

describe('resource:monitor', () => {
  const [command] = resourceCommands
  const run = async (action: string) => {
    const requests: unknown[] = []
    const lines: string[] = []
    const app = {
      request: async (request: unknown) => {
        requests.push(request)
        return { ok: true, message: 'Resource monitoring started' }
      },
    }
    const print = { json: false, line: (text: string) => lines.push(text) }
    await command?.run({ app, args: { action }, options: {}, print } as unknown as CommandContext)
    return { requests, lines }
  }

  it('has the alias rm', () => assert.deepEqual([command?.name, command?.aliases], ['resource:monitor', ['rm']]))

  for (const action of ['start', 'stop']) {
    it(`sends the request to ${action} monitoring to the app`, async () => {
      const { requests, lines } = await run(action)
      assert.deepEqual(requests, [{ method: 'POST', path: `/api/resources/${action}` }])
      assert.deepEqual(lines, ['Resource monitoring started'])
    })
  }

  for (const action of ['restart', 'START', 'constructor', '']) {
    it(`refuses the action "${action}" without a request`, () =>
      assert.rejects(run(action), { code: 'INVALID_ACTION', usage: true, message: new RegExp(`^Invalid action "${action}"`) }))
  }
})
