import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkConfig } from './check-config.js'

const file = '/app/zin.config.ts'

test('a default export that is not a configuration is described', () => {
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [undefined, /the default export of .* is nothing; write: export default defineConfig/],
    [() => ({}), /the default export of .* is a function;/],
    [Promise.resolve({}), /the default export of .* is a promise;/],
    [[], /the default export of .* is a list;/],
    ['x', /the default export of .* is a string;/],
    [{ spec: {} }, /the default export of .* is a plugin;/],
    [{ plugin: [] }, /has an unknown key "plugin"; did you mean "plugins"\?/],
    [{ plugins: {} }, /has an object as "plugins"; expected a list/],
  ]
  for (const [value, message] of cases) assert.throws(() => checkConfig(value, file), { code: 'ZIN_CONFIG_INVALID', message })
})

test('invalid values and unknown keys of app, shutdown, hooks and responders are refused with their path', () => {
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [{ app: { trustedProxy: 1 } }, /zin\.config\.ts has an unknown key "app\.trustedProxy"; did you mean "app\.trustedProxies"\?$/],
    [{ app: { trustedProxies: 'one' } }, /zin\.config\.ts has an invalid value: app\.trustedProxies must be integer$/],
    [{ app: { bodyLimit: -5 } }, /app\.bodyLimit must be >= 0$/],
    [{ app: { port: 99999 } }, /app\.port must be <= 65535$/],
    [{ app: { allowedHosts: [7] } }, /app\.allowedHosts\[0\] must be string$/],
    [{ app: { name: '' } }, /app\.name must NOT have fewer than 1 characters$/],
    [{ app: { zzz: 1 } }, /unknown key "app\.zzz"; known keys: app\.name, app\.host, app\.port, /],
    [{ app: 1 }, /has a number as "app"; expected an object$/],
    [{ shutdown: { deadline: 5 } }, /unknown key "shutdown\.deadline"; did you mean "shutdown\.deadlineMs"\?$/],
    [{ shutdown: { delayMs: '5s' } }, /shutdown\.delayMs must be integer$/],
    [
      { shutdown: { delayMs: 15_001 } },
      /shutdown\.delayMs \(15001\) is more than half of shutdown\.deadlineMs \(30000\), which includes it; lower the delay or raise the deadline$/,
    ],
    [{ shutdown: { deadlineMs: 1000, delayMs: 5000 } }, /shutdown\.delayMs \(5000\) .* shutdown\.deadlineMs \(1000\)/],
    [{ hooks: { onReady: 1 } }, /has a number as "hooks\.onReady"; expected a function$/],
    [{ responders: { auth: {} } }, /has an object as "responders\.auth"; expected a function$/],
    [
      { app: { port: 1.5 }, shutdown: [] },
      /has a list as "shutdown"; expected an object; has an invalid value: app\.port must be integer$/,
    ],
  ]
  for (const [value, message] of cases) assert.throws(() => checkConfig(value, file), { code: 'ZIN_CONFIG_INVALID', message })
})

test('a configuration with every key, or with undefined keys, is accepted unchanged', () => {
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
