import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fakeClock } from 'zin/testing'
import { loginHost, post } from '../../scripts/testing/login-session.js'
import type { LoginOptions } from './options.js'

const minute = 60_000
const hour = 60 * minute

describe('each limit of attempts lets as many pass as it says, and no more until its window ends', () => {
  const limits: readonly (readonly [
    option: keyof LoginOptions,
    windowMs: number,
    origin: (attempt: number) => { readonly email: string; readonly address: string },
  ])[] = [
    ['attemptsPerMinute', minute, () => ({ email: 'ada@example.com', address: '10.0.0.1' })],
    ['attemptsPerHour', hour, () => ({ email: 'ada@example.com', address: '10.0.0.1' })],
    ['addressAttemptsPerMinute', minute, (attempt) => ({ email: `u${attempt}@example.com`, address: '10.0.0.1' })],
    ['addressAttemptsPerHour', hour, (attempt) => ({ email: `u${attempt}@example.com`, address: '10.0.0.1' })],
    ['accountAttemptsPerMinute', minute, (attempt) => ({ email: 'ada@example.com', address: `10.0.${attempt}.1` })],
  ]
  const wide = Object.fromEntries(limits.map(([option]) => [option, 1000]))
  for (const [option, windowMs, origin] of limits) {
    it(option, async () => {
      const clock = fakeClock(Date.now())
      const host = await loginHost({ verifyCredentials: async () => undefined, ...wide, [option]: 3 }, { clock })
      try {
        let attempts = 0
        const attempt = async (): Promise<number> => {
          const { email, address } = origin(attempts++)
          return (await post(host, { email, password: 'wrong-one' }, {}, address)).status
        }
        for (let round = 0; round < 2; round++) {
          assert.deepEqual([await attempt(), await attempt(), await attempt(), await attempt()], [401, 401, 401, 429])
          clock.advance(windowMs - 1)
          assert.equal(await attempt(), 429)
          clock.advance(1)
        }
      } finally {
        await host.stop()
      }
    })
  }
})
