import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from '../../../scripts/testing/properties.js'
import { mostMessage, normalizeError } from './normalize-error.js'

const named = (name: string, message: string) => Object.assign(new Error(message), { name })

describe('the kind of an error', () => {
  for (const [message, expected] of [
    ['broken', 'broken'],
    ['job 4711 failed after 3.5 s', 'job <n> failed after <n> s'],
    ['connect ECONNREFUSED 10.0.0.1:5432', 'connect ECONNREFUSED <n>'],
    ['order 0198c1de-7a3b-7cc0-9c2e-1f2e3d4c5b6a is gone', 'order <id> is gone'],
    ['no template "Dear Alice" for \'bob\'', 'no template <value> for <value>'],
    ["can't read the mailbox of O'Neill", "can't read the mailbox of O'Neill"],
    ["Cannot read properties of undefined (reading 'total')", 'Cannot read properties of undefined (reading <value>)'],
    ['Unexpected token in JSON: "Alice Smith, Ber', 'Unexpected token in JSON: <value>'],
    ['no user alice.smith+news@example.com', 'no user <email>'],
    ['GET https://example.com/users/7?token=abc failed: 503', 'GET <url> failed: <n>'],
    ['at 2026-01-31T12:00:00.000Z', 'at <n>Z'],
    ['utf8 decoding of user_12 and 3f9a0c77d1', 'utf<n> decoding of user_<n> and <id>'],
    ['Zahl ٤٢ und ½', 'Zahl <n> und <n>'],
    ['first line\nsecond line with 1', 'first line'],
    ['\u202e\u0000 a\t b ', 'a b'],
    ['', '(no message)'],
  ] as const)
    it(`of ${JSON.stringify(message)} is ${expected}`, () => {
      assert.deepEqual(normalizeError(new Error(message)), { class: 'Error', message: expected })
    })

  it('has the class of the error, and is made of whatever was thrown', () => {
    assert.equal(normalizeError(named('TimeoutError', 'late')).class, 'TimeoutError')
    assert.deepEqual(normalizeError('text 7'), { class: 'Error', message: 'text <n>' })
    assert.deepEqual(normalizeError(undefined), { class: 'Error', message: 'undefined' })
    const hostile = {
      get message(): string {
        throw new Error('not today')
      },
    }
    assert.deepEqual(normalizeError(hostile), { class: 'Error', message: '(no message)' })
  })

  it('is short, on one line, and contains neither numbers nor quoted values, whatever the message', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 3_000 }), fc.string({ unit: 'binary' }), (message, name) => {
        const normal = normalizeError(named(name, message))
        assert.ok(normal.message.length <= mostMessage && normal.class.length <= 60)
        assert.doesNotMatch(normal.message, /[\p{N}\p{Cc}\p{Cf}\p{Cs}"`]/u)
      }),
    )
  })

  it('is the same for two jobs that differ in numbers, ids and quoted values only', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.uuid(), fc.uuid(), (one, other, id, otherId) => {
        const message = (number: number, uuid: string) => `row ${number} of "${uuid}" by ${uuid}`
        assert.deepEqual(normalizeError(new Error(message(one, id))), normalizeError(new Error(message(other, otherId))))
      }),
    )
  })

  it('is found within the beginning of a message of any length', () => {
    for (const piece of ['a', '"', '1', '@', "'", 'a1', '://', '<n>.'])
      assert.ok(normalizeError(new Error(piece.repeat(100_000))).message.length <= mostMessage, piece)
  })
})
