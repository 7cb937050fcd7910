import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { CommandShape } from '../host/command.js'
import { Program } from './program.js'

const shape = (name: string, more: Partial<CommandShape> = {}): CommandShape => ({
  name,
  summary: `Does ${name}`,
  needs: 'nothing',
  ...more,
})

const program = (note?: string) =>
  new Program(
    [
      { plugin: 'zin', command: shape('start') },
      { plugin: 'zin', command: shape('plugins', { json: true }) },
      {
        plugin: 'queues',
        command: shape('queue prune', { options: { hours: { type: 'int', summary: 'Age', default: 168, short: 'n' } } }),
      },
      { plugin: 'queues', command: shape('queue list', { args: [{ name: 'name', summary: 'which one', required: false }] }) },
      { plugin: 'workers', command: shape('worker:status', { aliases: ['ws'], args: [{ name: 'name', summary: 'the worker' }] }) },
      { plugin: 'workers', command: shape('resource:monitor', { aliases: ['rm'], needs: 'running app' }) },
    ],
    { version: '1.2.3', ...(note === undefined ? {} : { note }) },
  )

/** Captures what cac prints with console.info. */
function printed(t: TestContext, print: () => void): string {
  const info = t.mock.method(console, 'info', () => undefined)
  print()
  info.mock.restore()
  return info.mock.calls.map((call) => (call.arguments as unknown[]).join(' ')).join('\n')
}

test('commands are found by name, by alias and by two words, and the rest of the line is unchanged', () => {
  const found = (argv: readonly string[]) => {
    const match = program().find(argv)
    return match && [match.plugin, match.command.name, match.rest]
  }
  assert.deepEqual(found(['worker:status', '007', '--json']), ['workers', 'worker:status', ['007', '--json']])
  assert.deepEqual(found(['ws', 'a']), ['workers', 'worker:status', ['a']])
  assert.deepEqual(found(['queue', 'prune', '--hours', '1']), ['queues', 'queue prune', ['--hours', '1']])
  assert.deepEqual(found(['queue', 'list', 'emails']), ['queues', 'queue list', ['emails']])
  assert.deepEqual(
    [found(['queue']), found(['queue', 'x']), found(['--start']), found([]), found([''])],
    [undefined, undefined, undefined, undefined, undefined],
  )
})

test('an option that would pollute objects never reaches cac', () => {
  program().find(['start', '--__proto__.polluted', 'yes'])
  assert.equal(({} as { polluted?: unknown }).polluted, undefined)
})

test('for an unknown command the nearest one, or its family, is suggested', () => {
  const message = (...argv: string[]) => program().unknown(argv).message
  assert.equal(message('plugns'), 'unknown command "plugns"; did you mean "plugins"?')
  assert.equal(message('queue', 'prun'), 'unknown command "queue"; did you mean "queue prune"?')
  assert.equal(message('worker', 'status'), 'unknown command "worker"; did you mean "worker:status"?')
  assert.equal(message('queue'), 'unknown command "queue"; available: queue prune, queue list')
  assert.equal(message('worker'), 'unknown command "worker"; available: worker:status')
  assert.equal(message('frobnicate'), 'unknown command "frobnicate"; see "zin help"')
  assert.match(message('--json', 'plugins'), /^unknown option --json; the command comes first/)
})

test('help lists commands by plugin with their arguments', (t) => {
  const text = printed(t, () => program('a note').printHelp())
  assert.match(text, /^zin\/1\.2\.3\n\nUsage:\n {2}\$ zin <command> \[options\]\n/)
  assert.match(text, /\nCommands:\n {2}start +Does start\n {2}plugins +Does plugins\n/)
  assert.match(text, /\nPlugin queues:\n {2}queue prune +Does queue prune\n {2}queue list \[name\]/)
  assert.match(text, /\n\na note$/)
})

test('the help of a command shows its arguments, options with defaults, aliases and owner', (t) => {
  const status = printed(t, () => program().printHelpOf('worker:status'))
  for (const part of ['$ zin worker:status <name>', 'name  the worker', 'Also: ws', 'Provided by the plugin workers'])
    assert.ok(status.includes(part), part)
  const prune = printed(t, () => program().printHelpOf('queue prune'))
  assert.match(prune, /\$ zin queue prune\n[\s\S]*-n, --hours <int> +Age \(default: 168\)\n/)
  assert.match(
    printed(t, () => program().printHelpOf('rm')),
    /--url <text>[\s\S]*--port <int>/,
  )
})

test('help is wrapped on a terminal, and on a narrow one texts are below the names', (t) => {
  const entries = [{ plugin: 'zin', command: shape('start', { summary: 'Starts the app and keeps it running until it is told to stop' }) }]
  const help = (room?: number) => printed(t, () => new Program(entries, { version: '1.0.0', ...(room && { room }) }).printHelp())
  assert.match(help(), /\n {2}start {2}Starts the app and keeps it running until it is told to stop\n/)
  assert.match(help(50), /\n {2}start {2}Starts the app and keeps it running until\n {9}it is told to stop\n/)
  assert.match(help(30), /\n {2}start\n {6}Starts the app and keeps\n {6}it running until it is\n {6}told to stop\n/)
})

test('general help follows a lookup without showing the command that was found', (t) => {
  const one = program()
  one.find(['start'])
  assert.match(
    printed(t, () => one.printHelp()),
    /Plugin workers:/,
  )
})

test('two commands with one name or alias are refused, naming both owners', () => {
  const entries = [
    { plugin: 'zin', command: shape('start') },
    { plugin: 'mine', command: shape('go', { aliases: ['start'] }) },
  ]
  assert.throws(() => new Program(entries, { version: '1.0.0' }), {
    code: 'ZIN_COMMAND_CONFLICT',
    message: /"start" is registered by zin and by mine/,
  })
})
