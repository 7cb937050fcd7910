import type { EnvSource } from '../config/read-settings.js'
import type { Logger } from '../log/types.js'
import type { ServiceRef } from '../services/ref.js'
import type { Clock } from '../util/clock.js'
import type { Instrument } from './phases.js'
import type { Role } from './view.js'

/** A service provided by the caller instead of by a plugin. */
export interface ProvidedService {
  // biome-ignore lint/suspicious/noExplicitAny: a ref of any shape
  readonly ref: ServiceRef<any>
  readonly service: unknown
}

export interface HostOptions {
  /** Folder of the app; relative paths are resolved against it. */
  readonly rootDir: string
  /** Folder of its code: that of the app, or its build. Default: `rootDir`. */
  readonly codeDir?: string
  /** Default: `process.env`. */
  readonly env?: EnvSource
  readonly clock?: Clock
  /** Default: a logger configured by `LOG_LEVEL`, `LOG_CHANNEL` and `LOG_FORMAT`, closed by `stop`; without a role it never writes to stdout. */
  readonly log?: Logger
  /** Default: http and worker. */
  readonly roles?: readonly Role[]
  readonly services?: readonly ProvidedService[]
  readonly instrument?: Instrument
  /** Whether to record the address in the data folder, for commands. Default true. */
  readonly runFile?: boolean
}
