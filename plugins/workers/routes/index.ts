import type { EventStreams, Route } from 'zin'
import type { Workers } from '../contract.js'
import { eventRoutes } from './events.js'
import { jobRoutes } from './jobs.js'
import type { Demand } from './shared.js'
import { versionRoutes } from './versions.js'
import { workerRoutes } from './workers.js'

/** The worker API. */
export function routesOf(workers: Workers, streams: EventStreams, demand: Demand): readonly Route[] {
  return [...workerRoutes(workers, demand), ...versionRoutes(workers, demand), ...jobRoutes(workers), ...eventRoutes(workers, streams)]
}
