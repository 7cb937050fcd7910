import assert from 'node:assert/strict'
import { watch } from 'node:fs'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { withApp } from './testing/app.js'

/** Runs a part of a test with a separate temporary folder; `made` returns the names of all files created in it so far. */
async function withTemporary(test: (made: () => Promise<readonly string[]>, folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'zin-uploads-'))
  const before = process.env.TMPDIR
  process.env.TMPDIR = folder
  const names = new Set<string>()
  const waiting = new Map<string, () => void>()
  const watcher = watch(folder, (_event, name) => {
    names.add(String(name))
    waiting.get(String(name))?.()
  })
  let sentinels = 0
  // Events arrive in order: after the event of the last file, all earlier ones have arrived.
  const made = async (): Promise<readonly string[]> => {
    const name = `sentinel-${sentinels++}`
    const seen = new Promise<void>((resolve) => waiting.set(name, resolve))
    await writeFile(join(folder, name), '')
    await seen
    return [...names].filter((other) => !other.startsWith('sentinel-'))
  }
  try {
    await test(made, folder)
  } finally {
    watcher.close()
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
    await rm(folder, { recursive: true, force: true })
  }
}

const form = (text: string): string =>
  `--edge\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\n${text}\r\n--edge--\r\n`

describe('S10: a form with a file', () => {
  it('is not written to disk before its signature and its bytes are verified', () => {
    let during: readonly string[] = []
    let look: () => Promise<readonly string[]> = async () => []
    const upload = {
      method: 'POST',
      path: '/upload',
      summary: 'Upload',
      use: ['auth', 'bulletproof'],
      bodyType: 'form',
      handler: async () => {
        during = await look()
        return {}
      },
    } as const
    return withApp({ routes: [upload] }, (app) =>
      withTemporary(async (made, folder) => {
        look = () => readdir(folder)
        const send = async (signed: string, sent: string, secret = app.secret): Promise<number> => {
          const headers = await app.headersOf({ method: 'POST', path: '/upload', body: signed, secret })
          headers['content-type'] = 'multipart/form-data; boundary=edge'
          return (await app.host.inject({ method: 'POST', path: '/upload', headers, body: sent })).status
        }
        assert.equal(await send(form('secret'), form('secret'), 'wrong'), 401)
        assert.equal(await send(form('secret'), form('s3cret')), 401)
        const headers = { 'content-type': 'multipart/form-data; boundary=edge' }
        assert.equal((await app.host.inject({ method: 'POST', path: '/upload', headers, body: form('x') })).status, 401)
        assert.deepEqual(await made(), [])
        assert.equal(await send(form('secret'), form('secret')), 200)
        // Shows that the check can detect a file.
        assert.equal(during.filter((name) => !name.startsWith('sentinel-')).length, 1)
        assert.equal((await made()).length, 1)
      }),
    )
  })
})
