import { defineErrors } from 'zin'

export const workerHealthErrors = defineErrors({
  WORKER_UNHEALTHY: {
    message: (failures: number, why: string) =>
      `${failures} health checks in a row failed, the last one: ${why}. Fix the cause and restart the worker`,
    when: 'In `lastError` of a worker that its health checks made `FAILED`',
    fix: 'Fix the cause that it names and restart the worker',
  },
})
