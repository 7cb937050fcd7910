import assert from 'node:assert/strict'
import { it } from 'node:test'
import { SubjectDigests } from './digest.js'

/** Marks that several processes share. */
function sharedMarks() {
  const stored = new Map<string, string>()
  return {
    stored,
    list: async (prefix: string) => [...stored].flatMap(([name, value]) => (name.startsWith(prefix) ? [{ name, value }] : [])),
    set: async (name: string, value: string) => void stored.set(name, value),
  }
}
const [first, second, third] = ['1', '2', '3'].map((digit) => digit.repeat(40)) as [string, string, string]
const keys = (APP_KEY: string, ...earlier: readonly string[]) => ({
  APP_KEY,
  APP_KEY_BK: earlier.length === 0 ? '' : JSON.stringify(earlier),
})

it('digests under an earlier key are found after that key is removed, over several rotations, and the id of the key is all that is stored', async () => {
  const marks = sharedMarks()
  const old = new SubjectDigests(keys(first), marks)
  await old.keep()
  await new SubjectDigests(keys(second, first), marks).keep()
  await new SubjectDigests(keys(third, second), marks).keep()
  const now = new SubjectDigests(keys(third), marks)
  const { digests, lost } = await now.allOf('ann')
  assert.deepEqual([digests.length, digests[0], digests.includes(old.of('ann')), lost], [3, now.of('ann'), true, []])
  const all = JSON.stringify([...marks.stored])
  for (const key of (await now.keep()).keys) assert.ok(!all.includes(key.toString('base64url')))
})

it('a key whose master key was never configured beside the next one is reported, and found again once it is', async () => {
  const marks = sharedMarks()
  const old = new SubjectDigests(keys(first), marks)
  await old.keep()
  const alone = new SubjectDigests(keys(second), marks)
  assert.deepEqual([(await alone.allOf('ann')).digests, (await alone.allOf('ann')).lost.length], [[alone.of('ann')], 1])
  await new SubjectDigests(keys(second, first), marks).keep()
  const { digests, lost } = await alone.allOf('ann')
  assert.deepEqual([digests.includes(old.of('ann')), lost], [true, []])
})

it('a process with only the earlier key takes none away from those with the next one, and says what it cannot find', async () => {
  const marks = sharedMarks()
  const old = new SubjectDigests(keys(first), marks)
  const both = new SubjectDigests(keys(second, first), marks)
  for (const one of [old, both, old, both, old]) await one.keep()
  assert.equal((await old.keep()).lost.length, 1)
  assert.deepEqual((await new SubjectDigests(keys(second), marks).keep()).lost, [])
})

it('digests from before there was a key are found with one', async () => {
  const marks = sharedMarks()
  const none = new SubjectDigests(keys(''), marks)
  await none.keep()
  const { digests, lost } = await new SubjectDigests(keys(first), marks).allOf('ann')
  assert.deepEqual([digests.includes(none.of('ann')), lost], [true, []])
})

it('a stored key that was changed is not used', async () => {
  const marks = sharedMarks()
  await new SubjectDigests(keys(first), marks).keep()
  for (const [name, value] of marks.stored)
    marks.stored.set(
      name,
      value.replace(/.$/, (last) => (last === 'A' ? 'Q' : 'A')),
    )
  assert.equal((await new SubjectDigests(keys(second, first), marks).keep()).lost.length, 0)
  for (const [name, value] of [...marks.stored]) marks.stored.set(name.replace(/.$/, 'x'), value)
  assert.ok((await new SubjectDigests(keys(second), marks).keep()).lost.length > 0)
})
