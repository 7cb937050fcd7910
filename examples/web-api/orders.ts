import { randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { defineErrors, definePlugin, Type } from 'zin'
import { role } from 'zin/plugins'
import { databaseService } from 'zin/plugins/database'
import { websocketService } from 'zin/plugins/websocket'
import { workersService } from 'zin/plugins/workers'
import { productErrors } from './products.js'
import { createOrders, type Tables } from './tables.js'

const status = Type.Union([Type.Literal('placed'), Type.Literal('shipped'), Type.Literal('cancelled')])
const order = Type.Object({
  id: Type.String(),
  productId: Type.String(),
  quantity: Type.Integer(),
  total: Type.Integer({ description: 'In cents' }),
  status,
})
const view = ({ id, product_id: productId, quantity, total, status }: Tables['orders']) => ({ id, productId, quantity, total, status })

export const orderErrors = defineErrors({
  ORDER_NOT_FOUND: {
    status: 404,
    message: (id: string) => `You have no order "${id}"`,
    when: 'No order of the user has the id',
    fix: 'List your orders with `GET /orders`',
  },
  ORDER_OUT_OF_STOCK: {
    status: 409,
    message: (name: string) => `"${name}" is not in stock in this quantity`,
    when: 'An order has a higher quantity than the product has in stock',
    fix: 'Order less, or later',
  },
})

/** Customers order, admins ship. Each order is followed by a mail, and its changes by messages. */
export const orders = definePlugin({
  name: 'orders',
  version: '1.0.0',
  description: 'Orders with mails and live updates',
  dependencies: ['products'],
  uses: { database: databaseService, sockets: websocketService, workers: workersService },
  errors: orderErrors,
  setup(ctx) {
    const { clock, host, log, plugin, services } = ctx
    const workers = services.workers.as(plugin.name)
    const tables = () => services.database.tables<Tables>()
    const find = async (id: string, userId?: string): Promise<Tables['orders']> => {
      const found = await tables().selectFrom('orders').selectAll().where('id', '=', id).executeTakeFirst()
      if (found === undefined || (userId !== undefined && found.user_id !== userId)) throw orderErrors.ORDER_NOT_FOUND(id)
      return found
    }

    ctx.migration(createOrders)

    // Writes to a folder. In production, hand the mail to a mail service here: a job that throws is tried again.
    workers.declare({
      name: 'order-mails',
      queueName: 'order-mails',
      jobOptions: { attempts: 5, backoff: { type: 'exponential', delay: 10_000 } },
      async processor({ data }) {
        const { id, email, total } = await find(data.order)
        const folder = join(host.app.dataDir, 'mails')
        await mkdir(folder, { recursive: true })
        await writeFile(join(folder, `${id}.txt`), `To: ${email}\nSubject: Your order\n\nTotal: ${(total / 100).toFixed(2)}\n`)
        log.info({ order: id }, 'the mail was sent')
      },
    })

    ctx.route({
      method: 'POST',
      path: '/orders',
      summary: 'Order a product',
      use: ['auth', 'rateLimit:order'],
      body: Type.Object(
        { productId: Type.String({ maxLength: 36 }), quantity: Type.Integer({ minimum: 1, maximum: 100 }) },
        { additionalProperties: false },
      ),
      response: { 201: order },
      async handler(request) {
        const { productId, quantity } = request.input.body
        const { sub, email } = request.request.user
        const made = await services.database.transaction<Tables['orders'], Tables>(async (tx) => {
          const product = await tx.selectFrom('products').selectAll().where('id', '=', productId).executeTakeFirst()
          if (product === undefined) throw productErrors.PRODUCT_NOT_FOUND(productId)
          const taken = await tx
            .updateTable('products')
            .set(({ eb }) => ({ stock: eb('stock', '-', quantity) }))
            .where('id', '=', productId)
            .where('stock', '>=', quantity)
            .executeTakeFirst()
          if (taken.numUpdatedRows === 0n) throw orderErrors.ORDER_OUT_OF_STOCK(product.name)
          const row: Tables['orders'] = {
            ...{ id: randomUUID(), user_id: String(sub), email: String(email), product_id: productId, quantity },
            ...{ total: product.price * quantity, status: 'placed', placed_at: clock.now() },
          }
          await tx.insertInto('orders').values(row).execute()
          return row
        })
        // The order stands, whether or not its mail can be queued.
        await workers
          .enqueue('order-mails', { order: made.id }, { jobId: made.id })
          .catch((error: unknown) => log.error({ err: error, order: made.id }, 'the mail was not queued'))
        request.status = 201
        return view(made)
      },
    })
    ctx.route({
      method: 'GET',
      path: '/orders',
      summary: 'List your latest orders, at most 100',
      use: ['auth'],
      response: { 200: Type.Object({ orders: Type.Array(order) }) },
      async handler({ request: { user } }) {
        const mine = tables().selectFrom('orders').selectAll().where('user_id', '=', String(user.sub))
        return { orders: (await mine.orderBy('placed_at', 'desc').limit(100).execute()).map(view) }
      },
    })
    ctx.route({
      method: 'PUT',
      path: '/orders/:id/status',
      summary: 'Change the status of an order',
      use: ['auth', role('admin')],
      body: Type.Object({ status }, { additionalProperties: false }),
      response: { 200: order },
      async handler({ input: { body, params } }) {
        const changed = view({ ...(await find(params.id)), ...body })
        await tables().updateTable('orders').set(body).where('id', '=', params.id).execute()
        await services.sockets.publish(`order:${params.id}`, changed)
        return changed
      },
    })
    ctx.socket({
      path: '/orders/live',
      summary: 'Follow orders: send an id, get the order and its changes',
      use: ['auth'],
      message: Type.Object({ follow: Type.String({ maxLength: 36 }) }, { additionalProperties: false }),
      sends: order,
      async handler(socket, { follow }) {
        await find(follow, String(socket.state.user.sub))
        // Joined first, so that no change is missed between the two.
        socket.join(`order:${follow}`)
        socket.send(view(await find(follow)))
      },
    })
  },
})
