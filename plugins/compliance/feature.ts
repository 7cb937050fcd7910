import { defineWorkerFeature } from 'zin/plugins/workers'

/** The feature `compliance` of a worker: if false, the outcomes of its jobs are not recorded in the audit log. Default true. */
export const compliance = defineWorkerFeature({ plugin: 'compliance', feature: 'compliance' })
