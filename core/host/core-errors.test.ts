import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cliErrors, UsageError } from '../cli/errors.js'
import type { ErrorTable } from '../errors.js'
import { createTestHost } from '../testing/test-host.js'
import { DeadlineError } from '../util/deadline.js'
import { BootError } from './boot-error.js'
import { coreErrors } from './core-errors.js'

test('errors with a class of their own are in the tables, too, and so in the README', () => {
  const tables: ErrorTable = { ...coreErrors, ...cliErrors }
  for (const error of [new BootError([]), new DeadlineError('late'), new UsageError('wrong')]) {
    assert.deepEqual([tables[error.code]?.code, tables[error.code]?.row.status ?? 500], [error.code, error.status])
  }
})

test('the OpenAPI document lists ZIN_DEADLINE, which every route can return', async () => {
  const host = await createTestHost()
  const { body } = await host.inject({ path: '/openapi.json' })
  await host.stop()
  const known: readonly { readonly const?: string; readonly 'x-status'?: number }[] = body.components.schemas.ErrorCode.anyOf
  assert.equal(known.find((one) => one.const === 'ZIN_DEADLINE')?.['x-status'], 503)
})
