import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import type { PluginFactory } from 'zin'
import * as factories from 'zin/plugins'
import { Host, memoryLogger, plainEnv } from 'zin/testing'
import { coreCommands } from '../core/cli/commands/index.js'
import { commandOwners } from '../plugins/commands.js'

const file = join(import.meta.dirname, '..', 'plugins', 'commands.ts')

it('every command of a plugin is listed with it, for apps without the plugin (COMMANDS_TABLE=write changes the list)', async (t) => {
  const rootDir = await mkdtemp(join(tmpdir(), 'zin-commands-'))
  t.after(() => rm(rootDir, { recursive: true }))
  const all = (Object.values(factories) as readonly PluginFactory[]).filter((factory) => typeof factory === 'function' && 'spec' in factory)
  const env = plainEnv({ NODE_ENV: 'test', APP_NAME: 'all', APP_KEY: 'k'.repeat(40), ZIN_DATA_DIR: rootDir })
  const host = new Host({ plugins: all.map((factory) => factory()) }, { rootDir, env, log: memoryLogger(), roles: [] })
  t.after(() => host.stop())
  await host.prepare()
  const rows = host
    .commands()
    .flatMap(({ command, plugin }) => [command.name, ...(command.aliases ?? [])].map((name) => [name, plugin] as const))
    .filter(([name]) => !coreCommands.some((command) => command.name === name))
  const owners = Object.fromEntries(rows.sort(([a], [b]) => (a < b ? -1 : 1)))
  if (process.env.COMMANDS_TABLE === 'write') {
    const text = await readFile(file, 'utf8')
    const lines = Object.entries(owners).map(([name, plugin]) => `  ${/^\w+$/.test(name) ? name : `'${name}'`}: '${plugin}',\n`)
    await writeFile(file, text.replace(/\{\n[^}]*\}\n$/, `{\n${lines.join('')}}\n`))
  } else assert.deepEqual(commandOwners, owners)
})
