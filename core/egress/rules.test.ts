import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { checkEgressUrl, type EgressRules } from './rules.js'

const blocked: readonly (readonly [url: string, rules: EgressRules])[] = [
  // Other forms of loopback.
  ['http://127.0.0.1/', {}],
  ['http://127.1/', {}],
  ['http://0x7f000001/', {}],
  ['http://2130706433/', {}],
  ['http://0177.0.0.1/', {}],
  ['http://0.0.0.0/', {}],
  ['http://[::1]/', {}],
  ['http://[::ffff:127.0.0.1]/', {}],
  ['http://[64:ff9b::127.0.0.1]/', {}],
  ['http://１２７.0.0.1/', {}],
  ['http://%31%32%37.0.0.1/', {}],
  // Never allowed.
  ['http://169.254.169.254/latest/meta-data', { allowPrivate: true }],
  ['http://[fd00:ec2::254]/', { allowPrivate: true }],
  ['http://0.0.0.0/', { allowPrivate: true }],
  ['http://169.254.169.254/', { allowHosts: ['169.254.169.254'] }],
  // Unusual forms of allowed addresses.
  ['http://134744072/', {}],
  ['http://8.8.2056/', {}],
  // Schemes.
  ['ftp://example.com/', {}],
  ['file:///etc/passwd', {}],
  ['data:text/plain,x', {}],
  ['http://example.com/', { schemes: ['https:'] }],
  // Forms that URL parsers correct.
  ['https:example.com', {}],
  ['https:/example.com', {}],
  ['https:\\\\example.com', {}],
  [' https://example.com', {}],
  ['https://exam\tple.com', {}],
  ['https://example.com./', {}],
  ['example.com', {}],
  [`https://example.com/${'x'.repeat(9000)}`, {}],
  // Credentials.
  ['https://user:secret@example.com/', {}],
  ['https://user@example.com/', {}],
  ['https://@example.com/', {}],
  ['https://allowed.com@evil.com/', { allowHosts: ['allowed.com'] }],
  // Hosts.
  ['https://allowed.com.evil.com/', { allowHosts: ['allowed.com'] }],
  ['https://evilallowed.com/', { allowHosts: ['allowed.com'] }],
  ['https://sub.allowed.com/', { allowHosts: ['allowed.com'] }],
  ['https://allowed.com./', { allowHosts: ['allowed.com'] }],
  ['https://allowed.com/', { allowHosts: [] }],
  // Ports.
  ['https://allowed.com:8443/', { allowHosts: ['allowed.com'] }],
  ['https://allowed.com/', { allowHosts: ['allowed.com:8443'] }],
  ['http://allowed.com:443/', { allowHosts: ['allowed.com'] }],
  ['http://example.com:6379/', {}],
  ['http://example.com:25/', {}],
  ['http://example.com:0/', {}],
]

const allowed: readonly (readonly [url: string, rules: EgressRules])[] = [
  ['https://example.com/x?y=z', {}],
  ['https://EXAMPLE.com/', { allowHosts: ['example.COM'] }],
  ['https://example.com:443/', { allowHosts: ['example.com'] }],
  ['https://example.com:8443/', { allowHosts: ['example.com:8443'] }],
  ['http://example.com/', { allowHosts: ['example.com:80'] }],
  ['http://example.com:8080/', {}],
  ['https://8.8.8.8/', {}],
  ['https://[2606:4700::1111]:8443/', { allowHosts: ['[2606:4700::1111]:8443'] }],
  ['http://127.0.0.1:9000/', { allowPrivate: true }],
  ['http://[::1]:9000/', { allowPrivate: true }],
  ['http://[::1]/', { allowPrivate: true, allowHosts: ['[::1]'] }],
]

describe('checkEgressUrl', () => {
  for (const [url, rules] of blocked) {
    it(`blocks ${url.slice(0, 60)} under ${JSON.stringify(rules)}`, () => {
      assert.throws(() => checkEgressUrl(url, rules), { code: 'EGRESS_BLOCKED' })
    })
  }
  for (const [url, rules] of allowed) {
    it(`allows ${url} under ${JSON.stringify(rules)}`, () => assert.equal(checkEgressUrl(url, rules).href, new URL(url).href))
  }

  it('contains neither credentials nor paths in its message', () => {
    assert.throws(
      () => checkEgressUrl('https://user:hidden@example.com/hidden?hidden', {}),
      ({ message }: Error) => !message.includes('hidden'),
    )
  })
})
