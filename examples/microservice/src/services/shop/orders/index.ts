import { randomUUID } from 'node:crypto'
import { defineRoute, Type } from 'zin'
import { health } from 'zin/plugins'
import { defineMicroservice } from 'zin/plugins/microservices'
import { usersClient } from '../../../../clients/users.js'
import { orderErrors } from './errors.js'

export default defineMicroservice(({ services }) => ({
  plugins: [health()],
  routes: [
    defineRoute({
      method: 'POST',
      path: '/orders',
      summary: 'Add an order',
      body: Type.Object({ user: Type.String({ pattern: '^[a-z]{1,20}$' }) }),
      response: {
        200: Type.Object({ id: Type.String(), user: Type.Object({ name: Type.String() }), traceId: Type.String() }),
      },
      handler: async ({ input }) => {
        const user = await usersClient(services).getUsersName({ params: { name: input.body.user }, headers: services.injectHeaders() })
        if (!user.ok) throw orderErrors.USER_REFUSED(user.status)
        return { id: randomUUID(), user: { name: user.data.name }, traceId: user.data.traceId }
      },
    }),
  ],
}))
