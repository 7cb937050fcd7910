import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definePlugin } from './plugin.js'
import { hostStates, type PluginState } from './states.js'
import { PluginUnit } from './unit.js'

const unit = (): PluginUnit => new PluginUnit(definePlugin({ name: 'mailer', version: '1.0.0', setup() {} })())

test('a plugin can be enabled, disabled and enabled again, and can fail once it is fully undone', () => {
  const mailer = unit()
  const seen: PluginState[] = [mailer.state]
  for (const state of ['enabling', 'enabled', 'disabling', 'registered'] as const) {
    mailer.to(state)
    seen.push(mailer.state)
  }
  mailer.fail(new Error('no luck'))
  assert.deepEqual([...seen, mailer.state], ['registered', 'enabling', 'enabled', 'disabling', 'registered', 'failed'])
  assert.equal(mailer.error?.message, 'no luck')
  mailer.to('enabling')
  assert.equal(mailer.error, undefined)
})

test('an invalid transition is refused with the plugin, the state and the target, and changes nothing', () => {
  const mailer = unit()
  assert.throws(() => mailer.to('enabled'), { code: 'ZIN_PLUGIN_STATE', message: 'mailer: is registered and cannot become enabled' })
  mailer.to('enabling')
  assert.throws(() => mailer.fail(new Error('x')), { message: 'mailer: is enabling and cannot become failed' })
  assert.deepEqual([mailer.state, mailer.error], ['enabling', undefined])
  const host = hostStates()
  assert.throws(() => host.to('ready'), { code: 'ZIN_HOST_STATE', message: 'the host cannot become ready: it is created' })
})
