import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from 'zin'
import type { ServiceAuth } from '../auth/contract.js'
import type { ServiceDefinition } from '../definitions/definition.js'
import { pollHealth } from './health-poll.js'
import type { Instance } from './instance.js'

test('an instance is checked only while the process needs its state', async () => {
  const seen: string[] = []
  let needed = false
  // The timers of the checks do not keep a process alive.
  const alive = setInterval(() => undefined, 1_000)
  await new Promise<void>((resolve) => {
    const end = pollHealth({
      definition: { healthCheck: '/health' } as ServiceDefinition,
      instance: {
        connections: {
          async send() {
            seen.push('checked')
            return { type: 'response', response: { statusCode: 200 } }
          },
        },
      } as unknown as Instance,
      rules: { intervalMs: 1, timeoutMs: 1_000, failAfter: 1, passAfter: 1 },
      auth: { credentials: async () => ({}) } as unknown as ServiceAuth,
      clock: systemClock,
      random: () => 0,
      isNeeded() {
        if (!needed) seen.push('skipped')
        needed = seen.length === 2
        return needed
      },
      onFailed: (reason) => assert.fail(reason),
      onPassed() {
        end()
        resolve()
      },
    })
  })
  clearInterval(alive)
  assert.deepEqual(seen, ['skipped', 'skipped', 'checked'])
})
