import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { smallDisk } from '../../scripts/testing/small-disk.js'
import { assertComesBack, documentedFaults, faultScene, writeRows } from './testing/fault-scene.js'

/** The disk of the data directory during the fault. */
const faults = {
  'the disk is full for 10 s': { free: 0, told: true },
  'a quota of the disk, which the free space does not show, is used up for 10 s': { free: 0, told: false },
}

const rows = new Map<string, string>()

describe('workers on the embedded stores take jobs again within 30 s, and lose none, after', () => {
  for (const [fault, state] of Object.entries(faults)) {
    it(fault, async (t) => {
      const dataDir = await mkdtemp(join(tmpdir(), 'zin-faults-'))
      t.after(() => rm(dataDir, { recursive: true, force: true }))
      const disk = smallDisk(dataDir, 2 ** 30)
      t.after(() => disk.restore())
      const scene = await faultScene((step) => t.after(step as () => void), { dataDir })
      const cells = await assertComesBack(scene, async () => {
        const { free } = disk
        Object.assign(disk, state)
        await delay(10_000)
        disk.free = free
      })
      rows.set(fault, `| embedded | ${fault} | ${cells} |`)
    })
  }
  after(() => writeRows(rows))
})

it('the README has a row for each of these faults', () => {
  assert.deepEqual(
    documentedFaults((store) => store === 'embedded'),
    Object.keys(faults).toSorted(),
  )
})
