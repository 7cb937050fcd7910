import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { misspelledSettings } from './misspelled.js'
import { plainEnv } from './read-settings.js'

const declared = ['WORKER_CONCURRENCY', 'REDIS_URL', 'DB_HOST', 'PORT', 'LOG_LEVEL']
const warnings = (values: Record<string, string>) => misspelledSettings(plainEnv(values), declared)

describe('environment variables with names similar to settings', () => {
  it('are reported with a suggestion and their source, without their values', () => {
    assert.deepEqual(warnings({ WORKER_CONCURENCY: 'canary', REDIS_ULR: 'canary', log_level: 'canary', DB_HOTS: 'canary' }), [
      'WORKER_CONCURENCY is set (environment), but no setting has this name; did you mean WORKER_CONCURRENCY?',
      'REDIS_ULR is set (environment), but no setting has this name; did you mean REDIS_URL?',
      'log_level is set (environment), but no setting has this name; did you mean LOG_LEVEL?',
      'DB_HOTS is set (environment), but no setting has this name; did you mean DB_HOST?',
    ])
  })

  it('are ignored if they are different enough, empty, or the setting itself is set', () => {
    assert.deepEqual(warnings({ WORKER_COUNT: '1', REDISCLI_AUTH: 'x', POST: '1', HOME: '/root', MY_LOG_LEVELS: 'x', REDIS_ULR: '' }), [])
    assert.deepEqual(warnings({ DB_HOST: 'a', DB_HOSTS: 'a,b' }), [])
  })

  it('are listed up to a limit', () => {
    const many = Object.fromEntries(Array.from({ length: 26 }, (_, index) => [`REDIS_UR${String.fromCharCode(65 + index)}X`, '1']))
    assert.equal(warnings(many).length, 10)
  })
})
