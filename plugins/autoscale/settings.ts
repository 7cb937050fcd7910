import { defineSettings } from 'zin'

export const autoscaleSettings = defineSettings({
  AUTOSCALE_KEY: {
    type: 'string',
    default: '',
    secret: true,
    summary:
      'Key with which a scaler such as KEDA reads `GET /api/workers/:name/autoscale`, in the header `x-api-key`; it permits nothing else. At least 32 bytes in production',
  },
  WORKER_AUTO_SCALING_ENABLED: {
    type: 'bool',
    default: false,
    summary: 'Whether workers with features.autoScaling are scaled',
  },
  WORKER_AUTO_SCALING_INTERVAL: {
    type: 'int',
    default: 30,
    min: 1,
    max: 3600,
    summary: 'Seconds between two evaluations of a worker without its own evaluationInterval',
  },
  WORKER_AUTO_SCALING_DRY_RUN: {
    type: 'bool',
    default: false,
    summary: 'Only decide and record: no worker is scaled or moved to another region',
  },
  WORKER_OFF_PEAK_SCALING: {
    type: 'bool',
    default: false,
    summary: 'Whether capacity is reduced within WORKER_OFF_PEAK_SCHEDULE',
  },
  WORKER_OFF_PEAK_SCHEDULE: {
    type: 'string',
    default: '22:00-06:00',
    pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]$',
    form: 'HH:MM-HH:MM, such as 22:00-06:00',
    summary: 'Daily window HH:MM-HH:MM in the time zone of the option `timeZone`; it may wrap midnight',
  },
  WORKER_OFF_PEAK_REDUCTION: {
    type: 'number',
    default: 0.7,
    min: 0,
    max: 1,
    summary: 'Share by which minWorkers and maxWorkers are reduced within the window: 0.7 leaves 3 of 10, and at least 1',
  },
  WORKER_COST_OPTIMIZATION_ENABLED: {
    type: 'bool',
    default: false,
    summary: 'Run fewer, busier workers: 90 % instead of 75 % utilization, twice drainSeconds, half of stabilizationSeconds',
  },
  WORKER_SPOT_INSTANCES: {
    type: 'bool',
    default: false,
    summary: 'Processes may be terminated at any time: keep enough workers to survive the loss of one process',
  },
})
