import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Type } from 'typebox'
import { definePlugin } from '../host/plugin.js'
import { defineOptions, functionOption, type OptionsOf } from './options.js'
import { OptionsValidator } from './validate-options.js'

const mail = definePlugin({
  name: 'slow-mail',
  version: '1.0.0',
  options: defineOptions(
    Type.Object({
      url: Type.String({ format: 'uri', description: 'Address' }),
      mode: Type.Union([Type.Literal('direct'), Type.Literal('queued')], { default: 'direct', description: 'Mode' }),
      server: Type.Optional(Type.Object({ port: Type.Integer() }, { additionalProperties: false })),
      onSent: Type.Optional(functionOption<(id: string) => void>({ description: 'Called after each mail' })),
      from: Type.Optional(
        Type.Union([Type.Literal('sender'), Type.Literal('app'), functionOption<(id: string) => string>({ description: 'Address' })]),
      ),
    }),
  ),
  setup: ({ options }) => void options.url.length,
})

function problems(given: object): readonly string[] {
  const result = new OptionsValidator().validate(mail.spec, { ...given })
  return 'problems' in result ? result.problems : []
}

const url = 'smtp://mail.example'

describe('options of a plugin', () => {
  it('are checked by format, like the input of routes', () => {
    assert.deepEqual(problems({ url }), [])
    assert.deepEqual(problems({ url: 'mail' }), ['slow-mail: option "url" must match format "uri" (zin.config.ts: slowMail({ url: … }))'])
  })

  it('with a value outside a list are refused with the list and the nearest value', () => {
    assert.deepEqual(problems({ url, mode: 'queue' }), [
      'slow-mail: option "mode" must be one of direct, queued; did you mean "queued"? (zin.config.ts: slowMail({ mode: … }))',
    ])
  })

  it('that are unknown are named, also inside an object', () => {
    assert.deepEqual(problems({ url, mod: 1 }), ['slow-mail: unknown option "mod"; did you mean "mode"?'])
    assert.deepEqual(problems({ url, server: { port: 1, prot: 2 } }), [
      'slow-mail: option "server.prot" is not a known field; did you mean "port"? (zin.config.ts: slowMail({ server: … }))',
    ])
    assert.deepEqual(problems({ url, server: {} }), [
      'slow-mail: option "server.port" is required (zin.config.ts: slowMail({ server: … }))',
    ])
  })

  it('that are declared as functions may be functions, and nothing else', () => {
    assert.deepEqual(problems({ url, onSent: () => {} }), [])
    assert.deepEqual(problems({ url, onSent: 'log' }), [
      'slow-mail: option "onSent" must be a function (zin.config.ts: slowMail({ onSent: … }))',
    ])
  })

  it('that may be a word or a function are refused with both', () => {
    assert.deepEqual(problems({ url, from: () => 'ada@example.com' }), [])
    assert.deepEqual(problems({ url, from: 'sendr' }), [
      'slow-mail: option "from" must be sender or app or a function (zin.config.ts: slowMail({ from: … }))',
    ])
  })

  it('have the types and defaults of their schema, and the defaults cannot be changed', () => {
    const declared = defineOptions(
      Type.Object({
        roles: Type.Array(Type.String(), { default: ['admin'] }),
        cacheMs: Type.Optional(Type.Integer()),
        check: Type.Optional(functionOption<(name: string) => boolean>({ description: 'Checks' })),
      }),
    )
    const typed: OptionsOf<typeof declared> = { roles: ['a'] as readonly string[], check: (name) => name.length > 0 }
    assert.equal(typed.cacheMs, undefined)
    assert.deepEqual(declared.defaults, { roles: ['admin'] })
    assert.throws(() => (declared.defaults.roles as string[]).push('all'), TypeError)
  })

  it('without a default are required, and the error shows where to set them', () => {
    const missing = ['slow-mail: option "url" is required; set it in zin.config.ts: slowMail({ url: … })']
    for (const given of [{}, { url: undefined }, { mode: 'queued' }]) assert.deepEqual(problems(given), missing)
    const plain = definePlugin({
      name: 'plain',
      version: '1.0.0',
      options: { schema: { type: 'object', required: ['key'], properties: { key: { type: 'string' } } }, defaults: {} },
      setup() {},
    })
    assert.deepEqual(new OptionsValidator().validate(plain.spec, {}), {
      problems: ['plain: option "key" is required; set it in zin.config.ts: plain({ key: … })'],
    })
  })

  it('given to a plugin that has none are reported as such', () => {
    const none = definePlugin({ name: 'none', version: '1.0.0', setup() {} })
    assert.deepEqual(new OptionsValidator().validate(none.spec, { url: 'x' }), {
      problems: ['none: unknown option "url"; the plugin has no options'],
    })
  })
})
