import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { bulletproof, devicesService } from 'zin/plugins/bulletproof'
import { jwt, tokensService } from 'zin/plugins/jwt'
import { createTestHost } from 'zin/testing'
import { env } from '../../scripts/testing/login-session.js'
import fc from '../../scripts/testing/properties.js'
import { createRefreshTokens } from './refresh.js'
import { kvFamilies, memoryValues } from './store/refresh.js'

type Step =
  | { readonly do: 'login'; readonly device: number }
  | { readonly do: 'refresh'; readonly token: number }
  | { readonly do: 'logout'; readonly device: number }

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant('login' as const), device: fc.nat(1) }),
    fc.record({ do: fc.constant('refresh' as const), token: fc.nat(5) }),
    fc.record({ do: fc.constant('logout' as const), device: fc.nat(1) }),
  ),
  { maxLength: 15 },
)

describe('refresh tokens after any sequence of logins, refreshes and logouts', () => {
  it('are valid only if they are the newest of the newest login on a device that has not logged out or seen a reuse', async () => {
    const host = await createTestHost({ plugins: [jwt(), bulletproof()], env })
    try {
      const [devices, tokens] = [host.service(devicesService), host.service(tokensService)]
      const log = { info: () => undefined, warn: () => undefined } as never
      await fc.assert(
        fc.asyncProperty(steps, async (list) => {
          const values = memoryValues()
          const refresh = createRefreshTokens({
            store: kvFamilies((run) => run(values), Date.now),
            tokens: () => tokens,
            devices: () => devices,
            userOf: async () => 'unknown',
            idleMs: 60_000,
            maxMs: 60_000,
            clock: { now: Date.now, monotonic: () => performance.now() },
            manage: (_action, work) => work(() => undefined),
            log,
          })
          const ids = [0, 1].map(() => undefined as string | undefined)
          /** All tokens, newest first; and the one of each device that is valid. */
          const all: { readonly token: string; readonly device: number; readonly login: number }[] = []
          const valid = new Map<number, { readonly token: string; readonly login: number }>()
          let logins = 0
          const add = (token: string, device: number, login: number): void => {
            all.unshift({ token, device, login })
            valid.set(device, { token, login })
          }
          for (const step of list) {
            if (step.do === 'login') {
              const { device } = await devices.enroll({ userId: 'ada', deviceId: ids[step.device] })
              ids[step.device] = device.deviceId
              const { claims } = await tokens.issue({ sub: 'ada', deviceId: device.deviceId })
              logins += 1
              add(await refresh.start(claims, device.deviceId), step.device, logins)
            } else if (step.do === 'logout') {
              await refresh.end(ids[step.device] ?? 'none', 'ada')
              valid.delete(step.device)
            } else {
              const used = all[step.token]
              if (used === undefined) continue
              const live = valid.get(used.device)
              const result = await refresh.refresh(used.token).catch((error: { readonly code: string }) => error.code)
              if (live?.token === used.token) {
                assert.ok(typeof result === 'object')
                add(result.refreshToken, used.device, used.login)
              } else {
                assert.equal(result, 'REFRESH_TOKEN_INVALID')
                if (live?.login === used.login) valid.delete(used.device)
              }
            }
          }
          for (const { token, device } of [...all]) {
            const live = valid.get(device)?.token === token
            if (live) assert.equal(typeof (await refresh.refresh(token)), 'object')
          }
        }),
        { numRuns: 60 },
      )
    } finally {
      await host.stop()
    }
  })
})
