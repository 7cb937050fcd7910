// A hook: one plugin declares and fires it, another listens, and neither imports the other.
import { definePlugin, type HookSpecs, type Notify } from 'zin'

interface GreetingHooks {
  onGreeting: Notify<[name: string]>
}

// Types `hooks.on` and `hooks.slot` everywhere.
declare module 'zin' {
  interface HookMap extends GreetingHooks {}
}

const greetingHooks = {
  onGreeting: { kind: 'notify', args: ['name'], summary: 'A person was greeted' },
} satisfies HookSpecs<GreetingHooks>

export const greeter = definePlugin({
  name: 'greeter',
  version: '1.0.0',
  hooks: greetingHooks,
  setup({ hooks, route }) {
    const onGreeting = hooks.slot('onGreeting')
    route({
      method: 'GET',
      path: '/greet/:name',
      summary: 'Greet a person by name',
      handler: ({ input }) => {
        // Without listeners, this costs only a comparison.
        if (onGreeting.active) onGreeting.call(input.params.name)
        return { message: `Hello, ${input.params.name}` }
      },
    })
  },
})

export const greetingCount = definePlugin({
  name: 'greeting-count',
  version: '1.0.0',
  setup({ hooks, route }) {
    let count = 0
    hooks.on('onGreeting', () => {
      count += 1
    })
    route({ method: 'GET', path: '/greetings', summary: 'Count the greetings', handler: () => ({ count }) })
  },
})
