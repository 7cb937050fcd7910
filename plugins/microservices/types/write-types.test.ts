import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import type { AppClient, Printer } from 'zin'
import { writeTypes } from './write-types.js'

const document = { openapi: '3.1.0', info: { title: 'x', version: '1' }, paths: {} }
const print = { line: () => undefined, error: () => undefined } as unknown as Printer

/** An app, or whoever responds on its address. */
function appWith(names: readonly string[]): AppClient {
  const request = async ({ method }: { readonly method: string }): Promise<unknown> =>
    method === 'GET' ? { services: names.map((name) => ({ name, state: 'running' })) } : { status: 200, data: document }
  return { request } as unknown as AppClient
}

it('clients of services are written under --out only, whatever the services are called', async () => {
  const parent = await mkdtemp(join(tmpdir(), 'zin-types-'))
  const input = { name: undefined, from: undefined, cwd: parent, out: 'clients', check: false, print, fetch: async () => document }
  try {
    for (const name of ['../escaped', '/tmp/escaped', 'a/b', '..', 'a\u0000', 'x'.repeat(51), ''])
      await assert.rejects(writeTypes({ ...input, app: appWith(['orders', name]) }), { code: 'SERVICE_NOT_REGISTERED' }, name)
    assert.deepEqual(await readdir(parent), [])
    assert.equal(await writeTypes({ ...input, app: appWith(['orders', 'users']) }), 0)
    assert.deepEqual((await readdir(join(parent, 'clients'))).sort(), ['orders.ts', 'users.ts'])
  } finally {
    await rm(parent, { recursive: true })
  }
})
