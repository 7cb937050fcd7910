import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { definePlugin, type PluginContext } from 'zin'
import { createTestHost } from 'zin/testing'

declare module 'zin' {
  interface PluginMethods {
    greeting(name: string): void
  }
}

const greeter = definePlugin({
  name: 'greeter',
  version: '1.0.0',
  methods: { greeting: 'Registers a greeting' },
  setup(ctx) {
    ctx.addMethod('greeting', (user) => (name) => {
      user.route({ method: 'GET', path: `/${name}`, summary: 'x', handler: () => ({ hello: name, from: user.plugin.name }) })
    })
  },
})

const user = (setup: (ctx: PluginContext) => void, dependencies = ['greeter'], name = 'shop') =>
  definePlugin({ name, version: '1.0.0', dependencies, setup })()

describe('methods that a plugin adds to the contexts of others', () => {
  it('register for the plugin that calls them, and end with it', async () => {
    const host = await createTestHost({
      plugins: [greeter(), user(({ greeting }) => greeting('ada')), user((ctx) => ctx.greeting('bob'), ['greeter'], 'bar')],
    })
    assert.deepEqual((await host.inject({ path: '/ada' })).body, { hello: 'ada', from: 'shop' })
    assert.deepEqual((await host.inject({ path: '/bob' })).body, { hello: 'bob', from: 'bar' })
    await host.disable('shop')
    assert.equal((await host.inject({ path: '/ada' })).status, 404)
    await host.enable('shop')
    assert.equal((await host.inject({ path: '/ada' })).status, 200)
    await host.stop()
  })

  it('keep their owner enabled while others use them, also without a dependency', async () => {
    const host = await createTestHost({ plugins: [greeter(), user((ctx) => ctx.greeting('ada'), [])] })
    await assert.rejects(host.disable('greeter'), { code: 'ZIN_PLUGIN_IN_USE', message: /use its methods: shop/ })
    await host.disable('shop')
    await host.disable('greeter')
    await host.stop()
  })

  it('tell a plugin that is set up before their owner what to do', async () => {
    const plugins = [user((ctx) => ctx.greeting('ada'), []), greeter()]
    await assert.rejects(createTestHost({ plugins }), /shop: ctx\.greeting comes from the plugin "greeter".*dependencies: \['greeter'\]/)
    // A plugin that does not use it is not concerned.
    await (await createTestHost({ plugins: [user((ctx) => void { ...ctx }, []), greeter()] })).stop()
  })

  it('must be declared, by one plugin, under a name that is free', async () => {
    const cases: [object, RegExp][] = [
      [{ methods: { 'a-b': 'x' } }, /"a-b" must be camelCase/],
      [{ methods: { route: 'x' } }, /its method "route" is a member of every context/],
      [{ methods: { greeting: 'x' } }, /plugin "greeter" already adds the method "greeting"/],
      [
        { setup: (ctx: PluginContext) => ctx.addMethod('greeting', () => () => undefined) },
        /needs an entry "greeting" in the plugin's "methods"/,
      ],
    ]
    for (const [spec, expected] of cases) {
      const other = definePlugin({ name: 'other', version: '1.0.0', setup: () => undefined, ...spec })
      await assert.rejects(createTestHost({ plugins: [greeter(), other()] }), expected)
    }
  })
})
