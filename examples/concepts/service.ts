// A service: one plugin provides it under a typed reference, and another uses it. The reference is also an edge of the dependency graph, so
// `postman` is set up and started before `welcome`, whatever their order in the configuration.
import { definePlugin, defineService, Type } from 'zin'

export interface Postman {
  /** Delivers a letter and returns its number. */
  deliver(to: string, text: string): number
}

export const postmanService = defineService<Postman>('postman')

export const postman = definePlugin({
  name: 'postman',
  version: '1.0.0',
  provides: [postmanService],
  setup({ log, provide }) {
    let delivered = 0
    provide(postmanService, {
      deliver(to, text) {
        delivered += 1
        log.info({ to, characters: text.length }, 'letter delivered')
        return delivered
      },
    })
  },
})

export const welcome = definePlugin({
  name: 'welcome',
  version: '1.0.0',
  uses: { postman: postmanService },
  setup({ route, services }) {
    route({
      method: 'POST',
      path: '/welcome',
      summary: 'Send a welcome letter',
      body: Type.Object({ to: Type.String({ minLength: 1 }) }),
      handler: ({ input }) => ({ letter: services.postman.deliver(input.body.to, 'Welcome!') }),
    })
  },
})
