import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { replacement } from 'zin/plugins/queues'
import fc from '../../../scripts/testing/properties.js'
import { unredact } from './unredact.js'

/** A value as operators see it. */
function shownOf<T>(value: T): T {
  return JSON.parse(JSON.stringify(value, (name, item: unknown) => (name === 'token' || name === 'password' ? replacement : item))) as T
}

const original = {
  to: 'a',
  auth: { password: 'p' },
  accounts: [
    { name: 'x', token: 'of x' },
    { name: 'y', token: 'of y' },
    { name: 'z', token: 'of z' },
  ],
}
const shown = shownOf(original)
const [x, y, z] = shown.accounts as [{ name: string; token: string }, { name: string; token: string }, { name: string; token: string }]
const edit = (changes: object) => unredact({ ...shown, ...changes }, { shown, original })

describe('edited data with placeholders', () => {
  it('gets the values of the job back', () => {
    assert.deepEqual(edit({}), original)
    assert.deepEqual(edit({ to: 'b', auth: { ...shown.auth, more: 1 } }), { ...original, to: 'b', auth: { password: 'p', more: 1 } })
    assert.deepEqual(edit({ auth: { password: 'new' } }), { ...original, auth: { password: 'new' } })
  })

  it('may change one item of a list in place', () => {
    assert.deepEqual(edit({ accounts: [x, { ...y, name: 'why' }, z] }), {
      ...original,
      accounts: [original.accounts[0], { name: 'why', token: 'of y' }, original.accounts[2]],
    })
  })

  const moved: Readonly<Record<string, object>> = {
    'an item was dropped': { accounts: [y, z] },
    'an item was added': { accounts: [x, y, z, { name: 'w', token: '[redacted]' }] },
    'items were swapped': { accounts: [y, x, z] },
    'items were rotated': { accounts: [z, x, y] },
    'an item was dropped and another one inserted': { accounts: [y, z, { name: 'w', token: 'own' }] },
    'two items were edited, which could be a new order': { accounts: [{ ...x, name: '1' }, { ...y, name: '2' }, z] },
    'an item was dropped, its neighbour edited, and one appended': { accounts: [{ ...y, name: 'why' }, z, { name: 'w', token: 'own' }] },
    'an item was dropped, its neighbour edited, and null appended': { accounts: [x, { ...z, name: 'zed' }, null] },
    'a field was renamed': { auth: { secret: '[redacted]' } },
    'a list became an object': { accounts: { 0: x } },
    'nothing was redacted there': { to: '[redacted]' },
    'it is in a new field': { extra: { token: '[redacted]' } },
  }
  for (const [why, changes] of Object.entries(moved))
    it(`is refused if ${why}`, () => assert.throws(() => edit(changes), { code: 'REDACTED_VALUE_MOVED', status: 400 }))

  it('never gets the value of another item, however a list was changed', () => {
    const list = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 6 })
    // Each item of the new list: one that was shown, perhaps edited, or a new one with a token of its own.
    const change = fc.array(fc.record({ from: fc.nat(7), edited: fc.boolean(), fresh: fc.boolean() }), { maxLength: 8 })
    fc.assert(
      fc.property(list, change, (names, order) => {
        const stored = names.map((name) => ({ name, quantity: 1, token: `of ${name}` }))
        const visible = shownOf(stored)
        const edited = order.flatMap(({ edited: isEdited, fresh, from }) => {
          const item = visible[from]
          if (fresh || item === undefined) return [{ name: `new ${from}`, quantity: 1, token: `of new ${from}` }]
          return [isEdited ? { ...item, quantity: 2 } : item]
        })
        let back: unknown
        try {
          back = unredact(edited, { shown: visible, original: stored })
        } catch (error) {
          assert.equal((error as { code?: string }).code, 'REDACTED_VALUE_MOVED')
          return
        }
        for (const { name, token } of back as typeof stored) assert.equal(token, `of ${name}`)
      }),
    )
  })
})
