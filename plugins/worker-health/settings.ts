import { defineSettings } from 'zin'

export const workerHealthSettings = defineSettings({
  WORKER_HEALTH_CHECK_INTERVAL: {
    type: 'int',
    default: 60,
    min: 1,
    max: 86_400,
    summary: 'Seconds between two checks of a worker on one node, with 10 % jitter',
  },
})
