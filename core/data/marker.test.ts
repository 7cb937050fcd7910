import assert from 'node:assert/strict'
import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { isUnusedData, noteImport } from './marker.js'

it('data that was moved is unused again once any file of its store is newer than the move', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'zin-marker-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const isUnused = () => isUnusedData(folder, 'app.db', 'app.db-wal')
  const write = async (name: string, changedAt: number) => {
    await writeFile(join(folder, name), '')
    await utimes(join(folder, name), changedAt / 1000, changedAt / 1000)
  }
  const [before, after] = [Date.now() - 60_000, Date.now() + 60_000]
  assert.equal(await isUnused(), false, 'no store')
  await write('app.db', before)
  assert.equal(await isUnused(), true, 'never moved')
  await noteImport(folder, 'done')
  assert.equal(await isUnused(), false, 'moved')
  await write('app.db-wal', before)
  assert.equal(await isUnused(), false, 'with what a killed process left before the move')
  await write('app.db-wal', after)
  assert.equal(await isUnused(), true, 'used by a process that was killed')
  await rm(join(folder, 'app.db-wal'))
  await write('app.db', after)
  assert.equal(await isUnused(), true, 'used')
  await noteImport(folder, 'importing')
  assert.equal(await isUnused(), true, 'while an import is not done')
})
