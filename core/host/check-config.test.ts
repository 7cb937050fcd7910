import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkConfig } from './check-config.js'

const file = '/app/zin.config.ts'

test('a default export that is no configuration is described', () => {
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [undefined, /exports nothing by default; write: export default defineConfig/],
    [() => ({}), /exports a function by default/],
    [Promise.resolve({}), /exports a promise by default/],
    [[], /exports a list by default/],
    ['x', /exports a string by default/],
    [{ spec: {} }, /exports a plugin by default/],
    [{ plugin: [] }, /has an unknown key "plugin"; did you mean "plugins"\?/],
    [{ plugins: {} }, /has an object as "plugins"; it takes a list/],
  ]
  for (const [value, message] of cases) assert.throws(() => checkConfig(value, file), { code: 'ZIN_CONFIG_INVALID', message })
})

test('wrong values and unknown keys of app, shutdown, hooks and responders are refused with their path', () => {
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [{ app: { trustedProxy: 1 } }, /zin\.config\.ts has an unknown key "app\.trustedProxy"; did you mean "app\.trustedProxies"\?$/],
    [{ app: { trustedProxies: 'one' } }, /zin\.config\.ts has a wrong value: app\.trustedProxies must be integer$/],
    [{ app: { bodyLimit: -5 } }, /app\.bodyLimit must be >= 0$/],
    [{ app: { port: 99999 } }, /app\.port must be <= 65535$/],
    [{ app: { allowedHosts: [7] } }, /app\.allowedHosts\[0\] must be string$/],
    [{ app: { name: '' } }, /app\.name must NOT have fewer than 1 characters$/],
    [{ app: { zzz: 1 } }, /unknown key "app\.zzz"; known keys: app\.name, app\.host, app\.port, /],
    [{ app: 1 }, /has a number as "app"; it takes an object$/],
    [{ shutdown: { deadline: 5 } }, /unknown key "shutdown\.deadline"; did you mean "shutdown\.deadlineMs"\?$/],
    [{ shutdown: { delayMs: '5s' } }, /shutdown\.delayMs must be integer$/],
    [
      { shutdown: { delayMs: 15_001 } },
      /shutdown\.delayMs \(15001\) takes more than half of shutdown\.deadlineMs \(30000\), which includes it; lower the one or raise the other$/,
    ],
    [{ shutdown: { deadlineMs: 1000, delayMs: 5000 } }, /shutdown\.delayMs \(5000\) .* shutdown\.deadlineMs \(1000\)/],
    [{ hooks: { onReady: 1 } }, /has a number as "hooks\.onReady"; it takes a function$/],
    [{ responders: { auth: {} } }, /has an object as "responders\.auth"; it takes a function$/],
    [{ app: { port: 1.5 }, shutdown: [] }, /has a list as "shutdown"; it takes an object; has a wrong value: app\.port must be integer$/],
  ]
  for (const [value, message] of cases) assert.throws(() => checkConfig(value, file), { code: 'ZIN_CONFIG_INVALID', message })
})

test('a configuration with every key, or with keys that are undefined, is taken as it is', () => {
  const every = {
    app: { name: 'a', host: '::1', port: 0, bodyLimit: 0, trustedProxies: 2, allowedHosts: ['a.example'] },
    shutdown: { deadlineMs: 1, delayMs: 0 },
    plugins: [false],
    hooks: { onReady() {} },
    routes: [],
    responders: { auth: undefined },
  }
  const unset = { app: { port: undefined }, shutdown: undefined, hooks: { onReady: undefined } }
  for (const config of [every, unset]) assert.equal(checkConfig(config, file), config)
})
