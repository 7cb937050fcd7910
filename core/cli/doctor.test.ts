import assert from 'node:assert/strict'
import { it } from 'node:test'
import { entranceOf } from './doctor.js'

it('who can enter the data directory is a question to its owner, unless it is the volume of another one', () => {
  const above = { dev: 1, mode: 0o755, uid: 0 }
  for (const [folder, user, expected] of [
    [{ dev: 1, mode: 0o40700, uid: 1000 }, 1000, 'closed'],
    [{ dev: 1, mode: 0o40770, uid: 1000 }, 1000, 'closed'],
    [{ dev: 1, mode: 0o40755, uid: 1000 }, 1000, 'open'],
    [{ dev: 2, mode: 0o40755, uid: 1000 }, 1000, 'open'],
    // A folder of another user beside those of the system.
    [{ dev: 1, mode: 0o42777, uid: 0 }, 1000, 'open'],
    // An emptyDir with fsGroup.
    [{ dev: 2, mode: 0o42777, uid: 0 }, 1000, 'volume'],
    [{ dev: 2, mode: 0o42777, uid: 0 }, 0, 'open'],
    // Windows has no such modes.
    [{ dev: 1, mode: 0o40777, uid: 0 }, undefined, 'closed'],
  ] as const)
    assert.equal(entranceOf(folder, above, user), expected, JSON.stringify([folder, user]))
})
