import { defineSettings } from 'zin'

export const autoscaleSettings = defineSettings({
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
    summary: 'Seconds between two evaluations of a worker that gives no evaluationInterval',
  },
  WORKER_AUTO_SCALING_DRY_RUN: {
    type: 'bool',
    default: false,
    summary: 'Decide and record only; nothing is scaled and no worker changes its region',
  },
  WORKER_OFF_PEAK_SCALING: {
    type: 'bool',
    default: false,
    summary: 'Whether capacity is cut within WORKER_OFF_PEAK_SCHEDULE',
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
    summary: 'Share by which minWorkers and maxWorkers are cut within the window: 0.7 leaves 3 of 10, and at least 1',
  },
  WORKER_COST_OPTIMIZATION_ENABLED: {
    type: 'bool',
    default: false,
    summary: 'Run fewer and busier workers: 90 % instead of 75 % busy, twice drainSeconds, half of stabilizationSeconds',
  },
  WORKER_SPOT_INSTANCES: {
    type: 'bool',
    default: false,
    summary: 'Processes may vanish at any time: keep enough workers for the loss of one process',
  },
})
