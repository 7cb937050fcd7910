import { defineErrors } from 'zin'

export const workerHealthErrors = defineErrors({
  WORKER_HEALTH_OPTION_INVALID: { status: 500, message: (what: string) => `worker-health: ${what}` },
  WORKER_UNHEALTHY: {
    status: 500,
    message: (failures: number, why: string) =>
      `${failures} health checks in a row failed, the last one: ${why}. Mend the cause and restart the worker`,
  },
})
