import assert from 'node:assert/strict'
import { it } from 'node:test'
import { memoryLogger } from 'zin/testing'
import type { Marks } from '../store/marks.js'
import { Reencryption } from './reencryption.js'

it('a process other than the leader knows that another one has re-encrypted everything', async () => {
  let written = 'old'
  const marks = { get: async () => written } as unknown as Marks
  const queues = {} as ConstructorParameters<typeof Reencryption>[0]['queues']
  const follower = new Reencryption({
    queues,
    marks,
    keepDigestKeys: async () => undefined,
    log: memoryLogger(),
    keyId: 'new',
    isStale: () => false,
  })
  assert.equal((await follower.read()).state, 'idle')
  written = 'new'
  assert.equal((await follower.read()).state, 'done')
})
