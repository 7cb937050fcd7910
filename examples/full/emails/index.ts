import { definePlugin, ZinError } from 'zin'
import { workersService } from 'zin/plugins/workers'

/** Sees to it that the app has its worker: `email-sender` on the queue `emails`. Whether it runs is for its operator to say. */
export const emails = definePlugin({
  name: 'emails',
  version: '1.0.0',
  description: 'The worker that sends emails',
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
        // The app need not wait with its start until the worker runs.
        { waitMs: 0 },
      )
    } catch (error) {
      if (!(error instanceof ZinError && error.code === 'WORKER_EXISTS')) throw error
    }
  },
})
