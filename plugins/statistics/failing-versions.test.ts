import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { failingVersions } from './failing-versions.js'

const counted = (version: string, completed: number, failed: number) => ({ worker: 'mails', version, completed, failed })

describe('versions that fail too often', () => {
  it('are found above 5 % with certainty, and compared with the one with the most attempts', () => {
    const [found, ...others] = failingVersions([counted('1.0.0', 995, 5), counted('1.1.0', 270, 30), counted('0.9.0', 3, 0)])
    const beside = { version: '1.0.0', failed: 5, attempts: 1000 }
    assert.deepEqual(found, { worker: 'mails', version: '1.1.0', failed: 30, attempts: 300, beside })
    assert.deepEqual(others, [])
  })

  it('do not include one that fails 1 of 10 attempts, 4 %, or only because of a job that is known', () => {
    assert.deepEqual(failingVersions([counted('1.0.0', 9, 1)]), [])
    assert.deepEqual(failingVersions([counted('1.0.0', 960, 40)]), [])
    assert.deepEqual(
      failingVersions([counted('1.0.0', 100, 50)], () => 49),
      [],
    )
  })
})
