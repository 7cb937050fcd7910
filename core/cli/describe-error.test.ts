import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runnable } from '../../scripts/testing/runnable.js'
import { ZinError } from '../errors.js'
import { BootError } from '../host/boot-error.js'
import { describeError, isDebugging, jsonError } from './describe-error.js'
import { UsageError } from './errors.js'

test('an error is one line with the command and the code, a usage error has no code', () => {
  assert.deepEqual(describeError(new ZinError('WORKER_NOT_FOUND', 'No worker'), 'worker:status', false), [
    'zin worker:status: No worker [WORKER_NOT_FOUND]',
  ])
  assert.deepEqual(describeError(new UsageError('unknown option --x'), 'start', false), ['zin start: unknown option --x'])
  assert.deepEqual(describeError(Object.assign(new Error('no file'), { code: 'ENOENT' }), undefined, false), ['zin: no file [ENOENT]'])
  assert.deepEqual(describeError('text', undefined, false), ['zin: text'])
})

test('a failed boot has one line for each cause', () => {
  const error = new BootError([
    { plugin: 'kv', phase: 'start', error: new ZinError('KV_UNREACHABLE', 'redis://u:canary@host does not answer') },
    { plugin: 'mine', phase: 'setup', error: new TypeError('x is\nundefined') },
  ])
  assert.deepEqual(describeError(error, 'start', false), [
    'zin start: kv: failed in start: redis://u:********@host does not answer [KV_UNREACHABLE]',
    'zin start: mine: failed in setup: x is',
    '    undefined',
  ])
})

test('secrets and control characters never reach the terminal, and stacks only when debugging', () => {
  const error = new Error('Bearer canarycanarycanary \u001b[31m\nforged')
  const plain = describeError(error, 'x', false)
  assert.deepEqual(plain, ['zin x: Bearer ******** \\u001b[31m', '    forged'])
  const debug = describeError(error, 'x', true)
  const { file } = runnable(new URL(import.meta.url))
  assert.ok(debug.some((line) => line.startsWith('    at ') && line.includes(`${file}:`)))
  for (const line of debug) assert.doesNotMatch(line, /canary|\u001b|\n/)
})

test('with --json an error is one object on one line, with the fields of an HTTP error and no secret', () => {
  const failed = new ZinError('WORKER_NOT_FOUND', 'No worker\nis named "x\u202e"', { details: { name: 'x', password: 'canary' } })
  const line = jsonError(failed)
  assert.doesNotMatch(line, /canary|[\n\u202e]/)
  assert.deepEqual(JSON.parse(line), {
    error: 'Worker not found',
    message: 'No worker\nis named "x\u202e"',
    code: 'WORKER_NOT_FOUND',
    details: { name: 'x', password: '********' },
  })
  const missing = Object.assign(new Error('no file'), { code: 'ENOENT' })
  assert.deepEqual(JSON.parse(jsonError(missing)), { error: 'Command failed', message: 'no file', code: 'ENOENT' })
  assert.deepEqual(JSON.parse(jsonError('text')), { error: 'Command failed', message: 'text', code: 'ZIN_COMMAND_FAILED' })
  const boot = JSON.parse(jsonError(new BootError([{ plugin: 'kv', phase: 'start', error: new Error('redis://u:canary@host is away') }])))
  assert.deepEqual(boot.details, ['kv: failed in start: redis://u:********@host is away'])
})

test('DEBUG=zin or LOG_LEVEL=debug turns on debugging', () => {
  const asked = [
    { DEBUG: 'zin' },
    { DEBUG: 'koa*,zin:*' },
    { LOG_LEVEL: 'debug' },
    { LOG_LEVEL: 'trace' },
    {},
    { DEBUG: 'koa' },
    { LOG_LEVEL: 'info' },
  ].map(isDebugging)
  assert.deepEqual(asked, [true, true, true, true, false, false, false])
})
