// Whether the core knows a feature: it names no setting of a plugin, and has no plugin or service of one as a text.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { appSettings } from '../core/host/app-settings.js'
import type { PluginFactory } from '../core/host/plugin.js'

/** Names of plugins that are words of the core as well: a value of LOG_CHANNEL. */
const ownWords = new Set(['console'])

/** What plugins declare, and how each looks in code that knows it. */
async function patterns(): Promise<ReadonlyMap<string, RegExp>> {
  const found = new Map<string, RegExp>()
  for (const folder of readdirSync('plugins').filter((name) => existsSync(`plugins/${name}/index.ts`))) {
    const module = (await import(pathToFileURL(`plugins/${folder}/index.ts`).href)) as Record<string, unknown>
    for (const { spec } of Object.values(module).filter(isFactory)) {
      for (const setting of Object.keys(spec.settings ?? {}))
        if (!(setting in appSettings)) found.set(`the setting ${setting} of ${spec.name}`, new RegExp(`\\b${setting}\\b`))
      if (!ownWords.has(spec.name)) found.set(`the plugin ${spec.name}`, new RegExp(`(['"\`])${spec.name}\\1`))
      for (const { id } of spec.provides ?? []) found.set(`the service ${id} of ${spec.name}`, new RegExp(`(['"])${id}\\1`))
    }
  }
  return found
}

function isFactory(value: unknown): value is PluginFactory {
  return typeof value === 'function' && typeof (value as { readonly spec?: { readonly name?: unknown } }).spec?.name === 'string'
}

const files = readdirSync('core', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .map((name) => join('core', name))
const named = await patterns()
const problems = files.flatMap((file) => {
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.flatMap((line, index) =>
    // A docstring may have an example.
    [...named]
      .filter(([, pattern]) => !/^\s*(\*|\/\*\*)/.test(line) && pattern.test(line))
      .map(([what]) => `${file}:${index + 1} names ${what}`),
  )
})
for (const problem of problems) console.error(`${problem}; the core knows no feature: let the plugin contribute it`)
// Plugins may have loaded what keeps a process.
process.exit(problems.length > 0 ? 1 : 0)
