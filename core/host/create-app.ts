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
   * Folder of the app; relative paths are resolved against it. Default: the working directory; the app then does not record its address in
   * the data folder, which CLI commands use to find it.
   */
  readonly rootDir?: string
  /** The complete environment; no `.env` is read. Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Roles of the process. Default: http and worker. */
  readonly roles?: readonly Role[]
  /** Default: a logger configured by `LOG_LEVEL`, `LOG_CHANNEL` and `LOG_FORMAT`, which `stop` closes. */
  readonly log?: Logger
  /** Default: the system clock. */
  readonly clock?: Clock
  /** Services provided by the caller instead of by plugins. */
  readonly services?: readonly ProvidedService[]
  /**
   * Whether SIGTERM, SIGINT and an error that nothing caught stop the app and then exit the process; after such an error with 1. Default false:
   * the caller handles them.
   */
  readonly signals?: boolean
}

/** An app created by {@link createApp}. */
export interface App {
  /** Its address, such as `http://127.0.0.1:7777`; undefined before `start`, after `stop` and without the role `http`. */
  readonly url: string | undefined
  /**
   * Boots the app; can be called once. Afterwards, all plugins are set up, started and ready, and the port is open. Throws ZIN_BOOT_FAILED
   * with every cause in `details`, after undoing everything; ZIN_BOOT_STOPPED if the app is stopped meanwhile; ZIN_CONFIG_INVALID.
   */
  start(): Promise<Address | undefined>
  /** Returns a service of the running app. Throws ZIN_SERVICE_MISSING if no plugin provides it. */
  service<T>(ref: ServiceRef<T>): T
  /** Drains requests, stops plugins and closes connections within `shutdown.deadlineMs`. Does nothing if the app is not running. */
  stop(reason?: string): Promise<ShutdownReport>
}

/**
 * Creates an app that is started and stopped from code instead of by `zin start`. No file is needed, and the caller controls the process.
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
      if (host === undefined) throw hostErrors.ZIN_HOST_STATE('return a service', 'created')
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

const nothingStopped: ShutdownReport = { clean: true, plugins: [], forcedConnections: 0, lines: [], notes: [] }

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
