// Writes the tables that are generated from declarations (options, settings, errors, kinds of what needs attention) to the READMEs of the
// core and of each plugin, and the tables of the plugin API to its reference. With --check it writes nothing and fails if a document differs.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cliErrors } from '../core/cli/errors.js'
import { coreErrors } from '../core/host/core-errors.js'
import type { AnyPluginSpec } from '../core/host/plugin.js'
import { declaredTables, type ReadmeTable, withTable } from '../core/testing/readme.js'
import { moduleIn } from './docs/module-in.js'
import { referencePath, referenceText } from './docs/reference.js'

type Declarations = Parameters<typeof declaredTables>[0]

const folders = [
  ...readdirSync('plugins').map((name) => `plugins/${name}`),
  'examples/custom-plugin/rate-shaper',
  'examples/custom-plugin/slow-jobs',
]
const check = process.argv.includes('--check')

async function declarationsOf(folder: string): Promise<Declarations> {
  const exported = await moduleIn(folder)
  const factory = Object.values(exported).find((value) => typeof value === 'function' && 'spec' in value)
  return (factory as { readonly spec: AnyPluginSpec } | undefined)?.spec ?? {}
}

function withTables(declarations: Declarations): (markdown: string) => string {
  return (markdown) =>
    Object.entries(declaredTables(declarations)).reduce((text, [section, table]) => withTable(text, section, table), markdown)
}

function update(file: string, change: (markdown: string) => string): void {
  const before = readFileSync(file, 'utf8')
  const after = change(before)
  if (after === before) return
  if (!check) writeFileSync(file, after)
  console.error(check ? `${file} does not match the declarations in the code; run npm run docs` : `wrote ${file}`)
  if (check) process.exitCode = 1
}

/** The kinds of what needs attention, of all plugins. */
async function attentionTable(): Promise<ReadmeTable> {
  const rows: (readonly string[])[] = []
  for (const folder of folders.filter((path) => path.startsWith('plugins/') && existsSync(`${path}/index.ts`))) {
    const { attention = {}, name = '' } = (await declarationsOf(folder)) as Partial<AnyPluginSpec>
    for (const [kind, when] of Object.entries(attention)) rows.push([`\`${kind}\``, when, name])
  }
  return { head: ['kind', 'listed when', 'from'], rows }
}

update('core/README.md', withTables({ errors: { ...coreErrors, ...cliErrors } }))
update(referencePath, referenceText)
for (const folder of folders.filter((path) => existsSync(`${path}/index.ts`)))
  update(`${folder}/README.md`, withTables(await declarationsOf(folder)))
const attention = await attentionTable()
update('plugins/queue-monitor/README.md', (markdown) => withTable(markdown, 'What needs attention', attention))
