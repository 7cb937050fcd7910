import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { describe, it } from 'node:test'
import { plainEnv } from '../config/read-settings.js'
import { EventStreams } from '../http/event-stream.js'
import { memoryLogger } from '../log/memory-logger.js'
import { createTestHost } from '../testing/test-host.js'
import { DeadlineError } from '../util/deadline.js'
import { fakeClock } from '../util/fake-clock.js'
import { Host } from './host.js'
import type { HostOptions } from './host-options.js'
import { definePlugin, type Plugin } from './plugin.js'

const never = new Promise<void>(() => undefined)
const env = plainEnv({ NODE_ENV: 'test', PORT: '0', ZIN_DATA_DIR: `${import.meta.filename}/none` })

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

function hostOf(plugins: readonly Plugin[], shutdown: { deadlineMs: number; delayMs?: number }, options: Partial<HostOptions> = {}): Host {
  return new Host({ plugins, shutdown }, { rootDir: '.', env, log: memoryLogger(), ...options })
}

/** Its stop never ends; the plugin it depends on is stopped later. */
function hung(log: string[], spec: { readonly dependencies?: readonly string[]; readonly stopMs?: number } = {}): Plugin {
  return definePlugin({
    name: 'hung',
    version: '1.0.0',
    dependencies: spec.dependencies ?? [],
    deadlines: { stop: spec.stopMs ?? 600_000 },
    setup: ({ route }) => route({ method: 'GET', path: '/hung', summary: 'Never responds', handler: () => never }),
    stop: () => (log.push('hung'), never),
  })()
}

const base = (log: string[]): Plugin => definePlugin({ name: 'base', version: '1.0.0', setup() {}, stop: () => void log.push('base') })()

