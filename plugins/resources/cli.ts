import { type Command, defineCommand } from 'zin'
import { resourceErrors } from './errors.js'

const actions = ['start', 'stop']

/** Commands that query the running app. */
export const resourceCommands: readonly Command[] = [
  defineCommand({
    name: 'resource:monitor',
    aliases: ['rm'],
    summary: 'Start or stop resource monitoring on all nodes of the running app',
    args: [{ name: 'action', summary: 'start or stop' }],
    needs: 'running app',
    json: true,
    run: async ({ app, args, print }) => {
      const { action = '' } = args
      if (!actions.includes(action)) throw resourceErrors.INVALID_ACTION(action)
      const result = await app.request<{ message: string }>({ method: 'POST', path: `/api/resources/${action}` })
      if (print.json) print.record(result)
      else print.line(result.message)
    },
  }),
]
