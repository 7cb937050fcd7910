import { defineWorkerFeature } from 'zin/plugins/workers'

/** The feature `compliance` of a worker: false leaves the outcomes of its jobs out of the audit log. Default true. */
export const compliance = defineWorkerFeature({ plugin: 'compliance', feature: 'compliance' })
