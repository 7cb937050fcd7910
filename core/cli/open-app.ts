import { type LoadedConfig, loadConfig } from '../config/load.js'
import type { Host } from '../host/host.js'
import type { Role } from '../host/view.js'
import { writeCommandCache } from './command-cache.js'
import { zinPackage } from './package-root.js'

export interface OpenApp {
  readonly loaded: LoadedConfig
  /** Prepared: every plugin is set up, nothing is started. */
  readonly host: Host
  /** Stops what was started. */
  close(): Promise<void>
}

export interface OpenAppOptions {
  readonly cwd: string
  /** Values of `.env` that are missing are written into it. */
  readonly environment: Record<string, string | undefined>
  /** What the process is to do. None: a command, whose log lines go to stderr and begin at `warn`. */
  readonly roles: readonly Role[]
  /** Where to listen, over what the configuration says. */
  readonly bind?: { readonly host?: string; readonly port?: number }
  /** Told as soon as the host exists and before it sets plugins up. */
  readonly onHost?: (host: Host) => void
}

/** Loads the app that `cwd` is in and sets its plugins up. Throws what loading throws, or a BootError. */
export async function openApp({ cwd, environment, roles, bind, onHost }: OpenAppOptions): Promise<OpenApp> {
  const loaded = await loadConfig(cwd, environment)
  const { Host: HostClass } = await import('../host/host.js')
  const own = roles.length > 0 ? undefined : await commandLogger(loaded.env.values)
  const config = { ...loaded.config, app: { ...loaded.config.app, ...bind } }
  const host = new HostClass(config, { rootDir: loaded.rootDir, env: loaded.env, roles, ...(own === undefined ? {} : { log: own }) })
  const close = async (): Promise<void> => {
    await host.stop('the command is done')
    await own?.close()
  }
  onHost?.(host)
  try {
    await host.prepare()
  } catch (error) {
    await close()
    throw error
  }
  await writeCommandCache(loaded.file, zinPackage().version, host.commands())
  return { loaded, host, close }
}

/** Stdout belongs to the command's answer. Malformed settings fall back here; the host reports them. */
async function commandLogger(env: Readonly<Record<string, string | undefined>>): Promise<import('../log/logger.js').OwnedLogger> {
  const { createLogger } = await import('../log/logger.js')
  const levels = ['trace', 'debug', 'warn', 'error', 'fatal', 'silent'] as const
  const level = levels.find((name) => name === env.LOG_LEVEL) ?? 'warn'
  return createLogger({ level, channel: 'stderr', format: env.LOG_FORMAT === 'json' ? 'json' : 'text', name: env.APP_NAME || 'zin-app' })
}
