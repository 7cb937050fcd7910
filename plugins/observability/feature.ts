import { defineWorkerFeature } from 'zin/plugins/workers'

/** The feature `observability` of a worker: if false, its attempts are counted under `other` and its jobs are not traced. */
export const observabilityFeature = defineWorkerFeature({ plugin: 'observability', feature: 'observability' })
