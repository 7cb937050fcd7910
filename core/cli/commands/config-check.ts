import { defineCommand } from '../../host/command.js'

export const configCheckCommand = defineCommand({
  name: 'config:check',
  summary: 'Check the configuration without starting anything, and list every setting with its value, source and reader',
  needs: 'config',
  json: true,
  run({ host, options, print }) {
    const rows = host.settings().map(({ name, value, source, readers, type, summary }) => ({ name, value, source, readers, type, summary }))
    print.table(rows, ['name', 'value', 'source', 'readers', 'summary'])
    const problems = host.problems()
    for (const problem of problems) print.error(problem)
    // As JSON, each line is an error.
    if (options.json !== true) for (const warning of host.warnings()) print.error(`Warning: ${warning}`)
    return problems.length === 0 ? 0 : 1
  },
})
