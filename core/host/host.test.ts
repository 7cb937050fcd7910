import assert from 'node:assert/strict'
import { join, relative } from 'node:path'
import { describe, it } from 'node:test'
import { Type } from 'typebox'
import { runnable } from '../../scripts/testing/runnable.js'
import { defineOptions } from '../config/options.js'
import { plainEnv } from '../config/read-settings.js'
import { defineSettings } from '../config/settings.js'
import { ZinError } from '../errors.js'
import { defineRoute } from '../http/route.js'
import { memoryLogger } from '../log/memory-logger.js'
import { defineService, optional } from '../services/ref.js'
import { createTestHost, fake } from '../testing/test-host.js'
import { BootError } from './boot-error.js'
import { checkedValue } from './checked-value.js'
import type { ZinConfig } from './define-config.js'
import { Host } from './host.js'
import { definePlugin, registerOnly } from './plugin.js'

/** This file as it runs, which error messages name. */
const { file } = runnable(new URL(import.meta.url))

interface Greeter {
  greet(): string
}
const greeterService = defineService<Greeter>('greeter')

const greeter = definePlugin({
  name: 'greeter',
  version: '1.0.0',
  provides: [greeterService],
  options: { schema: Type.Object({ word: Type.String() }), defaults: { word: 'hello' } },
  setup({ options, provide }) {
    provide(greeterService, { greet: () => options.word })
  },
})

const door = definePlugin({
  name: 'door',
  version: '1.0.0',
  uses: { greeter: greeterService },
  setup({ services, route }) {
    route({ method: 'GET', path: '/door', summary: 'Knocks', handler: () => ({ says: services.greeter.greet() }) })
  },
})

async function bootFailure(config: ZinConfig, env: Record<string, string> = {}): Promise<BootError> {
  const host = new Host(config, { rootDir: '.', env: plainEnv(env), log: memoryLogger() })
  try {
    await host.start({ listen: false })
  } catch (error) {
    assert.ok(error instanceof BootError, String(error))
    return error
  }
  await host.stop()
  throw new Error('the boot did not fail')
}

