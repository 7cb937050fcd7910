import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineCommand } from '../host/command.js'
import { asksForHelp, parseArguments } from './options.js'

const mint = defineCommand({
  name: 'jwt:dev',
  summary: 'Mint a token',
  needs: 'nothing',
  json: true,
  args: [
    { name: 'kind', summary: 'what for' },
    { name: 'note', summary: 'words', required: false },
  ],
  options: {
    sub: { type: 'string', summary: 'subject', short: 's' },
    'device-id': { type: 'string', summary: 'device' },
    hours: { type: 'int', summary: 'life', default: 24, min: 1, max: 99 },
    rate: { type: 'number', summary: 'rate', min: 0 },
    role: { type: 'string', summary: 'role', values: ['admin', 'user'] },
    force: { type: 'boolean', summary: 'force' },
    color: { type: 'boolean', summary: 'color', default: true },
  },
  run: () => undefined,
})

const refused = (argv: readonly string[], message: RegExp) =>
  assert.throws(() => parseArguments(mint, argv), { code: 'ZIN_USAGE', message })

test('text values such as 007, 1e3 and 0123 stay unchanged', () => {
  const { args, options } = parseArguments(mint, ['007', '--sub', '007', '--device-id=1e3', '0123'])
  assert.deepEqual(args, { kind: '007', note: '0123' })
  assert.deepEqual([options.sub, options['device-id']], ['007', '1e3'])
})

test('numbers, booleans, negations, short names and defaults are parsed by the option table', () => {
  const { options } = parseArguments(mint, ['a', '-s', 'x', '--hours', '7', '--rate=0.5', '--force', '--no-color'])
  assert.deepEqual(options, {
    json: false,
    sub: 'x',
    'device-id': undefined,
    hours: 7,
    rate: 0.5,
    role: undefined,
    force: true,
    color: false,
  })
  assert.deepEqual(parseArguments(mint, ['a']).options, {
    json: false,
    sub: undefined,
    'device-id': undefined,
    hours: 24,
    rate: undefined,
    role: undefined,
    force: false,
    color: true,
  })
})

test('everything after -- is an argument, even if it looks like an option', () => {
  assert.equal(parseArguments(mint, ['--', '--sub']).args.kind, '--sub')
  assert.deepEqual([asksForHelp(['a', '--help']), asksForHelp(['-h']), asksForHelp(['a', '--', '--help'])], [true, true, false])
})

test('an unknown option is refused in one line with a suggestion', () => {
  refused(['a', '--suv', '1'], /^unknown option --suv; did you mean --sub\?$/)
  refused(['a', '--zzzzzzz'], /^unknown option --zzzzzzz; known options: --json, --sub/)
  refused(['a', '-x'], /^unknown option -x; /)
  refused(['a', '--__proto__=1'], /^unknown option --__proto__; /)
})

test('a missing or unexpected value, an invalid number and a value outside the list are refused by option name', () => {
  refused(['a', '--sub'], /^option .*--sub.* needs a value/)
  refused(['a', '--sub', '--force'], /^option .*--sub.* needs a value/)
  refused(['a', '--force=1'], /^option --force takes no value$/)
  refused(['a', '--hours', '7.5'], /^option --hours must be an integer from 1 to 99, not "7\.5"$/)
  refused(['a', '--hours', '0x10'], /must be an integer/)
  refused(['a', '--hours', '100'], /must be an integer/)
  refused(['a', '--rate', 'Infinity'], /^option --rate must be a number from 0, not "Infinity"$/)
  refused(['a', '--role', 'root'], /^option --role must be one of admin, user, not "root"$/)
})

test('missing and extra arguments are refused', () => {
  refused([], /^missing argument <kind>: what for$/)
  refused([''], /^missing argument <kind>/)
  refused(['a', 'b', 'c'], /^unexpected argument "c"; the command takes kind, note$/)
})

test('the last argument may be repeated', () => {
  const args = [
    { name: 'kind', summary: 'what for' },
    { name: 'note', summary: 'text', repeated: true },
  ]
  const parsed = (...argv: string[]) => parseArguments({ name: 'x', summary: '', needs: 'nothing', args }, argv)
  assert.deepEqual(parsed('a', 'b', 'c', 'd'), { args: { kind: 'a', note: 'b' }, repeated: ['b', 'c', 'd'], options: {} })
  assert.throws(() => parsed('a'), /missing argument <note>/)
  assert.deepEqual(parseArguments(mint, ['a', 'b']).repeated, [])
})

test('a command that needs the running app gets --url, --host and --port unless it has its own', () => {
  const command = { name: 'x', summary: '', needs: 'running app', options: { port: { type: 'string', summary: 'own' } } } as const
  assert.deepEqual(parseArguments(command, ['--url=http://x', '--host', 'h', '--port', '007']).options, {
    url: 'http://x',
    host: 'h',
    port: '007',
  })
})
