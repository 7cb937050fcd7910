import { defineWorkerFeature } from 'zin/plugins/workers'

/** The feature `observability` of a worker: false counts it under `other`, and traces none of its jobs. */
export const observabilityFeature = defineWorkerFeature({ plugin: 'observability', feature: 'observability' })
