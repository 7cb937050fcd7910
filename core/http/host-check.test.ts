import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HostCheck, isOwnOrigin } from './host-check.js'

test('hosts are compared exactly and with their port', () => {
  const check = new HostCheck(['127.0.0.1', 'localhost', '[::1]', 'api.example.com:8443'])
  check.setPort(7777)
  for (const host of ['127.0.0.1:7777', 'localhost:7777', 'LOCALHOST:7777', '[::1]:7777', 'localhost', 'api.example.com:8443'])
    assert.ok(check.accepts(host), host)
  const refused = [
    undefined,
    '',
    'evil.test',
    '127.0.0.1.evil.test',
    '127.0.0.1:7778',
    'api.example.com',
    'api.example.com:7777',
    'localhost:7777@evil.test',
    'localhost:',
    'api.example.com:8443:7777',
  ]
  for (const host of refused) assert.ok(!check.accepts(host), String(host))
})

test('an origin is that of the app if it names its host and port, by http or https', () => {
  for (const [origin, host] of [
    ['https://shop.example', 'shop.example'],
    ['http://127.0.0.1:7777', '127.0.0.1:7777'],
    ['http://[::1]:7777', '[::1]:7777'],
    ['https://shop.example', 'Shop.Example'],
  ] as const)
    assert.ok(isOwnOrigin(origin, host), origin)
  for (const [origin, host] of [
    ['https://shop.example', undefined],
    ['https://shop.example', ''],
    ['https://', ''],
    ['null', 'null'],
    ['shop.example', 'shop.example'],
    ['ftp://shop.example', 'shop.example'],
    ['https://shop.example:8443', 'shop.example'],
    ['https://shop.example', 'shop.example:8443'],
    ['https://evil.shop.example', 'shop.example'],
    ['https://shop.example.evil', 'shop.example'],
    ['https://evil.example@shop.example', 'shop.example'],
    ['https://shop.example/', 'shop.example'],
  ] as const)
    assert.ok(!isOwnOrigin(origin, host), `${origin} for ${host}`)
})
