import { defineCommand } from 'zin'

export const clearCommand = defineCommand({
  name: 'slow-jobs:clear',
  summary: 'Forgets the slow jobs of the running app',
  needs: 'running app',
  run: async ({ app, print }) => {
    await app.request({ method: 'DELETE', path: '/api/slow-jobs' })
    print.line('Forgotten.')
  },
})
