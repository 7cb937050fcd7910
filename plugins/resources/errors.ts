import { defineErrors } from 'zin'

export const resourceErrors = defineErrors({
  RESOURCE_MONITORING_DISABLED: {
    status: 409,
    message: () => 'Resource monitoring cannot start: WORKER_RESOURCE_MONITORING is false. Set it to true and restart the app',
    when: 'An operator starts resource monitoring while `WORKER_RESOURCE_MONITORING` is false',
    fix: 'Set `WORKER_RESOURCE_MONITORING` to true and restart the app',
  },
  INVALID_ACTION: {
    usage: true,
    message: (action: string) => `Invalid action "${action}". Use "start" or "stop": zin resource:monitor start`,
    when: '`zin resource:monitor` is called with an action other than `start` or `stop`',
    fix: 'Use `start` or `stop`',
  },
})
