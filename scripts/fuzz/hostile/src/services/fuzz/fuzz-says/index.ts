import { defineRoute, Type } from 'zin'
import { defineMicroservice } from 'zin/plugins/microservices'

/** Sends what it is told to the process of the app. */
export default defineMicroservice(() => ({
  routes: [
    defineRoute({ method: 'GET', path: '/health', summary: 'Whether the service is healthy', probe: true, handler: () => ({ ok: true }) }),
    defineRoute({
      method: 'POST',
      path: '/say',
      summary: 'Send a message to the parent process',
      body: Type.Object({ message: Type.Unknown() }),
      handler: ({ input }) => ({ sent: process.send?.(input.body.message) }),
    }),
  ],
}))
