import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Type } from 'typebox'
import { defineOptions } from '../config/options.js'
import { defineSettings } from '../config/settings.js'
import { defineErrors } from '../errors.js'
import { defineService } from '../services/ref.js'
import { createTestHost } from '../testing/test-host.js'
import { definePlugin, type PluginSpec } from './plugin.js'

// biome-ignore lint/suspicious/noExplicitAny: wrong declarations, as JavaScript lets one write them
type Wrong = Partial<Record<keyof PluginSpec<any, any, any>, any>>

const plugin = (name: string, spec: Wrong) => definePlugin({ name, version: '1.0.0', setup() {}, ...spec })()

async function problemsOf(...specs: Wrong[]): Promise<readonly string[]> {
  const plugins = specs.map((spec, index) => plugin(index === 0 ? 'mail' : 'post', spec))
  const error = await createTestHost({ plugins }).then(
    (host) => host.stop(),
    (error: Error) => error,
  )
  assert.ok(error instanceof Error, 'the host started')
  return error.message.split('\n')
}

describe('an invalid declaration stops the boot with the plugin, the field and the fix:', () => {
  const cases: readonly (readonly [string, Wrong, string])[] = [
    [
      'options that are no declaration',
      { options: { retries: 3 } },
      'mail: "options" must be what defineOptions(Type.Object({ … })) returns',
    ],
    [
      'a default beyond its limits',
      { options: defineOptions(Type.Object({ retries: Type.Integer({ maximum: 2, default: 3 }) })) },
      'mail: the default of option "retries" does not match its schema; change one of them',
    ],
    [
      'a name that the core takes',
      { options: defineOptions(Type.Object({ onBootFailure: Type.String() })) },
      'mail: the option "onBootFailure" is reserved by the core; rename it',
    ],
    [
      'a setting without a name for the environment',
      { settings: { retries: { type: 'int', default: 1, summary: 'Retries' } } },
      'mail: the setting "retries" is not a valid environment variable name; use uppercase letters, digits and "_"',
    ],
    [
      'a setting whose default does not fit',
      { settings: { RETRIES: { type: 'int', default: 1, min: 2, summary: 'Retries' } } },
      'mail: the setting "RETRIES" has an invalid declaration: "default" does not match its type and limits',
    ],
    [
      'a setting of an unknown type',
      { settings: { RETRIES: { type: 'integer', default: 1, summary: 'Retries' } } },
      'mail: the setting "RETRIES" has an invalid declaration: "type" must be one of string, int, number, bool, list, enum, family',
    ],
    ['a phase that is no function', { setup: {} }, 'mail: "setup" must be a function (ctx) => …'],
    ['routes that are no list', { routes: {} }, 'mail: "routes" must be a list of what defineRoute({ … }) returns'],
    [
      'a service without a setup that provides it',
      { setup: undefined, provides: [defineService('mail.box')] },
      'mail: "provides" lists "mail.box", and there is no "setup" that adds it',
    ],
    [
      'a method without a setup that adds it',
      { setup: undefined, methods: { mailbox: 'Adds a mailbox' } },
      'mail: "methods" lists "mailbox", and there is no "setup" that adds it',
    ],
    [
      'a kind of attention that is not kebab-case',
      { attention: { mailboxFull: 'a mailbox is full' } },
      'mail: the kind "mailboxFull" of attention is not kebab-case, such as "mailbox-full"',
    ],
    [
      'a development default of a setting that is not declared',
      { developmentDefaults: { RETRIES: 1 } },
      'mail: "developmentDefaults" has "RETRIES", which "settings" does not declare',
    ],
    [
      'a development default that does not fit',
      { settings: { RETRIES: { type: 'int', default: 1, summary: 'Retries' } }, developmentDefaults: { RETRIES: 'none' } },
      'mail: "developmentDefaults" has an invalid value for "RETRIES": "default" does not match its type and limits',
    ],
    [
      'rows in the place of errors',
      { errors: { MAIL_LOST: { status: 500, message: () => 'lost' } } },
      'mail: the error "MAIL_LOST" has an invalid declaration: "errors" must be what defineErrors({ … }) returns',
    ],
    [
      'a status that is no error',
      { errors: defineErrors({ MAIL_LOST: { status: 200, message: () => 'lost' } }) },
      'mail: the error "MAIL_LOST" has an invalid declaration: "status" is 200; use 400 to 599, or leave it out for an error that never appears in a response',
    ],
    [
      'a code in lower case',
      { errors: defineErrors({ lost: { message: () => 'lost' } }) },
      'mail: the error "lost" has an invalid declaration: a code must consist of uppercase letters, digits and "_"',
    ],
  ]
  for (const [what, spec, problem] of cases) it(what, async () => assert.deepEqual(await problemsOf(spec), [problem]))

  it('one setting that two plugins declare differently', async () => {
    const first = { settings: defineSettings({ MAIL_URL: { type: 'string', default: '', secret: true, summary: 'Where mail goes' } }) }
    const other = { settings: defineSettings({ MAIL_URL: { type: 'string', default: 'smtp://localhost', summary: 'Mail' } }) }
    assert.deepEqual(await problemsOf(first, other), [
      'post: MAIL_URL is declared by mail and by post with a different "default" and "secret"; export the declaration from one of them and import it in the other',
    ])
  })

  it('one code with two statuses', async () => {
    const first = { errors: defineErrors({ MAIL_LOST: { status: 404, message: () => 'lost' } }) }
    const other = { errors: defineErrors({ MAIL_LOST: { status: 410, message: () => 'lost' } }) }
    assert.deepEqual(await problemsOf(first, other), [
      'post: the error "MAIL_LOST" has status 410, and plugin "mail" declares it with 404; rename one of them',
    ])
  })
})

describe('consistent declarations', () => {
  it('are one setting with two readers, and one code in the OpenAPI document', async () => {
    const settings = defineSettings({ MAIL_URL: { type: 'string', default: '', summary: 'Where mail goes' } })
    const errors = defineErrors({ MAIL_LOST: { status: 404, message: () => 'lost', when: 'A mail is gone', fix: 'Send it again' } })
    const host = await createTestHost({ plugins: [plugin('mail', { settings, errors }), plugin('post', { settings, errors })] })
    const [row] = host.host.view.settings().filter(({ name }) => name === 'MAIL_URL')
    assert.deepEqual(row?.readers, ['mail', 'post'])
    const { body } = await host.inject({ path: '/openapi.json' })
    const codes: readonly { const?: string }[] = body.components.schemas.ErrorCode.anyOf
    assert.deepEqual(
      codes.filter((entry) => entry.const === 'MAIL_LOST'),
      [{ const: 'MAIL_LOST', 'x-status': 404, description: 'A mail is gone. Send it again', 'x-plugins': ['mail', 'post'] }],
    )
    await host.stop()
  })
})
