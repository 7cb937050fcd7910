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
  /** What the process is to do. None: a command. */
  readonly roles: readonly Role[]
  /** Where to listen, over what the configuration says. */
  readonly bind?: { readonly host?: string; readonly port?: number }
  /** Told as soon as the host exists and before it sets plugins up. */
  readonly onHost?: (host: Host) => void
}

/** Loads the app that `cwd` is in and sets its plugins up. Throws what loading throws, or a BootError. */
export async function openApp({ cwd, environment, roles, bind, onHost }: OpenAppOptions): Promise<OpenApp> {
  const loaded = await loadConfig(cwd, environment)
  // Loaded here: `zin help` does without them.
  const { checkConfig } = await import('../host/check-config.js')
  const { Host: HostClass } = await import('../host/host.js')
  const own = checkConfig(loaded.exported, loaded.file)
  const config = { ...own, app: { ...own.app, ...bind } }
  const host = new HostClass(config, { rootDir: loaded.rootDir, env: loaded.env, roles })
  const close = async (): Promise<void> => {
    await host.stop('the command is done')
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