describe('the deadline of a shutdown', () => {
  it('covers the delay, a hung request and a hung plugin together, and every plugin still begins to stop', {
    timeout: 60_000,
  }, async () => {
    const log: string[] = []
    const host = hostOf([hung(log, { dependencies: ['base'] }), base(log)], { deadlineMs: 400, delayMs: 600_000 })
    const address = await host.start()
    const agent = new Agent()
    const request = get({ port: address?.port, host: '127.0.0.1', path: '/hung', agent })
    const cut = once(request, 'error')
    await once(request, 'finish')
    const report = await host.stop()
    await cut
    agent.destroy()
    assert.equal(report.forcedConnections, 1)
    assert.deepEqual(
      report.plugins.map(({ plugin, outcome }) => [plugin, outcome]).filter(([plugin]) => plugin !== 'app'),
      [
        ['hung', 'hung'],
        ['base', 'ok'],
      ],
    )
    assert.deepEqual([report.clean, log], [false, ['hung', 'base']])
  })

  it('gives plugins the time that earlier phases did not use', async () => {
    const clock = fakeClock()
    const left: number[] = []
    const watcher = definePlugin({
      name: 'watcher',
      version: '1.0.0',
      setup({ host, hooks, onStop }) {
        left.push(host.shutdownLeftMs)
        hooks.on('onClose', () => clock.advance(29_000))
        onStop(() => void left.push(host.shutdownLeftMs))
      },
    })
    const log: string[] = []
    const host = hostOf([watcher(), hung(log, { stopMs: 10_000 })], { deadlineMs: 30_000 }, { clock })
    await host.start({ listen: false })
    const report = await host.stop()
    assert.deepEqual(left, [29_500, 500])
    assert.match(report.lines.join('\n'), /hung: hung after .* stop did not finish within 500 ms/)
  })

  it('covers a plugin that was being disabled when the shutdown began', { timeout: 60_000 }, async () => {
    const log: string[] = []
    const host = hostOf([hung(log)], { deadlineMs: 300 })
    await host.start({ listen: false })
    void host.disable('hung').catch(() => undefined)
    const report = await host.stop()
    assert.equal(report.plugins.find(({ plugin }) => plugin === 'hung')?.outcome, 'hung')
    assert.deepEqual(log, ['hung'], 'its stop ran once')
  })

  it('is the only one that counts as hung, not one inside of a plugin that then fails', async () => {
    for (const message of ['the store did not answer in time', '']) {
      const stop = () => Promise.reject(new DeadlineError(message))
      const host = hostOf([definePlugin({ name: 'saver', version: '1.0.0', setup() {}, stop })()], { deadlineMs: 5_000 })
      await host.start({ listen: false })
      const { plugins } = await host.stop()
      const row = plugins.find(({ plugin }) => plugin === 'saver')
      assert.deepEqual([row?.outcome, row?.error], ['failed', message])
    }
  })

  it('logs a plugin that finishes its work slowly as information, not as an error', async () => {
    const clock = fakeClock()
    const log = memoryLogger()
    const drains = definePlugin({ name: 'drains', version: '1.0.0', setup() {}, stop: () => clock.advance(5_000) })
    const host = hostOf([drains()], { deadlineMs: 30_000 }, { clock, log })
    await host.start({ listen: false })
    const report = await host.stop()
    assert.deepEqual([report.clean, report.lines, report.notes[0]], [true, [], 'drains: stopped after 5000 ms'])
    assert.deepEqual(
      log.lines.filter(({ msg }) => msg?.startsWith('drains: stopped')).map(({ level }) => level),
      ['info'],
    )
  })

  it('warns in production about a port that closes before a load balancer can notice, and in config:check', async () => {
    const warningsOf = async (environment: string, shutdown: { deadlineMs: number; delayMs?: number }, more = {}): Promise<number> => {
      const log = memoryLogger()
      const host = hostOf([], shutdown, { log, env: plainEnv({ APP_NAME: 'shop', NODE_ENV: environment, PORT: '0', ...more }) })
      await host.start()
      await host.stop()
      const logged = log.lines.filter(({ level, msg }) => level === 'warn' && msg?.startsWith('shutdown.delayMs is 0')).length
      assert.equal(host.view.warnings().length, logged)
      return logged
    }
    assert.equal(await warningsOf('production', { deadlineMs: 1_000 }), 1)
    assert.equal(await warningsOf('production', { deadlineMs: 1_000, delayMs: 0 }), 1)
    assert.equal(await warningsOf('production', { deadlineMs: 1_000, delayMs: 1 }), 0)
    assert.equal(await warningsOf('production', { deadlineMs: 1_000 }, { KUBERNETES_SERVICE_HOST: '10.0.0.1' }), 0)
    assert.equal(await warningsOf('test', { deadlineMs: 1_000 }), 0)
  })

  it('warns once in production about a missing name, with every role, and in config:check', async () => {
    const warningsOf = async (env: Readonly<Record<string, string>>, more: Partial<HostOptions> = {}, name?: string): Promise<number> => {
      const log = memoryLogger()
      const config = { ...(name === undefined ? {} : { app: { name } }), shutdown: { deadlineMs: 1_000, delayMs: 1 } }
      const host = new Host(config, {
        rootDir: '.',
        log,
        env: plainEnv({ PORT: '0', ZIN_DATA_DIR: `${import.meta.filename}/none`, ...env }),
        ...more,
      })
      await host.start()
      await host.stop()
      const logged = log.lines.filter(
        ({ level, msg }) => level === 'warn' && /^APP_NAME is not set, .* Set APP_NAME/.test(msg ?? ''),
      ).length
      assert.equal(host.view.warnings().length, logged)
      return logged
    }
    const production = { NODE_ENV: 'production' }
    assert.equal(await warningsOf(production), 1)
    assert.equal(await warningsOf(production, { roles: ['worker'] }), 1)
    assert.equal(await warningsOf({ ...production, APP_NAME: '' }), 1)
    assert.equal(await warningsOf({ ...production, APP_NAME: 'shop' }), 0)
    assert.equal(await warningsOf(production, {}, 'shop'), 0)
    assert.equal(await warningsOf({ NODE_ENV: 'test' }), 0)
  })

  it('returns the same report to all callers of stop', async () => {
    const host = hostOf([], { deadlineMs: 1_000 })
    await host.start({ listen: false })
    const [one, two] = await Promise.all([host.stop(), host.stop()])
    assert.equal(one, two)
    assert.equal((await host.stop()).clean, true)
  })

  it('ends event streams and idle connections without cutting a request', async () => {
    const streams = new EventStreams()
    const ticker = definePlugin({
      name: 'ticker',
      version: '1.0.0',
      setup({ hooks, route }) {
        hooks.on('onClose', () => streams.closeAll())
        route({ method: 'GET', path: '/events', summary: 'Ticks', handler: (ctx) => void streams.open(ctx, () => undefined) })
        route({ method: 'GET', path: '/now', summary: 'Responds at once', handler: () => ({}) })
      },
    })
    const host = await createTestHost({ plugins: [ticker()], listen: true })
    const agent = new Agent({ keepAlive: true })
    const open = async (path: string): Promise<IncomingMessage> => (await once(get(`${host.url}${path}`, { agent }), 'response'))[0]
    await once((await open('/now')).resume(), 'end')
    const events = (await open('/events')).resume()
    const ended = once(events, 'end')
    await once((await open('/now')).resume(), 'end')
    assert.equal((await host.stop()).forcedConnections, 0)
    await ended
    agent.destroy()
  })
})

