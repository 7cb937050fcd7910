import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AuthStrategy } from '../contract.js'
import type { ServiceDefinition } from '../definitions/definition.js'
import { authProblems } from './check.js'

function service(auth: AuthStrategy, url: string, local?: { host: string; process: 'own' | 'shared' }): ServiceDefinition {
  const common = { domain: '', version: '1.0.0', description: '', source: 'discovered', dependencies: [], healthCheck: '/health' } as const
  const rest = { database: { isolation: 'shared', migrations: false }, tracing: { enabled: false, samplingRate: 1 }, urls: [url] } as const
  return { name: 'orders', auth, ...common, ...rest, ...(local === undefined ? {} : { local: { folder: 'x', ports: [1], ...local } }) }
}

const none = { SERVICE_API_KEY: '', SERVICE_JWT_SECRET: '', SERVICE_SIGNING_SECRET: '' }
const check = (one: ServiceDefinition, { secrets = none, production = true, custom = {} } = {}): readonly string[] =>
  authProblems([one], { secrets, custom, production })

describe('auth strategies at boot', () => {
  for (const [auth, setting] of [
    ['api-key', 'SERVICE_API_KEY'],
    ['jwt', 'SERVICE_JWT_SECRET'],
    ['signed', 'SERVICE_SIGNING_SECRET'],
  ] as const)
    it(`${auth} needs ${setting}, with 32 bytes in production, and never repeats the secret`, () => {
      const one = service(auth, 'http://127.0.0.1:1')
      const short = { ...none, [setting]: 'hidden-secret' }
      for (const production of [true, false])
        assert.match(check(one, { production })[0] ?? '', new RegExp(`^${setting} is empty, and service "orders"`))
      assert.match(check(one, { secrets: short })[0] ?? '', new RegExp(`^${setting} has 13 bytes`))
      assert.ok(!check(one, { secrets: short })[0]?.includes('hidden'))
      assert.deepEqual(check(one, { secrets: short, production: false }), [])
      assert.deepEqual(check(one, { secrets: { ...none, [setting]: 'x'.repeat(32) } }), [])
    })

  it('none is allowed only on loopback addresses in production', () => {
    assert.deepEqual(check(service('none', 'http://127.0.0.1:1')), [])
    assert.deepEqual(check(service('none', 'http://[::1]:1')), [])
    assert.match(check(service('none', 'http://10.0.0.1:1'))[0] ?? '', /strategy none/)
    assert.match(check(service('none', 'http://users.internal'))[0] ?? '', /strategy none/)
    assert.match(check(service('none', 'http://127.0.0.1:1', { host: '0.0.0.0', process: 'shared' }))[0] ?? '', /strategy none/)
    assert.deepEqual(check(service('none', 'http://10.0.0.1:1'), { production: false }), [])
  })

  it('custom needs its functions and the process of the app', () => {
    const local = { host: '127.0.0.1', process: 'shared' } as const
    const both = { authenticate: () => true, credentials: () => ({}) }
    const one = service('custom', 'http://127.0.0.1:1', local)
    assert.deepEqual(check(one, { custom: both }), [])
    assert.match(check(one)[0] ?? '', /option credentials is missing/)
    assert.match(check(one, { custom: { credentials: both.credentials } })[0] ?? '', /option authenticate is missing/)
    assert.match(
      check(service('custom', 'http://127.0.0.1:1', { ...local, process: 'own' }), { custom: both })[0] ?? '',
      /process: 'shared'/,
    )
  })
})
