import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { plainEnv } from '../config/read-settings.js'
import type { ZinConfig } from '../host/define-config.js'
import { Host } from '../host/host.js'
import type { ProvidedService } from '../host/host-options.js'
import type { ShutdownReport } from '../host/shutdown.js'
import type { InjectRequest, InjectResponse } from '../http/inject.js'
import { type MemoryLine, memoryLogger } from '../log/memory-logger.js'
import type { ServiceRef } from '../services/ref.js'
import { urlOf } from '../util/address.js'
import type { Clock } from '../util/clock.js'
import { describeLeaks, LeakTracer } from './leaks.js'

/** Creates a service for a host without the plugin that provides it. Reading a member that is not defined throws. */
export function fake<T extends object>(ref: ServiceRef<T>, service: Partial<T>): ProvidedService {
  const guarded = new Proxy(service, {
    get: (target, key) => {
      if (key in target || typeof key === 'symbol' || key === 'then') return target[key as keyof typeof target]
      throw new Error(`the fake of service "${ref.id}" has no "${key}"`)
    },
  })
  return { ref, service: guarded }
}

/** A configuration, and replacements for the real environment of its host. */
export interface TestHostOptions extends ZinConfig {
  /** Services that replace those of plugins, created with `fake`. */
  readonly services?: readonly ProvidedService[]
  /**
   * Settings of the host, in addition to `NODE_ENV=test`, `PORT=0`, `LOG_REQUESTS=false` and the data folder. Nothing is read from the
   * environment of the process.
   */
  readonly env?: Readonly<Record<string, string>>
  /** The clock, e.g. `fakeClock()`. Default: the system clock. */
  readonly clock?: Clock
  /** Folder of the app. Default: a fresh folder that `stop` removes. */
  readonly rootDir?: string
  /** Data folder of the host. Default: a fresh folder that `stop` removes, so that a test never touches the data of an app. */
  readonly dataDir?: string
  /** Whether to listen on a free port, see `url`. Default false: use `inject`. */
  readonly listen?: boolean
  /** Default: http and worker. */
  readonly roles?: readonly ('http' | 'worker')[]
}

export interface TestHost {
  /** The host itself: `host.view` lists plugins, routes, hooks and settings. */
  readonly host: Host
  /** `http://127.0.0.1:<port>` if it listens, otherwise empty. */
  readonly url: string
  /** Folder of the app. */
  readonly rootDir: string
  /** Lines logged so far. */
  readonly logs: readonly MemoryLine[]
  /** All lines logged so far as one text, e.g. to assert that it contains no secret. */
  logText(): string
  /** Sends a request through the whole HTTP stack without a socket. */
  inject(request: InjectRequest): Promise<InjectResponse>
  /** Returns a service of the running app. Throws ZIN_SERVICE_MISSING if no plugin provides it. */
  service<T>(ref: ServiceRef<T>): T
  /** Returns the arguments of every emission of a notify or settle hook so far. */
  recorded(hook: string): readonly (readonly unknown[])[]
  /** Enables a plugin that is disabled or was passed through `registerOnly`. */
  enable(plugin: string): Promise<void>
  /** Disables a plugin. Rejects while another plugin depends on it. */
  disable(plugin: string): Promise<void>
  /** Stops the host. Rejects if a plugin did not stop cleanly or left something open. */
  stop(): Promise<ShutdownReport>
  /** Rejects if the plugin, or any plugin by default, has something open. */
  assertNothingOpen(plugin?: string): Promise<void>
}

/**
 * Boots plugins for a test, with an isolated environment and data folder. `stop` rejects if something was left open.
 *
 * @example
 * const host = await createTestHost({ plugins: [hello({ who: 'you' })] })
 * const response = await host.inject({ method: 'GET', path: '/hello' })
 * await host.stop()
 */
export async function createTestHost(options: TestHostOptions = {}): Promise<TestHost> {
  const { services, env, clock, rootDir, dataDir, listen = false, roles, ...config } = options
  const scratch = await mkdtemp(join(tmpdir(), 'zin-test-'))
  const root = rootDir ?? scratch
  const tracer = new LeakTracer()
  const log = memoryLogger()
  const calls: { readonly name: string; readonly args: readonly unknown[] }[] = []
  const cleanUp = async (): Promise<void> => {
    tracer.close()
    await rm(scratch, { recursive: true, force: true })
  }
  try {
    const host = new Host(config, {
      rootDir: root,
      env: plainEnv({ NODE_ENV: 'test', PORT: '0', LOG_REQUESTS: 'false', ZIN_DATA_DIR: dataDir ?? join(scratch, '.zin', 'data'), ...env }),
      log,
      instrument: tracer.run,
      ...(services === undefined ? {} : { services }),
      ...(clock === undefined ? {} : { clock }),
      ...(roles === undefined ? {} : { roles }),
    })
    host.record((name, args) => void calls.push({ name, args }))
    const address = await host.start({ listen })
    const assertNothingOpen = async (plugin?: string): Promise<void> => {
      const leaks = await tracer.remaining(plugin)
      if (leaks.length > 0) throw new Error(describeLeaks(leaks))
    }
    return {
      host,
      url: address === undefined ? '' : urlOf(address),
      rootDir: root,
      logs: log.lines,
      logText: () => log.text(),
      inject: (request) => host.http.inject(request),
      service: (ref) => host.service(ref),
      recorded: (hook) => calls.filter((call) => call.name === hook).map((call) => call.args),
      enable: (plugin) => host.enable(plugin),
      disable: (plugin) => host.disable(plugin),
      assertNothingOpen,
      stop: async () => {
        const report = await host.stop('test')
        try {
          if (!report.clean) throw new Error(`the host did not stop cleanly: ${report.lines.join('; ')}`)
          await assertNothingOpen()
          return report
        } finally {
          await cleanUp()
        }
      },
    }
  } catch (error) {
    await cleanUp()
    throw error
  }
}
