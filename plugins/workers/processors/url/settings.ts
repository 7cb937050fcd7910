import { join } from 'node:path'
import type { Clock, HostView } from 'zin'
import type { WorkerSettings } from '../../settings.js'
import type { Egress } from './fetch-code.js'
import type { RemoteCodeOptions } from './remote-code.js'
import { allowedHosts } from './source.js'

export type RemoteSettings = Pick<
  WorkerSettings,
  | 'REMOTE_PROCESSOR_ALLOWLIST'
  | 'PROCESSOR_FETCH_TIMEOUT'
  | 'PROCESSOR_FETCH_MAX_SIZE'
  | 'PROCESSOR_FETCH_RETRY_ATTEMPTS'
  | 'PROCESSOR_FETCH_RETRY_BACKOFF_MS'
  | 'PROCESSOR_CACHE_DEFAULT_TTL'
  | 'PROCESSOR_CACHE_MAX_TTL'
  | 'PROCESSOR_CACHE_MAX_SIZE'
>

export interface RemoteInput {
  readonly settings: RemoteSettings
  readonly app: HostView['app']
  readonly clock: Clock
  readonly egress: Egress | undefined
}

/** Converts the settings for processors from URLs. */
export function remoteCodeOptions({ settings, app, clock, egress }: RemoteInput): RemoteCodeOptions {
  return {
    folder: join(app.dataDir, 'processors'),
    rules: { allowHosts: allowedHosts(settings.REMOTE_PROCESSOR_ALLOWLIST), pinRequired: app.production },
    fetch: {
      timeoutMs: settings.PROCESSOR_FETCH_TIMEOUT,
      maxBytes: settings.PROCESSOR_FETCH_MAX_SIZE,
      attempts: settings.PROCESSOR_FETCH_RETRY_ATTEMPTS,
      backoffMs: settings.PROCESSOR_FETCH_RETRY_BACKOFF_MS,
    },
    freshness: { defaultTtl: settings.PROCESSOR_CACHE_DEFAULT_TTL * 1000, maxTtl: settings.PROCESSOR_CACHE_MAX_TTL * 1000 },
    cacheBytes: settings.PROCESSOR_CACHE_MAX_SIZE,
    clock,
    ...(egress === undefined ? {} : { egress }),
  }
}
