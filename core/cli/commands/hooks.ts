import { defineCommand } from '../../host/command.js'

export const hooksCommand = defineCommand({
  name: 'hooks',
  summary: 'List hooks with their kind, owner and listeners in order',
  needs: 'config',
  json: true,
  run({ host, print }) {
    const hooks = host.hooks()
    if (print.json) return print.table(hooks)
    const rows = hooks.map(({ name, kind, owner, args, listeners, summary }) => ({
      hook: `${name}(${args.join(', ')})`,
      kind,
      owner,
      listeners: listeners.map(({ plugin, order }) => (order === 'normal' ? plugin : `${plugin} (${order})`)),
      summary,
    }))
    print.table(rows, ['hook', 'kind', 'owner', 'listeners', 'summary'])
  },
})
