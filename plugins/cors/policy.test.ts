import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from '../../scripts/testing/properties.js'
import { policyOf, policyProblem } from './policy.js'

describe('the origins of a policy', () => {
  const cases: readonly (readonly [listed: string, allowed: readonly string[], refused: readonly string[]])[] = [
    [
      'https://shop.example',
      ['https://shop.example'],
      ['http://shop.example', 'https://shop.example:8443', 'https://www.shop.example', 'https://shop.example.evil.test', 'null', ''],
    ],
    ['HTTPS://Shop.Example:443', ['https://shop.example'], ['https://shop.example:443']],
    ['http://localhost:5173', ['http://localhost:5173'], ['http://localhost', 'http://localhost:51730', 'http://localhost:5173.evil.test']],
    [
      'http://localhost:*',
      ['http://localhost', 'http://localhost:1', 'http://localhost:65535'],
      ['http://localhost:', 'http://localhost:evil', 'http://localhost.evil.test', 'https://localhost:1', 'http://localhost:1@evil.test'],
    ],
    [
      'https://*.shop.example',
      ['https://a.shop.example', 'https://a.b.shop.example', 'https://my_shop.shop.example'],
      [
        'https://shop.example',
        'https://evilshop.example',
        'https://a.shop.example.evil.test',
        'https://a/.shop.example',
        'https://a.shopxexample',
      ],
    ],
    ['https://*.shop.example:8443', ['https://a.shop.example:8443'], ['https://a.shop.example', 'https://a.shop.example:84430']],
    ['https://münchen.example', ['https://xn--mnchen-3ya.example'], ['https://münchen.example']],
    ['capacitor://localhost', ['capacitor://localhost'], ['http://localhost', 'capacitor://localhost.evil']],
    ['http://[::1]:3000', ['http://[::1]:3000'], ['http://[::1]']],
    ['*', ['https://any.example', 'null'], []],
  ]
  for (const [listed, allowed, refused] of cases) {
    it(`${listed} allows ${allowed.join(', ')} only`, () => {
      assert.equal(policyProblem({ origins: [listed] }), undefined)
      const policy = policyOf({ origins: listed })
      for (const origin of allowed) assert.ok(policy.allows(origin), origin)
      for (const origin of refused) assert.ok(!policy.allows(origin), origin)
    })
  }

  it('allow no other host than those listed, whatever is added to one', () => {
    const policy = policyOf({ origins: ['https://shop.example', 'https://*.shop.example', 'http://localhost:*'] })
    const part = fc.string({ unit: fc.constantFrom('a', '.', '-', ':', '1', '@', '/', '\n', '*', ' '), maxLength: 5 })
    const host = fc.constantFrom('shop.example', 'localhost', 'shopxexample')
    fc.assert(
      fc.property(fc.constantFrom('http://', 'https://'), part, host, part, (scheme, before, name, behind) => {
        const origin = scheme + before + name + behind
        if (!policy.allows(origin)) return
        const url = new URL(origin)
        assert.equal(url.origin, origin)
        assert.match(`${url.protocol}//${url.hostname}`, /^https:\/\/(.+\.)?shop\.example$|^http:\/\/localhost$/)
      }),
      { numRuns: 500 },
    )
  })

  const wrong: readonly (readonly [given: Parameters<typeof policyProblem>[0], problem: RegExp])[] = [
    [{ origins: ['https://shop.example/'] }, /"https:\/\/shop.example\/": write scheme, host and port only/],
    [{ origins: ['https://shop.example/app'] }, /scheme, host and port/],
    [{ origins: ['shop.example'] }, /scheme, host and port/],
    [{ origins: ['https://ann@shop.example'] }, /scheme, host and port/],
    [{ origins: ['https://shop.example:99999'] }, /its host or port is not valid/],
    [{ origins: ['https://a b'] }, /scheme, host and port/],
    [{ origins: ['https://shop.*'] }, /scheme, host and port/],
    [{ origins: ['https://*.example'] }, /subdomains of one domain/],
    [{ origins: ['null'] }, /sandboxed frame/],
    [{ origins: '*', credentials: true }, /"credentials" with the origin "\*"/],
    [{ origins: ['https://shop.example', '*'], credentials: true }, /"credentials" with the origin "\*"/],
  ]
  for (const [given, problem] of wrong) {
    it(`${JSON.stringify(given)} is refused`, () => assert.match(policyProblem(given) ?? 'no problem', problem))
  }
})
