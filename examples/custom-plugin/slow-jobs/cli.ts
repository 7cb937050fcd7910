import { defineCommand } from 'zin'

export const clearCommand = defineCommand({
  name: 'slow-jobs:clear',
  summary: 'Delete the slow jobs recorded in the running app',
  needs: 'running app',
  run: async ({ app, print }) => {
    await app.request({ method: 'DELETE', path: '/api/slow-jobs' })
    print.line('Deleted.')
  },
})
