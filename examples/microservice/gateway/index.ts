import type { Job } from 'bullmq'
import { definePlugin, Type } from 'zin'
import { microservicesService } from 'zin/plugins/microservices'
import { queuesService } from 'zin/plugins/queues'
import { workersService } from 'zin/plugins/workers'
import { ordersClient } from '../clients/orders.js'
import { usersClient } from '../clients/users.js'
import { gatewayErrors } from './errors.js'

interface Receipt {
  readonly order: string
  readonly user: string
  /** Headers of the trace that the order belongs to. */
  readonly trace: Record<string, string>
}

/** The public API: accepts orders and adds a job that writes the receipt. */
export const gateway = definePlugin({
  name: 'gateway',
  version: '1.0.0',
  description: 'Accepts orders and writes receipts',
  errors: gatewayErrors,
  uses: { services: microservicesService, queues: queuesService, workers: workersService },
  setup({ services, route, log }) {
    const orders = ordersClient(services.services)
    const users = usersClient(services.services)
    route({
      method: 'POST',
      path: '/orders',
      summary: 'Order something',
      body: Type.Object({ user: Type.String({ pattern: '^[a-z]{1,20}$' }) }),
      handler: async ({ input }) => {
        const trace = services.services.injectHeaders()
        const order = await orders.postOrders({ body: input.body, headers: trace })
        if (!order.ok) throw gatewayErrors.ORDER_REFUSED(order.status)
        const job: Receipt = { order: order.data.id, user: input.body.user, trace }
        await services.queues.add('receipts', 'receipt', job)
        return order.data
      },
    })
    services.workers.declare({
      name: 'receipts',
      queueName: 'receipts',
      autoStart: true,
      processor: (job: Job<Receipt>) =>
        services.services.continueTrace(job.data.trace, async () => {
          const user = await users.getUsersName({ params: { name: job.data.user }, headers: services.services.injectHeaders() })
          // The job is retried.
          if (!user.ok) throw gatewayErrors.USER_UNKNOWN(user.status)
          log.info({ order: job.data.order, traceId: user.data.traceId }, `wrote a receipt for ${user.data.name}`)
          return { traceId: user.data.traceId }
        }),
    })
  },
})
