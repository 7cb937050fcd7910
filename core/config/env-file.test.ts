import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { envReader } from './env.js'
import { loadEnv, parseEnvFile } from './env-file.js'

test('a .env file may contain comments, export, quotes, spaces and values over several lines', () => {
  const text = [
    '\ufeff# comment',
    '',
    'A=1',
    'export B = two words # comment',
    "C='literal \\n #x'",
    'D="line\\nbreak \\"q\\" \\d"',
    'E=',
    'F=a#b',
    'G=#only a comment',
    'KEY="-----BEGIN',
    'abc',
    '-----END"  # done',
    'RDB_PROXY_HEADERS_X-Trace=1',
    'A=2',
    '  H =x=y  ',
    '__proto__=p',
  ].join('\r\n')
  const values = parseEnvFile(text, '.env')
  assert.deepEqual(
    { ...values },
    {
      A: '2',
      B: 'two words',
      C: 'literal \\n #x',
      D: 'line\nbreak "q" \\d',
      E: '',
      F: 'a#b',
      G: '',
      KEY: '-----BEGIN\nabc\n-----END',
      'RDB_PROXY_HEADERS_X-Trace': '1',
      H: 'x=y',
      ['__proto__']: 'p',
    },
  )
})

test('a malformed line is refused with the file and the line, without its text', () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['A=1\ncanary', /^x\.env:2: expected NAME=value$/],
    ['A B=canary', /^x\.env:1: expected NAME=value$/],
    ['1A=canary', /^x\.env:1: /],
    ['A=1\n\nB="canary\nmore', /^x\.env:3: the value of B has no closing "$/],
    ["A='x' canary", /^x\.env:1: unexpected text after the closing ' of A$/],
  ]
  for (const [text, message] of cases) {
    assert.throws(
      () => parseEnvFile(text, 'x.env'),
      (error: Error) => {
        assert.match(error.message, message)
        assert.doesNotMatch(error.message, /canary/)
        return (error as { code?: string }).code === 'ZIN_ENV_FILE'
      },
    )
  }
})

test('the process environment overrides .env, and only missing values are written into it', async () => {
  const rootDir = await mkdtemp(join(tmpdir(), 'zin-env-'))
  try {
    await writeFile(join(rootDir, '.env'), 'BOTH=file\nFILE=file\nEMPTY=file\n')
    const environment: Record<string, string | undefined> = { BOTH: 'process', EMPTY: '', PROCESS: 'process' }
    for (const _again of [1, 2]) {
      const env = await loadEnv(rootDir, environment)
      assert.deepEqual(env.values, { BOTH: 'process', EMPTY: '', PROCESS: 'process', FILE: 'file' })
      assert.deepEqual(['BOTH', 'FILE', 'PROCESS', 'EMPTY', 'NONE'].map(env.sourceOf), [
        'environment',
        '.env',
        'environment',
        'environment',
        'default',
      ])
      assert.equal(environment.FILE, 'file')
    }
  } finally {
    await rm(rootDir, { recursive: true })
  }
})

test('a missing .env is ignored; one that cannot be read is an error that names it', async () => {
  const rootDir = await mkdtemp(join(tmpdir(), 'zin-env-'))
  try {
    assert.deepEqual((await loadEnv(rootDir, { A: '1' })).values, { A: '1' })
    await mkdir(join(rootDir, '.env'))
    await assert.rejects(loadEnv(rootDir, {}), { code: 'ZIN_ENV_FILE', message: /cannot read .*\.env: / })
  } finally {
    await rm(rootDir, { recursive: true })
  }
})

test('env reads typed values and uses the fallback if a setting is missing or empty', () => {
  const env = envReader({ S: 'x', I: '-3', N: '1.5', B: 'off', L: ' a, b,,c ', EMPTY: '' }, 'zin.config.ts')
  assert.deepEqual(
    [env.string('S'), env.int('I'), env.number('N'), env.bool('B', true), env.list('L')],
    ['x', -3, 1.5, false, ['a', 'b', 'c']],
  )
  assert.deepEqual(
    [env.string('X'), env.int('X'), env.number('X'), env.bool('X'), env.list('X'), env.secret('X')],
    ['', undefined, undefined, false, [], ''],
  )
  assert.deepEqual(
    [env.string('EMPTY', 'd'), env.int('EMPTY', 7), env.bool('EMPTY', true), env.list('EMPTY', ['d'])],
    ['d', 7, true, ['d']],
  )
})

test('an invalid value is refused with the name, the value and what was expected', () => {
  const env = envReader({ PORT: '80a', ON: 'maybe', RATE: 'Infinity', HALF: '1.5' }, 'zin.config.ts')
  assert.throws(() => env.int('PORT', 1), { code: 'ZIN_SETTING_INVALID', message: /PORT=80a: expected an integer.*zin\.config\.ts/ })
  assert.throws(() => env.bool('ON'), { message: /ON=maybe: expected true or false/ })
  assert.throws(() => env.number('RATE', 1), { message: /RATE=Infinity: expected a number/ })
  assert.throws(() => env.int('HALF', 1), { message: /HALF=1\.5: expected an integer/ })
})
