import { defineErrors } from 'zin'

export const autoscaleErrors = defineErrors({
  AUTO_SCALING_OFF: {
    status: 409,
    message: (worker: string) => `Worker "${worker}" is not scaled: set features.autoScaling to true`,
    when: 'The scaling status of a worker is requested, but its `features.autoScaling` is not true',
    fix: 'Set `features.autoScaling` to true with `PUT /api/workers/:name`',
  },
  AUTOSCALE_MISCONFIGURED: {
    message: (option: string, why: string) => `autoscale: option "${option}" is invalid: ${why}`,
    when: 'At boot: `timeZone` is not a time zone, or `regions` lists a region twice',
    fix: 'Correct the option that the message names',
  },
})
