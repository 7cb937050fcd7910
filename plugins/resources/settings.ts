import { defineSettings } from 'zin'

export const resourceSettings = defineSettings({
  WORKER_RESOURCE_MONITORING: {
    type: 'bool',
    default: true,
    summary: 'Whether this process may monitor its resources; if false, it never does',
  },
})
