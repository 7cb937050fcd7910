import { plainEnv } from '../config/read-settings.js'
import type { Logger } from '../log/types.js'
import type { ServiceRef } from '../services/ref.js'
import { type Address, urlOf } from '../util/address.js'
import type { Clock } from '../util/clock.js'
import type { ZinConfig } from './define-config.js'
import { hostErrors } from './errors.js'
import type { Host } from './host.js'
import type { ProvidedService } from './host-options.js'
import type { ShutdownReport } from './shutdown.js'
import { runWithSignals } from './signals.js'
import type { Role } from './view.js'

/** Options of {@link createApp}. */
export interface AppOptions {
  /**
   * Folder of the app, where relative paths start. Default: the working directory; then the app does not note in its data folder where
   * it listens, which CLI commands use to find it.
   */
  readonly rootDir?: string
  /** The whole environment: no `.env` is read. Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Roles of the process. Default: http and worker. */
  readonly roles?: readonly Role[]
  /** Default: made from `LOG_LEVEL`, `LOG_CHANNEL` and `LOG_FORMAT`, and closed by `stop`. */
  readonly log?: Logger
  /** Default: the system clock. */
  readonly clock?: Clock
  /** Services provided from outside, in place of plugins. */
  readonly services?: readonly ProvidedService[]
  /** Whether SIGTERM and SIGINT stop the app and then end the process. Default false: the caller handles both. */
  readonly signals?: boolean
}

/** An app created by {@link createApp}. */
export interface App {
  /** Where it listens, such as `http://127.0.0.1:7777`; absent before `start`, after `stop` and without the role `http`. */
  readonly url: string | undefined
  /**
   * Boots, once: plugins are set up, started and ready, and the port is open. Throws ZIN_BOOT_FAILED, with every cause in `details` and
   * all undone, ZIN_BOOT_STOPPED when it is stopped meanwhile, or ZIN_CONFIG_INVALID and ZIN_SETTING_INVALID.
   */
  start(): Promise<Address | undefined>
  /** A service of the running app. Throws ZIN_SERVICE_MISSING when no plugin provides it. */
  service<T>(ref: ServiceRef<T>): T
  /** Ends requests, plugins and connections within `shutdown.deadlineMs`. Does nothing when the app is not running. */
  stop(reason?: string): Promise<ShutdownReport>
}

/**
 * An app that is started and stopped from code instead of by `zin start`: no file is needed, and the caller controls the process.
 *
 * @example
 * const app = createApp({ app: { port: 0 }, plugins: [hello()] })
 * await app.start()
 * await fetch(`${app.url}/hello`)
 * await app.stop()
 */
export function createApp(config: ZinConfig, options: AppOptions = {}): App {
  let making: Promise<Host> | undefined
  let host: Host | undefined
  let ignoreSignals = (): void => undefined
  return {
    get url() {
      const address = host?.view.address
      return address && urlOf(address)
    },
    async start() {
      making ??= makeHost(config, options)
      host = await making
      if (options.signals && host.view.state === 'created') ignoreSignals = runWithSignals(host)
      try {
        return await host.start()
      } catch (error) {
        if (host.view.state === 'stopped') ignoreSignals()
        throw error
      }
    },
    service(ref) {
      if (host === undefined) throw hostErrors.ZIN_HOST_STATE('give a service', 'created')
      return host.service(ref)
    },
    async stop(reason = 'stop') {
      const made = await making?.catch(() => undefined)
      if (made === undefined) return nothingStopped
      try {
        return await made.stop(reason)
      } finally {
        ignoreSignals()
      }
    },
  }
}

const nothingStopped: ShutdownReport = { clean: true, plugins: [], forcedConnections: 0, lines: [] }

async function makeHost(config: ZinConfig, { rootDir, env = process.env, ...options }: AppOptions): Promise<Host> {
  // Imported lazily: code that imports `zin` for a type or an error does not need them.
  const [{ checkConfig }, { Host: HostClass }] = await Promise.all([import('./check-config.js'), import('./host.js')])
  return new HostClass(checkConfig(config, 'the configuration given to createApp'), {
    ...options,
    rootDir: rootDir ?? process.cwd(),
    env: plainEnv(env),
    runFile: rootDir !== undefined,
  })
}
