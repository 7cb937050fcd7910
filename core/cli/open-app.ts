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
  /** Values that only `.env` defines are written into it. */
  readonly environment: Record<string, string | undefined>
  /** Roles of the process. Empty for a command. */
  readonly roles: readonly Role[]
  /** Address to listen on; overrides the configuration. */
  readonly bind?: { readonly host?: string; readonly port?: number }
  /** Called when the host has been created, before it sets up plugins. */
  readonly onHost?: (host: Host) => void
}

/** Loads the app that contains `cwd` and sets up its plugins. Throws the errors of `loadConfig`, or a BootError. */
export async function openApp({ cwd, environment, roles, bind, onHost }: OpenAppOptions): Promise<OpenApp> {
  const loaded = await loadConfig(cwd, environment)
  // Imported lazily: `zin help` does not need them.
  const { checkConfig } = await import('../host/check-config.js')
  const { Host: HostClass } = await import('../host/host.js')
  const own = checkConfig(loaded.exported, loaded.file)
  const config = { ...own, app: { ...own.app, ...bind } }
  const host = new HostClass(config, { rootDir: loaded.rootDir, codeDir: loaded.codeDir, env: loaded.env, roles })
  const close = async (): Promise<void> => {
    await host.stop('the command is done')
  }
  onHost?.(host)
  if (loaded.notice !== undefined && roles.length > 0) host.log.warn(loaded.notice)
  try {
    await host.prepare()
  } catch (error) {
    await close()
    throw error
  }
  await writeCommandCache(loaded, zinPackage().version, host.commands())
  return { loaded, host, close }
}
