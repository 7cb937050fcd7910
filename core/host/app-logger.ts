import { join } from 'node:path'
import { createLogger, type OwnedLogger } from '../log/logger.js'
import type { AppSettings } from './app-settings.js'
import type { HostView } from './view.js'

/** The logger that the settings of an app describe. */
export function appLogger(app: HostView['app'], settings: AppSettings): OwnedLogger {
  const { LOG_LEVEL: level, LOG_CHANNEL: channel, LOG_FORMAT: format } = settings
  const file = channel === 'file' ? { destination: join(app.dataDir, 'logs', 'zin.log') } : {}
  return createLogger({ name: app.name, level, channel, format, ...file })
}
