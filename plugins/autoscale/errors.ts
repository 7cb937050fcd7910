import { defineErrors } from 'zin'

export const autoscaleErrors = defineErrors({
  AUTO_SCALING_OFF: {
    status: 409,
    message: (worker: string) => `Worker "${worker}" is not scaled: set features.autoScaling to true`,
    when: 'The scaling status of a worker is requested, but its `features.autoScaling` is not true',
    fix: 'Set `features.autoScaling` to true with `PUT /api/workers/:name`',
  },
  AUTOSCALE_UNAUTHORIZED: {
    status: 401,
    message: () => 'The key in x-api-key is wrong',
    when: 'The header `x-api-key` is not `AUTOSCALE_KEY`',
    fix: 'Send the key of the app that serves the request',
  },
  AUTOSCALE_KEY_TOO_SHORT: {
    message: (bytes: number, least: number) =>
      `autoscale: AUTOSCALE_KEY has ${bytes} bytes and production requires ${least} or more; create one with: openssl rand -hex 32`,
    when: 'At boot in production: `AUTOSCALE_KEY` has fewer than 32 bytes',
    fix: 'Set a longer one, such as one of `openssl rand -hex 32`',
  },
  AUTOSCALE_MISCONFIGURED: {
    message: (option: string, why: string) => `autoscale: option "${option}" is invalid: ${why}`,
    when: 'At boot: `timeZone` is not a time zone, or `regions` lists a region twice',
    fix: 'Correct the option that the message names',
  },
})
