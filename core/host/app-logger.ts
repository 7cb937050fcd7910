import { join } from 'node:path'
import { createLogger, type OwnedLogger } from '../log/logger.js'
import type { AppSettings } from './app-settings.js'
import type { HostView } from './view.js'

/**
 * Creates the logger of an app from its settings. A command uses stdout for its output, so it logs to stderr, at level `warn` and above
 * unless `LOG_LEVEL` is set.
 */
export function appLogger(app: HostView['app'], settings: AppSettings, command?: { readonly levelIsSet: boolean }): OwnedLogger {
  const { LOG_LEVEL, LOG_CHANNEL, LOG_FORMAT: format } = settings
  const level = command === undefined || command.levelIsSet ? LOG_LEVEL : 'warn'
  const channel = command !== undefined && LOG_CHANNEL === 'console' ? 'stderr' : LOG_CHANNEL
  const file = channel === 'file' ? { destination: join(app.dataDir, 'logs', 'zin.log') } : {}
  return createLogger({ name: app.name, level, channel, format, ...file })
}
