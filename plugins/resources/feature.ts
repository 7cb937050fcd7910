import { defineWorkerFeature } from 'zin/plugins/workers'

export const resourceMonitoring = defineWorkerFeature({ plugin: 'resources', feature: 'resourceMonitoring' })
