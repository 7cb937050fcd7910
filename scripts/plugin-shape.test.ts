import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shapeProblems } from './plugin-shape.js'

const plugin = { path: 'plugins/mail/index.ts', text: 'export const mail = definePlugin({})' }
const problems = (path: string, text = '') => shapeProblems([plugin, { path, text }])

test('a declaration in the wrong file is reported with the right file', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    [
      'plugins/mail/plugin.ts',
      'const mail = definePlugin({})',
      'plugins/mail/plugin.ts declares the plugin; move the declaration to index.ts',
    ],
    [
      'plugins/mail/mailer.ts',
      "defineService<Mailer>('mailer')",
      'plugins/mail/mailer.ts declares a service ref; move the declaration to contract.ts',
    ],
    [
      'plugins/mail/index.ts',
      'definePlugin({ options: defineOptions(x) })',
      'plugins/mail/index.ts declares options; move the declaration to options.ts',
    ],
    ['plugins/mail/env.ts', 'defineSettings({})', 'plugins/mail/env.ts declares settings; move the declaration to settings.ts'],
    ['plugins/mail/codes.ts', 'defineErrors({})', 'plugins/mail/codes.ts declares errors; move the declaration to errors.ts'],
    [
      'plugins/mail/send.ts',
      "throw new ZinError(\n  'MAIL_LOST', '')",
      'plugins/mail/send.ts declares errors; move the declaration to errors.ts',
    ],
    ['plugins/mail/events.ts', '{} satisfies HookSpecs', 'plugins/mail/events.ts declares hooks; move the declaration to hooks.ts'],
    ['plugins/mail/command.ts', 'defineCommand({})', 'plugins/mail/command.ts declares commands; move the declaration to cli.ts'],
    ['plugins/mail/api.ts', 'defineRoute({})', 'plugins/mail/api.ts declares routes; move the declaration to routes.ts'],
    [
      'plugins/mail/table.ts',
      'defineMigration({})',
      'plugins/mail/table.ts declares a migration; move the declaration to migrations/NNNN-verb-noun.ts',
    ],
    ['plugins/mail/types.ts', '', 'rename plugins/mail/types.ts to contract.ts, or a noun for its content, as in every plugin'],
    ['plugins/mail/store/database.ts', '', 'rename plugins/mail/store/database.ts to store/db.ts, as in every plugin'],
    [
      'plugins/mail/migrations/create.ts',
      '',
      'rename plugins/mail/migrations/create.ts to migrations/NNNN-verb-noun.ts, as in every plugin',
    ],
    ['core/hooks/bus.ts', "new ZinError('ZIN_HOOK', '')", 'core/hooks/bus.ts declares errors; move the declaration to errors.ts'],
  ]
  for (const [path, text, problem] of cases) assert.deepEqual(problems(path, text), [problem])
})

test('the right names, comments, tests and other folders are left alone', () => {
  assert.deepEqual(problems('plugins/mail/contract.ts', "defineService<Mailer>('mailer')"), [])
  assert.deepEqual(problems('plugins/mail/migrations/0001-create-mail.ts', 'defineMigration({})'), [])
  assert.deepEqual(problems('plugins/mail/routes/inbox.ts', 'defineRoute({})'), [])
  assert.deepEqual(problems('plugins/mail/send.ts', "/**\n * throw new ZinError('X', '')\n */\n// defineErrors({})"), [])
  assert.deepEqual(problems('plugins/mail/mail.test.ts', 'definePlugin({})'), [])
  assert.deepEqual(problems('scripts/bench/app.ts', 'definePlugin({})'), [])
})
