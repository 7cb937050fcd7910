import { definePlugin } from 'zin'
import { databaseService } from 'zin/plugins/database'
import { workersService } from 'zin/plugins/workers'
import type { Tables } from './tables.js'

const dayMs = 86_400_000

/** Reports the sales of the last 24 hours each night. */
export const reports = definePlugin({
  name: 'reports',
  version: '1.0.0',
  description: 'Nightly sales report',
  dependencies: ['orders'],
  uses: { database: databaseService, workers: workersService },
  setup({ clock, log, plugin, services }) {
    services.workers.as(plugin.name).declare({
      name: 'sales-report',
      queueName: 'sales-report',
      async processor() {
        const sales = await services.database
          .tables<Tables>()
          .selectFrom('orders')
          .select(({ fn }) => [fn.countAll().as('orders'), fn.sum('total').as('total')])
          .where('placed_at', '>=', clock.now() - dayMs)
          .where('status', '!=', 'cancelled')
          .executeTakeFirstOrThrow()
        const report = { orders: Number(sales.orders), total: Number(sales.total ?? 0) }
        log.info(report, 'sales of the last 24 hours')
        return report
      },
    })
  },
  async ready({ host, services }) {
    // Adding the same schedule again changes nothing.
    if (host.roles.has('http')) await services.workers.schedule('sales-report', 'nightly', { pattern: '0 3 * * *', tz: 'Europe/Berlin' })
  },
})