describe('stopping an app that is still starting', () => {
  const stuck = (log: string[], phase: 'setup' | 'start' | 'ready', entered: () => void) => {
    const enter = (at: typeof phase): Promise<void> | undefined => (at === phase ? (entered(), never) : undefined)
    return definePlugin({
      name: 'stuck',
      version: '1.0.0',
      dependencies: ['base'],
      onBootFailure: 'continue',
      setup: () => enter('setup'),
      start: () => enter('start'),
      ready: () => enter('ready'),
      stop: () => void log.push('stuck'),
    })()
  }

  for (const phase of ['setup', 'start', 'ready'] as const) {
    it(`abandons a plugin that hangs in ${phase}, starts no other, and stops those that have started`, { timeout: 60_000 }, async () => {
      const log: string[] = []
      const late = definePlugin({
        name: 'late',
        version: '1.0.0',
        dependencies: ['stuck'],
        setup() {},
        start: () => void log.push('late starts'),
        ready: () => void log.push('late is ready'),
      })
      const entered = deferred()
      const host = hostOf([late(), stuck(log, phase, entered.resolve), base(log)], { deadlineMs: 300 })
      const started = assert.rejects(host.start(), { code: 'ZIN_BOOT_STOPPED' })
      await entered.promise
      const report = await host.stop('SIGTERM')
      await started
      assert.equal(report.clean, true, report.lines.join('; '))
      const stopped = { setup: [], start: ['stuck', 'base'], ready: ['late starts', 'stuck', 'base'] }[phase]
      assert.deepEqual(log, stopped)
      assert.equal(host.view.state, 'stopped')
    })
  }

  it('waits for plugins that are starting if they finish in time, and opens no port', async () => {
    const log: string[] = []
    const [entered, end] = [deferred(), deferred()]
    const slow = definePlugin({
      name: 'slow',
      version: '1.0.0',
      setup() {},
      async start() {
        entered.resolve()
        await end.promise
        log.push('started')
      },
      stop: () => void log.push('stopped'),
    })
    const host = hostOf([slow()], { deadlineMs: 30_000 })
    const started = assert.rejects(host.start(), { code: 'ZIN_BOOT_STOPPED' })
    await entered.promise
    const stopped = host.stop()
    end.resolve()
    assert.equal((await stopped).clean, true)
    await started
    assert.deepEqual([log, host.view.address], [['started', 'stopped'], undefined])
  })
})

describe('steps of onStopped', () => {
  const below = (log: string[], last: () => void | Promise<void>): Plugin =>
    definePlugin({
      name: 'exporter',
      version: '1.0.0',
      setup(ctx) {
        ctx.onStopped(last)
        ctx.onStop(() => void log.push('exporter'))
      },
    })()
  const dependents = (log: string[]): readonly Plugin[] => [
    base(log),
    definePlugin({ name: 'late', version: '1.0.0', setup() {}, stop: async () => void log.push('late') })(),
  ]

  it('run once all plugins have stopped, including those that stop later', async () => {
    const log: string[] = []
    const above = definePlugin({
      name: 'above',
      version: '1.0.0',
      dependencies: ['base', 'late'],
      setup: (ctx) => ctx.onStopped(() => void log.push('last')),
    })
    const host = hostOf([above(), ...dependents(log)], { deadlineMs: 5000 })
    await host.start()
    await host.stop()
    assert.deepEqual([log.at(-1), log.toSorted()], ['last', ['base', 'last', 'late']])
  })

  it('run once if only the plugin is disabled', async () => {
    const log: string[] = []
    const host = hostOf([below(log, () => void log.push('last'))], { deadlineMs: 5000 })
    await host.start()
    await host.disable('exporter')
    assert.deepEqual(log, ['exporter', 'last'])
    await host.stop()
    assert.deepEqual(log, ['exporter', 'last'])
  })

  it('are reported if they fail or hang, within the deadline of the shutdown', { timeout: 60_000 }, async () => {
    for (const [last, outcome] of [
      [() => Promise.reject(new Error('disk full')), 'failed'],
      [() => Promise.reject(new DeadlineError('the store did not answer in time')), 'failed'],
      [() => never, 'hung'],
    ] as const) {
      const host = hostOf([below([], last)], { deadlineMs: 300 })
      await host.start()
      const report = await host.stop()
      assert.equal(report.clean, false)
      assert.equal(report.plugins.find(({ plugin }) => plugin === 'exporter')?.outcome, outcome)
    }
  })
})
