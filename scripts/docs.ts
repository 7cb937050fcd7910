// Writes into each plugin's README the tables that follow from its declarations: options, settings and errors.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { PluginFactory } from '../core/host/plugin.js'
import { declaredTables, withTable } from '../core/testing/readme.js'

const folders = [...readdirSync('plugins').map((name) => `plugins/${name}`), 'examples/custom-plugin/slow-jobs']

for (const folder of folders.filter((path) => existsSync(`${path}/index.ts`))) {
  const exported = (await import(pathToFileURL(resolve(folder, 'index.ts')).href)) as Readonly<Record<string, unknown>>
  const factory = Object.values(exported).find((value) => typeof value === 'function' && 'spec' in value) as PluginFactory | undefined
  if (factory === undefined) continue
  const file = `${folder}/README.md`
  const before = readFileSync(file, 'utf8')
  const tables = Object.entries(declaredTables(factory.spec))
  const after = tables.reduce((text, [section, table]) => withTable(text, section, table), before)
  if (after === before) continue
  writeFileSync(file, after)
  console.log(`wrote ${file}`)
}
