import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shapeProblems } from './plugin-shape.js'

const plugin = { path: 'plugins/mail/index.ts', text: 'export const mail = definePlugin({})' }
const problems = (path: string, text = '') => shapeProblems([plugin, { path, text }])

test('what a plugin declares in a file of another name is told with the right one', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['plugins/mail/plugin.ts', 'const mail = definePlugin({})', 'plugins/mail/plugin.ts declares the plugin; move that to index.ts'],
    [
      'plugins/mail/mailer.ts',
      "defineService<Mailer>('mailer')",
      'plugins/mail/mailer.ts declares a service ref; move that to contract.ts',
    ],
    [
      'plugins/mail/index.ts',
      'definePlugin({ options: defineOptions(x) })',
      'plugins/mail/index.ts declares options; move that to options.ts',
    ],
    ['plugins/mail/env.ts', 'defineSettings({})', 'plugins/mail/env.ts declares settings; move that to settings.ts'],
    ['plugins/mail/codes.ts', 'defineErrors({})', 'plugins/mail/codes.ts declares errors; move that to errors.ts'],
    ['plugins/mail/send.ts', "throw new ZinError(\n  'MAIL_LOST', '')", 'plugins/mail/send.ts declares errors; move that to errors.ts'],
    ['plugins/mail/events.ts', '{} satisfies HookSpecs', 'plugins/mail/events.ts declares hooks; move that to hooks.ts'],
    ['plugins/mail/command.ts', 'defineCommand({})', 'plugins/mail/command.ts declares commands; move that to cli.ts'],
    ['plugins/mail/api.ts', 'defineRoute({})', 'plugins/mail/api.ts declares routes; move that to routes.ts'],
    [
      'plugins/mail/table.ts',
      'defineMigration({})',
      'plugins/mail/table.ts declares a migration; move that to migrations/NNNN-verb-noun.ts',
    ],
    ['plugins/mail/types.ts', '', 'plugins/mail/types.ts is named contract.ts, or the noun that it is about in every plugin'],
    ['plugins/mail/store/database.ts', '', 'plugins/mail/store/database.ts is named store/db.ts in every plugin'],
    ['plugins/mail/migrations/create.ts', '', 'plugins/mail/migrations/create.ts is named migrations/NNNN-verb-noun.ts in every plugin'],
    ['core/hooks/bus.ts', "new ZinError('ZIN_HOOK', '')", 'core/hooks/bus.ts declares errors; move that to errors.ts'],
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
