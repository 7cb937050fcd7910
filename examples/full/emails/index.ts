import { definePlugin, ZinError } from 'zin'
import { workersService } from 'zin/plugins/workers'

/** Creates the worker `email-sender` on the queue `emails` if it does not exist. Whether it runs is up to the operator. */
export const emails = definePlugin({
  name: 'emails',
  version: '1.0.0',
  description: 'Creates the worker that sends emails',
  uses: { workers: workersService },
  setup() {},
  async ready({ services, host, plugin }) {
    // A CLI command has no role, and must not change anything as a side effect.
    if (host.roles.size === 0) return
    try {
      await services.workers.as(plugin.name).create(
        {
          name: 'email-sender',
          queueName: 'emails',
          processor: 'processors/email-sender.ts',
          healthCheck: 'processors/email-sender.ts',
          concurrency: 10,
          features: { healthMonitoring: true },
        },
        // Do not delay the start of the app until the worker runs.
        { waitMs: 0 },
      )
    } catch (error) {
      if (!(error instanceof ZinError && error.code === 'WORKER_EXISTS')) throw error
    }
  },
})
