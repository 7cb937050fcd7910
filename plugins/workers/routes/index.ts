import type { Clock, EventStreams, Route } from 'zin'
import type { Workers } from '../contract.js'
import { countsRoutes } from './counts.js'
import { eventRoutes } from './events.js'
import { jobRoutes } from './jobs.js'
import { nodeRoutes } from './nodes.js'
import type { Access } from './shared.js'
import { versionRoutes } from './versions.js'
import { workerRoutes } from './workers.js'

/** The worker API. */
export function routesOf(workers: Workers, streams: EventStreams, access: Access, clock: Clock): readonly Route[] {
  const { demand } = access
  return [
    ...workerRoutes(workers, demand),
    ...nodeRoutes(workers),
    ...versionRoutes(workers, access),
    ...countsRoutes(workers, clock),
    ...jobRoutes(workers, access),
    ...eventRoutes(workers, streams),
  ]
}
