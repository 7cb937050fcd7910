import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fieldsTable } from './fields.js'

const folder = mkdtempSync(join(tmpdir(), 'zin-fields-'))
after(() => rmSync(folder, { recursive: true }))

function tableOf(source: string) {
  const path = join(folder, 'source.ts')
  writeFileSync(path, source)
  return fieldsTable(path, 'T').rows
}

test('a row has the field, its type in readable form, and its docstring on one line', () => {
  const source = `interface T<O extends object> {
    /** Its options,
     * see {@link other}. */
    readonly options?: Readonly<O> | undefined
    /** Runs. */
    run<V>(ref: Ref<V>, list: readonly string[]): Promise<void>
  }`
  assert.deepEqual(tableOf(source), [
    ['`options?`', '`object`', 'Its options, see `other`.'],
    ['`run(ref, list)`', '`(ref: Ref, list: string[]) => Promise<void>`', 'Runs.'],
  ])
})

test('the branches of a type share a row per field', () => {
  const source = `interface Base {
    /** Name. */
    name: string
  }
  type T =
    | (Base & {
        /** Kind. */
        kind: 'a'
        /** Value. */
        value: string
      })
    | (Base & { kind: 'b'; value: number })`
  assert.deepEqual(tableOf(source), [
    ['`name`', '`string`', 'Name.'],
    ['`kind`', "`'a' | 'b'`", 'Kind.'],
    ['`value`', '`string | number`', 'Value.'],
  ])
})

test('a field without a docstring is reported', () => {
  assert.throws(() => tableOf('interface T { silent: string }'), /T\.silent/)
})
