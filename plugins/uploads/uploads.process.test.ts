import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { eventually } from '../../scripts/testing/eventually.js'
import { type ForkedApp, forkApp } from '../../scripts/testing/forked-app.js'
import { formOf, pngFile } from './testing/app.js'
import { openFiles } from './testing/open-files.js'
import { fileHead, head, type RawClient, rawClient } from './testing/raw-client.js'

describe('slow uploads to an app in a process of its own', () => {
  let folder: string
  let app: ForkedApp
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'zin-slow-uploads-'))
    app = await forkApp({ env: {}, rootDir: folder, app: new URL('./testing/app-child.ts', import.meta.url) })
  })
  after(async () => {
    await app?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const clients = (length: number): Promise<readonly RawClient[]> => Promise.all(Array.from({ length }, () => rawClient(app.url)))
  /** Names of the temporary files. */
  const left = async () => (await Promise.all((await readdir(folder)).map((name) => readdir(join(folder, name))))).flat()
  const memory = async (): Promise<number> => (await app.call('GET', '/memory')).body.bytes
  const upload = async (): Promise<number> =>
    (await fetch(`${app.url}/form`, { method: 'POST', body: formOf([['a', pngFile('a', 1_000_000)]]) })).status
  const assertNothingLeft = async (): Promise<void> => {
    await eventually('no temporary file is left', async () => (await left()).length === 0)
    await eventually('no file is open', () => openFiles(folder, app.pid) === 0)
  }

  it('of 200 clients do not keep /health/live or another upload from an answer, hold one open file each, and leave nothing when they break off', async () => {
    const slow = await clients(200)
    for (const client of slow) client.send(`${head('/form', 1_000_000)}${fileHead}${'x'.repeat(20_000)}`)
    await eventually('all arrive', async () => (await left()).length === 200)
    assert.equal(openFiles(folder, app.pid), 200)
    const timer = setInterval(() => slow.forEach((client) => client.send('x')), 5)
    for (let i = 0; i < 50; i++) assert.equal((await app.call('GET', '/health/live')).status, 200)
    assert.equal(await upload(), 200)
    clearInterval(timer)
    // None of them has been answered or cut: they were on their way all the time.
    assert.deepEqual(new Set(slow.map((client) => client.text())), new Set(['']))
    await eventually('the other is gone', async () => (await left()).length === 200)
    for (const { socket } of slow) socket.destroy()
    await assertNothingLeft()
  })

  it('that come byte by byte take memory for what they send, and open no file before its type is known', async () => {
    const slow = await clients(40)
    for (const client of slow) client.send(`${head('/form', 1_000_000)}${fileHead}`)
    const trickle = async (bytes: number): Promise<void> => {
      for (let i = 0; i < bytes; i++) {
        for (const client of slow) client.send('x')
        // So that the app gets each byte on its own.
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
    }
    await trickle(100)
    const began = await memory()
    await trickle(3800)
    // A list of their pieces takes 0.4 MB for each.
    const taken = (await memory()) - began
    assert.ok(taken < 4_000_000, `${taken} bytes`)
    assert.equal(openFiles(folder, app.pid), 0)
    assert.equal((await app.call('GET', '/health/live')).status, 200)
    for (const { socket } of slow) socket.destroy()
    await assertNothingLeft()
    assert.equal(await upload(), 200)
  })
})
