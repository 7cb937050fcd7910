import assert from 'node:assert/strict'
import { it } from 'node:test'
import { importPackage } from 'zin'

const missing = (name: string) =>
  Promise.reject(Object.assign(new Error(`Cannot find package '${name}' imported from /app/x.js`), { code: 'ERR_MODULE_NOT_FOUND' }))

it('names a package that is absent and the command that adds it, and leaves other errors alone', async () => {
  assert.equal(await importPackage('node:path', () => import('node:path')), await import('node:path'))
  await assert.rejects(
    importPackage('ws', () => missing('ws')),
    { code: 'ZIN_PACKAGE_MISSING', message: 'the package "ws" is not installed: run "npm install ws"' },
  )
  await assert.rejects(
    importPackage('ws', () => missing('of-ws')),
    { code: 'ERR_MODULE_NOT_FOUND' },
  )
  await assert.rejects(
    importPackage('ws', () => Promise.reject(new Error('broken'))),
    { message: 'broken' },
  )
})