describe('the host', () => {
  it('boots plugins in the order of their dependencies, whatever the order of the list', async () => {
    const host = await createTestHost({ plugins: [door(), greeter({ word: 'hi' })] })
    const answer = await host.inject({ method: 'GET', path: '/door' })
    assert.deepEqual([answer.status, answer.body], [200, { says: 'hi' }])
    assert.deepEqual(host.host.view.plugins().find((plugin) => plugin.name === 'door')?.why, ['after greeter (uses greeter)'])
    await host.stop()
  })

  it('runs two isolated hosts in one process', async () => {
    const [one, two] = await Promise.all([
      createTestHost({ plugins: [greeter({ word: 'one' }), door()], listen: true }),
      createTestHost({ plugins: [greeter({ word: 'two' }), door()], listen: true }),
    ])
    const says = async (url: string) => ((await (await fetch(`${url}/door`)).json()) as { says: string }).says
    assert.deepEqual([await says(one.url), await says(two.url)], ['one', 'two'])
    await one.stop()
    assert.equal(await says(two.url), 'two')
    await two.stop()
  })

  it('reports every configuration problem at once, naming the plugin, and starts nothing', async () => {
    const limits = definePlugin({
      name: 'limits',
      version: '1.0.0',
      settings: defineSettings({ LIMIT: { type: 'int', default: 1, min: 1, summary: 'Limit' } }),
      setup: () => assert.fail('set up in spite of problems'),
    })
    // biome-ignore lint/suspicious/noExplicitAny: the wrong option is the point
    const wrong = greeter({ wrod: 'x', word: 3 } as any)
    const error = await bootFailure(
      { plugins: [wrong, limits(), definePlugin({ name: 'lost', version: '1.0.0', dependencies: ['limit'], setup() {} })()] },
      { LIMIT: 'many' },
    )
    assert.deepEqual(error.message.split('\n'), [
      'greeter: unknown option "wrod"; did you mean "word"?',
      'greeter: option "word" must be string (zin.config.ts: greeter({ word: … }))',
      'limits: LIMIT=many: expected an integer from 1 (read by limits)',
      'lost: depends on plugin "limit", which is not enabled; did you mean "limits"?',
    ])
  })

  it('runs a plugin that only declares: without setup, with routes, options and settings', async () => {
    const declared = definePlugin({
      name: 'declared',
      version: '1.0.0',
      options: defineOptions(Type.Object({ size: Type.Integer({ default: 1, description: 'Size' }) })),
      settings: { DECLARED_SIZE: { type: 'int', default: 3, summary: 'Size' } },
      routes: [defineRoute({ method: 'GET', path: '/declared', summary: 'For tests', handler: () => ({ here: true }) })],
    })
    const host = await createTestHost({ plugins: [declared({ size: 2 })] })
    try {
      assert.deepEqual((await host.inject({ path: '/declared' })).body, { here: true })
      assert.deepEqual(host.host.view.routes().find(({ path }) => path === '/declared')?.plugin, 'declared')
      await host.host.disable('declared')
      assert.equal((await host.inject({ path: '/declared' })).status, 404)
      await host.host.enable('declared')
      assert.equal((await host.inject({ path: '/declared' })).status, 200)
    } finally {
      await host.stop()
    }
    await assert.rejects(createTestHost({ plugins: [declared({ size: 'x' } as never)] }), /size/)
    await assert.rejects(createTestHost({ plugins: [declared()], env: { DECLARED_SIZE: 'x' } }), /DECLARED_SIZE/)
  })

  it('reports invalid settings, failed setups and failed checks of all plugins at once, and starts nothing', async () => {
    const started: string[] = []
    const plugin = (name: string, spec: Partial<Parameters<typeof definePlugin>[0]>) =>
      definePlugin({ name, version: '1.0.0', setup() {}, start: () => void started.push(name), ...spec })()
    const checked = (...messages: readonly string[]): Partial<Parameters<typeof definePlugin>[0]> => ({
      setup: ({ onCheck }) =>
        onCheck(() => {
          throw new AggregateError(messages.map((message) => new ZinError('SET', message)))
        }),
    })
    const parse = (text: string): number => {
      throw new ZinError('D', `set D, not ${text}`)
    }
    const limit = defineSettings({ LIMIT: { type: 'int', default: 1, min: 1, summary: 'Limit' } })
    const error = await bootFailure(
      {
        plugins: [
          plugin('limits', { settings: limit, ...checked('is not asked, because its settings are invalid') }),
          plugin('limited', { dependencies: ['limits'], ...checked('set A', 'set B') }),
          plugin('broken', { setup: () => Promise.reject(new ZinError('C', 'set C')) }),
          plugin('needy', { dependencies: ['broken'], ...checked('cannot be found before broken is mended') }),
          plugin('fine', {}),
          plugin('keys', {
            setup: (ctx) => {
              const key = checkedValue(
                ctx,
                () => parse('x'),
                () => 7,
              )
              assert.equal(key, 7)
            },
          }),
        ],
      },
      { LIMIT: 'many', PORT: 'eighty' },
    )
    assert.deepEqual(error.message.split('\n').sort(), [
      'broken: failed in setup: set C',
      'core: PORT=eighty: expected an integer from 0 to 65535 (read by core)',
      'keys: set D, not x',
      'limited: set A',
      'limited: set B',
      'limits: LIMIT=many: expected an integer from 1 (read by limits)',
    ])
    assert.deepEqual(started, [])
  })

  it('starts no plugin while a check of another one fails', async () => {
    const started: string[] = []
    const first = definePlugin({ name: 'first', version: '1.0.0', setup() {}, start: () => void started.push('first') })
    const last = definePlugin({
      name: 'last',
      version: '1.0.0',
      dependencies: ['first'],
      setup: ({ onCheck }) =>
        onCheck(() => {
          throw new Error('set A')
        }),
    })
    assert.match((await bootFailure({ plugins: [first(), last()] })).message, /^last: set A/)
    assert.deepEqual(started, [])
    const host = await createTestHost({ plugins: [first(), last({ onBootFailure: 'continue' })] })
    assert.deepEqual([started, host.host.view.plugins().find(({ name }) => name === 'last')?.state], [['first'], 'failed'])
    await host.stop()
  })

  it('never shows the value of an invalid secret', async () => {
    const keys = definePlugin({
      name: 'keys',
      version: '1.0.0',
      settings: defineSettings({ API_KEY: { type: 'string', default: '', secret: true, pattern: '^k_', summary: 'Key' } }),
      setup() {},
    })
    const error = await bootFailure({ plugins: [keys()] }, { API_KEY: 'hunter2' })
    assert.ok(!error.message.includes('hunter2'))
    assert.match(error.message, /API_KEY=\*{8}/)
  })

  it('undoes what was set up if one plugin fails, and names the plugin and the phase', async () => {
    const log: string[] = []
    const steady = definePlugin({
      name: 'steady',
      version: '1.0.0',
      setup: () => void log.push('setup'),
      start: () => void log.push('start'),
      stop: () => void log.push('stop'),
    })
    const broken = definePlugin({
      name: 'broken',
      version: '1.0.0',
      dependencies: ['steady'],
      setup() {},
      start: () => Promise.reject(new Error('no disk')),
    })
    const error = await bootFailure({ plugins: [broken(), steady()] })
    const place = /^broken: failed in start: no disk \(at (.*):\d+:\d+; DEBUG=zin shows the stack\)$/.exec(error.message)?.[1]
    assert.equal(place, relative('.', file))
    assert.deepEqual(log, ['setup', 'start', 'stop'])
  })

  it('includes the location of an error in app code only outside of production, and not for a ZinError', async () => {
    const failing = (error: Error) => definePlugin({ name: 'broken', version: '1.0.0', setup: () => Promise.reject(error) })()
    const inProduction = await bootFailure({ plugins: [failing(new Error('no disk'))] }, { NODE_ENV: 'production' })
    const { code, details, cause, message } = inProduction
    assert.deepEqual([code, details, (cause as Error).message], ['ZIN_BOOT_FAILED', ['broken: failed in setup: no disk'], 'no disk'])
    assert.equal(message, 'broken: failed in setup: no disk')
    const onPurpose = await bootFailure({ plugins: [failing(new ZinError('NO_DISK', 'mount the disk'))] })
    assert.equal(onPurpose.message, 'broken: failed in setup: mount the disk')
  })

  it('continues without a plugin that may fail, skipping its dependents', async () => {
    const shaky = definePlugin({ name: 'shaky', version: '1.0.0', setup() {}, start: () => Promise.reject(new Error('no luck')) })
    const needy = definePlugin({
      name: 'needy',
      version: '1.0.0',
      dependencies: ['shaky'],
      setup: ({ route }) => route({ method: 'GET', path: '/needy', summary: 'x', handler: () => 1 }),
    })
    const host = await createTestHost({ plugins: [needy(), shaky({ onBootFailure: 'continue' }), greeter(), door()] })
    const states = Object.fromEntries(host.host.view.plugins().map((plugin) => [plugin.name, plugin.state]))
    assert.deepEqual([states.shaky, states.needy, states.door], ['failed', 'failed', 'enabled'])
    assert.equal((await host.inject({ method: 'GET', path: '/needy' })).status, 404)
    assert.equal((await host.inject({ method: 'GET', path: '/door' })).status, 200)
    await host.stop()
  })

  it('continues although a responder is for the middleware that a failed plugin did not get to register', async () => {
    const guard = definePlugin({
      name: 'guard',
      version: '1.0.0',
      onBootFailure: 'continue',
      setup: () => Promise.reject(new Error('no luck')),
    })
    const host = await createTestHost({ plugins: [guard(), greeter(), door()], responders: { guard: () => ({}) } })
    assert.equal((await host.inject({ method: 'GET', path: '/door' })).status, 200)
    assert.ok(host.logs.some(({ level, msg }) => level === 'warn' && /"responders\.guard": .*a plugin that failed: guard$/.test(msg ?? '')))
    await host.stop()
  })

  it('undoes the boot if the app cannot continue without a plugin, because routes use its middleware', async () => {
    const stopped: string[] = []
    const guard = definePlugin({
      name: 'guard',
      version: '1.0.0',
      onBootFailure: 'continue',
      setup: ({ middleware }) => middleware({ key: 'guard', handler: (_ctx, next) => next() }),
      start: () => Promise.reject(new Error('no luck')),
    })
    const other = definePlugin({
      name: 'other',
      version: '1.0.0',
      setup() {},
      start() {},
      stop: () => void stopped.push('other'),
    })
    const routes = [defineRoute({ method: 'GET', path: '/guarded', summary: 'x', use: ['guard'], handler: () => 1 })]
    const error = await bootFailure({ plugins: [guard(), other()], routes })
    assert.match(error.message, /^http: failed in routes: .*\n.*GET \/guarded of plugin "app": .*"guard"/)
    assert.deepEqual(stopped, ['other'])
  })

  it('stops dependents first, and stops the others even if one fails', async () => {
    const log: string[] = []
    const make = (name: string, dependencies: string[], fail = false) =>
      definePlugin({
        name,
        version: '1.0.0',
        dependencies,
        setup() {},
        stop: () => {
          log.push(name)
          if (fail) throw new Error('boom')
        },
      })()
    const host = new Host(
      { plugins: [make('a', []), make('b', ['a'], true), make('c', ['b'])] },
      { rootDir: '.', env: plainEnv({}), log: memoryLogger() },
    )
    await host.start({ listen: false })
    const report = await host.stop()
    assert.deepEqual(log, ['c', 'b', 'a'])
    assert.equal(report.clean, false)
    assert.match(report.lines.join(), /b: failed .*boom/)
  })

  it('disables a plugin at run time: its routes return 404 until it is enabled again', async () => {
    const host = await createTestHost({ plugins: [greeter(), door()] })
    await host.disable('door')
    assert.equal((await host.inject({ method: 'GET', path: '/door' })).status, 404)
    await host.enable('door')
    assert.equal((await host.inject({ method: 'GET', path: '/door' })).status, 200)
    await host.stop()
  })

  it('reports everything that failed while a plugin was disabled, from the removal of its routes on', async () => {
    let removed = false
    const lasting = definePlugin({
      name: 'lasting',
      version: '1.0.0',
      setup({ route }) {
        route({
          method: 'GET',
          path: '/lasting',
          summary: 'Stays',
          handler: () => 1,
          get query() {
            if (removed) throw new Error('no schema')
            return undefined as never
          },
        })
      },
      stop() {
        if (removed) throw new Error('no disk')
      },
    })
    const host = await createTestHost({ plugins: [lasting()] })
    removed = true
    await assert.rejects(host.disable('lasting'), { code: 'ZIN_PLUGIN_STOP_FAILED', message: /failed while stopping: no schema; no disk$/ })
    assert.equal((await host.inject({ method: 'GET', path: '/lasting' })).status, 404)
    await host.stop()
  })

  it('refuses to disable a plugin while another one depends on it', async () => {
    const host = await createTestHost({ plugins: [greeter(), door()] })
    await assert.rejects(host.disable('greeter'), { code: 'ZIN_PLUGIN_IN_USE', message: /depend on it: door; disable/ })
    assert.equal((await host.inject({ method: 'GET', path: '/door' })).status, 200)
    await host.stop()
  })

  it('does not run a registered plugin until it is enabled, and a failed enable leaves the app unchanged', async () => {
    const taken = definePlugin({
      name: 'taken',
      version: '1.0.0',
      setup: ({ route }) => route({ method: 'GET', path: '/door', summary: 'again', handler: () => 0 }),
    })
    const host = await createTestHost({ plugins: [greeter(), door(), registerOnly(taken())] })
    await assert.rejects(host.enable('taken'), { code: 'ZIN_PLUGIN_ENABLE_FAILED' })
    assert.deepEqual((await host.inject({ method: 'GET', path: '/door' })).body, { says: 'hello' })
    await host.stop()
  })

  it('enables a failed plugin once the cause is fixed, and shows its state and error until then', async () => {
    let broken = true
    const shaky = definePlugin({
      name: 'shaky',
      version: '1.0.0',
      setup() {},
      start() {
        if (broken) throw new Error('no luck')
      },
    })
    const host = await createTestHost({ plugins: [registerOnly(shaky())] })
    const reported = () => host.host.view.plugins().find(({ name }) => name === 'shaky')
    await assert.rejects(host.enable('shaky'), { code: 'ZIN_PLUGIN_ENABLE_FAILED' })
    assert.deepEqual([reported()?.state, reported()?.error], ['failed', 'no luck'])
    broken = false
    await host.enable('shaky')
    assert.deepEqual([reported()?.state, reported()?.error], ['enabled', undefined])
    await host.stop()
    assert.equal(reported()?.state, 'registered')
  })

  it('applies the development defaults of a plugin only under zin dev, and the environment overrides them', async () => {
    const mailer = definePlugin({
      name: 'mailer',
      version: '1.0.0',
      settings: {
        MAIL_TRANSPORT: { type: 'enum', values: ['smtp', 'log'], default: 'smtp', summary: 'Where mail goes' },
        MAIL_RETRIES: { type: 'int', default: 3, summary: 'Attempts' },
      },
      developmentDefaults: { MAIL_TRANSPORT: 'log', MAIL_RETRIES: 0 },
      setup: ({ settings, route }) => route({ method: 'GET', path: '/mail', summary: 'Shows', handler: () => ({ ...settings }) }),
    })
    const settingsWith = async (env: Record<string, string>): Promise<unknown> => {
      const host = await createTestHost({ plugins: [mailer()], env })
      const { body } = await host.inject({ method: 'GET', path: '/mail' })
      await host.stop()
      return body
    }
    assert.deepEqual(await settingsWith({}), { MAIL_TRANSPORT: 'smtp', MAIL_RETRIES: 3 })
    assert.deepEqual(await settingsWith({ ZIN_DEV: '1', MAIL_RETRIES: '7' }), { MAIL_TRANSPORT: 'log', MAIL_RETRIES: 7 })
    assert.deepEqual(await settingsWith({ ZIN_DEV: '1' }), { MAIL_TRANSPORT: 'log', MAIL_RETRIES: 0 })
  })

  for (const [ms, skipped] of [
    [10_000, 10],
    [1_000, 60],
  ] as const) {
    it(`warns once about a run that has skipped ${skipped} others of a task that runs every ${ms} ms`, async (t) => {
      t.mock.timers.enable({ apis: ['setInterval'] })
      let runs = 0
      let end = (): void => undefined
      const sweeper = definePlugin({
        name: 'sweeper',
        version: '1.0.0',
        setup: ({ every }) =>
          void every(ms, () => {
            runs++
            return new Promise((resolve) => (end = resolve))
          }),
      })
      const host = await createTestHost({ plugins: [sweeper()] })
      const warnings = () => host.logs.filter(({ level }) => level === 'warn')
      for (const run of [1, 2]) {
        t.mock.timers.tick(ms * skipped)
        assert.deepEqual([runs, warnings().length], [run, run - 1])
        t.mock.timers.tick(ms * 100)
        assert.deepEqual([runs, warnings().length], [run, run])
        end()
        await new Promise(setImmediate)
      }
      assert.equal(warnings()[0]?.plugin, 'sweeper')
      assert.match(warnings()[0]?.msg ?? '', new RegExp(`every ${ms} ms has not ended for ${ms * skipped} ms`))
      await host.stop()
    })
  }

  it('lists the descriptions of plugins while they run', async () => {
    const speaking = (name: string, text: () => string | undefined) =>
      registerOnly(definePlugin({ name, version: '1.0.0', setup: (ctx) => ctx.describe(text) })())
    const failing = (): string => {
      throw new Error('no idea')
    }
    const host = await createTestHost({
      plugins: [speaking('store', () => 'sqlite'), speaking('shy', () => undefined), speaking('odd', failing)],
    })
    const details = () => Object.fromEntries(host.host.view.plugins().map(({ name, detail }) => [name, detail]))
    for (const name of ['store', 'shy', 'odd']) await host.enable(name)
    assert.deepEqual(details(), { store: 'sqlite', shy: undefined, odd: 'cannot be described: no idea', app: undefined })
    await host.disable('store')
    assert.equal(details().store, undefined)
    await host.stop()
  })

  it('provides an optional service only while its plugin is enabled', async () => {
    const seen: (string | undefined)[] = []
    const curious = definePlugin({
      name: 'curious',
      version: '1.0.0',
      uses: { greeter: optional(greeterService) },
      setup: ({ services, route }) =>
        route({ method: 'GET', path: '/look', summary: 'Looks', handler: () => (seen.push(services.greeter?.greet()), {}) }),
    })
    const host = await createTestHost({ plugins: [curious(), greeter()] })
    await host.inject({ method: 'GET', path: '/look' })
    await host.disable('greeter')
    await host.inject({ method: 'GET', path: '/look' })
    assert.deepEqual(seen, ['hello', undefined])
    await host.stop()
  })

  it('uses a fake service instead of a plugin', async () => {
    const host = await createTestHost({ plugins: [door()], services: [fake(greeterService, { greet: () => 'fake' })] })
    assert.deepEqual((await host.inject({ method: 'GET', path: '/door' })).body, { says: 'fake' })
    await host.stop()
  })

  it('makes a test that leaves a timer open fail, and names the plugin', async () => {
    let timer: NodeJS.Timeout | undefined
    const leaky = definePlugin({ name: 'leaky', version: '1.0.0', setup() {}, start: () => void (timer = setInterval(() => {}, 60_000)) })
    const host = await createTestHost({ plugins: [leaky()] })
    await assert.rejects(host.stop(), /leaky left a Timeout open/)
    clearInterval(timer)
  })

  it('does not start a plugin if a gate listener denies it', async () => {
    const guard = definePlugin({
      name: 'guard',
      version: '1.0.0',
      setup: ({ hooks }) =>
        void hooks.on('beforePluginStart', (plugin) => (plugin === 'door' ? { denied: true, reason: 'closed today' } : undefined)),
    })
    const error = await bootFailure({ plugins: [guard(), greeter(), door()] })
    assert.match(error.message, /door: failed in start: guard denied the start: closed today/)
  })

  it('grants a listener of beforePluginStart its own deadline', async () => {
    const slow = definePlugin({
      name: 'slow',
      version: '1.0.0',
      deadlines: { start: 20 },
      setup: ({ hooks }) =>
        void hooks.on('beforePluginStart', {
          timeoutMs: 5000,
          handler: (plugin) => (plugin === 'slow' ? new Promise((resolve) => void setTimeout(resolve, 60)) : undefined),
        }),
      start() {},
    })
    const host = await createTestHost({ plugins: [slow()] })
    await host.stop()
  })

  it('counts as production unless NODE_ENV names another environment, and keeps the name unchanged', async () => {
    const seen = async (NODE_ENV: string) => {
      const host = new Host({}, { rootDir: '.', env: plainEnv({ NODE_ENV }), log: memoryLogger() })
      const { environment, production } = host.view.app
      await host.stop()
      return [environment, production]
    }
    for (const name of ['production', 'prod', 'Production', 'prodution', 'staging', ' PRODUCTION '])
      assert.deepEqual(await seen(name), [name, true])
    for (const name of ['development', 'dev', 'test', 'local', 'Development', ' test ']) assert.deepEqual(await seen(name), [name, false])
    assert.deepEqual(await seen(''), ['development', false])
    const unset = new Host({}, { rootDir: '.', env: plainEnv({}), log: memoryLogger() })
    assert.equal(unset.view.app.production, false)
    await unset.stop()
  })

  it('refuses a value in "plugins" that is not a plugin', () => {
    assert.throws(() => new Host({ plugins: [greeter as never] }, { rootDir: '.', env: plainEnv({}), log: memoryLogger() }), {
      code: 'ZIN_CONFIG_INVALID',
      message: /plugins\[0\] is a plugin factory that was not called: write greeter\(\)$/,
    })
    const slowJobs = definePlugin({ name: 'slow-jobs', version: '1.0.0', setup() {} })
    for (const [entry, words] of [
      [slowJobs, /plugins\[2\] is a plugin factory that was not called: write slowJobs\(\)$/],
      [() => slowJobs(), /plugins\[2\] is the function without a name, which is not a plugin/],
      [[greeter()], /plugins\[2\] is a list that was not created by a plugin factory$/],
      [{ name: 'x' }, /plugins\[2\] is an object that was not created by a plugin factory$/],
    ] as const) {
      assert.throws(
        () => new Host({ plugins: [false, greeter(), entry as never] }, { rootDir: '.', env: plainEnv({}), log: memoryLogger() }),
        { code: 'ZIN_CONFIG_INVALID', message: words },
      )
    }
  })

  it('runs without a run file if it cannot write it, and warns which setting to change', async () => {
    const dataDir = join(import.meta.filename, 'data')
    const host = await createTestHost({ plugins: [greeter(), door()], listen: true, dataDir })
    assert.equal((await fetch(`${host.url}/door`)).status, 200)
    const warnings = host.logs.filter(({ level }) => level === 'warn').map(({ msg = '' }) => msg)
    assert.equal(warnings.length, 1)
    for (const words of [`cannot write ${join(dataDir, 'run.json')}`, 'ENOTDIR', 'set ZIN_DATA_DIR'])
      assert.ok(warnings[0]?.includes(words), warnings[0])
    await host.stop()
  })

  it('warns of environment variables that are similar to a setting, including those of plugins that are not enabled', async () => {
    const limits = definePlugin({
      name: 'limits',
      version: '1.0.0',
      settings: defineSettings({ SHOP_LIMIT: { type: 'int', default: 1, summary: 'Limit' } }),
      setup() {},
    })
    const host = await createTestHost({ plugins: [registerOnly(limits())], env: { SHOP_LIMTI: 'canary' } })
    const warnings = host.logs.filter(({ level }) => level === 'warn').map(({ msg }) => msg)
    assert.deepEqual(warnings, ['SHOP_LIMTI is set (environment), but no setting has this name; did you mean SHOP_LIMIT?'])
    assert.doesNotMatch(host.logText(), /canary/)
    await host.stop()
  })

  it('logs a failing listener of onReady and onClose with its plugin and its stack', async () => {
    const fails = (what: string) => () => Promise.reject(new Error(`no ${what}`))
    const host = await createTestHost({ hooks: { onReady: fails('bell'), onClose: fails('lights') } })
    await host.stop()
    const failed = host.logs.filter(({ level }) => level === 'error').map(({ plugin, msg }) => [plugin, msg])
    assert.deepEqual(failed, [
      ['app', 'a listener of onReady failed'],
      ['app', 'a listener of onClose failed'],
    ])
    for (const words of ['no bell', 'no lights', file]) assert.ok(host.logText().includes(words), words)
  })

  it('undoes everything if the port is in use', async () => {
    const first = await createTestHost({ listen: true })
    const { port } = new URL(first.url)
    const second = new Host({ app: { port: Number(port) } }, { rootDir: first.rootDir, env: plainEnv({}), log: memoryLogger() })
    await assert.rejects(second.start(), (thrown: Error) => thrown.message.includes(port))
    await first.stop()
  })
})
