import { readFile, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { loadConfig } from '../../config/load.js'
import { messageOf } from '../../errors.js'
import { checkConfig } from '../../host/check-config.js'
import { defineCommand } from '../../host/command.js'
import { hostErrors } from '../../host/errors.js'
import { pluginsOf } from '../../host/plugin-list.js'
import { declaredTables, markdownTable, withTable } from '../../testing/readme.js'
import { cliErrors, UsageError } from '../errors.js'

export const docsCommand = defineCommand({
  name: 'docs',
  summary: "Print the tables of a plugin's README, options, settings and errors, from its declarations, or write them to it",
  // It loads the configuration itself, because the declarations are not part of the context of commands. Nothing is set up.
  needs: 'nothing',
  args: [{ name: 'plugin', summary: 'Name of a plugin of the app' }],
  options: {
    write: { type: 'string', summary: 'README whose tables are replaced; missing sections are added' },
    check: { type: 'boolean', summary: 'With --write: write nothing, and exit with 1 if a table differs' },
  },
  async run({ args, cwd, options: { check, write }, print }) {
    if (check && write === undefined) throw new UsageError('--check compares with a README: add --write <README.md>')
    const tables = declaredTables(await specOf(args.plugin ?? '', cwd))
    if (write === undefined) {
      print.line(
        Object.entries(tables)
          .map(([section, table]) => `## ${section}\n\n${markdownTable(table)}\n`)
          .join('\n')
          .trimEnd(),
        { verbatim: true },
      )
      return 0
    }
    const file = resolve(cwd, write)
    const before = await readFile(file, 'utf8').catch((error: unknown) => {
      throw cliErrors.ZIN_COMMAND_FAILED(`${write} cannot be read: ${messageOf(error)}`)
    })
    const after = Object.entries(tables).reduce((text, [section, table]) => withTable(text, section, table), before)
    if (after === before) print.line(`${write} matches the declarations of ${args.plugin}`)
    else if (check) throw cliErrors.ZIN_COMMAND_FAILED(`${write} does not match the declarations of ${args.plugin}; run it without --check`)
    else {
      await writeFile(file, after)
      print.line(`wrote ${write}`)
    }
    return 0
  },
})

async function specOf(name: string, cwd: string) {
  const { exported, file } = await loadConfig(cwd)
  const specs = pluginsOf(checkConfig(exported, file)).map(({ spec }) => spec)
  const found = specs.find((spec) => spec.name === name)
  if (found !== undefined) return found
  throw hostErrors.ZIN_PLUGIN_UNKNOWN(
    name,
    specs.map((spec) => spec.name),
  )
}
