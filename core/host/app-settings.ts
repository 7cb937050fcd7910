import { isAbsolute, join } from 'node:path'
import type { EnvSource } from '../config/read-settings.js'
import { defineSettings, type SettingValues } from '../config/settings.js'
import { defaultDeadlineMs, type ZinConfig } from './define-config.js'
import type { HostOptions } from './host-options.js'
import type { HostView } from './view.js'

/** Settings that the core reads. */
export const appSettings = defineSettings({
  NODE_ENV: {
    type: 'string',
    default: 'development',
    summary:
      'Environment of the app; all but development, dev, local and test count as production: errors are redacted, unsafe settings refused',
  },
  APP_NAME: { type: 'string', default: 'zin-app', summary: 'Name of the app; prefix of its keys in shared stores' },
  HOST: { type: 'string', default: '127.0.0.1', summary: 'Address to listen on' },
  PORT: { type: 'int', default: 7777, min: 0, max: 65_535, summary: 'Port to listen on; 0 picks a free one' },
  ZIN_DATA_DIR: { type: 'string', default: '.zin/data', summary: 'Folder for everything the app keeps on disk; relative to zin.config.ts' },
  LOG_LEVEL: {
    type: 'enum',
    values: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    default: 'info',
    summary: 'Minimum level that is logged',
  },
  LOG_CHANNEL: {
    type: 'enum',
    values: ['console', 'stderr', 'file', 'silent'],
    default: 'console',
    summary: 'Where log lines go; `file` is logs/zin.log in the data folder',
  },
  LOG_REQUESTS: {
    type: 'bool',
    default: true,
    summary: 'Whether requests are logged: at level info, probes at debug',
  },
  LOG_FORMAT: { type: 'enum', values: ['text', 'json'], default: 'text', summary: 'Format of log lines' },
})

export type AppSettings = SettingValues<typeof appSettings>

const nonProduction: ReadonlySet<string> = new Set(['', 'development', 'dev', 'local', 'test'])

/** A misspelled or unknown environment counts as production, which is the stricter mode. */
function isProduction(environment: string): boolean {
  return !nonProduction.has(environment.trim().toLowerCase())
}

/** Information about the app for plugins. The configuration overrides settings. */
export function describeApp(
  config: ZinConfig,
  settings: AppSettings,
  { rootDir, codeDir = rootDir }: Pick<HostOptions, 'codeDir' | 'rootDir'>,
  envFile?: string,
): HostView['app'] {
  const { app = {} } = config
  const bind = { host: app.host ?? settings.HOST, port: app.port ?? settings.PORT }
  const allowedHosts = app.allowedHosts ?? (isLoopback(bind.host) ? loopbackNames : undefined)
  return {
    name: app.name ?? settings.APP_NAME,
    environment: settings.NODE_ENV,
    production: isProduction(settings.NODE_ENV),
    rootDir,
    codeDir,
    ...(envFile === undefined ? {} : { envFile }),
    dataDir: isAbsolute(settings.ZIN_DATA_DIR) ? settings.ZIN_DATA_DIR : join(rootDir, settings.ZIN_DATA_DIR),
    bind,
    ...(allowedHosts === undefined ? {} : { allowedHosts }),
    shutdownMs: config.shutdown?.deadlineMs ?? defaultDeadlineMs,
  }
}

/** Warns of a production app without a name: it shares the default with every other one. */
export function nameWarnings({ app }: ZinConfig, env: EnvSource, { name, production }: HostView['app']): readonly string[] {
  if (!production || app?.name !== undefined || (env.values.APP_NAME ?? '') !== '') return []
  return [
    `APP_NAME is not set, so this app is called "${name}", like every other one without a name, and would share its keys in Redis with them. Set APP_NAME in the environment, or app.name in the configuration; if it already has data under this name, set it to ${name}`,
  ]
}

/** Host names by which a browser on this machine reaches a loopback bind. */
const loopbackNames: readonly string[] = ['127.0.0.1', 'localhost', '[::1]']

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.')
}
